"""Misspelt targets are told with the nearest name, and what Snakemake knows is left alone."""

import pytest

from conftest import ROOT
from projects import invoke
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.wiring import targets
from residuum.wiring.paths import Paths, results_of


@pytest.fixture(scope="module")
def registry():
    base = entries.parse(ROOT / "config" / "config.yaml", dict[str, object])
    return loading.load(ROOT / "config", {**base, "scale": "smoke"})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--cores", "2", "--config", "scale=mini", "--", "results/a", "all"],
            ["results/a", "all"],
        ),
        (["results/a", "--cores", "2", "results/b"], ["results/a"]),
        (["--report", "results/mini/report.html"], []),
        (["--cores", "all"], []),
    ],
)
def test_targets_stand_behind_two_hyphens_or_before_the_first_option(words, expected):
    assert targets.asked(words) == expected


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "tables/clear-tabel1.md",
            "no rule makes it. Did you mean results/smoke/tables/clear-table1",
        ),
        ("tabels/clear-table1.tsv", "Did you mean results/smoke/tables/clear-table1.tsv?"),
        ("figure/clear-figure1.pdf", "Did you mean results/smoke/figures/clear-figure1.pdf?"),
        ("runs/generated-smok/dev/bm25.trec.gz", "no dataset 'generated-smok'; known: "),
        ("runs/generated-smoke/dve/bm25.trec.gz", "no split of generated-smoke 'dve'; known: "),
        ("what/ever", "no rule makes it. See results/README.md"),
    ],
)
def test_a_misspelt_target_is_told_with_the_nearest(registry, target, message):
    folder = results_of("smoke")
    with pytest.raises(ResiduumError) as caught:
        targets.refuse_unknown([f"{folder}/{target}"], lambda path: False, Paths(folder), registry)
    assert str(caught.value).startswith(f"{folder}/{target}: ") and message in str(caught.value)


def test_what_a_rule_makes_and_what_is_no_result_is_left_alone(registry):
    known = "results/smoke/tables/clear-table1.md"
    given = [known, "all", "clear_table1", "config/config.yaml", "other/results/x"]
    targets.refuse_unknown(given, lambda path: path == known, Paths("results/smoke"), registry)


def test_snakemake_says_so_before_it_plans():
    words = "results/smoke/tables/clear-tabel1.md"
    status, output = invoke(ROOT, words, options=["--dry-run"], config="papers=[clear]")
    assert status == 1 and "Did you mean results/smoke/tables/clear-table1.md?" in output
    assert "Building DAG" not in output
