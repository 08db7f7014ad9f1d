"""Export a collection: the corpus in shards; queries, qrels, answers, triples of splits, counted.

Command: `python -m residuum.data corpus|split|answers|docpairs ...`. Where a collection comes from
is the business of residuum.collections. Must not know models, indexes or measures.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from residuum.artefacts import contracts, files, manifest, trec
from residuum.artefacts import docpairs as triples
from residuum.artefacts.residual import Residual
from residuum.artefacts.streams import disk_list
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.code.tables import OpenTable
from residuum.collections import adverse, splits
from residuum.collections.files import resolve
from residuum.collections.records import Rows
from residuum.config import entries, roots
from residuum.config.schema.datasets import Collection, Edition
from residuum.tuning.answers import holders, tokens

app = command.app(__doc__)
Doc = tuple[str, dict[str, str]]  # doc_id and fields
DOCS: OpenTable[Callable[[Collection], Iterator[Doc]]] = OpenTable(
    {
        "irds": "residuum.collections.irds:docs",
        "files": "residuum.collections.files:docs",
        "generated": "residuum.collections.worlds:docs",
        "generated-articles": "residuum.collections.worlds:docs",
        "generated-pages": "residuum.collections.worlds:docs",
    },
    "source",
)
DOCPAIRS: OpenTable[Callable[[Collection, str], Iterator[triples.DocPair]]] = OpenTable(
    {
        "irds": "residuum.collections.irds:docpairs",
        "files": "residuum.collections.files:docpairs",
    },
    "source with training triples",
)

Dataset = Annotated[str, typer.Option(help="id of the dataset, for messages")]
Split = Annotated[str, typer.Option(help="id of the split")]
SpecText = Annotated[str, typer.Option(help="schema.Collection as JSON")]
DatasetFile = Annotated[Path | None, typer.Option(help="the dataset's YAML, for its access note")]


@app.command()
def corpus(
    dataset: Dataset,
    spec: SpecText,
    output: Annotated[Path, typer.Option(help="folder of the shards and manifest.json")],
    dataset_file: DatasetFile = None,
    per_shard: int = contracts.DOCS_PER_SHARD,
) -> None:
    """Write the corpus as JSON-lines shards, whole or not at all."""
    collection = _collection(spec, dataset_file)
    expected = max(edition.docs for edition in collection.editions)
    docs = DOCS[collection.source.kind](collection)
    stream = track(docs, f"export {dataset}", expected, "docs")
    repeated: list[str] = []
    first_only = getattr(collection.source, "repeated", "error") == "first"
    with files.whole_directory(output) as folder:
        unique = _first_of_each(stream, repeated) if first_only else stream
        shards = contracts.write_corpus(folder, unique, per_shard)
        total = sum(shard["docs"] for shard in shards)
        edition = matching_edition(dataset, collection.editions, total + len(repeated))
        facts = {"docs": total, "edition": edition, "shards": shards}
        facts |= {"repeated": len(repeated)} if first_only else {}
        _write_manifest(folder, facts, collection, collection.source_files(None))


def _collection(spec: str, dataset_file: Path | None) -> Collection:
    """Read the spec; the access note comes from the file: editing it exports nothing again."""
    collection = command.parse_spec(Collection, spec)
    note = entries.parse(dataset_file, dict[str, object]) if dataset_file else {}
    return collection.model_copy(update={"access": note.get("access", "")})


def _write_manifest(
    artefact: Path,
    facts: Mapping[str, object],
    collection: Collection,
    names: Sequence[str],
    others: Sequence[Path] = (),
    own: Sequence[Path] | None = None,
) -> None:
    spec = collection.model_dump(mode="json", exclude={"access"})
    inputs = [resolve(name, collection.access) for name in names]
    manifest.write(artefact, facts, spec, [*inputs, *others], "residuum.data", own)


def _first_of_each(docs: Iterable[Doc], repeated: list[str]) -> Iterator[Doc]:
    """Yield the first doc of each id, and note the ids of those that are left out."""
    seen: set[str] = set()
    for doc in docs:
        if doc[0] in seen:
            repeated.append(doc[0])
        else:
            seen.add(doc[0])
            yield doc


def matching_edition(dataset: str, editions: list[Edition], docs: int) -> str:
    """Return the name of the edition with this number of docs; none is an error."""
    for edition in editions:
        if edition.docs == docs:
            return edition.name
    known = "; ".join(f"{edition.name}: {edition.docs}" for edition in editions)
    lacking = min((e.docs - docs for e in editions if e.docs > docs), default=0)
    fewer = f": {lacking:,} docs are missing" if lacking else ""
    raise ResiduumError(
        f"{dataset}: the corpus has {docs} docs, but config/datasets/{dataset}.yaml pins {known}. "
        f"A download may be incomplete{fewer}, or the pin is wrong: fix it. If this is another "
        "edition, add it under editions."
    )


@app.command()
def split(
    dataset: Dataset,
    name: Split,
    spec: SpecText,
    queries: Annotated[Path, typer.Option(help="queries.tsv to write")],
    qrels: Annotated[Path, typer.Option(help="qrels.trec to write")],
    dataset_file: DatasetFile = None,
    judged_before: command.JudgedBefore = None,
    corpus: Annotated[Path | None, typer.Option(help="where answers are looked for")] = None,
) -> None:
    """Write queries and qrels of one split, checked against each other; or why none are public.

    Those of a residual split judge no pair that an earlier round judged. Where answers say what is
    relevant, the judgements are made of them and the docs of the corpus.
    """
    collection, where = _collection(spec, dataset_file), f"{dataset}/{name}"
    rows, residual = load_split(dataset, name, collection), Residual(judged_before)
    residual.check(rows.qrels, where)
    facts: dict[str, object] = {"queries": len(rows.queries), "qrels": len(rows.qrels)}
    facts |= {"reworded": rows.reworded} if rows.reworded else {}
    others = residual.paths
    if collection.source_of(name).relevant_by:
        if corpus is None:
            raise ResiduumError(f"{where}: relevant_by: answers: give --corpus, where they stand")
        facts |= write_judgements(qrels, where, rows, corpus)
        others = [corpus / "manifest.json"]
    elif collection.judged(name):
        trec.write_qrels(qrels, rows.qrels)
    else:
        trec.write_refusal(qrels, f"{where} has no public judgements of its docs")
    trec.write_queries(queries, rows.queries)
    own, names = [queries, qrels], collection.source_files(name)
    _write_manifest(queries, facts, collection, names, others, own)


def write_judgements(qrels: Path, where: str, rows: Rows, corpus: Path) -> dict[str, int]:
    """Write as relevant, at level 1, each doc that holds an answer; return what was counted.

    A query that no doc answers counts as well: the first doc is judged not relevant to it. Nothing
    of the corpus is in memory but 8 bytes for each pair.
    """
    _check_answers(where, rows)
    held = {query_id: array("Q") for query_id, _ in rows.queries}

    def doc_ids() -> Iterator[str]:
        total = contracts.corpus_manifest(corpus)["docs"]
        docs = track(contracts.read_docs(corpus), f"judge {where} by answers", total, "docs")
        for number, (doc_id, queries) in enumerate(holders(docs, rows.answers)):
            for query_id in queries:
                held[query_id].append(number)
            yield doc_id

    with disk_list(qrels, doc_ids()) as ids:
        if not len(ids):
            raise ResiduumError(f"{where}: no doc of {corpus} holds an answer to any query")
        first = next(contracts.read_corpus(corpus, range(1)))[0]
        relevant = ((q, ids[number], 1) for q, numbers in held.items() for number in numbers)
        unanswered = [query_id for query_id, numbers in held.items() if not numbers]
        trec.write_qrels(qrels, chain(relevant, ((q, first, 0) for q in unanswered)))
    pairs = sum(map(len, held.values()))
    return {"qrels": pairs + len(unanswered), "relevant": pairs, "unanswered": len(unanswered)}


def _check_answers(where: str, rows: Rows) -> None:
    """Refuse a query without an answer, and an answer that nothing could match."""
    for query_id, _ in rows.queries:
        if not (answers := rows.answers.get(query_id)):
            text = "has no answer, so that no doc could be relevant to it"
            raise ResiduumError(f"{where}: query {query_id} {text}. Add one or remove the query.")
        if empty := [text for text in answers if not tokens(text)]:
            text = "holds no letter, digit or sign, so that nothing could match it"
            raise ResiduumError(f"{where}: query {query_id}: the answer {empty[0]!r} {text}")


def load_split(dataset: str, name: str, collection: Collection) -> Rows:
    """Return the rows of a split; a corpus in a file of yours must hold one of the judged docs.

    It is read until there. Other corpora are pinned, and an absent file is the corpus's affair.
    """
    rows = _reworded(dataset, name, collection, splits.load(dataset, collection, name))
    judged = {doc_id for _, doc_id, _ in rows.qrels}
    paths = [roots.data() / file for file in collection.source_files(None)]
    if not judged or not paths or not all(path.is_file() for path in paths):
        return rows
    if judged.isdisjoint(doc_id for doc_id, _ in DOCS[collection.source.kind](collection)):
        some = ", ".join(sorted(judged)[:3])
        raise ResiduumError(
            f"{dataset}/{name}: none of the {len(judged)} judged docs, such as {some}, is in "
            f"{', '.join(map(str, paths))}. Are the qrels of this corpus, with the same ids?"
        )
    return rows


def _reworded(dataset: str, name: str, collection: Collection, rows: Rows) -> Rows:
    """Return the rows of an adverse split, whose relevant docs are looked up; others unchanged."""
    entry = collection.splits[name].adverse
    if entry is None:
        return rows
    synonyms = adverse.SYNONYMS[entry.synonyms.kind](entry.synonyms)
    relevant = [row for row in rows.qrels if row[2] >= splits.LEAST_RELEVANT]
    stream = track(DOCS[collection.source.kind](collection), f"docs of {dataset}/{name}")
    found = _texts(stream, {doc_id for _, doc_id, _ in relevant})
    texts = defaultdict[str, list[str]](list)
    for query_id, doc_id, _ in relevant:
        texts[query_id] += [found[doc_id]] if doc_id in found else []
    return adverse.reworded(rows, texts, synonyms)


def _texts(docs: Iterable[Doc], ids: set[str]) -> dict[str, str]:
    """Return the texts of some docs; others are read until all of them were there."""
    found: dict[str, str] = {}
    for doc_id, fields in docs:
        if doc_id in ids:
            found[doc_id] = fields["text"]
            if len(found) == len(ids):
                break
    return found


@app.command()
def answers(
    dataset: Dataset,
    name: Split,
    spec: SpecText,
    output: Annotated[Path, typer.Option(help="answers.jsonl to write")],
    dataset_file: DatasetFile = None,
) -> None:
    """Write the answers to the questions of one split."""
    collection = _collection(spec, dataset_file)
    texts = splits.load(dataset, collection, name).answers
    contracts.write_answers(output, texts)
    facts = {"queries": len(texts), "answers": sum(map(len, texts.values()))}
    _write_manifest(output, facts, collection, collection.source_files(name))


@app.command()
def docpairs(
    dataset: Dataset,
    name: Split,
    spec: SpecText,
    queries: Annotated[Path, typer.Option(help="queries.tsv of the split: others are held out")],
    output: Annotated[Path, typer.Option(help="docpairs.tsv.gz to write")],
    dataset_file: DatasetFile = None,
) -> None:
    """Write the training triples of one split's queries; those of all queries are counted."""
    collection, own = _collection(spec, dataset_file), set(trec.read_queries(queries))
    pins = [e.splits[name].docpairs for e in collection.editions if name in e.splits]
    rows = DOCPAIRS[collection.source.kind](collection, name)
    total = max(filter(None, pins), default=0) or None
    read = Counter[bool]()

    def kept() -> Iterator[triples.DocPair]:
        for row in track(rows, f"export triples of {dataset}/{name}", total, "triples"):
            read[row[0] in own] += 1
            if row[0] in own:
                yield row

    with files.whole(output) as temporary:
        written = triples.write(temporary, kept())
        if any(pins) and read.total() not in pins:
            raise ResiduumError(
                f"{dataset}/{name}: {read.total():,} training triples, but config/datasets/"
                f"{dataset}.yaml pins {total:,}. A download may be incomplete; if this is another "
                "edition, add it under editions."
            )
    facts = {"triples": written, "of_other_queries": read[False]}
    _write_manifest(output, facts, collection, collection.docpairs_file(name), [queries])


if __name__ == "__main__":
    command.main(app)
