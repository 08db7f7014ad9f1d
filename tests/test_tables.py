"""From metrics files to rendered tables: values, markers and notes follow from the data."""

import polars as pl
import pytest

from residuum import significance, tables
from residuum.core.errors import ResiduumError
from tables_fixture import job, spec, write_metrics


@pytest.fixture
def made(tmp_path):
    """Render the toy table and return (tsv frame, markdown, latex, significance frame)."""
    metrics = write_metrics(tmp_path / "metrics")
    text = spec(job())
    significance.compare(text, metrics, tmp_path / "s.tsv")
    tables.render(text, metrics, tmp_path / "s.tsv", tmp_path / "t.tsv", [])
    tests = pl.read_csv(tmp_path / "s.tsv", separator="\t")
    tsv = pl.read_csv(tmp_path / "t.tsv", separator="\t")
    return tsv, (tmp_path / "t.md").read_text(), (tmp_path / "t.tex").read_text(), tests


def cell(tsv, row, column="rr"):
    return tsv.filter(row=row, column=column).row(0, named=True)


def test_significance_file_by_hand(made):
    tests = made[3]
    assert tests.height == 3, "three rows with runs in one cast column"
    pair = tests.filter(a="base", b="ours").row(0, named=True)
    assert pair["difference"] == pytest.approx(0.3 - (0.5 + 0.4) / 2)
    assert (pair["wins"], pair["ties"], pair["losses"], pair["n"]) == (0, 0, 40, 40)
    assert pair["p"] == 1 / 10_000  # all queries agree: only the identity of 9,999 flips counts
    assert pair["significant"] is True
    other = tests.filter(a="ours", b="ablation").row(0, named=True)
    assert (other["wins"], other["ties"], other["losses"]) == (2, 38, 0)
    assert other["p"] == pytest.approx(0.5, abs=0.03)  # 2 of 4 sign patterns are as extreme
    assert other["significant"] is False


def test_tidy_cells(made):
    ours = cell(made[0], "ours")
    assert (ours["n"], ours["seeds"]) == (40, 2)
    assert ours["measured"] == pytest.approx(0.45)
    assert (ours["lowest"], ours["highest"]) == (pytest.approx(0.4), pytest.approx(0.5))
    assert ours["std"] == pytest.approx(0.1 / 2**0.5)
    assert (str(ours["beats"]), ours["reported"], ours["reported_beats"]) == ("1", 0.4, "1,3")
    assert cell(made[0], "base")["beats"] == ""
    assert cell(made[0], "ablation")["below"] is False


def test_a_missing_run_is_never_a_zero(made):
    later, far = cell(made[0], "later"), cell(made[0], "base", "far")
    assert (later["measured"], later["not_run"]) == (None, "not built yet")
    assert (far["measured"], far["not_run"]) == (None, "scale toy casts nothing as covid")
    assert "| not run" in made[1]


def test_markdown_prints_values_markers_and_what_they_rest_on(made):
    markdown = made[1]
    assert "2 Ours" in markdown
    assert "0.450 ±0.071 ¹" in markdown
    assert "dev RR@10: data/dev in the role of dev (the paper's MRR@10), 40 queries." in markdown
    assert "9999 sign flips, seed 1" in markdown
    assert "correction none, family: each column" in markdown
    assert "base: lexical; bm25 b 0.4, k1 0.9." in markdown
    assert "means over 2 training seeds" in markdown


def test_latex_is_booktabs_with_raised_markers(made):
    latex = made[2]
    assert r"0.450 $\pm$0.071$^{1}$" in latex
    assert r"\caption{Toy \& table}" in latex
    assert latex.count(r"\\") == 1 + 4, "one header and four rows"
    assert all(rule in latex for rule in (r"\toprule", r"\midrule", r"\bottomrule"))


@pytest.mark.parametrize(
    ("indices", "text", "shown"),
    [([1, 2, 3, 4], "1-4", "1-4"), ([1, 3], "1,3", "13"), ([2, 1], "1,2", "12"),
     ([1, 3, 4, 5, 11], "1,3-5,11", "1,3-5,11"), ([], "", "")],
)  # fmt: skip
def test_indices_are_written_as_the_papers_do(indices, text, shown):
    assert tables.span(indices) == text
    assert tables.raised(text) == shown


def test_different_query_sets_are_an_error(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    path = metrics / "data" / "dev" / "base.tsv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ResiduumError, match="rows base and ours hold different queries"):
        significance.compare(spec(job()), metrics, tmp_path / "s.tsv")
    assert not (tmp_path / "s.tsv").exists()


def test_a_run_without_the_measure_says_which_it_has(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    path = metrics / "data" / "dev" / "base.tsv"
    path.write_text(path.read_text().replace("RR@10", "P@10"))
    with pytest.raises(ResiduumError, match=r"base\.tsv: no values of RR@10; it holds P@10"):
        significance.compare(spec(job()), metrics, tmp_path / "s.tsv")
