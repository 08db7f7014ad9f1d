"""Export a collection: the corpus in shards; queries, qrels, answers, triples of splits, counted.

Command: `python -m residuum.data corpus|split|answers|docpairs ...`. Where a collection comes from
is the business of residuum.collections.
"""

import sys
from collections import Counter, defaultdict
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
from residuum.collections.files import of_the_hub, resolved
from residuum.collections.records import Rows
from residuum.config import entries, roots
from residuum.config.schema.datasets import Behind, Collection, local
from residuum.config.schema.files import InFiles
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
Of = Annotated[Path | None, typer.Option("--of", help="corpus that is cut, of another dataset")]
Questions = Annotated[
    Path | None, typer.Option(help="folder of the split whose questions and answers these are")
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
    per_shard: Annotated[int, typer.Option(help="docs of a shard", min=1)] = (
        contracts.DOCS_PER_SHARD
    ),
    of: Of = None,
    vocabulary: Annotated[
        str | None, typer.Option(help="model whose tokenizer cuts it"), command.LOCAL
    ] = None,
    revision: command.Revision = None,
) -> None:
    """Write the corpus as JSON-lines shards, whole or not at all."""
    collection = _collection(spec, dataset_file)
    given = {"--of": of, "--vocabulary": vocabulary, "--revision": revision}
    for option, value in given.items():
        if value and not isinstance(collection.source, Segmented):
            kind = collection.source.kind
            raise ResiduumError(f"{option} {value}: a source {kind} is cut from no other corpus")
    files_read = _own_files(collection, collection.named_files(None))
    outputs.refuse([outputs.Output("--output", output, whole_folder=True)], files_read)
    expected = max((edition.docs for edition in collection.editions), default=None)
    repeated: list[str] = []
    first_only = getattr(collection.source, "repeated", "error") == "first"
    with files.whole_directory(output) as folder:
        behind = Behind(cut_from=of, vocabulary=vocabulary, revision=revision, output=folder)
        told = collection.made_of(behind)
        docs = DOCS[collection.source.kind](told)
        stream = track(docs, f"export {dataset}", expected, "docs")
        unique = _first_of_each(stream, repeated) if first_only else stream
        shards = contracts.write_corpus(folder, unique, per_shard)
        total = sum(shard["docs"] for shard in shards)
        edition = editions.matching(dataset, collection.editions, total + len(repeated))
        facts = {"docs": total, "edition": edition, "shards": shards}
        if edition is None:
            print(editions.unpinned(dataset, total), file=sys.stderr)
        facts |= {"repeated": len(repeated)} if first_only else {}
        read = [Path(path, "manifest.json") for path in (of, vocabulary) if path]
        others = [path for path in read if path.is_file()]  # none of a model of the hub
        _write_manifest(folder, facts, collection, collection.named_files(None), others)


def _collection(spec: str, dataset_file: Path | None) -> Collection:
    """Read the spec; the access note comes from the file: editing it exports nothing again."""
    collection = command.parse_spec(Collection, spec)
    try:
        note = entries.parse(dataset_file, dict[str, object]) if dataset_file else {}
    except ValueError as error:
        raise ResiduumError(f"--dataset-file {error}") from None
    return collection.model_copy(update={"access": note.get("access", "")})


def _known(dataset: str, name: str, collection: Collection) -> None:
    """Raise ResiduumError unless a collection has a split."""
    if name not in collection.splits:
        raise ResiduumError(f"--name: {dataset}: {unknown('split', name, collection.splits)}")


def _own_files(collection: Collection, names: Sequence[str]) -> list[Path]:
    """Return the user's files among those that the spec names, as far as they are there."""
    read = [(roots.data() / name, collection.within(name)) for name in local([*names])]
    return [path for place, within in read for path in roots.files_of(place, within)]


def _write_manifest(
    artefact: Path,
    facts: Mapping[str, object],
    collection: Collection,
    names: Sequence[str],
    others: Sequence[Path] = (),
    own: Sequence[Path] | None = None,
) -> None:
    spec = collection.model_dump(mode="json", exclude={"access"})
    inputs, elsewhere = list[Path](), dict[str, Path]()
    for name in names:
        within = collection.within(name)
        if of_hub := of_the_hub(name, collection.access, within):
            elsewhere |= of_hub
        else:
            inputs += resolved(name, collection.access, within)
    manifest.write(artefact, facts, spec, [*inputs, *others], "residuum.data", own, elsewhere)


def _first_of_each(docs: Iterable[Doc], repeated: list[str]) -> Iterator[Doc]:
    """Yield the first doc of each id, and note the ids of those that are left out."""
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
        Path | None, typer.Option(help="where answers are looked for, or its queries lie")
    ] = None,
    questions: Questions = None,
) -> None:
    """Write queries and qrels of one split, checked against each other; or why none are public.

    Those of a residual split judge no pair that an earlier round judged. Where answers say what is
    relevant, the judgements are made of them and the docs of the corpus.
    """
    collection, where = _collection(spec, dataset_file), f"{dataset}/{name}"
    _known(dataset, name, collection)
    written = [outputs.Output("--queries", queries), outputs.Output("--qrels", qrels)]
    outputs.refuse(written, _own_files(collection, collection.named_files(name)))
    if corpus is not None:
        contracts.corpus_manifest(corpus)
    collection = collection.made_of(Behind(corpus=corpus, questions=questions))
    rows, residual = load_split(dataset, name, collection), Residual(judged_before)
    residual.check(rows.qrels, where)
    facts: dict[str, object] = {"queries": len(rows.queries), "qrels": len(rows.qrels)}
    facts |= {"reworded": rows.reworded} if rows.reworded else {}
    read = [path / "manifest.json" for path in [corpus] if path]
    others = [*residual.paths, *read, *splits.taken_from(questions)]
    with files.whole(queries) as temporary:  # both appear, or neither
        trec.write_queries(temporary, rows.queries)
        if collection.source_of(name).relevant_by:
            if corpus is None:
                raise ResiduumError(
                    f"{where}: relevant_by: answers: give --corpus, where they stand"
                )
            facts |= judgements.write(qrels, where, rows.queries, rows.answers, corpus)
        elif collection.judged(name):
            trec.write_qrels(qrels, rows.qrels)
        else:
            trec.write_refusal(qrels, f"{where} has no public judgements of its docs")
    own, names = [queries, qrels], collection.named_files(name)
    _write_manifest(queries, facts, collection, names, others, own)


def load_split(dataset: str, name: str, collection: Collection) -> Rows:
    """Return the rows of a split; a corpus in a file of yours must hold one of the judged docs.

    It is read until there. Other corpora are pinned, and an absent file is the corpus's affair.
    """
    rows = _reworded(dataset, name, collection, splits.load(dataset, collection, name))
    judged = {doc_id for _, doc_id, _ in rows.qrels}
    available = Path.exists if isinstance(collection.source, InFiles) else Path.is_file
    paths = [roots.as_it_lies(roots.data() / file) for file in collection.source_files(None)]
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
    output: Annotated[Path, command.written("answers.jsonl to write")],
    dataset_file: DatasetFile = None,
    questions: Questions = None,
) -> None:
    """Write the answers to the questions of one split."""
    collection = _collection(spec, dataset_file).made_of(Behind(questions=questions))
    _known(dataset, name, collection)
    own = collection.named_files(name)
    outputs.refuse([outputs.Output("--output", output)], _own_files(collection, own))
    texts = splits.load(dataset, collection, name).answers
    contracts.write_answers(output, texts)
    facts = {"queries": len(texts), "answers": sum(map(len, texts.values()))}
    _write_manifest(output, facts, collection, own, splits.taken_from(questions))


@app.command()
def docpairs(
    dataset: Dataset,
    name: Split,
    spec: SpecText,
    queries: Annotated[Path, typer.Option(help="queries.tsv of the split: others are held out")],
    output: Annotated[Path, command.written("docpairs.tsv.gz to write")],
    dataset_file: DatasetFile = None,
) -> None:
    """Write the training triples of one split's queries; those of all queries are counted."""
    collection, own = _collection(spec, dataset_file), set(trec.read_queries(queries))
    _known(dataset, name, collection)
    behind = collection.behind_docpairs(name)
    outputs.refuse([outputs.Output("--output", output)], _own_files(collection, behind))
    pins = [e.splits[name].docpairs for e in collection.editions if name in e.splits]
    rows = DOCPAIRS[collection.source.kind](collection, name)
    total = max(filter(None, pins), default=0) or None
    read = Counter[bool]()

    def kept() -> Iterator[triples.DocPair]:
        for row in track(rows, f"export triples of {dataset}/{name}", total, "triples"):
            read[row[0] in own] += 1
            if row[0] in own:
                yield row

    with files.whole(files.packed(output)) as temporary:
        written = triples.write(temporary, kept())
        if any(pins) and read.total() not in pins:
            raise ResiduumError(
                f"{dataset}/{name}: {read.total():,} training triples, but config/datasets/"
                f"{dataset}.yaml pins {total:,}. A download may be incomplete; if this is another "
                "edition, add it under editions."
            )
    facts = {"triples": written, "of_other_queries": read[False]}
    _write_manifest(output, facts, collection, behind, [queries])


if __name__ == "__main__":
    command.main(app)
