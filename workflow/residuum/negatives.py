"""Draw the negatives of every training pair, with the true BM25 scores of all its docs.

Command: `python -m residuum.negatives mine ...`. Source: CLEAR section 3.3, "Error-Based Negative
Sampling". Must not know models, losses or encoders: it writes tuples that any of them may read.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.artefacts.contracts import Tuple
from residuum.artefacts.streams import DiskList, chunks, disk_list
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.models import Negatives
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import derive
from residuum.lexical import open_index, require_queries
from residuum.lucene.anserini import Searcher
from residuum.pools import POOLS, Draw

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
    run: Annotated[
        list[str] | None, typer.Option(help="run of another system of the pools: SYSTEM=PATH")
    ] = None,
) -> None:
    """Write one tuple for each query and positive, in the order of the qrels."""
    config = command.parse_spec(Spec, spec)
    texts, judged = trec.read_queries(queries), trec.read_qrels(qrels)
    require_queries(judged, texts, qrels, queries)
    others = [source.system for source in config.negatives.runs]
    runs = command.named_paths("--run", run or [], others)
    searcher, hits = _searcher(config, index, threads), _hits(runs)
    pairs = judged.filter(pl.col("relevance") >= config.positive_level)
    available: set[str] = set()
    with disk_list(output, _noted(_doc_ids(corpus), set(pairs["doc_id"]), available)) as doc_ids:
        found = pairs.filter(pl.col("doc_id").is_in(available))
        miner, gaps = Miner(config, doc_ids, judged, searcher, hits), Gaps()
        mined = miner.mine(((q, texts[q], d) for q, d, _ in found.iter_rows()), found.height)
        tuples = contracts.write_tuples(output, gaps.of(mined))
    lost = pairs.height - found.height
    _warn(lost, pairs.height, corpus)
    facts = {"pairs": pairs.height, "tuples": tuples, "positives_not_in_corpus": lost}
    facts |= {**miner.counts, **gaps.summary()}
    inputs = [corpus / "manifest.json", queries, qrels, *runs.values()]
    inputs += [index / "manifest.json"] if index else []
    manifest.write(output, facts, config, inputs, "residuum.negatives")


def _hits(runs: dict[str, Path]) -> dict[str, pl.DataFrame]:
    """Return, for each system with a run, query_id and the list of its docs, best first."""
    return {
        name: trec.read_run(path).group_by("query_id", maintain_order=True).agg("doc_id")
        for name, path in runs.items()
    }


def _searcher(spec: Spec, index: Path | None, threads: int) -> Searcher | None:
    if spec.negatives.same_as:
        raise ResiduumError("negatives.same_as: use the tuples of the model that it names")
    if not spec.negatives.pools:
        return None
    if spec.system is None or index is None:
        raise ResiduumError("negatives.pools: give --index, and the system in --spec")
    if spec.system.expands:
        raise ResiduumError(
            f"negatives.scores: the system {spec.system.label} has rm3, which cannot score a doc "
            "outside its list. Use a system without rm3."
        )
    return open_index(index, spec.system, threads)


def _doc_ids(corpus: Path) -> Iterator[str]:
    total = contracts.corpus_manifest(corpus)["docs"]
    docs = track(contracts.read_corpus(corpus), "read", total, "docs")
    return (doc_id for doc_id, _ in docs)


def _noted(doc_ids: Iterable[str], needed: set[str], available: set[str]) -> Iterator[str]:
    """Pass ids on and add those that are needed to `available`."""
    for doc_id in doc_ids:
        if doc_id in needed:
            available.add(doc_id)
        yield doc_id


def _warn(lost: int, pairs: int, corpus: Path) -> None:
    if lost:
        print(
            f"warning: {lost} of {pairs} pairs are left out: their positive is not in {corpus}",
            file=sys.stderr,
        )


class Miner:
    """Draws negatives and counts what it could not do as specified."""

    def __init__(
        self,
        spec: Spec,
        doc_ids: DiskList,
        judged: pl.DataFrame,
        searcher: Searcher | None,
        hits: dict[str, pl.DataFrame],
    ) -> None:
        relevant = judged.filter(pl.col("relevance") >= 1).group_by("query_id").agg("doc_id")
        self.relevant = {q: set(docs) for q, docs in relevant.iter_rows()}
        self._negatives = spec.negatives
        pools = [pool for _, pool in sorted(spec.negatives.pools.items())]
        self.pools = [POOLS[pool.kind].model_validate(pool) for pool in pools]
        self.doc_ids = doc_ids
        self._searcher = searcher
        self._hits = hits
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """Pairs that fell back to random docs, or hold a doc more than once."""
        return {name: self._counts[name] for name in ("random_fallbacks", "drawn_with_replacement")}

    def mine(self, pairs: Iterable[tuple[str, str, str]], total: int) -> Iterator[Tuple]:
        """Yield the tuple of each (query_id, text, positive), whose positive is in the corpus."""
        for chunk in chunks(track(pairs, "mine", total, "pairs"), PAIRS_AT_ONCE):
            yield from self._mine(chunk)

    def _mine(self, pairs: list[tuple[str, str, str]]) -> Iterator[Tuple]:
        if self._searcher is None:
            yield from (Tuple(query_id, positive, 0.0, [], []) for query_id, _, positive in pairs)
            return
        texts = {query_id: text for query_id, text, _ in pairs}
        ranked = self._ranked(self._searcher, texts)
        drawn = [(q, positive, self._draw(q, positive, ranked)) for q, _, positive in pairs]
        scores = _scores(self._searcher, texts, drawn)
        for query_id, positive, negatives in drawn:
            of = [scores[query_id, doc_id] for doc_id in (positive, *negatives)]
            yield Tuple(query_id, positive, of[0], negatives, of[1:])

    def _ranked(self, searcher: Searcher, texts: dict[str, str]) -> dict[str, dict[str, list[str]]]:
        """Return the docs that each system of the pools ranks for some queries."""
        ranked = {
            system: dict(run.filter(pl.col("query_id").is_in(list(texts))).iter_rows())
            for system, run in self._hits.items()
        }
        for system, top, _ in self._negatives.sources:
            if system not in ranked:
                run = trec.rank(searcher.search(texts.items(), top), top)
                ranked[system] = dict(run.group_by("query_id").agg("doc_id").iter_rows())
        return ranked

    def _draw(
        self, query_id: str, positive: str, ranked: dict[str, dict[str, list[str]]]
    ) -> list[str]:
        """Draw from a seed of the pair's own, so that the order of pairs does not matter."""
        per_pair, relevant = self._negatives.per_pair or 0, self.relevant[query_id]
        random = Random(derive(self._negatives.seed, query_id, positive))
        draw = Draw(query_id, random, per_pair, ranked, relevant, self.doc_ids)
        union = dict.fromkeys(chain.from_iterable(pool.docs(draw) for pool in self.pools))
        docs = [doc_id for doc_id in union if doc_id not in relevant]
        if not docs:
            self._counts["random_fallbacks"] += 1
            docs = draw.anywhere(per_pair)
        if len(docs) >= per_pair:
            return random.sample(docs, per_pair)
        self._counts["drawn_with_replacement"] += 1
        return random.choices(docs, k=per_pair)


def _scores(
    searcher: Searcher, texts: dict[str, str], drawn: list[tuple[str, str, list[str]]]
) -> dict[tuple[str, str], float]:
    """Score the positive and negatives of all pairs, rounded as a run file rounds."""
    docs: dict[str, set[str]] = {}
    for query_id, positive, negatives in drawn:
        docs.setdefault(query_id, set()).update([positive, *negatives])
    scored = searcher.score((q, texts[q], sorted(found)) for q, found in docs.items())
    return {(q, d): round(score, trec.SCORE_DECIMALS) for q, d, score in scored.iter_rows()}


class Gaps:
    """How far positives score above their negatives, noted as the tuples pass by."""

    def __init__(self) -> None:
        self._gaps = array("d")

    def of(self, tuples: Iterable[Tuple]) -> Iterator[Tuple]:
        """Pass the tuples on."""
        for item in tuples:
            self._gaps.extend(item.positive_score - score for score in item.negative_scores)
            yield item

    def summary(self) -> dict[str, Any]:
        """Return the number of negatives, and the mean and percentiles 5, 50, 95 of the gaps."""
        if not self._gaps:
            return {"negatives": 0, "score_difference": None}
        found = [np.mean(self._gaps), *np.percentile(self._gaps, [5, 50, 95])]
        rounded = [round(float(value), trec.SCORE_DECIMALS) for value in found]
        spread = dict(zip(("mean", "p5", "p50", "p95"), rounded, strict=True))
        return {"negatives": len(self._gaps), "score_difference": spread}


if __name__ == "__main__":
    command.main(app)
