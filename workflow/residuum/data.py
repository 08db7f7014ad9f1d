"""Export a collection: the corpus in shards, queries and qrels per split, counts checked.

Command: `python -m residuum.data corpus|split ...`. Where a collection comes from is the
business of residuum.collections. Must not know models, indexes or measures.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from residuum.collections import files as from_files
from residuum.collections import irds
from residuum.collections.irds import Qrels, Queries
from residuum.core import command, contracts, entries, files, manifest, trec
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.schema import (
    Collection,
    Edition,
    GeneratedArticles,
    GeneratedSource,
    Holdout,
    SplitCount,
)

app = command.app(__doc__)

Dataset = Annotated[str, typer.Option(help="id of the dataset, for messages")]
SpecText = Annotated[str, typer.Option(help="schema.Collection as JSON")]
Page = Annotated[Path | None, typer.Option(help="the dataset's YAML, for its access note")]


@app.command()
def corpus(
    dataset: Dataset,
    spec: SpecText,
    output: Annotated[Path, typer.Option(help="folder of the shards and manifest.json")],
    page: Page = None,
    per_shard: int = contracts.DOCS_PER_SHARD,
) -> None:
    """Write the corpus as JSON-lines shards, whole or not at all."""
    collection = _collection(spec, page)
    expected = max(edition.docs for edition in collection.editions)
    stream = track(_docs(collection), f"export {dataset}", expected, "docs")
    with files.whole_directory(output) as folder:
        shards = contracts.write_corpus(folder, stream, per_shard)
        total = sum(shard["docs"] for shard in shards)
        edition = matching_edition(dataset, collection.editions, total)
        artefact = {"docs": total, "edition": edition, "shards": shards}
        inputs = from_files.paths(collection, None)
        _write_manifest(folder / "manifest.json", artefact, collection, inputs)


def _collection(spec: str, page: Path | None) -> Collection:
    """Read the spec; the access note comes from the page, as editing it must not export again."""
    collection = command.parse_spec(Collection, spec)
    access = entries.parse(page, Any).get("access", "") if page else ""
    return collection.model_copy(update={"access": access})


def _write_manifest(
    path: Path, artefact: dict[str, Any], collection: Collection, inputs: list[Path]
) -> None:
    spec = collection.model_dump(mode="json", exclude={"access"})
    manifest.write(path, artefact=artefact, spec=spec, inputs=inputs, module="residuum.data")


def _docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    match collection.source.kind:
        case "irds":
            return irds.docs(collection)
        case "files":
            return from_files.docs(collection)
        case "generated":
            return ((i, {"text": text}) for i, text in _generated(collection).docs)
        case "generated-articles":
            return iter(_generated(collection).docs)


def _generated(collection: Collection) -> Any:
    from residuum.collections import articles, generated

    source = collection.source
    assert isinstance(source, GeneratedSource | GeneratedArticles)
    make: Any = generated if isinstance(source, GeneratedSource) else articles
    try:
        return make.generate(source)
    except ValueError as error:
        raise ResiduumError(f"source: {error}") from None


def matching_edition(dataset: str, editions: list[Edition], docs: int) -> str:
    """Return the name of the edition with this number of docs; none is an error."""
    for edition in editions:
        if edition.docs == docs:
            return edition.name
    known = "; ".join(f"{edition.name}: {edition.docs}" for edition in editions)
    raise ResiduumError(
        f"{dataset}: the corpus has {docs} docs, but config/datasets/{dataset}.yaml pins {known}. "
        "A download may be incomplete. If this is another edition, add it under editions."
    )


@app.command()
def split(
    dataset: Dataset,
    name: Annotated[str, typer.Option(help="id of the split")],
    spec: SpecText,
    queries: Annotated[Path, typer.Option(help="queries.tsv to write")],
    qrels: Annotated[Path, typer.Option(help="qrels.trec to write")],
    page: Page = None,
) -> None:
    """Write queries and qrels of one split after checking one against the other."""
    collection = _collection(spec, page)
    query_rows, qrel_rows = load_split(collection, name)
    _check_ids(f"{dataset}/{name}", query_rows, qrel_rows)
    _check_counts(dataset, name, collection.editions, len(query_rows), len(qrel_rows))
    trec.write_queries(queries, query_rows)
    trec.write_qrels(qrels, qrel_rows)
    artefact = {"queries": len(query_rows), "qrels": len(qrel_rows)}
    inputs = from_files.paths(collection, name)
    _write_manifest(manifest.beside(queries), artefact, collection, inputs)


def load_split(collection: Collection, name: str) -> tuple[Queries, Qrels]:
    """Return the queries and qrels of a split, with holdouts drawn from it taken away."""
    holdout = collection.splits[name].holdout
    if holdout:
        queries, qrels = _source_split(collection, holdout.of)
        return _keep(queries, qrels, held_out(name, queries, qrels, holdout))
    queries, qrels = _source_split(collection, name)
    taken: set[str] = set()
    for other_name, other in collection.splits.items():
        if other.holdout and other.holdout.of == name:
            taken |= held_out(other_name, queries, qrels, other.holdout)
    return _keep(queries, qrels, {query_id for query_id, _ in queries} - taken)


def held_out(name: str, queries: Queries, qrels: Qrels, holdout: Holdout) -> set[str]:
    """Draw the judged queries of a holdout by the hash of their ids: file order is irrelevant."""
    judged = {query_id for query_id, _, _ in qrels}
    ids = [query_id for query_id, _ in queries if query_id in judged]
    if holdout.queries > len(ids):
        raise ResiduumError(
            f"holdout: {holdout.queries} queries asked for, but '{holdout.of}' has {len(ids)}"
        )
    ids.sort(key=lambda i: hashlib.sha256(f"{holdout.seed}/{name}/{i}".encode()).digest())
    return set(ids[: holdout.queries])


def _keep(queries: Queries, qrels: Qrels, ids: set[str]) -> tuple[Queries, Qrels]:
    kept = [(query_id, text) for query_id, text in queries if query_id in ids]
    unknown = {query_id for query_id, _, _ in qrels} - {query_id for query_id, _ in queries}
    return kept, [row for row in qrels if row[0] in ids or row[0] in unknown]


def _source_split(collection: Collection, name: str) -> tuple[Queries, Qrels]:
    match collection.source.kind:
        case "irds":
            return irds.split(collection, name)
        case "files":
            return from_files.split(collection, name)
        case "generated" | "generated-articles":
            made = _generated(collection)
            return made.queries[name], made.qrels[name]


def _check_ids(where: str, queries: Queries, qrels: Qrels) -> None:
    ids = [query_id for query_id, _ in queries]
    known = set(ids)
    if len(known) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise ResiduumError(f"{where}: query_id {twice} stands twice in the queries")
    _check_pairs(where, ids, qrels)
    orphans = sorted({query_id for query_id, _, _ in qrels} - known)
    if orphans:
        shown = ", ".join(orphans[:5])
        raise ResiduumError(
            f"{where}: the qrels judge {len(orphans)} queries that the queries file lacks: "
            f"{shown}. Add the queries or remove their judgements."
        )


def _check_pairs(where: str, ids: list[str], qrels: Qrels) -> None:
    """Refuse what a TREC file cannot hold: ids with white space, a pair judged twice."""
    for name in [*ids, *(doc_id for _, doc_id, _ in qrels)]:
        if name.split() != [name]:
            raise ResiduumError(f"{where}: the id {name!r} is empty or holds white space")
    seen: set[tuple[str, str]] = set()
    for query_id, doc_id, _ in qrels:
        if (query_id, doc_id) in seen:
            raise ResiduumError(f"{where}: query {query_id}, doc {doc_id} is judged twice")
        seen.add((query_id, doc_id))


def _check_counts(
    dataset: str, name: str, editions: list[Edition], queries: int, qrels: int
) -> None:
    pins = {e.name: e.splits[name] for e in editions if name in e.splits}
    if not pins or SplitCount(queries=queries, qrels=qrels) in pins.values():
        return
    known = "; ".join(f"{e}: {p.queries} queries, {p.qrels} qrels" for e, p in pins.items())
    raise ResiduumError(
        f"{dataset}/{name}: {queries} queries and {qrels} qrels, but "
        f"config/datasets/{dataset}.yaml pins {known}. A download may be incomplete. "
        "If this is another edition, add it under editions."
    )


if __name__ == "__main__":
    command.main(app)
