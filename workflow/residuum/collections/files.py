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
from residuum.collections.irds import Qrels, Queries, join_fields, unquoted
from residuum.config import roots
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import FilesSource


def resolve(name: str, access: str) -> Path:
    """Find a file of the collection; where it is absent, say where it was looked for."""
    root = roots.data()
    path = root / name
    if not path.is_file():
        raise ResiduumError(
            f"{path}: no such file. Relative paths start at {root.resolve()} (set RESIDUUM_DATA "
            f"to change that).\nAccess: {access}"
        )
    return path


def paths(collection: Collection, split: str | None) -> list[Path]:
    """Return the source files of the corpus (split None) or of a split; none of other kinds."""
    names = collection.source_files(split)
    return [resolve(name, collection.access) for name in names]


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) in file order; a bad line is named by file and number."""
    source = collection.source
    assert isinstance(source, FilesSource)
    path = resolve(source.corpus, collection.access)
    parse = _jsonl if ".jsonl" in path.suffixes else _tsv
    for number, line in _numbered(path):
        try:
            yield parse(line, source)
        except (KeyError, ValueError) as error:
            raise ResiduumError(f"{path}, line {number}: {error}") from None


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as handle:
            for number, line in enumerate(handle, start=1):
                if line.strip():
                    yield number, line.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise ResiduumError(f"{path}, line {number}: not UTF-8 ({error})") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ResiduumError(damaged(path, error, "Get the file again.")) from None


def _jsonl(line: str, source: FilesSource) -> tuple[str, dict[str, str]]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError(f"expected a JSON object, found {line[:60]}")
    required = ["doc_id", *source.text_fields, *source.fields]
    missing = [field for field in required if field not in record]
    if missing:
        raise ValueError(f"no field {', '.join(missing)}; the doc has {', '.join(record)}")
    return str(record["doc_id"]), join_fields(record, source.text_fields, source.fields)


def _tsv(line: str, source: FilesSource) -> tuple[str, dict[str, str]]:
    doc_id, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected doc_id TAB text, found {line[:60]!r}")
    if source.fields:
        raise ValueError(f"no field {', '.join(source.fields)}; a TSV doc has doc_id and text")
    return doc_id, {"text": text}


def split(collection: Collection, name: str) -> tuple[Queries, Qrels]:
    """Return queries and qrels of a split; no qrels of one that has no public judgements."""
    entry = collection.splits[name]
    assert entry.queries is not None
    queries = list(trec.read_queries(resolve(entry.queries, collection.access)).items())
    if entry.qrels is None:
        return queries, []
    qrels = trec.read_qrels(resolve(entry.qrels, collection.access))
    return queries, list(qrels.iter_rows())


def questions(collection: Collection, name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Stream (query_id, question, answers) of a file in DPR's form; ids count from 0."""
    entry = collection.splits[name]
    assert entry.questions is not None
    path = resolve(entry.questions, collection.access)
    for number, (line, text) in enumerate(_numbered(path)):
        question, answers = _question(text)
        if not (question and answers):
            raise ResiduumError(
                f"{path}, line {line}: expected question TAB ['answer', ...], found {text[:60]!r}"
            )
        yield str(number), question, answers


def _question(text: str) -> tuple[str, list[str]]:
    """Read a line as DPR's csv.reader does, which takes quotes around a column away."""
    question, _, listed = text.partition("\t")
    try:
        answers = ast.literal_eval(unquoted(listed.strip()))
        return unquoted(question.strip()), [str(a) for a in answers if isinstance(answers, list)]
    except (ValueError, SyntaxError, TypeError):
        return "", []
