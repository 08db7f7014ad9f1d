"""Results with circles, a figure over groups, a claim over it and their ledger."""

import shutil
from pathlib import Path

from bounds_fixture import unmeasured
from pages import test_figure_grouped
from pages.test_venn import PAPER, hits, job, write
from residuum import groups, ledger
from residuum.config.specs import canonical_json
from residuum.pages.claims import make as claims
from residuum.pages.claims.job import BoundClaims
from residuum.pages.figure import make as figures
from residuum.pages.venn import make as venn
from results_fixture import record


def build(folder: Path) -> Path:
    """Make the pages as their stages do, from metrics that have manifests; return the folder."""
    metrics, drawn = folder / "metrics", test_figure_grouped.job({"over": "halves", "reported": {}})
    for name, runs in (("a", ("nq-dpr", "nq-bm25")), ("b", ("nq-clear", "nq-bm25-too"))):
        for run, values in zip(runs, hits(PAPER[name]), strict=True):
            write(metrics, run, values)
    test_figure_grouped.sources(folder)
    shutil.rmtree(folder / "groups")
    for path in metrics.rglob("*.tsv"):
        record(path, {}, [], "residuum.evaluate")
    parted = folder / "groups" / "data" / "dev" / "halves.tsv"
    spec = canonical_json({"kind": "halves", "system": "bm25", "measure": "RR@10"})
    groups.halves(spec, [metrics / "data" / "dev" / "bm25.tsv"], parted)
    made = {**test_figure_grouped.FIGURE, "over": "halves", "groups": ["hard"]}
    made["reported"] = {"clear": {"gain/hard": "0.2"}}
    drawn = test_figure_grouped.job(made)
    figure, circles = folder / "figures" / "toy-figure4.tsv", folder / "venn" / "toy-figure1.tsv"
    text = canonical_json(drawn.model_dump(mode="json"))
    figures.draw(text, figure, metrics, groups=[parted])
    runs = {side: [f"nq-{run}" for run in own] for side, own in job().runs.items()}
    shown = canonical_json(job(runs=runs).model_dump(mode="json"))
    venn.draw(shown, metrics, circles)
    sentences, tests = folder / "claims" / "toy-claims.tsv", folder / "significance"
    judged = canonical_json(claimed(drawn).model_dump(mode="json"))
    tested = tests / "toy-claims.tsv"
    claims.judge(judged, metrics, tested, sentences, *unmeasured(metrics), groups=[parted])
    output = folder / "ledger.tsv"
    ledger.write([text, shown], [figure, circles], output, [], [sentences])
    return folder


def claimed(figure):
    holds = {"relation": "above", "page": "figure4", "rows": {"ours": ["dpr"]}, "columns": ["mean"]}
    claim = {"id": "better", "section": "4", "says": "Ours is better.", "holds": holds}
    page = {"kind": "claims", "title": "Words", "printed_in": "Toy, prose", "tests": "t"}
    tests = {**test_figure_grouped.TESTS, "compare": "all_pairs"}
    return BoundClaims.model_validate(
        {"id": "toy-claims", "entry": {**page, "claims": [claim]}, "tests": tests, "tables": {},
         "figures": {"figure4": figure.model_dump()}, "scale": "toy", "reason": "a toy."}
    )  # fmt: skip
