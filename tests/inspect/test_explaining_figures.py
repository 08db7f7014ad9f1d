"""Numbers of figures over groups and of circles, told from their manifests."""

import pytest
from scipy.stats import ttest_rel

import derived_fixture
import drawn_fixture
from residuum.cli.errors import ResiduumError
from residuum.inspect import differing, explaining


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return drawn_fixture.build(tmp_path_factory.mktemp("here") / "results" / "toy")


def heads(message):
    return {line.partition("] ")[2] for line in message.splitlines() if line.startswith("[")}


def test_a_point_says_what_is_shown_in_its_group(results):
    """Of the five hard queries dpr is above bm25 on two, ours on three and on four."""
    message = " ".join(explaining.explain(results, "toy/figure4/ours/gain/hard").split())
    assert "Toy, Figure 4: Ours, gain in halves hard" in message
    assert "measured 0.3 (change from dpr of RR@10 above that of bm25 in halves hard on" in message
    assert "5 queries; per seed 0.2 0.4)" in message
    assert "reported nothing in this cell" in message
    assert "best q6 1, q7 0.5, q2 0" in message
    assert "3 of 5 queries have 0" in message


def test_a_point_leads_to_the_runs_of_all_that_it_compares_and_to_the_groups(results):
    message = explaining.explain(results, "toy/figure4/ours/gain/hard")
    names = {"ours.seed{1,2}", "dpr", "bm25"}
    groups = {"groups/data/dev/halves.tsv"}
    assert heads(message) == {f"metrics/data/dev/{name}.tsv" for name in names} | groups
    alone = heads(explaining.explain(results, "toy/figure4/clear/mean/hard"))
    assert (
        alone >= {"metrics/data/dev/clear.tsv"} | groups and "metrics/data/dev/dpr.tsv" not in alone
    )


def test_a_number_that_a_figure_reports_has_its_verdict(results):
    message = explaining.explain(results, "toy/figure4/clear/gain/hard")
    assert "reported   0.2" in message and "verdict    reproduced: " in message


@pytest.mark.parametrize(
    ("address", "measured", "counts"),
    [
        ("a/residual", "0.152", "D answers 476 of 1000 queries, S 383; D alone 152, both 324, "
                                "neither 465; RoC 0.319328"),
        ("b/RoC", "0.37037", "D answers 540 of 1000 queries, S 382; D alone 200, both 340, "
                             "neither 418; RoC 0.37037"),
        ("c/failure", "0.141", "D alone 476, both 0, neither 141; RoC 1"),
    ],
)  # fmt: skip
def test_a_share_of_circles_has_its_counts_and_leads_to_both_parts(
    results, address, measured, counts
):
    message = explaining.explain(results, f"toy/figure1/{address}")
    row, _, quantity = address.partition("/")
    dense, lexical = ("nq-clear", "nq-bm25-too") if row == "b" else ("nq-dpr", "nq-bm25")
    assert f"measured   {measured} ({quantity} by Success@10" in message
    assert counts in message
    assert heads(message) == {f"metrics/data/dev/{run}.tsv" for run in (dense, lexical)}


def test_a_point_is_set_beside_the_first_series_as_its_data_has_it(results):
    message = explaining.explain(results, "toy/figure4/ours/mean/hard")
    # q2, q4, q6, q7 and q8, means of both seeds; then dpr's
    test = ttest_rel([1.0, 0.5, 0.1, 0.05, 0.2], [0.5, 0.5, 0.0, 0.0, 0.1])
    assert f"Against Dpr: {0.15:+.4f}, 95% " in message and f"p {test.pvalue:.4g}, " in message
    assert "Against" not in explaining.explain(results, "toy/figure4/dpr/mean/hard")


def test_a_ratio_leads_to_the_runs_of_both_parts_and_a_change_to_those_of_the_other_row(
    tmp_path,
):
    """Not to the hybrid's, whose ratio it is not."""
    made = derived_fixture.build(tmp_path / "results" / "toy")
    parts = {"dense-ours.seed{1,2}", "bm25"}
    for column, behind in (("roc", parts), ("gain", {*parts, "dense-sum.seed{1,2}"})):
        read = heads(explaining.explain(made, f"toy/table1/ours/{column}"))
        for folder, ending in (("metrics", "tsv"), ("runs", "trec.gz")):
            of = {name for name in read if name.startswith(folder)}
            assert of == {f"{folder}/data/nq/{name}.{ending}" for name in behind}


def test_equal_folders_differ_in_no_point_and_no_share(results):
    for address in ("toy/figure4/ours/gain/hard", "toy/figure1/a/residual"):
        assert "nothing differs in the manifests" in differing.compared(results, results, address)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("toy/figure4/ours/gain/hrad", "no column of toy/figure4/ours 'gain/hrad'"),
        ("toy/figure4/ours/gain", "Did you mean gain/hard?"),
        ("toy/figure1/a/roc", "no column of toy/figure1/a 'roc'; known: RoC, dense, failure"),
        ("toy/claims/better/x", "no page of toy 'claims'; known: figure1, figure4"),
    ],
)
def test_an_unknown_point_is_one_error_with_what_is_known(results, address, says):
    with pytest.raises(ResiduumError, match=r"^[^\n]*$") as error:
        explaining.explain(results, address)
    assert says in str(error.value)
