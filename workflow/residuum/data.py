"""Export a collection: its corpus in shards, and the queries, qrels, answers, triples of splits.

Command: `python -m residuum.data corpus|split|answers|docpairs ...`. `residuum.collections` reads
the collection from where it comes.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from residuum.artefacts import contracts, files, manifest, trec
from residuum.artefacts import docpairs as triples
from residuum.artefacts.residual import Residual
from residuum.cli import command, outputs
from residuum.cli.errors import ResiduumError, unknown
from residuum.cli.progress import track
from residuum.code.tables import OpenTable
from residuum.collections import adverse, editions, splits
from residuum.collections.files import addresses
from residuum.collections.records import Rows
from residuum.config import entries, roots
from residuum.config.schema.datasets import Behind, Collection, local
from residuum.config.schema.files import InFiles, OfYours
from residuum.config.schema.sources import Segmented
from residuum.tuning import judgements

app = command.app(__doc__)
Doc = tuple[str, dict[str, str]]  # doc_id and fields
DOCS: OpenTable[Callable[[Collection], Iterator[Doc]]] = OpenTable(
    {
        "irds": "residuum.collections.irds:docs",
        "files": "residuum.collections.files:docs",
        "beir": "residuum.collections.files:docs",
        "msmarco": "residuum.collections.files:docs",
        "trec": "residuum.collections.files:docs",
        "generated": "residuum.collections.worlds:docs",
        "generated-articles": "residuum.collections.worlds:docs",
        "generated-pages": "residuum.collections.worlds:docs",
        "segments": "residuum.collections.segments:docs",
        "containing": "residuum.collections.containing:docs",
        "pubmed": "residuum.collections.pubmed:docs",
        "bioasq": "residuum.collections.bioasq:docs",
    },
    "source",
)
DOCPAIRS: OpenTable[Callable[[Collection, str], Iterator[triples.DocPair]]] = OpenTable(
    {
        "irds": "residuum.collections.irds:docpairs",
        "files": "residuum.collections.docpairs:docpairs",
        "beir": "residuum.collections.docpairs:docpairs",
        "msmarco": "residuum.collections.docpairs:docpairs",
        "trec": "residuum.collections.docpairs:docpairs",
    },
    "source with training triples",
)

Dataset = Annotated[str, typer.Option(help="id of the dataset, for messages")]
Split = Annotated[str, typer.Option(help="id of the split")]
SpecText = Annotated[str, typer.Option(help="schema.Collection as JSON")]
Questions = Annotated[
    Path | None, typer.Option(help="folder of the split whose questions and answers are taken")
]
# The address of an entry, which a file of several entries may hold.
DatasetFile = Annotated[
    Path | None,
    typer.Option(help="the dataset's YAML, for its access note"),
    command.MAY_LACK,
]


@app.command()
def corpus(
    dataset: Dataset,
    spec: SpecText,
    output: command.Folder,
    dataset_file: DatasetFile = None,
    per_shard: Annotated[int, typer.Option(help="docs per shard", min=1)] = (
        contracts.DOCS_PER_SHARD
    ),
    cut_from: Annotated[
        Path | None, typer.Option("--of", help="corpus of another dataset that is cut")
    ] = None,
    vocabulary: Annotated[
        str | None, typer.Option(help="model whose tokenizer cuts the docs"), command.LOCAL
    ] = None,
    revision: command.Revision = None,
) -> None:
    """Write the corpus as JSON-lines shards, whole or not at all."""
    written = [outputs.Output("--output", output, whole_folder=True)]
    collection, names = _opened(dataset, None, spec, dataset_file, written)
    given = {"--of": cut_from, "--vocabulary": vocabulary, "--revision": revision}
    for option, value in given.items():
        if value and not isinstance(collection.source, Segmented):
            kind = collection.source.kind
            raise ResiduumError(f"{option} {value}: a source {kind} is cut from no other corpus")
    expected = max((edition.docs for edition in collection.editions), default=None)
    repeated: list[str] = []
    first_only = getattr(collection.source, "repeated", "error") == "first"
    with files.whole_directory(output) as folder:
        behind = Behind(cut_from=cut_from, vocabulary=vocabulary, revision=revision, output=folder)
        docs = DOCS[collection.source.kind](collection.made_of(behind))
        stream = track(docs, f"export {dataset}", expected, "docs")
        unique = _first_of_each(stream, repeated) if first_only else stream
        shards = contracts.write_corpus(folder, unique, per_shard)
        total = sum(shard["docs"] for shard in shards)
        edition = editions.matching(dataset, collection.editions, total + len(repeated))
        facts = {"docs": total, "edition": edition, "shards": shards}
        if edition is None:
            print(editions.unpinned(dataset, total), file=sys.stderr)
        facts |= {"repeated": len(repeated)} if first_only else {}
        made = [Path(path, manifest.FOLDER) for path in (cut_from, vocabulary) if path]
        others = [path for path in made if path.is_file()]  # a model of the hub has no manifest
        _write_manifest(folder, facts, collection, names, others)


def _opened(
    dataset: str,
    name: str | None,
    spec: str,
    dataset_file: Path | None,
    written: Sequence[outputs.Output],
    read: Callable[..., list[str]] = Collection.named_files,
) -> tuple[Collection, list[str]]:
    """Return the collection of a spec, and the names of the files that an export reads.

    An unknown split, and an output in the place of a file that is read, raise ResiduumError. The
    access note comes from the dataset's file, so that editing it exports nothing again.
    """
    collection = command.parse_spec(Collection, spec)
    try:
        entry = entries.parse(dataset_file, dict[str, object]) if dataset_file else {}
    except ValueError as error:
        raise ResiduumError(f"--dataset-file {error}") from None
    if name is not None and name not in collection.splits:
        raise ResiduumError(f"--name: {dataset}: {unknown('split', name, collection.splits)}")
    names = read(collection, name)
    folders = [(roots.data() / file, collection.within(file)) for file in local(names)]
    outputs.refuse(written, [path for each in folders for path in roots.files_of(*each)])
    return collection.model_copy(update={"access": entry.get("access", "")}), names


def _write_manifest(
    artefact: Path,
    facts: Mapping[str, object],
    collection: Collection,
    names: Sequence[str],
    others: Sequence[Path] = (),
    files_made: Sequence[Path] | None = None,
) -> None:
    spec = collection.model_dump(mode="json", exclude={"access"})
    sources = dict[str, Path]()
    for name in names:
        sources |= addresses(name, collection.access, collection.within(name))
    manifest.write(artefact, facts, spec, others, "residuum.data", files_made, sources)


def _first_of_each(docs: Iterable[Doc], repeated: list[str]) -> Iterator[Doc]:
    """Yield the first doc of each id, and note the ids of repeated docs."""
    seen: set[str] = set()
    for doc in docs:
        if doc[0] in seen:
            repeated.append(doc[0])
        else:
            seen.add(doc[0])
            yield doc


@app.command()
def split(
    dataset: Dataset,
    name: Split,
    spec: SpecText,
    queries: Annotated[Path, command.written("queries.tsv to write")],
    qrels: Annotated[Path, command.written("qrels.trec to write")],
    dataset_file: DatasetFile = None,
    judged_before: command.JudgedBefore = None,
    corpus: Annotated[
        Path | None, typer.Option(help="corpus that holds the answers, or the split's queries")
    ] = None,
    questions: Questions = None,
) -> None:
    """Check and write the queries and qrels of one split.

    Without public judgements, the qrels file says so. Qrels of a residual split may judge no pair
    that an earlier round judged. If answers decide what is relevant, the qrels are made from the
    answers and the docs of the corpus.
    """
    written = [outputs.Output("--queries", queries), outputs.Output("--qrels", qrels)]
    collection, names = _opened(dataset, name, spec, dataset_file, written)
    where = f"{dataset}/{name}"
    if corpus is not None:
        contracts.corpus_manifest(corpus)
    collection = collection.made_of(Behind(corpus=corpus, questions=questions))
    rows, residual = load_split(dataset, name, collection), Residual(judged_before)
    residual.check(rows.qrels, where)
    facts: dict[str, object] = {"queries": len(rows.queries), "qrels": len(rows.qrels)}
    facts |= {"reworded": rows.reworded} if rows.reworded else {}
    searched = [corpus / manifest.FOLDER] if corpus else []
    others = [*residual.paths, *searched, *splits.taken_from(questions)]
    with files.whole(queries) as temporary:  # both appear, or neither
        trec.write_queries(temporary, rows.queries)
        if collection.source_of(name).relevant_by:
            if corpus is None:
                raise ResiduumError(
                    f"{where}: relevant_by: answers: give --corpus, whose docs hold the answers"
                )
            facts |= judgements.write(qrels, where, rows.queries, rows.answers, corpus)
        elif collection.judged(name):
            trec.write_qrels(qrels, rows.qrels)
        else:
            trec.write_refusal(qrels, f"{where} has no public judgements of its docs")
    _write_manifest(queries, facts, collection, names, others, [queries, qrels])


def load_split(dataset: str, name: str, collection: Collection) -> Rows:
    """Return the rows of a split.

    If the corpus lies in the user's files, it must hold at least one of the judged docs, and is
    read until that doc. Other corpora are pinned. The corpus's export reports absent files.
    """
    rows = _reworded(dataset, name, collection, splits.load(dataset, collection, name))
    judged = {doc_id for _, doc_id, _ in rows.qrels}
    available = Path.exists if isinstance(collection.source, InFiles) else Path.is_file
    yours = collection.source_files(None) if isinstance(collection.source, OfYours) else []
    paths = [roots.as_it_lies(roots.data() / file) for file in yours]
    if not judged or not paths or not all(map(available, paths)):
        return rows
    if judged.isdisjoint(doc_id for doc_id, _ in DOCS[collection.source.kind](collection)):
        some = ", ".join(sorted(judged)[:3])
        raise ResiduumError(
            f"{dataset}/{name}: none of the {len(judged)} judged docs, such as {some}, is in "
            f"{', '.join(map(str, paths))}. Are the qrels of this corpus, with the same ids?"
        )
    return rows


def _reworded(dataset: str, name: str, collection: Collection, rows: Rows) -> Rows:
    """Return the rows of a split; the queries of an adverse split are reworded."""
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
    """Return {doc_id: text} of the given docs; reading ends as soon as all are found."""
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
    output: Annotated[Path, command.written("answers.jsonl to write")],
    dataset_file: DatasetFile = None,
    questions: Questions = None,
) -> None:
    """Write the answers to the questions of one split."""
    written = [outputs.Output("--output", output)]
    collection, names = _opened(dataset, name, spec, dataset_file, written)
    collection = collection.made_of(Behind(questions=questions))
    texts = splits.load(dataset, collection, name).answers
    contracts.write_answers(output, texts)
    facts = {"queries": len(texts), "answers": sum(map(len, texts.values()))}
    _write_manifest(output, facts, collection, names, splits.taken_from(questions))


@app.command()
def docpairs(
    dataset: Dataset,
    name: Split,
    spec: SpecText,
    queries: Annotated[Path, typer.Option(help="queries.tsv of the split; others are skipped")],
    output: Annotated[Path, command.written("docpairs.tsv.gz to write")],
    dataset_file: DatasetFile = None,
) -> None:
    """Write the training triples of one split's queries, and count those of other queries."""
    written = [outputs.Output("--output", output)]
    collection, names = _opened(
        dataset, name, spec, dataset_file, written, Collection.behind_docpairs
    )
    query_ids = set(trec.read_queries(queries))
    pins = [e.splits[name].docpairs for e in collection.editions if name in e.splits]
    total = max(filter(None, pins), default=None)
    rows = DOCPAIRS[collection.source.kind](collection, name)
    skipped = 0

    def kept() -> Iterator[triples.DocPair]:
        nonlocal skipped
        for row in track(rows, f"export triples of {dataset}/{name}", total, "triples"):
            if row[0] in query_ids:
                yield row
            else:
                skipped += 1

    with files.whole(files.packed(output)) as temporary:
        count = triples.write(temporary, kept())
        if total and count + skipped not in pins:
            editions.refuse(
                dataset,
                f"{dataset}/{name}",
                f"{count + skipped:,} training triples",
                f"{total:,}",
            )
    facts = {"triples": count, "of_other_queries": skipped}
    _write_manifest(output, facts, collection, names, [queries])


if __name__ == "__main__":
    command.main(app)
