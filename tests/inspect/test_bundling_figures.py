"""A bundle with circles, a figure over groups and their ledger: each page made again from it."""

import shutil

import pytest

from bundles import contents, faults
from pages import test_grouped
from residuum import claims, figures, groups, ledger, venn
from residuum.artefacts import manifest
from residuum.config.specs import canonical_json
from residuum.inspect import bundling
from residuum.wiring.bound import BoundClaims
from results_fixture import record
from test_venn import PAPER, hits, job, write


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Make the pages as their stages do, from metrics that have manifests."""
    folder = tmp_path_factory.mktemp("here") / "results" / "toy"
    metrics, drawn = folder / "metrics", test_grouped.job({"over": "halves", "reported": {}})
    for name, runs in (("a", ("nq-dpr", "nq-bm25")), ("b", ("nq-clear", "nq-bm25-too"))):
        for run, values in zip(runs, hits(PAPER[name]), strict=True):
            write(metrics, run, values)
    test_grouped.sources(folder)
    shutil.rmtree(folder / "groups")
    for path in metrics.rglob("*.tsv"):
        record(path, {}, [], "residuum.evaluate")
    parted = folder / "groups" / "data" / "dev" / "halves.tsv"
    spec = canonical_json({"kind": "halves", "system": "bm25", "measure": "RR@10"})
    groups.halves(spec, [metrics / "data" / "dev" / "bm25.tsv"], parted)
    made = {**test_grouped.FIGURE, "over": "halves", "groups": ["hard"]}
    made["reported"] = {"clear": {"gain/hard": "0.2"}}
    drawn = test_grouped.job(made)
    figure, circles = folder / "figures" / "toy-figure4.tsv", folder / "venn" / "toy-figure1.tsv"
    text = canonical_json(drawn.model_dump(mode="json"))
    figures.draw(text, figure, metrics, groups=[parted])
    runs = {side: [f"nq-{run}" for run in own] for side, own in job().runs.items()}
    shown = canonical_json(job(runs=runs).model_dump(mode="json"))
    venn.draw(shown, metrics, circles)
    sentences, tests = folder / "claims" / "toy-claims.tsv", folder / "significance"
    judged = canonical_json(claimed(drawn).model_dump(mode="json"))
    tested = tests / "toy-claims.tsv"
    claims.judge(judged, metrics, tested, sentences, groups=[parted])
    output = folder / "ledger.tsv"
    ledger.write([text, shown], [figure, circles], output, [], [sentences])
    return folder


def claimed(figure):
    holds = {"relation": "above", "page": "figure4", "rows": {"ours": ["dpr"]}, "columns": ["mean"]}
    claim = {"id": "better", "section": "4", "says": "Ours is better.", "holds": holds}
    page = {"kind": "claims", "title": "Words", "printed_in": "Toy, prose", "tests": "t"}
    tests = {**test_grouped.TESTS, "compare": "all_pairs"}
    return BoundClaims.model_validate(
        {"id": "toy-claims", "claims": {**page, "claims": [claim]}, "tests": tests, "tables": {},
         "figures": {"figure4": figure.model_dump()}, "scale": "toy", "comparable": True,
         "reason": "a toy."}
    )  # fmt: skip


def test_every_page_is_made_again_from_metrics_and_groups(results, tmp_path):
    archive = tmp_path / "toy.tar.gz"
    bundling.write(results, archive)
    assert "results/groups/data/dev/halves.tsv" in contents(archive)
    *pages, total = map(str, bundling.verify(archive))
    assert pages == [
        "ok     toy-claims: made again, same bytes",
        "ok     toy-figure4: made again, same bytes; drawings carried, checked by hash",
        "ok     toy-figure1: made again, same bytes; drawings carried, checked by hash",
        "ok     ledger: made again, same bytes",
    ]
    assert total == "ok     bundle: 4 pages made again byte for byte, 0 carried; no fault"


def test_changed_groups_are_found(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    parted = copy / "groups" / "data" / "dev" / "halves.tsv"
    archive = tmp_path / "toy.tar.gz"
    bundling.write(copy, archive)
    parted.write_text(parted.read_text().replace("hard\tq2", "easy\tq2"))
    record(parted, {}, [], "residuum.groups")  # as if it had been made so
    kept = [*copy.glob("figures/*manifest.json"), *copy.glob("claims/*manifest.json"),
            *copy.glob("significance/*manifest.json")]  # fmt: skip
    before = manifest.files.sha256(results / parted.relative_to(copy))
    for path in kept:
        path.write_text(path.read_text().replace(before, manifest.files.sha256(parted)))
    bundling.write(copy, archive)
    assert "toy-figure4" in faults(archive)


def test_claims_over_groups_rest_on_the_queries_of_each_group(results):
    text = (results / "significance" / "toy-claims.tsv").read_text()
    lines = [line.split("\t") for line in text.splitlines()]
    assert [line[0] for line in lines[1:]] == ["mean/hard"], "one group is shown"
