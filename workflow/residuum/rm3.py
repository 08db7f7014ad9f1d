"""Choose RM3's parameters for each fold of the queries on the other folds, and write the run.

Command: `python -m residuum.rm3 tune ...`. Source: CLEAR section 4 (cross-validation). A stage of
its own, so that no other search depends on measures. Must not know splits.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer

from residuum import lexical
from residuum.artefacts import trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.measures import cutoff
from residuum.config.schema.systems import LexicalSystem, Rm3, Rm3Setting
from residuum.evaluate import evaluate
from residuum.lucene.anserini import CHUNK, Searcher
from residuum.tuning import folds
from residuum.tuning.choosing import Values, choose
from residuum.tuning.record import Record

app = command.app(__doc__)
SLACK = 10  # hits behind the cut-off, whose scores may become equal to its last by rounding


@app.command()
def tune(
    index: lexical.Index,
    queries: command.Queries,
    qrels: command.Qrels,
    spec: lexical.SystemText,
    measure: Annotated[str, typer.Option(help="ir_measures name by which settings are chosen")],
    tag: command.Tag,
    output: command.Run,
    record: Annotated[Path, typer.Option(help="JSON to write: folds, settings and their values")],
    threads: command.JavaThreads = 1,
    fold: command.Folds = None,
) -> None:
    """Search at every setting, choose by cross-validation and search each fold at its setting."""
    system = command.parse_spec(LexicalSystem, spec)
    if system.rm3 is None or system.rm3.grid is None:
        raise ResiduumError("rm3 has no grid: use the verb search of residuum.lexical")
    searcher = lexical.open_index(index, system, threads)
    texts, judged = trec.read_queries(queries), trec.read_qrels(qrels)
    lexical.require_queries(judged, texts, qrels, queries)
    asked = {q: texts[q] for q in judged["query_id"].unique(maintain_order=True)}
    fold_of = _fold_of(list(texts), set(asked), system.rm3, fold or [])
    settings = system.rm3.grid.settings()
    values = _values(searcher, settings, asked, judged, measure, system.k)
    chosen = choose([s.model_dump() for s in settings], values, list(asked), measure, fold_of)
    run = trec.rank(_search(searcher, texts, chosen, system.k), system.k)
    inputs = [index / "manifest.json", queries, qrels, *(fold or [])]
    facts = {"queries": len(texts), "measure": measure, **chosen.facts()}
    facts |= lexical.parameters(index, searcher, system)
    lexical.write(output, [run], tag, facts, system, inputs, "residuum.rm3")
    chosen.write(record, system, inputs, "residuum.rm3")


def _fold_of(
    query_ids: list[str], judged: set[str], setting: Rm3Setting, paths: list[Path]
) -> dict[str, int]:
    """Return the fold of each query: the collection's own, or drawn ones."""
    if paths or setting.folds is None or setting.seed is None:
        return folds.named(query_ids, [trec.read_queries(path) for path in paths])
    return folds.split(query_ids, judged, setting.folds, setting.seed)


def _values(
    searcher: Searcher,
    settings: Sequence[Rm3],
    texts: Mapping[str, str],
    qrels: pl.DataFrame,
    measure: str,
    k: int,
) -> Values:
    """Return the measure of each setting and query; hits are dropped once evaluated."""
    depth = min(k, cutoff(measure) or k)
    column = {query_id: number for number, query_id in enumerate(texts)}
    row = {setting: number for number, setting in enumerate(settings)}
    values = np.zeros((len(settings), len(texts)))
    searches = -(-len(texts) // CHUNK) * len(settings)
    found = searcher.search_grid(list(texts.items()), settings, min(k, depth + SLACK))
    for ids, setting, hits in track(found, "tune", searches, "searches"):
        judged = qrels.filter(pl.col("query_id").is_in(ids))
        metrics = evaluate(trec.rank(hits, depth), judged, [measure])
        for query_id, value in metrics.select("query_id", "value").iter_rows():
            values[row[setting], column[query_id]] = value
    return values


def _search(searcher: Searcher, texts: Mapping[str, str], record: Record, k: int) -> pl.DataFrame:
    """Search every query at its setting: query_id, doc_id, score of `k` hits."""
    chosen = {q: Rm3.model_validate(setting) for q, setting in record.of_queries().items()}
    found = []
    for setting in dict.fromkeys(chosen.values()):
        asked = [(q, text) for q, text in texts.items() if chosen[q] == setting]
        found.append(searcher.search(asked, k, setting))
    return pl.concat(found)


if __name__ == "__main__":
    command.main(app)
