"""Index a corpus with Lucene, search it with BM25 or BM25+RM3, score the docs of another run.

Command: `python -m residuum.lexical index|search|score ...`. Every parameter of "BM25" goes into
the manifest of the run. Must not know splits, qrels or models.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum.core import command, contracts, files, manifest, trec
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.schema import Analysis, LexicalSystem
from residuum.lucene import anserini
from residuum.lucene.anserini import Searcher

app = command.app(__doc__)

Index = Annotated[Path, typer.Option(help="folder that `index` made")]
Queries = Annotated[Path, typer.Option(help="queries.tsv: query_id TAB text")]
SystemText = Annotated[str, typer.Option("--spec", help="schema.LexicalSystem as JSON")]
Tag = Annotated[str, typer.Option(help="last column of the run")]
Threads = Annotated[int, typer.Option(min=1, help="Java threads; the result is the same")]
Output = Annotated[Path, typer.Option(help="run to write")]


@app.command()
def index(
    corpus: Annotated[Path, typer.Option(help="corpus folder with its manifest.json")],
    spec: Annotated[str, typer.Option(help="schema.Analysis as JSON")],
    output: Annotated[Path, typer.Option(help="folder to make")],
    threads: Threads = 1,
) -> None:
    """Index a corpus and check the document count."""
    analysis = command.parse_spec(Analysis, spec)
    docs = contracts.corpus_manifest(corpus)["docs"]
    with files.whole_directory(output) as temporary:
        texts = track(contracts.read_corpus(corpus), "read", docs, "docs")
        anserini.build(texts, analysis, threads, temporary / "lucene")
        record = {"docs": docs, **_checked(output, temporary, docs), **_form(analysis)}
        manifest.write(
            temporary / "manifest.json",
            artefact=record,
            spec=analysis.model_dump(mode="json"),
            inputs=[corpus / "manifest.json"],
            module="residuum.lexical",
        )


def _checked(output: Path, made: Path, docs: int) -> dict[str, int]:
    reader = anserini.open_reader(made / "lucene")
    statistics = anserini.statistics(reader)
    reader.close()
    if statistics["documents"] != docs:
        raise ResiduumError(
            f"{output}: the index holds {statistics['documents']} docs, the corpus {docs}. "
            "Run the same command again; if it persists, give Java more memory "
            "(RESIDUUM_JVM_HEAP=8g) and disk."
        )
    return statistics


def _form(analysis: Analysis) -> dict[str, Any]:
    name = anserini.class_name(anserini.analyzer(analysis))
    return {"analysis": analysis.model_dump(mode="json"), "analyzer": name, **anserini.versions()}


@app.command()
def search(
    index: Index,
    queries: Queries,
    spec: SystemText,
    tag: Tag,
    output: Output,
    threads: Threads = 1,
) -> None:
    """Search with BM25 or BM25+RM3 and write the run."""
    system = command.parse_spec(LexicalSystem, spec)
    searcher = open_index(index, system, threads)
    texts = trec.read_queries(queries)
    asked = track(texts.items(), "search", len(texts), "queries")
    run = trec.rank(searcher.search(asked, system.k), system.k)
    if run.is_empty():
        raise ResiduumError(f"{queries}: no query shares a term with a doc of {index}")
    facts = {"queries": len(texts), **_parameters(index, searcher)}
    _write(output, run, tag, facts, system, [index / "manifest.json", queries])


@app.command()
def score(
    index: Index,
    queries: Queries,
    run: Annotated[Path, typer.Option(help="run whose docs are scored")],
    spec: SystemText,
    tag: Tag,
    output: Output,
    threads: Threads = 1,
) -> None:
    """Score the docs of another run with BM25; a doc that matches no term scores 0."""
    system = command.parse_spec(LexicalSystem, spec)
    searcher = open_index(index, system, threads)
    pairs = trec.read_run(run)
    asked = with_texts(pairs, trec.read_queries(queries), queries)
    scored = searcher.score(track(asked, "score", len(asked), "queries"))
    lost = pairs.join(scored, on=["query_id", "doc_id"], how="anti")
    if lost.height:
        raise ResiduumError(
            f"{run}: doc {lost['doc_id'][0]} is not in {index} ({lost.height} such lines). "
            "The run was made on another corpus."
        )
    facts = {"queries": len(asked), "scores_of": str(run), **_parameters(index, searcher)}
    inputs = [index / "manifest.json", queries, run]
    _write(output, trec.rank(scored), tag, facts, system, inputs)


def _parameters(index: Path, searcher: Searcher) -> dict[str, Any]:
    return {"parameters": searcher.parameters(), "index": index_record(index)}


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


def open_index(index: Path, system: LexicalSystem, threads: int = 1) -> Searcher:
    """Open an index for a system; it must have been made with the system's analysis."""
    made = Analysis(**index_record(index)["analysis"])
    if made != system.analysis:
        raise ResiduumError(
            f"{index} was made with the analysis {made.index_id()}, but the system asks for "
            f"{system.analysis.index_id()}. Index the corpus with that one."
        )
    return Searcher(index / "lucene", made, system.bm25, system.rm3, threads)


def index_record(index: Path) -> dict[str, Any]:
    """Return the facts of an index: counts, analysis, analyzer class, versions."""
    return dict(json.loads(files.read_bytes(index / "manifest.json"))["artefact"])


def _write(
    output: Path,
    run: pl.DataFrame,
    tag: str,
    artefact: dict[str, Any],
    system: LexicalSystem,
    inputs: list[Path],
) -> None:
    trec.write_run(output, run, tag)
    manifest.write(
        manifest.beside(output),
        artefact={"hits": run.height, "answered": run["query_id"].n_unique(), **artefact},
        spec=system.model_dump(mode="json"),
        inputs=inputs,
        module="residuum.lexical",
    )


if __name__ == "__main__":
    command.main(app)
