"""Read BioASQ's files as its organisers publish them: questions of task B, articles of task A.

Usage: `split(collection, name)` of a split with `bioasq:`, `docs(collection)` of source `bioasq`.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from residuum.cli.errors import ResiduumError
from residuum.collections.files import resolve
from residuum.collections.lines import AGAIN, numbered
from residuum.collections.records import Rows
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import TaskASource

URL = re.compile(
    r"https?://(?:(?:www\.)?ncbi\.nlm\.nih\.gov/pubmed|pubmed\.ncbi\.nlm\.nih\.gov)/0*(\d+)/?"
)
HEAD = re.compile(r'\{\s*"articles"\s*:\s*\[')


def split(collection: Collection, name: str) -> Rows:
    """Return the questions of a split's files; each doc that a question names is relevant.

    Docs that the corpus lacks are kept as relevant docs that no system can find. Snippets are not
    read.
    """
    queries: list[tuple[str, str]] = []
    qrels: list[tuple[str, str, int]] = []
    paths = [resolve(file, collection.access) for file in collection.splits[name].bioasq]
    for path in paths:
        for number, question in enumerate(_questions(path), start=1):
            query_id, body = (_text(path, number, question, key) for key in ("id", "body"))
            queries.append((query_id, body))
            urls = question.get("documents") or []
            if not isinstance(urls, list):
                found = f"is no list (found {type(urls).__name__})"
                raise ResiduumError(f"{path}, question {query_id}: documents {found}. {AGAIN}")
            pmids = dict.fromkeys(_pmid(path, query_id, url) for url in urls)
            qrels += [(query_id, pmid, 1) for pmid in pmids]
    return Rows(queries, qrels, files=paths)


def _questions(path: Path) -> list[dict[str, object]]:
    try:
        whole = json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ResiduumError(f"{path}: not UTF-8 ({error}). {AGAIN}") from None
    except RecursionError:
        raise ResiduumError(f"{path}: nested too deeply. {AGAIN}") from None
    except json.JSONDecodeError as error:
        text = f"not JSON, or cut short ({error.msg})"
        raise ResiduumError(f"{path}, line {error.lineno}: {text}. {AGAIN}") from None
    listed = whole.get("questions") if isinstance(whole, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        text = 'expected {"questions": [...]}, as task B has it'
        raise ResiduumError(f"{path}: {text}. Is it a file of task A?")
    return listed


def _text(path: Path, number: int, question: dict[str, object], key: str) -> str:
    """Return the text of a question's field on one line; an empty field raises ResiduumError."""
    value = question.get(key)
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise ResiduumError(f"{path}, question {number}: it has no {key}")
    return text


def _pmid(path: Path, query_id: str, url: object) -> str:
    match = URL.fullmatch(url.strip()) if isinstance(url, str) else None
    if not match:
        such = "http://www.ncbi.nlm.nih.gov/pubmed/23452107"
        text = f"documents: {str(url)[:80]!r} is no address of PubMed, such as {such}"
        raise ResiduumError(f"{path}, question {query_id}: {text}")
    return match[1]


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (PMID, fields) of the articles that have an abstract, in the file's order.

    The text is title and abstract. An error about a line names its file and number.
    """
    source, without = collection.source, 0
    assert isinstance(source, TaskASource)
    path = resolve(source.articles, collection.access)
    for number, line in _lines(path):
        pmid, title, abstract = _article(path, number, line)
        if abstract:
            fields = {"title": title, "abstract": abstract}
            yield pmid, {"text": f"{title} {abstract}".strip(), **fields}
        else:
            without += 1
    if without:
        print(f"{path}: left out {without:,} articles without an abstract", file=sys.stderr)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, article) without the JSON around the list of articles."""
    number, ended = 0, False
    for number, line in numbered(path):
        text = line.strip()
        if number == 1:
            head = HEAD.match(text)
            if not head:
                raise ResiduumError(f'{path}, line 1: expected {{"articles": [, as task A has it')
            text = text[head.end() :].strip()
        ended = text.endswith("]}") and not _is_object(text)
        text = (text[:-2] if ended else text).strip().rstrip(",")
        if text:
            yield number, text
    if not ended:
        raise ResiduumError(f"{path}, line {number}: the file is cut short, it lacks ]}}. {AGAIN}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


def _article(path: Path, number: int, line: str) -> tuple[str, str, str]:
    """Return the PMID, title and abstract of an article, each on one line."""
    try:
        article = json.loads(line)
    except RecursionError:
        raise ResiduumError(f"{path}, line {number}: nested too deeply. {AGAIN}") from None
    except json.JSONDecodeError as error:
        text = f"not a JSON object ({error.msg}), where an article is expected"
        raise ResiduumError(f"{path}, line {number}: {text}. {AGAIN}") from None
    keys = ("pmid", "title", "abstractText")
    pmid, title, abstract = map(article.get, keys) if isinstance(article, dict) else [None] * 3
    if pmid is None or not isinstance(title, str) or not isinstance(abstract, str):
        raise ResiduumError(f"{path}, line {number}: no pmid, title and abstractText")
    if not re.fullmatch(r"[0-9]{1,8}", str(pmid)):
        found = str(pmid)[:60]
        raise ResiduumError(f"{path}, line {number}: a pmid has up to 8 digits, found {found!r}")
    return str(pmid), " ".join(title.split()), " ".join(abstract.split())
