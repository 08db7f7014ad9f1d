"""Take in what others made: a TREC run, checked as our own, a corpus's term weights, vectors.

Command: `python -m residuum.external accept ...`, `weights ...`, `vectors ...` or `queries ...`.
For a refused run, the reason is written instead, and the tables show it.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from pydantic import BaseModel, Field

from residuum.artefacts import (
    contracts,
    files,
    manifest,
    released,
    residual,
    textvectors,
    trec,
    vectorfiles,
)
from residuum.artefacts.shards import ShardNumber
from residuum.artefacts.streams import DiskDict, disk_dict
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config import roots
from residuum.config.schema.base import Strict
from residuum.config.schema.models import ReleasedWeights
from residuum.config.schema.models import VectorFile as Named
from residuum.config.schema.systems import ExternalSystem
from residuum.config.specs import canonical_json

app = command.app(__doc__)
NAMED = 5  # docs without a line, or texts without a vector, that a message names


@app.command()
def accept(
    run: Annotated[Path, typer.Option(help="TREC run file, plain or gzipped")],
    queries: command.Queries,
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.ExternalSystem as JSON")],
    tag: command.Tag,
    output: command.Run,
    judged_before: command.JudgedBefore = None,
    md5: Annotated[str | None, typer.Option(help="published MD5 of the run, unpacked")] = None,
) -> None:
    """Check a run against the queries and the corpus, and write it in our form.

    Docs that an earlier round judged for a query are removed and counted, as NIST does with
    submitted runs.
    """
    system, earlier = command.parse_spec(ExternalSystem, spec), residual.Residual(judged_before)
    try:
        _check_md5(run, md5, system.source)
        ranked, asked = trec.read_run(run), list(trec.read_queries(queries))
        ranked = ranked.with_row_index("line", 1)
        if system.others:
            ranked = ranked.filter(pl.col("query_id").is_in(asked))
    except ResiduumError as error:
        fault = str(error)
    else:
        fault = _misfit(run, ranked, asked, corpus)
    if fault:
        print(f"error: {fault}\nThe rows of {tag} are not run.", file=sys.stderr)
        trec.write_refusal(output, fault)
        facts: dict[str, object] = {"not_run": fault}
    else:
        lists = ranked.drop("line").sort("query_id", maintain_order=True)
        left = earlier.left(lists).with_columns(rank=trec.POSITION)
        facts = {"hits": left.height, "answered": left["query_id"].n_unique()}
        facts |= {residual.REMOVED: ranked.height - left.height} if earlier.paths else {}
        trec.write_run(output, left, tag)
    inputs = [queries, corpus / "manifest.json", *earlier.paths]
    _record(output, facts, system, inputs, [run])


def _record(
    output: Path,
    facts: dict[str, object],
    spec: BaseModel,
    inputs: Iterable[Path],
    theirs: Sequence[Path],
) -> None:
    """Write the manifest of what was taken in; `theirs` are the files of others."""
    elsewhere = {roots.address(path): path for path in theirs}
    manifest.write(output, facts, spec, inputs, "residuum.external", elsewhere=elsewhere)


def _check_md5(path: Path, published: str | None, source: str) -> None:
    """Refuse a file whose MD5 is not the published MD5, if that is known."""
    if published is None:
        return
    found = hashlib.md5(files.read_bytes(path), usedforsecurity=False).hexdigest()
    if found != published:
        fault = f"its MD5 is {found}, the published run has {published}"
        raise ResiduumError(f"{path}: {fault}: it is another one, cut short or edited. {source}")


def _misfit(path: Path, run: pl.DataFrame, required: list[str], corpus: Path) -> str:
    """Describe why a run does not fit the queries or the corpus; "" if it does."""
    ranked, unknown = set(run["query_id"]), set(run["doc_id"])
    if others := sorted(ranked.difference(required)):
        return (
            f"{path}: query {others[0]} is not in the split ({len(others)} such queries). Is the "
            "run of other topics?"
        )
    if not ranked:
        return f"{path}: none of the split's queries is in it. Is the run of other topics?"
    if missing := [query_id for query_id in required if query_id not in ranked]:
        return (
            f"{path}: no line for query {missing[0]} ({len(missing)} of {len(required)} queries "
            "lack a list). Use the whole run."
        )
    unknown.difference_update(doc_id for doc_id, _ in contracts.read_corpus(corpus))
    if not unknown:
        return ""
    lines = run.filter(pl.col("doc_id").is_in(list(unknown)))
    line, query_id, doc_id = lines.select("line", "query_id", "doc_id").row(0)
    return (
        f"{path}, line {line}: query {query_id}, doc {doc_id} is not in {corpus} "
        f"({len(unknown)} such docs). Is the run of another edition of the corpus?"
    )


@app.command()
def weights(
    file: Annotated[list[Path], typer.Option(help="term weights, one doc per line; repeat")],
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.ReleasedWeights as JSON")],
    output: command.Folder,
) -> None:
    """Write the term weights of a corpus in our form, each doc once, in the corpus's order.

    A doc without a line gets no words. `least` of the spec is the least share of docs with a line.
    """
    form = command.parse_spec(ReleasedWeights, spec)
    with files.whole_directory(output) as folder, disk_dict(output) as held:
        _hold(held, file)
        docs = _InOrder(held, corpus)
        shards = contracts.write_term_weights(folder, docs)
        docs.check(form.least, file)
        facts = {"docs": docs.count, "shards": shards, **docs.facts()}
        _record(folder, facts, form, [corpus / "manifest.json"], file)


def _hold(held: DiskDict, paths: list[Path]) -> None:
    for path in paths:
        for doc_id, tfs in released.read(path):
            if not held.add(doc_id, json.dumps(tfs)):
                raise ResiduumError(
                    f"{path}: doc {doc_id} has two lines, in this file or in a file before it. "
                    "Give each part of the weights once"
                )


class _InOrder:
    """The weights of a corpus's docs in its order; the counts are complete after reading."""

    def __init__(self, held: DiskDict, corpus: Path) -> None:
        self.held, self.corpus = held, corpus
        self.count = self.words = self.tf = self.empty = self.lacking = 0
        self.named: list[str] = []  # first docs without a line

    def __iter__(self) -> Iterator[tuple[str, dict[str, int]]]:
        for doc_id, _ in contracts.read_corpus(self.corpus):
            text = self.held.pop(doc_id)
            if text is None:
                self.lacking += 1
                self.named += [doc_id] * (self.lacking <= NAMED)
            tfs = json.loads(text or "{}")
            self.count += 1
            self.words, self.tf = self.words + len(tfs), self.tf + sum(tfs.values())
            self.empty += not tfs
            yield doc_id, tfs

    def check(self, least: float, paths: list[Path]) -> None:
        """Raise ResiduumError if docs are left over or too many lack a line; warn of any lack."""
        if left := len(self.held):
            raise ResiduumError(
                f"{paths[0]}: doc {self.held.first()} is not in {self.corpus} ({left} such docs). "
                "Are the weights of another edition of the corpus?"
            )
        if not self.lacking:
            return
        names = ", ".join(self.named) + ", ..." * (self.lacking > NAMED)
        fault = f"{self.lacking} of {self.count} docs have no line in the weights: {names}"
        if self.count - self.lacking < least * self.count:
            raise ResiduumError(
                f"{paths[0]}: {fault}. Give every file of them; if they leave out docs without a "
                f"word, lower `least`, which is {least:g}"
            )
        print(f"warning: {fault}; they have no word", file=sys.stderr)

    def facts(self) -> dict[str, object]:
        """Return the counts for the manifest."""
        docs = max(self.count, 1)
        return {
            "words_per_doc": round(self.words / docs, 3),
            "tf_per_doc": round(self.tf / docs, 3),
            "docs_without_a_word": self.empty,
            "docs_without_a_line": self.lacking,
        }


class Vectors(Strict):
    """The files of a collection's released vectors, and how these are compared."""

    docs: list[Named]
    queries: dict[str, list[Named]] = Field({}, description="by split; none for docs")
    similarity: textvectors.Similarity
    others: bool = False
    source: str = ""


VectorsSpec = Annotated[str, typer.Option("--spec", help="JSON of Vectors: files, similarity")]


@app.command()
def vectors(
    corpus: command.Corpus,
    shard: command.Shard,
    of: command.Of,
    spec: VectorsSpec,
    output: command.Folder,
) -> None:
    """Write the released vectors of one shard of a corpus, as `residuum.encode` writes its own.

    Each doc needs a vector. The job of shard 0 refuses vectors of docs that are not in the corpus.
    """
    form, positions = command.parse_spec(Vectors, spec), contracts.shard_of(corpus, shard, of)
    held = _Held(form.docs)
    docs = [doc_id for doc_id, _ in contracts.read_corpus(corpus, positions)]
    held.check(docs, "doc", f"{corpus}")
    if shard == 0:
        others = held.besides([doc_id for doc_id, _ in contracts.read_corpus(corpus)])
        if others:
            raise ResiduumError(
                f"{held.place(others[0])}: doc {others[0]} is not in {corpus} ({len(others)} such "
                "docs). Are the vectors of another edition of the corpus?"
            )
    with files.whole_directory(output) as folder:
        owners, rows = held.of(docs)
        facts: dict[str, object] = {
            **textvectors.write(folder, owners, rows, form.similarity, held.cure),
            "shard": ShardNumber(number=shard, of=of, docs=len(docs)),
            **({"vectors": len(owners)} if len(owners) > len(docs) else {}),
            "weights": held.weights(form),
        }
        _record(folder, facts, form, [corpus / "manifest.json"], held.paths)


@app.command()
def queries(
    split: command.Splits,
    spec: VectorsSpec,
    output: command.Folder,
) -> None:
    """Write the released vectors of the queries of several splits, each into its own folder."""
    form, counts = command.parse_spec(Vectors, spec), {}
    docs, paths = _Held(form.docs), dict(command.pairs(split))
    theirs = [*docs.paths]
    with files.whole_directory(output) as folder:
        for name, path in paths.items():
            held, ids = _Held(form.queries[name]), list(trec.read_queries(path))
            held.check(ids, "query", str(path))
            held.check_queries(ids, path, form.others)
            if held.dimensions != docs.dimensions:
                raise ResiduumError(
                    f"{held.paths[0]}: its vectors have {held.described}, and those of the docs in "
                    f"{docs.paths[0]} have {docs.described}. Are they of one model?"
                )
            owners, rows = held.of(ids)
            textvectors.write(folder / name, owners, rows, form.similarity, held.cure)
            counts[name] = len(ids)
            theirs += held.paths
        how = textvectors.compared_by(form.similarity)
        given = f"vectors of others ({form.source}), {docs.described}, {how}"
        facts = {"queries": counts, "given": given, "weights": docs.weights(form)}
        _record(folder, facts, form, paths.values(), theirs)


class _Held:
    """The vectors in files, and which row of which file has which id."""

    def __init__(self, named: Sequence[Named]) -> None:
        self.paths, self.files = list[Path](), list[vectorfiles.VectorFile]()
        for name in named:
            apart = None if isinstance(name, str) else roots.data() / name.ids
            path = roots.data() / (name if isinstance(name, str) else name.vectors)
            opened = list(vectorfiles.opened(path, apart))
            self.files += opened
            self.paths += [*(file.path for file in opened), *([apart] if apart else [])]
        self.dimensions = self.files[0].dimensions
        for file in self.files:
            if file.dimensions != self.dimensions:
                text = f"its vectors have {textvectors.described(file.dimensions)}"
                raise ResiduumError(
                    f"{file.path}: {text}, and those of {self.files[0].path} have {self.described}"
                )
        self.rows = pl.concat(
            pl.DataFrame({"id": file.ids}, {"id": pl.String}).select(
                "id", file=pl.lit(number), row=pl.int_range(pl.len())
            )
            for number, file in enumerate(self.files)
        )
        self.cure = f"Mend it in {', '.join(map(str, self.paths))}"

    @property
    def described(self) -> str:
        """What dimensions the vectors have, in words."""
        return textvectors.described(self.dimensions)

    def place(self, name: str) -> str:
        """Return file and row of the first vector of an id; rows count from 1."""
        file, row = self.rows.filter(pl.col("id") == name).select("file", "row").row(0)
        return f"{self.files[file].path}, vector {row + 1}"

    def besides(self, ids: Sequence[str]) -> list[str]:
        """Return the ids of vectors that are not among these."""
        others = self.rows.filter(~pl.col("id").is_in(ids))
        return others["id"].unique(maintain_order=True).to_list()

    def check(self, ids: Sequence[str], what: str, where: str) -> None:
        """Raise ResiduumError if a doc or query has no vector."""
        lacking = sorted({*ids}.difference(self.rows["id"]))
        if lacking:
            names = ", ".join(lacking[:NAMED]) + ", ..." * (len(lacking) > NAMED)
            raise ResiduumError(
                f"{self.files[0].path}: no vector for {what} {names} ({len(lacking)} of the "
                f"{len(ids)} that are asked for lack one; they are those of {where}). Give every "
                "file of the vectors"
            )

    def check_queries(self, ids: Sequence[str], path: Path, others: bool) -> None:
        """Raise ResiduumError if a query has two vectors, or a vector belongs to no query."""
        twice = self.rows.filter(pl.col("id").is_in(ids) & pl.col("id").is_duplicated())
        if len(twice):
            name = twice["id"][0]
            raise ResiduumError(f"{self.place(name)}: query {name} has two vectors. Give it one")
        if not others and (left := self.besides(ids)):
            raise ResiduumError(
                f"{self.place(left[0])}: query {left[0]} is not in {path} ({len(left)} such "
                "queries). If the files hold other queries too, write others: true"
            )

    def of(self, ids: Sequence[str]) -> tuple[list[str], textvectors.Rows]:
        """Return the vectors of ids in their order, several of an id in that of the files.

        Each vector's id is repeated with it.
        """
        wanted = pl.DataFrame({"id": ids}, {"id": pl.String})
        owned = wanted.join(self.rows, on="id", maintain_order="left_right").with_row_index("place")
        dense = np.empty((len(owned), self.dimensions), dtype=np.float32)
        weighed: list[textvectors.Vector] = [{}] * len(owned)
        for [number], here in owned.group_by("file", maintain_order=True):
            vectors = self.files[int(str(number))].take(here["row"].to_list())
            if self.dimensions:
                dense[here["place"].to_numpy()] = vectors
                continue
            for place, vector in zip(here["place"], vectors, strict=True):
                weighed[place] = vector
        rows = dense if self.dimensions else textvectors.joined(weighed)
        return owned["id"].to_list(), rows

    def weights(self, form: Vectors) -> str:
        """Return what identifies the vectors: a hash of their files and of their similarity."""
        made = [form.similarity, *map(files.sha256, self.paths)]
        return hashlib.sha256(canonical_json(made).encode()).hexdigest()


if __name__ == "__main__":
    command.main(app)
