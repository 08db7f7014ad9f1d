"""Fuse the runs of several systems by reciprocal rank: the sum over lists of 1 / (constant + rank).

Command: `python -m residuum.rrf fuse ...`. Source: Cormack, Clarke and Buettcher, Reciprocal Rank
Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import manifest, trec
from residuum.cli import command
from residuum.config.schema.systems import ReciprocalRankSystem

app = command.app(__doc__)
DECIMALS = 12  # needed for deep ranks: 1/1059 - 1/1060 is 8.9e-7


@app.command()
def fuse(
    spec: Annotated[str, typer.Option(help="schema.ReciprocalRankSystem as JSON")],
    run: command.PartRuns,
    tag: command.Tag,
    output: command.Run,
) -> None:
    """Write the fused run; a doc that a list lacks gets nothing from it."""
    system = command.parse_spec(ReciprocalRankSystem, spec)
    runs = command.named_paths("--run", run, system.parts)

    def lists() -> Iterator[pl.DataFrame]:
        for tables in trec.read_together([*runs.values()], joined=len(runs)):
            yield by_rank(tables, system.rank_constant, system.k)

    written, highest = trec.write_run(output, lists(), tag), len(runs) / (system.rank_constant + 1)
    facts = {"hits": written.hits, "answered": written.queries, "highest": highest}
    manifest.write(output, facts, system, list(runs.values()), "residuum.rrf")


def by_rank(runs: Iterable[pl.DataFrame], constant: int, k: int) -> pl.DataFrame:
    """Return the k best docs of each query, ranked by the sum of 1 / (constant + rank).

    Ranks count from 1. Sums that are equal to twelve decimals are ordered by doc_id.
    """
    share = 1 / (constant + pl.col("rank"))
    shares = pl.concat(run.select(*trec.PAIR, score=share) for run in runs)
    sums = shares.group_by(trec.PAIR, maintain_order=True).agg(pl.col("score").sum())
    return trec.rank(sums, k, DECIMALS)


if __name__ == "__main__":
    command.main(app)
