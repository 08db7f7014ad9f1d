"""Draw the negatives of every training pair, or take a split's own, with BM25 scores of all docs.

Command: `python -m residuum.negatives mine ...`. Source: CLEAR section 3.3, "Error-Based Negative
Sampling".
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum import lexical
from residuum.artefacts import contracts, docpairs, files, manifest, trec
from residuum.artefacts.streams import disk_list
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene.anserini import Searcher
from residuum.mining import Miner, Pair
from residuum.tuning import judgements
from residuum.tuning.answers import holders

app = command.app(__doc__)
NO_ANSWERS = "the training split has no answers"


class Spec(Strict):
    """What to draw: a model's negatives, the BM25 system for scores, the level of positives."""

    negatives: Negatives
    system: LexicalSystem | None = None
    positive_level: Positive = 1
    by_answers: bool = False  # true if the split has answers and no judgements


@app.command()
def mine(
    corpus: command.Corpus,
    queries: command.Queries,
    qrels: command.Qrels,
    spec: Annotated[str, typer.Option(help="negatives.Spec as JSON")],
    output: Annotated[Path, command.written("tuples.jsonl.gz to write")],
    index: Annotated[Path | None, typer.Option(help="Lucene index, if there are pools")] = None,
    threads: command.JavaThreads = 1,
    run: Annotated[list[str] | None, typer.Option(help="of other systems: SYSTEM=RUN")] = None,
    official: Annotated[
        Path | None, typer.Option("--docpairs", help="training triples of the split")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(help="of the split, for negatives without them")
    ] = None,
) -> None:
    """Write one tuple for each query and positive, in the order of the qrels.

    Where the split has answers and no judgements, positives are the hits of the pools' systems that
    hold one. If the negatives are the split's own training triples: one for each of these, by
    query. A pair is left out if every doc that could be its negative holds an answer.
    """
    config = command.parse_spec(Spec, spec)
    runs = command.named_paths("--run", run or [], [s.system for s in config.negatives.runs])
    searcher = _searcher(config, index, threads)
    lists = {name: trec.lists_of(trec.read_run(path)) for name, path in runs.items()}
    if config.by_answers:
        texts = trec.read_queries(queries)
        lists |= _searched(config.negatives, lists, searcher, texts)
        judged = _answered(config.negatives, lists, answers, corpus)
    else:
        judged = trec.read_qrels(qrels)
        texts = lexical.read_texts(queries, judged, qrels)
    pairs, facts = _pairs(config, judged, official)
    columns, in_corpus = pairs.columns[1:], set[str]()
    docs = {doc_id for column in columns for doc_id in pairs[column]}

    def doc_ids() -> Iterator[str]:
        total = contracts.corpus_manifest(corpus)["docs"]
        for doc_id, _ in track(contracts.read_corpus(corpus), "read", total, "docs"):
            if doc_id in docs:
                in_corpus.add(doc_id)
            yield doc_id

    with disk_list(output, doc_ids()) as ids:
        complete = pairs.filter(pl.all_horizontal(pl.col(columns).is_in(in_corpus)))
        miner = Miner(config.negatives, ids, judged, searcher, lists)

        def rows(what: str) -> Iterator[Pair]:
            every = (Pair(q, texts[q], d, given) for q, d, *given in complete.iter_rows())
            return track(every, what, complete.height, "pairs")

        if config.negatives.without_answers:
            facts |= leave_out_answers(miner, rows("search"), answers, corpus)
        mined = miner.mine(rows("mine"))
        tuples = contracts.write_tuples(output, mined)
    if lost := pairs.height - complete.height:
        fault = f"{lost} of {pairs.height} pairs are left out: a doc of theirs is not in {corpus}"
        print(f"warning: {fault}", file=sys.stderr)
    if out := complete.height - tuples:
        fault = "each doc drawn for it holds an answer"
        print(f"warning: {out} of {pairs.height} pairs are left out: {fault}", file=sys.stderr)
    counts = {"pairs": pairs.height, "tuples": tuples, "pairs_not_in_corpus": lost, **facts}
    inputs = [corpus / "manifest.json", queries, qrels, *runs.values()]
    inputs += [index / "manifest.json"] if index else []
    inputs += [path for path in (official, answers) if path]
    manifest.write(output, {**counts, **miner.facts()}, config, inputs, "residuum.negatives")


def _pairs(
    spec: Spec, judged: pl.DataFrame, official: Path | None
) -> tuple[pl.DataFrame, dict[str, object]]:
    """Return query_id and positive of all pairs, with the negatives of any triples.

    A triple is left out, and counted, if the qrels lack its positive, or judge its negative to be
    relevant.
    """
    as_positive = pl.col("relevance") >= spec.positive_level
    pairs = judged.filter(as_positive).select("query_id", pl.col("doc_id").alias("positive"))
    if spec.negatives.triples is None:
        return pairs, {}
    if official is None:
        raise ResiduumError("negatives.triples: give --docpairs, the split's training triples")
    every = docpairs.read(official, spec.negatives.triples.first)
    relevant = judged.filter(pl.col("relevance") >= 1)
    known = every.join(pairs, on=["query_id", "positive"], how="semi", maintain_order="left")
    as_negative = relevant.select("query_id", pl.col("doc_id").alias("negative"))
    kept = known.join(as_negative, on=["query_id", "negative"], how="anti", maintain_order="left")
    in_order = kept.sort("query_id", maintain_order=True)  # each query is searched only once
    return in_order, {"triples_left_out": every.height - kept.height}


def _searcher(spec: Spec, index: Path | None, threads: int) -> Searcher | None:
    if spec.negatives.same_as:
        raise ResiduumError("negatives.same_as: use the tuples of the model that it names")
    if not spec.negatives.sampled:
        return None
    if spec.system is None or index is None:
        raise ResiduumError("negatives.scores: give --index, and the system in --spec")
    if spec.system.rm3:
        fault = f"{spec.system.label} has rm3, which cannot score a doc outside its list"
        raise ResiduumError(f"negatives.scores: {fault}. Use a system without rm3.")
    return lexical.open_index(index, spec.system, threads)


def _searched(
    negatives: Negatives,
    lists: Mapping[str, pl.DataFrame],
    searcher: Searcher | None,
    texts: Mapping[str, str],
) -> dict[str, pl.DataFrame]:
    """Search for the hits of the pools' systems that have no run."""
    if not negatives.sources or searcher is None:
        raise ResiduumError(
            "the training split has answers and no judgements, so that positives are hits that "
            "hold one: give negatives.pools with hits, and scores"
        )
    made = {}
    for system, top, _ in (source for source in negatives.sources if source.system not in lists):
        queries = track(texts.items(), f"search with {system}", len(texts), "queries")
        parts = [trec.rank(part, top) for part in searcher.search(queries, top)]
        made[system] = trec.lists_of(pl.concat(parts))
    return made


def _answered(
    negatives: Negatives, lists: Mapping[str, pl.DataFrame], answers: Path | None, corpus: Path
) -> pl.DataFrame:
    """Return judgements of the pools' hits: a hit that holds an answer is relevant."""
    if answers is None:
        raise ResiduumError("positives are hits that hold an answer: give --answers")
    hits = [
        lists[source.system].with_columns(pl.col("doc_id").list.head(source.top)).explode("doc_id")
        for source in negatives.sources
    ]
    pairs = pl.concat(hits).unique(maintain_order=True)
    judged = judgements.of_pairs(pairs, answers, corpus).filter(pl.col("relevance") == 1)
    if judged.is_empty():
        raise ResiduumError(f"{answers}: no hit of the pools' systems holds an answer")
    return judged.sort("query_id", maintain_order=True)


def leave_out_answers(
    miner: Miner, pairs: Iterable[Pair], answers: Path | None, corpus: Path
) -> dict[str, object]:
    """Exclude docs that hold an answer from their query's negatives; return facts for the manifest.

    The corpus is read once for the docs of all pools. Memory holds ids and no texts. Without
    answers, no doc is excluded.
    """
    if answers is None:
        print(f"note: {NO_ANSWERS}: no negative is left out for one", file=sys.stderr)
        return {"without_answers": NO_ANSWERS}
    texts = contracts.read_answers(answers)
    asked: defaultdict[str, list[str]] = defaultdict(list)
    for query_id, docs in miner.candidates(pairs):
        if query_id not in texts:
            raise ResiduumError(f"{answers}: no answers of query {query_id}. {files.REMAKE}")
        for doc_id in docs:
            asked[doc_id].append(query_id)
    total = contracts.corpus_manifest(corpus)["docs"]
    read = track(contracts.read_docs(corpus), "look for answers", total, "docs")
    for doc_id, answered in holders(read, texts, asked):
        for query_id in answered.intersection(asked[doc_id]):
            miner.leave_out(query_id, doc_id)
    return {}


if __name__ == "__main__":
    command.main(app)
