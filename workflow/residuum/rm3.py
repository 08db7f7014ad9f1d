"""Choose RM3's parameters for each fold of the queries on the other folds, and write the run.

Command: `python -m residuum.rm3 tune ...`. Source: CLEAR section 4 (cross-validation). A stage of
its own, so that no other search depends on measures.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer

from residuum import lexical
from residuum.artefacts import trec
from residuum.artefacts.residual import Residual
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.measures import cutoff
from residuum.config.schema.settings import Rm3
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene.anserini import CHUNK, Searcher
from residuum.tuning.choosing import Values, choose, read_folds, split_folds
from residuum.tuning.evaluation import evaluate

app = command.app(__doc__)
SLACK = 10  # hits below the cutoff whose rounded scores may tie with the last hit's


@app.command()
def tune(
    index: lexical.Index,
    queries: command.Queries,
    qrels: command.Qrels,
    spec: lexical.SystemText,
    measure: Annotated[str, typer.Option(help="ir_measures name by which settings are chosen")],
    tag: command.Tag,
    output: command.Run,
    record: Annotated[Path, command.written("JSON to write: folds, settings and their values")],
    threads: command.JavaThreads = 1,
    fold: command.Folds = None,
    judged_before: command.JudgedBefore = None,
) -> None:
    """Search at every setting, choose by cross-validation, and search each fold at its setting."""
    system = command.parse_spec(LexicalSystem, spec)
    rm3 = system.rm3
    if rm3 is None or rm3.grid is None or rm3.folds is None or rm3.seed is None:
        raise ResiduumError("rm3 has no grid: use the verb search of residuum.lexical")
    searcher = lexical.open_index(index, system, threads)
    judged = trec.read_qrels(qrels)
    texts = lexical.read_texts(queries, judged, qrels)
    tuning = {query_id: texts[query_id] for query_id in sorted(set(judged["query_id"]))}
    fold_of = read_folds(texts, fold or [])  # the collection's own folds, or drawn ones
    fold_of = fold_of or split_folds(list(texts), set(tuning), rm3.folds, rm3.seed)
    grid, residual = rm3.grid.settings(), Residual(judged_before)
    values = _values(searcher, grid, tuning, judged, measure, residual)
    settings = [setting.model_dump() for setting in grid]
    choice = choose(settings, values, list(tuning), measure, fold_of)
    chosen = {q: Rm3.model_validate(setting) for q, setting in choice.of_queries().items()}
    hits: list[pl.DataFrame] = []
    for setting in dict.fromkeys(chosen.values()):
        answered = [(q, text) for q, text in texts.items() if chosen[q] == setting]
        hits += searcher.search(answered, system.k + residual.most, setting)
    run = trec.rank(residual.left(pl.concat(hits)), system.k)
    inputs = [index / "manifest.json", queries, qrels, *(fold or []), *residual.paths]
    facts = {"queries": len(texts), "measure": measure, **choice.facts()}
    lexical.write(output, [run], tag, facts, searcher, inputs, "residuum.rm3")
    choice.write(record, system, inputs, "residuum.rm3")


def _values(
    searcher: Searcher,
    grid: list[Rm3],
    texts: dict[str, str],
    qrels: pl.DataFrame,
    measure: str,
    residual: Residual,
) -> Values:
    """Return the measure as (settings, queries), queries sorted by id; hits are discarded."""
    k = searcher.system.k
    depth = min(k, cutoff(measure) or k)
    values: dict[Rm3, list[float]] = {setting: [] for setting in grid}
    searches = -(-len(texts) // CHUNK) * len(grid)
    deep = min(k, depth + SLACK) + residual.most
    lists = searcher.search_grid(texts.items(), list(values), deep)
    for query_ids, setting, hits in track(lists, "tune", searches, "searches"):
        judged = qrels.filter(pl.col("query_id").is_in(query_ids))
        run = trec.rank(residual.left(hits), depth)
        values[setting] += evaluate(run, judged, [measure])["value"].to_list()
    return np.array([values[setting] for setting in grid])


if __name__ == "__main__":
    command.main(app)
