"""Collections of your own: a jsonl or TSV corpus, TSV queries, TREC qrels, DPR's questions.

Usage: `docs(collection)`, `split(collection, name)`, `questions(collection, name)`. Paths are
relative to the folder that RESIDUUM_DATA names, or to data/. Must not know paths below results/.
"""

import ast
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from residuum.artefacts import trec
from residuum.artefacts.files import damaged
from residuum.cli.errors import ResiduumError
from residuum.collections.records import Rows, join_fields, unquoted
from residuum.config import roots
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import FilesSource


def resolve(name: str, access: str) -> Path:
    """Return the path of a file of the collection; an absent one is an error that says where."""
    path = roots.data() / name
    if not path.is_file():
        raise _absent(path, "no such file", access)
    return path


def resolved(name: str, access: str) -> list[Path]:
    """Return the files that a name stands for: itself, or the gzipped XML files of a folder."""
    path = roots.data() / name
    if path.is_dir() and not roots.files_of(path):
        raise _absent(path, "no *.xml.gz in it", access)
    return roots.files_of(path) if path.is_dir() else [resolve(name, access)]


def _absent(path: Path, what: str, access: str) -> ResiduumError:
    start = f"Relative paths start at {roots.data().resolve()} (set RESIDUUM_DATA to change that)."
    return ResiduumError(f"{path}: {what}. {start}\nAccess: {access}")


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) in file order; a bad line is named by file and number."""
    source = collection.source
    assert isinstance(source, FilesSource)
    path = resolve(source.corpus, collection.access)
    for number, line in numbered(path):
        try:
            record = _record(line, ".jsonl" in path.suffixes)
            fields = join_fields(record, source)
        except ValueError as error:
            raise ResiduumError(f"{path}, line {number}: {error}") from None
        yield str(record["doc_id"]), fields


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, gzipped or not, that are not empty, with their numbers."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as handle:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    form = "utf-8-sig" if number == 1 else "utf-8"  # no byte order mark in an id
                    yield number, line.decode(form).rstrip("\n")
    except UnicodeDecodeError as error:
        raise ResiduumError(f"{path}, line {number}: not UTF-8 ({error})") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ResiduumError(damaged(path, error, "Get the file again.")) from None


def _record(line: str, jsonl: bool) -> dict[str, object]:
    if jsonl:
        record = json.loads(line, object_pairs_hook=_once)
        if not isinstance(record, dict):
            raise ValueError(f"expected a JSON object, found {line[:60]}")
        if not isinstance(record.get("doc_id", ""), str):
            found = json.dumps(record["doc_id"])
            raise ValueError(
                f"doc_id must be text, in quotes: 007 is another id than 7; found {found}"
            )
        return record
    doc_id, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected doc_id TAB text, found {line[:60]!r}")
    return {"doc_id": doc_id, "text": text}


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of its pairs, each key once."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {max(keys, key=keys.count)} is given twice")
    return record


def split(collection: Collection, name: str) -> Rows:
    """Return queries and qrels of a split; no qrels of one that has no public judgements."""
    queries, qrels = collection.splits[name].queries, collection.splits[name].qrels
    assert queries is not None
    rows = list(trec.read_queries(resolve(queries, collection.access)).items())
    judged = trec.read_qrels(resolve(qrels, collection.access)).iter_rows() if qrels else ()
    return Rows(rows, list(judged))


def docpairs(collection: Collection, name: str) -> Iterator[tuple[str, str, str]]:
    """Stream a split's training triples; a line that is none is named by file and number."""
    path = resolve(str(collection.splits[name].docpairs), collection.access)
    for number, line in numbered(path):
        query_id, *docs = line.split("\t")
        if len(docs) != 2:
            text = f"expected query_id TAB positive TAB negative, found {line[:60]!r}"
            raise ResiduumError(f"{path}, line {number}: {text}")
        yield query_id, docs[0], docs[1]


def questions(collection: Collection, name: str) -> Rows:
    """Return the questions of a file in DPR's form, with their answers; ids count from 0."""
    entry = collection.splits[name]
    assert entry.questions is not None
    path = resolve(entry.questions, collection.access)
    queries: list[tuple[str, str]] = []
    answers: dict[str, list[str]] = {}
    for number, (line, text) in enumerate(numbered(path)):
        question, listed = _question(text)
        if not (question and listed):
            raise ResiduumError(
                f"{path}, line {line}: expected question TAB ['answer', ...], found {text[:60]!r}"
            )
        queries.append((str(number), question))
        answers[str(number)] = listed
    return Rows(queries, [], answers)


def _question(text: str) -> tuple[str, list[str]]:
    """Read a line as DPR's csv.reader does, which takes quotes around a column away."""
    question, _, listed = text.partition("\t")
    try:
        answers = ast.literal_eval(unquoted(listed.strip()))
        return unquoted(question.strip()), [str(a) for a in answers if isinstance(answers, list)]
    except (ValueError, SyntaxError, TypeError):
        return "", []
