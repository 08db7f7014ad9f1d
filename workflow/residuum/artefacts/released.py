"""Read term weights that others published, a doc per line, as DeepCT and Anserini write them.

Usage: `for doc_id, tfs in read(path): ...`.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError

SHOWN = 60  # characters shown of a faulty line
FORMS = (
    'a line is {"id": ..., "contents": "word word ..."}, each word as often as its weight says, '
    '{"id": ..., "vector": {"word": weight}}, or the id, a tab and the words of contents'
)


def read(path: Path) -> Iterator[tuple[str, dict[str, int]]]:
    """Stream (doc_id, {word: weight of 1 or more}) of a file, plain or gzipped.

    A doc's contents repeat each word as often as its weight says, as `bert_term_sample_to_json.py`
    of AdeDZY/DeepCT writes (tsv, or json for Anserini's JsonCollection). A doc's vector is as in
    Anserini's JsonVectorCollection. Any other line raises ResiduumError.
    """
    for number, line in enumerate(_lines(path), start=1):
        try:
            doc_id, weights = _doc(line.decode())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            shown = repr(line[:SHOWN].decode(errors="replace"))
            raise ResiduumError(f"{path}, line {number}: {error!r} in {shown}; {FORMS}") from None
        yield doc_id, weights


def _lines(path: Path) -> Iterator[bytes]:
    opened = gzip.open if path.suffix == ".gz" else open
    with files.undamaged(path), opened(path, "rb") as handle:
        yield from (line.rstrip(b"\r\n") for line in handle)


def _doc(line: str) -> tuple[str, dict[str, int]]:
    """Parse a line; a malformed line raises ValueError, KeyError, TypeError or AttributeError."""
    if not line.startswith("{"):
        doc_id, words = line.split("\t")
        return doc_id, _counted(doc_id, words.split())
    record = json.loads(line)
    doc_id, vector = record["id"], record.get("vector")
    if vector is None:
        return doc_id, _counted(doc_id, record["contents"].split())
    for word, weight in vector.items():
        if type(weight) is not int or weight < 1 or word.split() != [word]:
            raise ValueError(f"the weight {weight} of {word!r}")
    "".join([doc_id, *vector]).encode()
    return doc_id, vector


def _counted(doc_id: str, words: list[str]) -> dict[str, int]:
    "".join([doc_id, *words]).encode()  # raises for half a character (a surrogate)
    return dict(Counter(words))
