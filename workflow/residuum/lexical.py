"""Index a corpus with Lucene, search it with BM25 or BM25+RM3, score the docs of other runs.

Command: `python -m residuum.lexical index|search|score ...`. Every parameter of "BM25" goes into
the manifest of the run.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from residuum.artefacts import contracts, files, indexes, manifest, trec
from residuum.artefacts.residual import Residual
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.analyses import IndexForm
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene import indexing, jvm
from residuum.lucene.analysis import keep_tokenizer
from residuum.lucene.anserini import Searcher

app = command.app(__doc__)

Index = Annotated[Path, typer.Option(help="folder that `index` made")]
SystemText = Annotated[str, typer.Option("--spec", help="schema.LexicalSystem as JSON")]


@app.command()
def index(
    corpus: command.Corpus,
    spec: Annotated[str, typer.Option(help="schema.IndexForm as JSON")],
    output: command.Folder,
    weights: Annotated[
        Path | None, typer.Option(help="folder of term weights, which replace tf")
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(help="model whose tokenizer cuts texts: folder, or id of the hub"),
        command.LOCAL,
    ] = None,
    revision: command.Revision = None,
    threads: command.JavaThreads = 1,
) -> None:
    """Index a corpus, its fields or its term weights, without empty docs; check the count."""
    form = command.parse_spec(IndexForm, spec)
    if weights and (form.fields or form.joined):
        raise ResiduumError(f"{weights}: term weights are of whole docs. Index them without fields")
    if bool(vocabulary) != bool(form.vocabulary):
        needs = "leave out --vocabulary" if vocabulary else "name its model with --vocabulary"
        raise ResiduumError(f"terms are {form.analysis.named}: {needs}")
    total = contracts.corpus_manifest(corpus)["docs"]
    jvm.expect(total)
    with files.whole_directory(output) as temporary:
        kept = [keep_tokenizer(vocabulary, revision, temporary)] if vocabulary else []
        empty = indexing.build(corpus, form, weights, threads, temporary / "lucene")
        left_out = indexes.write_left_out(temporary, empty)
        counts = indexing.statistics(temporary / "lucene", form)
        if counts["documents"] != total - len(empty):
            remedy = "Run again, or give Java more memory (RESIDUUM_JVM_HEAP=8g) and disk."
            fault = f"the index holds {counts['documents']} docs, the corpus {total}"
            but = f", of which {len(empty)} are empty" if empty else ""
            raise ResiduumError(f"{output}: {fault}{but}. {remedy}")
        if empty:
            text = f"{len(empty)} of {total} docs are empty and left out, as Anserini does"
            print(f"{text}; they score 0 where others' runs hold them", file=sys.stderr)
        facts: dict[str, object] = {"docs": total, "left_out": len(empty)}
        facts |= counts | form.model_dump(mode="json")
        facts["weights"] = str(weights) if weights else None
        facts |= indexing.tools(form.analysis)
        if revision:  # of the hub, where no manifest names it
            facts |= {"tokenizer": f"{vocabulary} at {revision}"}
        made = Path(vocabulary or "") / "manifest.json"  # none of a model of others
        inputs = [folder / "manifest.json" for folder in (corpus, weights) if folder]
        inputs += [made] if vocabulary and made.is_file() else []
        # Lucene names segments at random, and compares checksums of its own.
        manifest.write(
            temporary, facts, form, inputs, "residuum.lexical", outputs=[left_out, *kept]
        )


@app.command()
def search(
    index: Index,
    queries: command.Queries,
    spec: SystemText,
    tag: command.Tag,
    output: command.Run,
    threads: command.JavaThreads = 1,
    judged_before: command.JudgedBefore = None,
) -> None:
    """Search with BM25 or BM25+RM3 and write the run, some queries at a time."""
    system = command.parse_spec(LexicalSystem, spec)
    if system.tunes_rm3:
        raise ResiduumError("rm3 has a grid, which needs qrels: use the verb tune of residuum.rm3")
    searcher = open_index(index, system, threads)
    texts, rm3 = trec.read_queries(queries), system.rm3.value if system.rm3 else None
    residual = Residual(judged_before)
    ordered = track(sorted(texts.items()), "search", len(texts), "queries")
    parts = searcher.search(ordered, system.k + residual.most, rm3)
    lists = (trec.rank(residual.left(hits), system.k) for hits in parts)
    inputs = [index / "manifest.json", queries, *residual.paths]
    write(output, lists, tag, {"queries": len(texts)}, searcher, inputs)


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
    """Score the docs of other runs with BM25; a doc that matches no term, or is empty, scores 0."""
    system = command.parse_spec(LexicalSystem, spec)
    if system.rm3:
        depends = "its query depends on its own first hits. Use the system without rm3."
        raise ResiduumError(f"a system with rm3 cannot score given docs: {depends}")
    searcher, names = open_index(index, system, threads), [str(path) for path in run]
    texts, facts = trec.read_queries(queries), dict[str, Any](queries=0, scores_of=names)

    def lists() -> Iterator[pl.DataFrame]:
        for pairs in trec.read_pairs(run):
            check_texts(texts, queries, pairs, " or ".join(names))
            listed = trec.lists_of(pairs).iter_rows()
            docs = [(query_id, texts[query_id], doc_ids) for query_id, doc_ids in listed]
            facts["queries"] += len(docs)
            scored = searcher.score(track(docs, "score", len(docs), "queries"))
            lost = pairs.join(scored, on=trec.PAIR, how="anti")
            if lost.height:
                fault = f"doc {lost['doc_id'][0]} is not in {index}"
                again = "The run was made on another corpus."
                raise ResiduumError(f"{lost['run'][0]}: {fault}. {again}")
            yield trec.rank(scored)

    inputs = [index / "manifest.json", queries, *run]
    write(output, lists(), tag, facts, searcher, inputs)


def read_texts(queries: Path, table: pl.DataFrame, source: Path | str) -> dict[str, str]:
    """Read the texts of queries. Raises ResiduumError if a query of the table has no text."""
    texts = trec.read_queries(queries)
    check_texts(texts, queries, table, source)
    return texts


def check_texts(
    texts: Mapping[str, str], queries: Path, table: pl.DataFrame, source: Path | str
) -> None:
    """Raise ResiduumError if a query of a table has no text; `queries` and `source` are named."""
    unknown = [q for q in table["query_id"].unique(maintain_order=True) if q not in texts]
    if unknown:
        fault = f"query {unknown[0]} is not in {queries} ({len(unknown)} such queries)"
        raise ResiduumError(f"{source}: {fault}. Use the queries of the same split.")


def open_index(index: Path, system: LexicalSystem, threads: int = 1) -> Searcher:
    """Open an index for a system; it must hold the analysis, fields and weights of the system."""
    record = index_record(index)
    kept = {name: record[name] for name in ("analysis", "fields", "joined") if name in record}
    form = IndexForm.model_validate(kept)
    made = form.index_id(), "term weights" if record["weights"] else "plain tf"
    required = system.index().index_id(), "term weights" if system.term_weights else "plain tf"
    if made != required:
        raise ResiduumError(
            f"{index} was made as {' of '.join(made)}, but the system requires "
            f"{' of '.join(required)}. Index the corpus as the system requires."
        )
    jvm.expect(record["docs"])
    return Searcher(index / "lucene", system, threads, indexes.read_left_out(index))


def index_record(index: Path) -> dict[str, Any]:
    """Return the facts of an index: counts, analysis, fields, weights, analyzer class, versions."""
    return manifest.facts(index, "an index", "docs", "weights", "analyzer")


def write(
    output: Path,
    lists: Iterable[pl.DataFrame],
    tag: str,
    facts: Mapping[str, Any],
    searcher: Searcher,
    inputs: list[Path],
    stage: str = "residuum.lexical",
) -> None:
    """Write a run that comes in parts, and its manifest: the index, all that decides a score."""
    index, queries, *_ = inputs
    empty = f"{queries}: no query shares a term with a doc of {index.parent}"
    written = trec.write_run(output, lists, tag, empty)
    fixed = {"parameters": searcher.parameters(), "index": index_record(index.parent)}
    facts = {"hits": written.hits, "answered": written.queries, **facts, **fixed}
    manifest.write(output, facts, searcher.system, inputs, stage)


if __name__ == "__main__":
    command.main(app)
