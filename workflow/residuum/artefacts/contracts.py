"""Corpus shards, answers, training tuples and embeddings: file formats and checks.

Usage: `for doc_id, text in contracts.read_corpus(folder): ...`. Reading and writing stream: memory
holds neither a corpus nor its ids.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from residuum.artefacts import files, intact, manifest
from residuum.artefacts.streams import DuplicateFinder, write_gzip_lines
from residuum.cli.errors import ResiduumError

DOCS_PER_SHARD = 100_000
_line = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would create an encoder per doc
Record = dict[str, Any]  # a parsed line of JSON


class Shard(TypedDict):
    """A manifest's record of a shard."""

    name: str
    docs: int
    sha256: str


class Tuple(NamedTuple):
    """A training pair with its negatives and their lexical scores."""

    query_id: str
    positive: str
    positive_score: float
    negatives: list[str]
    negative_scores: list[float]


def write_corpus(
    folder: Path, docs: Iterable[tuple[str, dict[str, str]]], per_shard: int = DOCS_PER_SHARD
) -> list[Shard]:
    """Write docs, (doc_id, fields with `text`), as `part-00000.jsonl.gz` and further shards.

    Ids must be unique and without white space, because run files separate columns by it.
    """
    with files.scratch(folder / "ids") as scratch:
        finder = DuplicateFinder(scratch)
        shards = _write_shards(folder, _checked_docs(docs, finder), per_shard)
        for repeated in finder.repeated():  # these are digests: look for equal ids
            first: dict[str, int] = {}
            records = chain.from_iterable(_records(folder / shard["name"]) for shard in shards)
            for number, doc_id in enumerate((record["doc_id"] for record in records), start=1):
                if files.digest(doc_id) in repeated and first.setdefault(doc_id, number) != number:
                    raise ResiduumError(
                        f"duplicate doc_id {doc_id} in the corpus (docs number {first[doc_id]} and "
                        f"{number}); ids must be unique. Remove or rename one of the two."
                    )
    return shards


def _checked_docs(
    docs: Iterable[tuple[str, dict[str, str]]], finder: DuplicateFinder
) -> Iterator[Record]:
    for doc_id, fields in docs:
        if doc_id.split() != [doc_id]:
            raise ResiduumError(f"doc_id {doc_id!r} is empty or holds white space")
        try:
            for written in (doc_id, "".join(fields.values())):
                written.encode()
        except UnicodeEncodeError as error:
            raise ResiduumError(
                f"doc_id {doc_id!a}: its text or id cannot be written as UTF-8 ({error.reason}, "
                f"at character {error.start}); a character was probably cut in two. Fix the text."
            ) from None
        finder.add(doc_id)
        yield {"doc_id": doc_id, **fields}


def _write_shards(folder: Path, records: Iterable[Record], per_shard: int) -> list[Shard]:
    lines = (_line(record) + "\n" for record in records)
    shards: list[Shard] = []
    for first in lines:
        path = folder / f"part-{len(shards):05d}.jsonl.gz"
        docs = write_gzip_lines(path, chain([first], islice(lines, per_shard - 1)))
        shards.append({"name": path.name, "docs": docs, "sha256": files.sha256(path)})
    return shards


def corpus_manifest(folder: Path) -> Record:
    """Return the manifest's docs, edition and shards of a corpus; of term weights, no edition."""
    return manifest.facts(folder, "a corpus folder", "docs", "shards")


def shard_of(corpus: Path, shard: int, shards: int) -> range:
    """Return the positions of a shard's docs in a corpus; positions count from 0."""
    return positions_of(shard, shards, corpus_manifest(corpus)["docs"], corpus)


def positions_of(shard: int, shards: int, docs: int, source: Path) -> range:
    """Return a shard's positions: of n shards, shard i starts at doc i * docs // n."""
    if not 0 <= shard < shards:
        span = f"shards are counted from 0 to {shards - 1}"
        raise ResiduumError(f"--shard {shard} --of {shards}: {span}")
    if positions := range(docs * shard // shards, docs * (shard + 1) // shards):
        return positions
    raise ResiduumError(f"--of {shards}: {source} has {docs} docs, so that shard {shard} is empty")


def read_corpus(folder: Path, positions: range | None = None) -> Iterator[tuple[str, str]]:
    """Stream (doc_id, text) of a corpus, as `read_docs` does its records."""
    for record in read_docs(folder, positions):
        if "text" not in record:
            raise ResiduumError(f"{folder}: not a corpus folder: its docs have no text")
        yield record["doc_id"], record["text"]


def read_docs(folder: Path, positions: range | None = None) -> Iterator[Record]:
    """Stream records (doc_id, text, named fields), checking each file against the manifest.

    `positions`, from 0, selects docs. A file without selected docs is not opened.
    """
    kept = range(sys.maxsize) if positions is None else positions
    end = 0
    for shard in corpus_manifest(folder)["shards"]:
        path, docs, first = files.within(folder, shard["name"]), shard["docs"], end
        end += docs
        if kept.stop <= first or kept.start >= end or not kept:
            continue
        number = 0
        for number, record in enumerate(_records(path), start=1):
            if first + number > kept.start:
                yield record
            if first + number == kept.stop < end:
                break
        else:  # the shard was read to its end
            if number != docs:
                counts = f"{number} docs, but the manifest says {docs}"
                raise ResiduumError(f"{path}: {counts}. {_remedy(path)}")


def write_term_weights(
    folder: Path, docs: Iterable[tuple[str, dict[str, int]]], per_shard: int = DOCS_PER_SHARD
) -> list[Shard]:
    """Write predicted term frequencies, {word: tf of 1 or more}, as `weights` in a doc's record."""

    def records() -> Iterator[Record]:
        for doc_id, weights in docs:
            for word, weight in weights.items():
                if weight < 1 or word.split() != [word]:
                    raise ResiduumError(
                        f"doc_id {doc_id}: the term weight {word!r} {weight}: a word is free of "
                        "white space and its weight is an integer of 1 or more"
                    )
            yield {"doc_id": doc_id, "weights": weights}

    return _write_shards(folder, records(), per_shard)


def _records(path: Path) -> Iterator[Record]:
    remedy = _remedy(path)
    try:
        with (
            files.undamaged(path, remedy),
            gzip.open(intact.checked(path), "rt", encoding="utf-8", newline="\n") as handle,
        ):
            for line in handle:
                yield json.loads(line)
    except FileNotFoundError:
        raise ResiduumError(f"{path}: no such file. {remedy}") from None
    except json.JSONDecodeError as error:
        raise ResiduumError(f"{path}: not JSON ({error}). {remedy}") from None


def _remedy(path: Path) -> str:
    """Return how to remake a file; a file of a corpus is remade with its whole folder."""
    made = path.parent if path.name.startswith("part-") else path
    return f"Delete {made} and run the same command again to have it remade."


def write_answers(path: Path, answers: Mapping[str, list[str]]) -> None:
    """Write `{"query_id": ..., "answers": [...]}` for each query, in the order given."""
    records = ({"query_id": query_id, "answers": texts} for query_id, texts in answers.items())
    files.write_text(path, "".join(_line(record) + "\n" for record in records))


def read_answers(path: Path) -> dict[str, list[str]]:
    """Read {query_id: answers}; a query has one answer or more."""
    answers: dict[str, list[str]] = {}
    for number, line in enumerate(files.read_lines(intact.checked(path)), start=1):
        try:
            record = json.loads(line)
            answers[record["query_id"]] = list(record["answers"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ResiduumError(f"{path}, line {number}: {error}; found {line[:60]!r}") from None
        if not answers[record["query_id"]]:
            raise ResiduumError(f"{path}, line {number}: query {record['query_id']} has no answer")
    return answers


def write_tuples(path: Path, tuples: Iterable[Tuple]) -> int:
    """Write training tuples as gzipped JSON lines; a negative that is the positive is refused."""
    lines = (json.dumps(_checked(path, item)._asdict()) + "\n" for item in tuples)
    with files.whole(files.packed(path)) as temporary:
        return write_gzip_lines(temporary, lines)


def read_tuples(path: Path) -> list[Tuple]:
    """Read and check training tuples."""
    return [_checked(path, Tuple(**record)) for record in _records(path)]


def _checked(path: Path, item: Tuple) -> Tuple:
    if item.positive in item.negatives:
        raise ResiduumError(f"{path}: query {item.query_id} has its positive among its negatives")
    if len(item.negatives) != len(item.negative_scores):
        raise ResiduumError(f"{path}: query {item.query_id}: a negative lacks its lexical score")
    return item


def write_vectors(
    folder: Path, ids: Sequence[str], vectors: np.ndarray, cure: str = files.REMAKE
) -> None:
    """Write embeddings into a folder: row i of vectors.npy belongs to line i of ids.txt.

    `vectors` is float32 of shape (len(ids), dimensions). A doc with several vectors repeats its id.
    `cure` tells what to do where a value is not finite.
    """
    if vectors.shape[0] != len(ids) or vectors.dtype != np.float32 or vectors.ndim != 2:
        raise ResiduumError(f"{folder}: {len(ids)} ids but vectors {vectors.shape} {vectors.dtype}")
    if odd := np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
        such = f"the vector of {ids[odd[0]]} is not finite ({len(odd):,} such)"
        raise ResiduumError(f"{folder}: {such}. {cure}")
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", vectors, allow_pickle=False)
    files.write_text(folder / "ids.txt", "".join(f"{i}\n" for i in ids))


def read_vectors(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return the ids and vectors of a folder; vectors are checked by hash, then memory-mapped."""
    names, rows = (intact.checked(folder / name) for name in ("ids.txt", "vectors.npy"))
    ids = files.read_bytes(names).decode().splitlines()
    try:
        vectors = np.load(rows, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:  # possible without a manifest
        raise ResiduumError(f"{rows}: truncated or damaged ({error}). {files.REMAKE}") from None
    if len(ids) != len(vectors):
        raise ResiduumError(f"{folder}: {len(ids)} ids but {len(vectors)} vectors")
    return ids, vectors
