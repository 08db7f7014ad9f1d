"""Answer texts with the vectors of a service that understands OpenAI's requests for embeddings.

Usage: `python embedding_api.py MODEL`. OPENAI_API_KEY holds the key. OPENAI_BASE_URL names another
service, such as one of yours: `http://localhost:8000/v1`.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from itertools import islice

AT_ONCE, TRIES = 64, 6
BUSY = (429, 500, 502, 503)
URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/embeddings"


def embed(texts: list[str]) -> list[list[float]]:
    """Return the vectors of texts. A service that is busy is asked again, later and later."""
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}",
    }
    body = {"model": sys.argv[1], "input": texts}
    request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
    for left in reversed(range(TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                items = sorted(json.load(answer)["data"], key=lambda item: item["index"])
            return [item["embedding"] for item in items]
        except urllib.error.HTTPError as error:
            if error.code not in BUSY or not left:
                sys.exit(f"{URL}: {error}: {error.read().decode(errors='replace')[:500]}")
            time.sleep(2 ** (TRIES - left))
        except (urllib.error.URLError, TimeoutError) as error:
            if not left:
                sys.exit(f"{URL}: {error}")
            time.sleep(2 ** (TRIES - left))
    raise AssertionError("the last try returns or exits")


def main() -> None:
    """Answer batches of lines from standard input."""
    while lines := list(islice(sys.stdin, AT_ONCE)):
        texts = [json.loads(line) for line in lines]
        for text, vector in zip(texts, embed([text["text"] for text in texts]), strict=True):
            print(json.dumps({"id": text["id"], "vector": vector}), flush=True)


if __name__ == "__main__":
    main()
