"""Index a corpus with Lucene, search it with BM25 or BM25+RM3, score the docs of other runs.

Command: `python -m residuum.lexical index|search|score ...`. Every parameter of "BM25" goes into
the manifest of the run. Must not know qrels, splits or models.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum.artefacts import contracts, files, manifest, trec
from residuum.artefacts.streams import chunks
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.systems import IndexForm, LexicalSystem
from residuum.lucene import feedback, indexing, jvm, reading
from residuum.lucene.anserini import Searcher

app = command.app(__doc__)
FEW_DOCS = 100_000  # below it a job is short
QUERIES_AT_ONCE = 512  # bounds the hits in memory

Index = Annotated[Path, typer.Option(help="folder that `index` made")]
SystemText = Annotated[str, typer.Option("--spec", help="schema.LexicalSystem as JSON")]


@app.command()
def index(
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.IndexForm as JSON")],
    output: Annotated[Path, typer.Option(help="folder to make")],
    weights: Annotated[
        Path | None, typer.Option(help="folder of term weights, which take the place of tf")
    ] = None,
    threads: command.JavaThreads = 1,
) -> None:
    """Index a corpus, its fields or its term weights, and check the document count."""
    form = command.parse_spec(IndexForm, spec)
    if weights and form.fields:
        raise ResiduumError(f"{weights}: term weights are of whole docs; index them without fields")
    total = contracts.corpus_manifest(corpus)["docs"]
    if total < FEW_DOCS:
        jvm.expect_short_work()
    with files.whole_directory(output) as temporary:
        docs = track(reading.docs(corpus, form, weights), "read", total, "docs")
        indexing.build(docs, form, threads, temporary / "lucene")
        counts = _counts(output, temporary, total, form)
        facts = {"docs": total, **counts, **_facts(form, weights)}
        inputs = [folder / "manifest.json" for folder in (corpus, weights) if folder]
        manifest.write(temporary, facts, form, inputs, "residuum.lexical")


def _counts(output: Path, made: Path, docs: int, form: IndexForm) -> dict[str, Any]:
    reader = indexing.open_reader(made / "lucene")
    statistics = indexing.statistics(reader, form.fields)
    reader.close()
    if statistics["documents"] != docs:
        raise ResiduumError(
            f"{output}: the index holds {statistics['documents']} docs, the corpus {docs}. "
            "Run the same command again; if it persists, give Java more memory "
            "(RESIDUUM_JVM_HEAP=8g) and disk."
        )
    return statistics


def _facts(form: IndexForm, weights: Path | None) -> dict[str, Any]:
    analyzer = indexing.class_name(indexing.analyzer(form.analysis))
    source = {"weights": str(weights) if weights else None}
    return {**form.model_dump(mode="json"), **source, "analyzer": analyzer, **indexing.versions()}


@app.command()
def search(
    index: Index,
    queries: command.Queries,
    spec: SystemText,
    tag: command.Tag,
    output: command.Run,
    threads: command.JavaThreads = 1,
) -> None:
    """Search with BM25 or BM25+RM3 and write the run."""
    system = command.parse_spec(LexicalSystem, spec)
    if system.tunes_rm3:
        raise ResiduumError("rm3 has a grid, which needs qrels: use the verb tune of residuum.rm3")
    searcher = open_index(index, system, threads)
    texts = trec.read_queries(queries)
    facts = {"queries": len(texts), **parameters(index, searcher, system)}
    found = _lists(searcher, texts, system)
    write(output, found, tag, facts, system, [index / "manifest.json", queries])


def _lists(
    searcher: Searcher, texts: dict[str, str], system: LexicalSystem
) -> Iterator[pl.DataFrame]:
    """Search some queries at a time, in the order of a run, and yield their ranked lists."""
    rm3 = system.rm3.value if system.rm3 else None
    asked = track(sorted(texts.items()), "search", len(texts), "queries")
    for some in chunks(asked, QUERIES_AT_ONCE):
        yield trec.rank(searcher.search(some, system.k, rm3), system.k)


@app.command()
def score(
    index: Index,
    queries: command.Queries,
    run: Annotated[list[Path], typer.Option(help="run whose docs are scored; repeat for more")],
    spec: SystemText,
    tag: command.Tag,
    output: command.Run,
    threads: command.JavaThreads = 1,
) -> None:
    """Score the docs of other runs with BM25; a doc that matches no term scores 0."""
    system = command.parse_spec(LexicalSystem, spec)
    if system.expands:
        raise ResiduumError(
            "a system with rm3 cannot score given docs: its query depends on its own first "
            "hits. Use the system without rm3."
        )
    searcher = open_index(index, system, threads)
    pairs = trec.read_pairs(run)
    asked = with_texts(pairs, trec.read_queries(queries), queries)
    scored = searcher.score(track(asked, "score", len(asked), "queries"))
    lost = pairs.join(scored, on=["query_id", "doc_id"], how="anti")
    if lost.height:
        raise ResiduumError(
            f"{lost['run'][0]}: doc {lost['doc_id'][0]} is not in {index} ({lost.height} such "
            "lines). The run was made on another corpus."
        )
    names = [str(path) for path in run]
    facts = {"queries": len(asked), "scores_of": names, **parameters(index, searcher, system)}
    inputs = [index / "manifest.json", queries, *run]
    write(output, [trec.rank(scored)], tag, facts, system, inputs)


def parameters(index: Path, searcher: Searcher, system: LexicalSystem) -> dict[str, Any]:
    """Return what decides a score beside the spec, and the facts of the index."""
    fixed = {"feedback_term_filter": feedback.TERM_FILTER if system.expands else None}
    return {"parameters": {**searcher.parameters(), **fixed}, "index": index_record(index)}


def with_texts(
    pairs: pl.DataFrame, texts: dict[str, str], source: Path
) -> list[tuple[str, str, list[str]]]:
    """Group query_id, doc_id pairs into (query_id, text, doc_ids); each query needs a text."""
    grouped = pairs.group_by("query_id", maintain_order=True).agg("doc_id")
    unknown = [query_id for query_id in grouped["query_id"] if query_id not in texts]
    if unknown:
        raise ResiduumError(
            f"{source}: no query {unknown[0]} ({len(unknown)} such queries), but docs are given "
            "for it. Use the queries and the docs of the same split."
        )
    rows = zip(grouped["query_id"], grouped["doc_id"].to_list(), strict=True)
    return [(query_id, texts[query_id], doc_ids) for query_id, doc_ids in rows]


def require_queries(
    judged: pl.DataFrame, texts: dict[str, str], qrels: Path, queries: Path
) -> None:
    """Refuse qrels of a query that the queries file does not hold."""
    unknown = [q for q in judged["query_id"].unique(maintain_order=True) if q not in texts]
    if unknown:
        raise ResiduumError(
            f"{qrels}: query {unknown[0]} is judged, but {queries} does not hold it "
            f"({len(unknown)} such queries). Use the queries and qrels of the same split."
        )


def open_index(index: Path, system: LexicalSystem, threads: int = 1) -> Searcher:
    """Open an index for a system; it must hold the analysis, fields and weights it asks for."""
    record = index_record(index)
    made = IndexForm(analysis=record["analysis"], fields=record["fields"])
    if made.index_id() != system.index().index_id():
        raise ResiduumError(
            f"{index} was made as {made.index_id()}, but the system asks for "
            f"{system.index().index_id()}. Index the corpus with the system's analysis and fields."
        )
    if bool(record["weights"]) != bool(system.term_weights):
        has, asks = record["weights"] or "plain tf", system.term_weights or "plain tf"
        raise ResiduumError(
            f"{index} holds {has}, but the system asks for {asks}. Index the corpus "
            f"{'with' if system.term_weights else 'without'} --weights."
        )
    if record["docs"] < FEW_DOCS:
        jvm.expect_short_work()
    return Searcher(index / "lucene", made.analysis, system.bm25, system.boosts, threads)


def index_record(index: Path) -> dict[str, Any]:
    """Return the facts of an index: counts, analysis, fields, weights, analyzer class, versions."""
    return dict(json.loads(files.read_bytes(index / "manifest.json"))["artefact"])


def write(
    output: Path,
    parts: Iterable[pl.DataFrame],
    tag: str,
    facts: dict[str, Any],
    system: LexicalSystem,
    inputs: list[Path],
    stage: str = "residuum.lexical",
) -> None:
    """Write a run in parts, and its manifest; inputs are the index, the queries and others."""
    hits = answered = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal hits, answered
        for run in parts:
            hits, answered = hits + run.height, answered + run["query_id"].n_unique()
            yield run
        if not hits:
            index, queries, *_ = inputs
            raise ResiduumError(f"{queries}: no query shares a term with a doc of {index.parent}")

    trec.write_run(output, counted(), tag)
    manifest.write(output, {"hits": hits, "answered": answered, **facts}, system, inputs, stage)


if __name__ == "__main__":
    command.main(app)
