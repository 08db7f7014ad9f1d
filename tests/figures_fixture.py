"""A figure of BM25 and of a dense model with two seeds, from metrics that are given by hand."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from residuum.artefacts import trec
from residuum.config.specs import canonical_json
from residuum.pages.figure import make as figures
from residuum.pages.figure.job import BoundFigure

TESTS = {"test": "permutation", "alpha": 0.05, "correction": "holm", "family": "column",
         "compare": "with_baselines"}  # fmt: skip
SERIES = [{"id": one, "label": one.upper(), "system": one} for one in ("bm25", "dense")]
RUNS = {"bm25": ["bm25"], "dense": ["dense.seed1", "dense.seed2"]}
Values = Mapping[str, Iterable[tuple[str, str, float]]]  # run: (query_id, measure, value)


def bound(entry: Mapping[str, Any]) -> BoundFigure:
    """Return a figure bound to data/dev."""
    return BoundFigure.model_validate(
        {"id": "toy-figure1", "entry": entry, "tests": TESTS, "runs": RUNS,
         "splits": dict.fromkeys(RUNS, "data/dev"), "scale": "toy", "reason": "a toy."}
    )  # fmt: skip


def draw(folder: Path, job: BoundFigure, values: Values, **options: Any) -> Path:
    """Write the metrics of runs, draw the figure, and return the path of its data."""
    for run, rows in values.items():
        path = folder / "metrics" / "data" / "dev" / f"{run}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        trec.write_metrics(path, pl.DataFrame([*rows], schema=trec.METRICS, orient="row"))
    output = folder / "toy-figure1.tsv"
    spec = canonical_json(job.model_dump(mode="json"))
    figures.draw(spec, output, folder / "metrics", **options)
    return output
