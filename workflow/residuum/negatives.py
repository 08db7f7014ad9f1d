"""Draw the negatives of every training pair, or take a split's own, with BM25 scores of all docs.

Command: `python -m residuum.negatives mine ...`. Source: CLEAR section 3.3, "Error-Based Negative
Sampling". Must not know models, losses or encoders: it writes tuples that any of them may read.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl
import typer

from residuum import lexical
from residuum.artefacts import contracts, docpairs, manifest, trec
from residuum.artefacts.streams import DiskList, chunks, disk_list
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import derive
from residuum.lucene.anserini import Searcher
from residuum.pools import POOLS, Draw, Ranked

app = command.app(__doc__)
PAIRS_AT_ONCE = 256  # bounds the ranked lists in memory


class Spec(Strict):
    """What to draw: the negatives of a model, the plain BM25 that scores, the positives."""

    negatives: Negatives
    system: LexicalSystem | None = None
    positive_level: Positive = 1


@app.command()
def mine(
    corpus: command.Corpus,
    queries: command.Queries,
    qrels: command.Qrels,
    spec: Annotated[str, typer.Option(help="negatives.Spec as JSON")],
    output: Annotated[Path, typer.Option(help="tuples.jsonl.gz to write")],
    index: Annotated[Path | None, typer.Option(help="Lucene index, if there are pools")] = None,
    threads: command.JavaThreads = 1,
    run: Annotated[list[str] | None, typer.Option(help="of other systems: SYSTEM=RUN")] = None,
    official: Annotated[
        Path | None, typer.Option("--docpairs", help="training triples of the split")
    ] = None,
) -> None:
    """Write one tuple for each query and positive, in the order of the qrels.

    If the negatives are the split's own training triples: one for each of these, by query.
    """
    config = command.parse_spec(Spec, spec)
    judged = trec.read_qrels(qrels)
    texts = lexical.read_texts(queries, judged, qrels)
    runs = command.named_paths("--run", run or [], [s.system for s in config.negatives.runs])
    searcher = _searcher(config, index, threads)
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
        miner = Miner(config.negatives, ids, judged, searcher, runs)
        rows = (Pair(q, texts[q], d, given) for q, d, *given in complete.iter_rows())
        mined = miner.mine(track(rows, "mine", complete.height, "pairs"))
        tuples = contracts.write_tuples(output, mined)
    if lost := pairs.height - complete.height:
        fault = f"{lost} of {pairs.height} pairs are left out: a doc of theirs is not in {corpus}"
        print(f"warning: {fault}", file=sys.stderr)
    counts = {"pairs": pairs.height, "tuples": tuples, "pairs_not_in_corpus": lost, **facts}
    inputs = [corpus / "manifest.json", queries, qrels, *runs.values()]
    inputs += [index / "manifest.json"] if index else []
    inputs += [official] if official else []
    manifest.write(output, {**counts, **miner.facts()}, config, inputs, "residuum.negatives")


def _pairs(
    spec: Spec, judged: pl.DataFrame, official: Path | None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return query_id and positive of all pairs, with a negative where triples bring it.

    A triple is left out, and counted, if the qrels do not have its positive, or have its negative
    as relevant.
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
    in_order = kept.sort("query_id", maintain_order=True)  # a query is searched once
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


class Pair(NamedTuple):
    """A training pair, and its negatives where they are not drawn."""

    query_id: str
    text: str
    positive: str
    given: list[str]


class Miner:
    """Draws negatives; counts what it could not do as specified, and gaps between scores."""

    def __init__(
        self,
        negatives: Negatives,
        doc_ids: DiskList,
        judged: pl.DataFrame,
        searcher: Searcher | None,
        runs: dict[str, Path],
    ) -> None:
        relevant = judged.filter(pl.col("relevance") >= 1).group_by("query_id").agg("doc_id")
        self._relevant = {q: set(docs) for q, docs in relevant.iter_rows()}
        self._negatives, self._doc_ids, self._searcher = negatives, doc_ids, searcher
        pools = [pool for _, pool in sorted(negatives.pools.items())]
        self._pools = [POOLS[pool.kind].model_validate(pool) for pool in pools]
        self._runs = {
            name: trec.read_run(path).group_by("query_id", maintain_order=True).agg("doc_id")
            for name, path in runs.items()
        }
        self._counts = {"random_fallbacks": 0, "drawn_with_replacement": 0}
        self._gaps = array("d")  # how far positives score above their negatives

    def facts(self) -> dict[str, Any]:
        """Count pairs that fell back to random docs or repeat a doc; describe all gaps."""
        spread = None
        if self._gaps:
            values = [np.mean(self._gaps), *np.percentile(self._gaps, [5, 50, 95])]
            rounded = [round(float(value), trec.SCORE_DECIMALS) for value in values]
            spread = dict(zip(("mean", "p5", "p50", "p95"), rounded, strict=True))
        return {**self._counts, "negatives": len(self._gaps), "score_difference": spread}

    def mine(self, pairs: Iterable[Pair]) -> Iterator[contracts.Tuple]:
        """Yield the tuple of each pair, whose positive is in the corpus."""
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
        drawn = [(q, d, given or self._draw(q, d, ranked)) for q, _, d, given in pairs]
        docs: dict[str, set[str]] = {}
        for query_id, positive, negatives in drawn:
            docs.setdefault(query_id, set()).update([positive, *negatives])
        scored = self._searcher.score((q, texts[q], sorted(ids)) for q, ids in docs.items())
        scores = {(q, d): round(score, trec.SCORE_DECIMALS) for q, d, score in scored.iter_rows()}
        for query_id, positive, negatives in drawn:
            own, *others = (scores[query_id, doc_id] for doc_id in (positive, *negatives))
            yield contracts.Tuple(query_id, positive, own, negatives, others)

    def _ranked(self, searcher: Searcher, texts: dict[str, str]) -> Ranked:
        """Return the docs that each system of the pools ranks for some queries."""
        ranked = {
            system: dict(run.filter(pl.col("query_id").is_in(list(texts))).iter_rows())
            for system, run in self._runs.items()
        }
        for system, top, _ in self._negatives.sources:
            if system not in ranked:
                run = trec.rank(pl.concat(searcher.search(texts.items(), top)), top)
                ranked[system] = dict(run.group_by("query_id").agg("doc_id").iter_rows())
        return ranked

    def _draw(self, query_id: str, positive: str, ranked: Ranked) -> list[str]:
        """Draw from a seed of the pair's own, so that the order of pairs does not matter."""
        per_pair, relevant = self._negatives.per_pair or 0, self._relevant[query_id]
        random = Random(derive(self._negatives.seed, query_id, positive))
        draw = Draw(query_id, random, per_pair, ranked, relevant, self._doc_ids)
        union = dict.fromkeys(chain.from_iterable(pool.docs(draw) for pool in self._pools))
        docs = [doc_id for doc_id in union if doc_id not in relevant]
        if not docs:
            self._counts["random_fallbacks"] += 1
            docs = draw.anywhere(per_pair)
        if len(docs) >= per_pair:
            return random.sample(docs, per_pair)
        self._counts["drawn_with_replacement"] += 1
        return random.choices(docs, k=per_pair)


if __name__ == "__main__":
    command.main(app)
