"""Bounds of measures beside hand-made metrics: none keeps a comparison from a verdict."""

from pathlib import Path

import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import NotRun


def bounds_of(metrics: Path, chance: float = 0.0, ceiling: float = 1.0) -> Path:
    """Write bounds for each split below a folder of metrics files, and return their folder."""
    root = metrics.parent / "bounds"
    for folder in {path.parent for path in metrics.rglob("*.tsv")}:
        read = (_values(path) for path in sorted(folder.glob("*.tsv")))
        tables = pl.concat([pl.DataFrame(schema=trec.METRICS), *read])
        limits = {"chance": pl.lit(chance), "ceiling": pl.lit(ceiling)}
        table = tables.select("query_id", "measure").unique().with_columns(**limits)
        where = folder.relative_to(metrics)
        trec.write_bounds(root / where.parent / f"{where.name}.tsv", table)
    return root


def unmeasured(metrics: Path, chance: float = 0.0, ceiling: float = 1.0) -> tuple[Path, Path]:
    """Return the folder of bounds that `bounds_of` writes, and one without measurements."""
    return bounds_of(metrics, chance, ceiling), metrics.parent / "fidelity"


def _values(path: Path) -> pl.DataFrame:
    """Return the values of a metrics file; none if it holds why there is no run."""
    try:
        return trec.read_metrics(path)
    except NotRun:
        return pl.DataFrame(schema=trec.METRICS)
