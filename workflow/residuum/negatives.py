"""Draw the negatives of every training pair, or take a split's own, with BM25 scores of all docs.

Command: `python -m residuum.negatives mine ...`. Source: CLEAR section 3.3, "Error-Based Negative
Sampling".
"""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import numpy as np
import polars as pl
import typer

from residuum import lexical
from residuum.artefacts import contracts, docpairs, files, manifest, trec
from residuum.artefacts.streams import DiskList, DiskLists, chunks, disk_list, disk_lists
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import derive
from residuum.lucene.anserini import Searcher
from residuum.pools import POOLS, Draw, Ranked
from residuum.tuning import judgements
from residuum.tuning.answers import holders

app = command.app(__doc__)
PAIRS_AT_ONCE = 256  # limits the ranked lists in memory
LISTS = pl.Schema({"query_id": pl.String(), "doc_id": pl.List(pl.String())})
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
    run: Annotated[
        list[str] | None, typer.Option(help="run of another system: SYSTEM=RUN; repeat for each")
    ] = None,
    official: Annotated[
        Path | None, typer.Option("--docpairs", help="training triples of the split")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(help="answers of the split, for negatives that hold none")
    ] = None,
) -> None:
    """Write one tuple for each query and positive, in the order of the qrels.

    If the split has answers and no judgements, positives are hits of the pools' systems that hold
    an answer. If the negatives are the split's own training triples, each triple makes a tuple,
    ordered by query. A pair is left out if every doc that could be its negative holds an answer.
    """
    config = command.parse_spec(Spec, spec)
    negatives = config.negatives
    runs = command.named_paths("--run", run or [], [s.system for s in negatives.runs])
    searcher = _searcher(config, index, threads)
    with ExitStack() as stack:

        def lists_for(texts: Mapping[str, str], searched: bool) -> dict[str, DiskLists]:
            """Return the docs of the pools' systems, also of the lexical one if `searched`."""
            found = _hits(negatives, runs, searcher if searched else None, texts)
            return {
                system: stack.enter_context(
                    disk_lists(output.with_name(f"{output.name}.{n}"), docs)
                )
                for n, (system, docs) in enumerate(found.items())
            }

        if config.by_answers:
            texts = trec.read_queries(queries)
            if not negatives.sources or searcher is None:
                raise ResiduumError(
                    "the training split has answers and no judgements, so that positives are hits "
                    "that hold one: give negatives.pools with hits, and scores"
                )
            lists = lists_for(texts, searched=True)
            judged = _answered(negatives, lists, answers, corpus)
        else:
            judged = trec.read_qrels(qrels)
            texts = lexical.read_texts(queries, judged, qrels)
        pairs, facts = _pairs(config, judged, official)
        if not config.by_answers:
            paired = {query_id: texts[query_id] for query_id in pairs["query_id"]}
            lists = lists_for(paired, searched=negatives.without_answers)
        columns, in_corpus = pairs.columns[1:], set[str]()
        docs = {doc_id for column in columns for doc_id in pairs[column]}

        def doc_ids() -> Iterator[str]:
            total = contracts.corpus_manifest(corpus)["docs"]
            for doc_id, _ in track(contracts.read_corpus(corpus), "read", total, "docs"):
                if doc_id in docs:
                    in_corpus.add(doc_id)
                yield doc_id

        ids = stack.enter_context(disk_list(output, doc_ids()))
        complete = pairs.filter(pl.all_horizontal(pl.col(columns).is_in(in_corpus)))
        miner = Miner(negatives, ids, judged, searcher, lists)

        def rows(what: str) -> Iterator[Pair]:
            every = (Pair(q, texts[q], d, given) for q, d, *given in complete.iter_rows())
            return track(every, what, complete.height, "pairs")

        if negatives.without_answers:
            facts |= leave_out_answers(miner, rows("look up"), answers, corpus)
        mined = miner.mine(rows("mine"))
        tuples = contracts.write_tuples(output, mined)
    if lost := pairs.height - complete.height:
        fault = f"{lost} of {pairs.height} pairs are left out: a doc of theirs is not in {corpus}"
        print(f"warning: {fault}", file=sys.stderr)
    if out := complete.height - tuples:
        fault = "each doc drawn for them holds an answer"
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


def _hits(
    negatives: Negatives,
    runs: Mapping[str, Path],
    searcher: Searcher | None,
    texts: Mapping[str, str],
) -> dict[str, Iterator[tuple[str, list[str]]]]:
    """Return each system's docs for the queries: of its run, or searched for if it has none."""
    lists = dict[str, Iterator[tuple[str, list[str]]]]()
    for system, top, _ in negatives.sources:
        if system in runs:
            lists[system] = _lists(trec.read_lists(runs[system]), top, texts)
        elif searcher:
            queries = track(texts.items(), f"search with {system}", len(texts), "queries")
            ranked = (trec.rank(part) for part in searcher.search(queries, top))
            lists[system] = _lists(ranked, top, texts)
    return lists


def _lists(
    parts: Iterable[pl.DataFrame], top: int, queries: Iterable[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the first `top` docs of each query of a run that comes in parts, with its id."""
    kept = pl.DataFrame({"query_id": list(queries)}, schema={"query_id": pl.String})
    for part in parts:
        some = trec.cut(part, top).join(kept, on="query_id", how="semi", maintain_order="left")
        yield from trec.lists_of(some).iter_rows()


def _answered(
    negatives: Negatives, lists: Mapping[str, DiskLists], answers: Path | None, corpus: Path
) -> pl.DataFrame:
    """Return judgements of the pools' hits: a hit that holds an answer is relevant."""
    if answers is None:
        raise ResiduumError("positives are hits that hold an answer: give --answers")
    hits = [
        pl.DataFrame(list(lists[source.system].items()), LISTS, orient="row").explode("doc_id")
        for source in negatives.sources
    ]
    pairs = pl.concat(hits).unique(maintain_order=True)
    judged = judgements.of_pairs(pairs, answers, corpus).filter(pl.col("relevance") == 1)
    if judged.is_empty():
        reach = ", ".join(f"{source.system} (top: {source.top})" for source in negatives.sources)
        raise ResiduumError(
            f"{answers}: no hit of the pools' systems holds an answer: {reach}. Let a pool reach "
            "deeper, or train on docs long enough to hold what is asked and its answer."
        )
    return judged.sort("query_id", maintain_order=True)


def leave_out_answers(
    miner: Miner, pairs: Iterable[Pair], answers: Path | None, corpus: Path
) -> dict[str, object]:
    """Exclude docs that hold an answer from their query's negatives; return facts for the manifest.

    The corpus is read once for the docs of all pools. Memory holds ids and no texts. Without
    answers, no doc is excluded.
    """
    if answers is None:
        print(f"note: {NO_ANSWERS}, so no negative is left out", file=sys.stderr)
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


class Pair(NamedTuple):
    """A training pair; `given` holds its negatives if they are not drawn."""

    query_id: str
    text: str
    positive: str
    given: list[str]


class Miner:
    """Draws negatives, and counts fallbacks, short lists and the differences of scores."""

    def __init__(
        self,
        negatives: Negatives,
        doc_ids: DiskList,
        judged: pl.DataFrame,
        searcher: Searcher | None,
        lists: Mapping[str, DiskLists],
    ) -> None:
        """Take the corpus's ids, the judgements, and the docs of systems; others are searched."""
        relevant = judged.filter(pl.col("relevance") >= 1).group_by("query_id").agg("doc_id")
        self._relevant = {q: set(docs) for q, docs in relevant.iter_rows()}
        self._negatives, self._doc_ids, self._searcher = negatives, doc_ids, searcher
        pools = [pool for _, pool in sorted(negatives.pools.items())]
        self._pools = [POOLS[pool.kind].model_validate(pool) for pool in pools]
        self._lists = lists
        self._left_out = defaultdict[str, set[str]](set)
        self._counts = {"random_fallbacks": 0, "fewer_than_per_pair": 0}
        self._gaps = array("d")  # positives' scores less their negatives'

    def facts(self) -> dict[str, object]:
        """Return counts of random fallbacks and short lists, and the score differences."""
        spread = None
        if self._gaps:
            values = [np.mean(self._gaps), *np.percentile(self._gaps, [5, 50, 95])]
            rounded = [round(float(value), trec.SCORE_DECIMALS) for value in values]
            spread = dict(zip(("mean", "p5", "p50", "p95"), rounded, strict=True))
        return {**self._counts, "negatives": len(self._gaps), "score_difference": spread}

    def candidates(self, pairs: Iterable[Pair]) -> Iterator[tuple[str, set[str]]]:
        """Yield each query with all docs that `mine` could draw for it, including random docs."""
        assert self._searcher is not None, "docs are left out of pools"
        self._counts |= {"docs_with_an_answer": 0, "pairs_without_a_negative": 0}
        for chunk in chunks(pairs, PAIRS_AT_ONCE):
            ranked = self._ranked(self._searcher, {pair.query_id: pair.text for pair in chunk})
            docs = defaultdict[str, set[str]](set)
            for query_id, _, positive, _ in chunk:
                draw = self._draw_of(query_id, positive, ranked)
                docs[query_id].update(self._pooled(draw), draw.anywhere(draw.per_pair))
            yield from docs.items()

    def leave_out(self, query_id: str, doc_id: str) -> None:
        """Exclude a doc from a query's negatives."""
        self._left_out[query_id].add(doc_id)
        self._counts["docs_with_an_answer"] += 1

    def mine(self, pairs: Iterable[Pair]) -> Iterator[contracts.Tuple]:
        """Yield the tuple of each pair that has negatives; all positives must be in the corpus."""
        for chunk in chunks(pairs, PAIRS_AT_ONCE):
            for mined in self._mine(chunk):
                self._gaps.extend(mined.positive_score - score for score in mined.negative_scores)
                yield mined

    def _mine(self, pairs: list[Pair]) -> Iterator[contracts.Tuple]:
        if self._searcher is None:
            yield from (contracts.Tuple(q, positive, 0.0, [], []) for q, _, positive, _ in pairs)
            return
        texts = {pair.query_id: pair.text for pair in pairs}
        ranked = self._ranked(self._searcher, texts)
        every = ((q, d, given or self._draw(q, d, ranked)) for q, _, d, given in pairs)
        drawn = [(q, d, negatives) for q, d, negatives in every if negatives]
        docs: dict[str, set[str]] = {}
        for query_id, positive, negatives in drawn:
            docs.setdefault(query_id, set()).update([positive, *negatives])
        scored = self._searcher.score((q, texts[q], sorted(ids)) for q, ids in docs.items())
        scores = {(q, d): round(score, trec.SCORE_DECIMALS) for q, d, score in scored.iter_rows()}
        for query_id, positive, negatives in drawn:
            positive_score, *others = (
                scores[query_id, doc_id] for doc_id in (positive, *negatives)
            )
            yield contracts.Tuple(query_id, positive, positive_score, negatives, others)

    def _ranked(self, searcher: Searcher, texts: dict[str, str]) -> Ranked:
        """Return {system: {query_id: ranked docs}} for the pools' systems and the given queries."""
        ranked = {
            system: {query_id: lists[query_id] for query_id in texts if query_id in lists}
            for system, lists in self._lists.items()
        }
        for system, top, _ in self._negatives.sources:
            if system not in ranked:
                run = trec.rank(pl.concat(searcher.search(texts.items(), top)), top)
                ranked[system] = dict(trec.lists_of(run).iter_rows())
        return ranked

    def _draw_of(self, query_id: str, positive: str, ranked: Ranked) -> Draw:
        """Return the draw of a pair; its own seed makes it independent of the order of pairs."""
        per_pair, relevant = self._negatives.per_pair or 0, self._relevant[query_id]
        random = Random(derive(self._negatives.seed, query_id, positive))
        return Draw(query_id, random, per_pair, ranked, relevant, self._doc_ids)

    def _pooled(self, draw: Draw) -> list[str]:
        """Return the union of the pools' docs, in order, without relevant docs."""
        union = dict.fromkeys(chain.from_iterable(pool.docs(draw) for pool in self._pools))
        return [doc_id for doc_id in union if doc_id not in draw.relevant]

    def _draw(self, query_id: str, positive: str, ranked: Ranked) -> list[str]:
        """Draw the negatives of a pair, none twice; [] if all possible docs are excluded."""
        draw, left_out = self._draw_of(query_id, positive, ranked), self._left_out.get(query_id, ())
        random, per_pair = draw.random, draw.per_pair
        docs = [doc_id for doc_id in self._pooled(draw) if doc_id not in left_out]
        if not docs:
            self._counts["random_fallbacks"] += 1
            docs = [doc_id for doc_id in draw.anywhere(per_pair) if doc_id not in left_out]
        if not docs:
            self._counts["pairs_without_a_negative"] += 1
            return []
        self._counts["fewer_than_per_pair"] += len(docs) < per_pair
        return random.sample(docs, min(per_pair, len(docs)))


if __name__ == "__main__":
    command.main(app)
