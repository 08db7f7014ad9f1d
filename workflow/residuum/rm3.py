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
from residuum.artefacts.streams import chunks
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.measures import cutoff
from residuum.config.schema.settings import Rm3, Rm3Grid
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene.anserini import Searcher
from residuum.lucene.gridsearch import GridSearch
from residuum.lucene.ranking import Ranks
from residuum.tuning.choosing import Values, choose, read_folds, split_folds
from residuum.tuning.evaluation import of_ranks

app = command.app(__doc__)
MOST_LINES = 1_000_000  # of lists that are evaluated together


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
    """Rank at every setting, choose by cross-validation, and search each fold at its setting."""
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
    residual = Residual(judged_before)
    values = _values(searcher, rm3.grid, tuning, judged, measure, residual, threads)
    settings = [setting.model_dump() for setting in rm3.grid.settings()]
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
    grid: Rm3Grid,
    texts: dict[str, str],
    qrels: pl.DataFrame,
    measure: str,
    residual: Residual,
    threads: int,
) -> Values:
    """Return the measure as (settings, queries), queries sorted by id."""
    k = searcher.system.k
    depth = min(k, cutoff(measure) or k)
    judged = dict(trec.lists_of(qrels.sort(trec.PAIR)).iter_rows())
    found = GridSearch(searcher, grid, threads).ranks(texts.items(), judged, depth, residual.pairs)
    found = track(found, "tune", len(texts), "queries")
    settings, parts = len(grid.settings()), list[Values]()
    for some in chunks(found, max(1, MOST_LINES // (settings * depth))):
        lists = pl.concat(_lists(query_id, judged[query_id], ranks) for query_id, ranks in some)
        parts.append(of_ranks(lists, qrels, measure).reshape(len(some), settings))
    return np.concatenate(parts).T


def _lists(query_id: str, doc_ids: list[str], found: Ranks) -> pl.DataFrame:
    """Return query_id, length, and the judged docs with their ranks, a row for each setting."""
    setting, number = np.nonzero(found.ranks)
    held = pl.DataFrame(
        {
            "setting": setting,
            "rank": found.ranks[setting, number],
            "doc_id": pl.Series([doc_ids[n] for n in number], dtype=pl.String),
        }
    ).sort("setting", "rank")
    lists = pl.DataFrame({"setting": range(len(found.lengths)), "length": found.lengths})
    lists = lists.with_columns(query_id=pl.lit(query_id))
    by_setting = held.group_by("setting", maintain_order=True).agg("rank", "doc_id")
    return lists.join(by_setting, on="setting", how="left", maintain_order="left")


if __name__ == "__main__":
    command.main(app)
