"""The ledger's page: counts first, then what contradicts a paper, what is not run, every row."""

import re

import pytest
from typer.testing import CliRunner

from residuum import ledger
from residuum.__main__ import app
from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError
from residuum.pages import grids, layout
from residuum.pages.verdicts import LedgerRow
from residuum.wiring.driver import show

ABSENT = "no such file: theirs.txt. Get it."


def row(verdict, paper="toy", kind="number", **changes):
    made = {
        "paper": paper,
        "printed_in": f"{paper.title()}, Table 1",
        "table": f"{paper}-table1",
        "row": "ours",
        "column": "rr",
        "kind": kind,
        "claim": "RR@10 = 0.3" if kind == "number" else "ours significantly above base",
        "reported": 0.3,
        "measured": None if verdict == "not run" else 0.25,
        "delta": None if verdict == "not run" else -0.05,
        "tolerance": 0.005 if kind == "number" else None,
        "p_adjusted": None if kind == "number" or verdict == "not run" else 0.0123,
        "verdict": verdict,
        "reason": "|delta| is more than 0.005",
    }
    return LedgerRow(**{**made, **changes})


ROWS = [
    row("reproduced"),
    row("differs"),
    row("differs", column="ndcg"),
    row("not run", row="theirs", reason=ABSENT),
    row("not run", row="theirs", column="ndcg", reason=ABSENT),
    row("holds", kind="comparison", reason="p 0.01"),
    row("reversed", kind="comparison", measured=-0.25),
    row("not run", kind="comparison", claim="ours significantly above theirs",
        reason=f"theirs: {ABSENT}"),
    row("not comparable", paper="other", reason="a toy."),
]  # fmt: skip


def lines(text, start):
    """Return the cells of the lines of a grid that start so."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith(start)
    ]


def test_counts_have_a_line_per_paper_and_kind():
    counts = ledger.counts(ROWS)
    header, *body = lines(counts, "| ")
    assert header[2:] == [
        "holds", "these models only", "inconclusive", "reversed", "not judged", "not learned",
        "not run", "reproduced", "close", "differs", "not comparable", "as before",
    ]  # fmt: skip
    no = [layout.DASH] * 4
    assert body == [
        ["toy", "comparisons", "1", "0", "0", "1", "0", "0", "1", *no, "0"],
        ["toy", "numbers", *no, layout.DASH, "0", "2", "1", "0", "2", "0", "0"],
        ["other", "numbers", *no, layout.DASH, "0", "0", "0", "0", "0", "1", "0"],
    ]


def test_sentences_are_counted_beside_markers_and_blanks_apart():
    sentence = row("no test", kind="claim", claim="It is close.", measured=None)
    blank = row("significant here", kind="no marker", claim="ours above base, unmarked")
    first, second = ledger.counts([*ROWS, sentence, blank]).split("\n\n")
    header, *body = lines(first, "| ")
    assert "no test" in header and header[-1] == "as before" and "agrees" not in header
    assert [line for line in body if line[1] == "claims"] == [
        ["toy", "claims", *["0"] * 7, layout.DASH, layout.DASH, "0", "0", "1", "0"]
    ]
    assert lines(second, "| ")[1] == ["toy", "no markers", "0", "1", *["0"] * 6]
    page = ledger.page([*ROWS, sentence, blank], "toy", "a toy.")
    shown = row("reversed", kind="claim", claim="It is.", reported=None, measured=0.25)
    assert re.search(r"It is\. .* \| \+0\.25 ", ledger.page([shown], "toy", "a toy."))
    assert re.search(r"ours above base, unmarked +\| \+0\.3 +\| \+0\.25 ", page)
    assert "Against the paper: 3." in page, "a blank contradicts nothing"
    assert "| ours unmarked" not in page and "ours above base, unmarked" in page


def test_the_page_opens_with_the_counts_and_what_contradicts_comes_before_the_rows():
    page = ledger.page(ROWS, "toy", "a toy.")
    opening, rest = page.split(layout.MORE)
    assert opening.startswith("# Ledger, scale toy\n\nScale toy: a toy.\n\n| paper")
    assert "Against" not in opening
    order = [
        "## toy", "Against the paper: 3.", "Not run: 3.", "## other",
        "Nothing contradicts the paper.", "## Every number and comparison",
        "### Toy, Table 1", "### Other, Table 1",
    ]  # fmt: skip
    assert sorted(order, key=rest.index) == order


def test_the_page_opens_with_where_the_reproduced_numbers_are_printed():
    cacm = {"printed_in": "Anserini, cacm.yaml", "table": "lexical-baselines-cacm"}
    again = row("reproduced", paper="again", same_as="toy/table1/ours/rr")
    several = [row("reproduced", **cacm), row("reproduced", column="p30", **cacm), again]
    opening, _ = ledger.page([*several, *ROWS], "toy", "a toy.").split(layout.MORE)
    where = "Reproduced: Anserini, cacm.yaml (ours; 2 numbers); Toy, Table 1 (ours; 1 number)."
    assert f"\n\n{where}\n\n" in opening
    without = [line for line in ROWS if line.verdict != "reproduced"]
    assert "Reproduced" not in ledger.page(without, "toy", "a toy.")


def test_reasons_are_shown_once_with_where_they_apply():
    page = ledger.page(ROWS, "toy", "a toy.")
    where = "Toy, Table 1 (theirs, ours; 2 numbers, 1 comparison)"
    assert f"- no such file: theirs.txt. Get it: {where}" in page
    assert "Get it" not in page.split("## Every number")[0].replace(f"Get it: {where}", "")


def test_every_row_is_in_the_grid_with_what_it_was_judged_by():
    page = ledger.page(ROWS, "toy", "a toy.").split("## Every number")[1]
    result = lines(page, "| ours") + lines(page, "| theirs")
    assert len(result) == len(ROWS)
    assert result[0] == [
        "ours", "rr", "RR@10 = 0.3", "0.3", "0.25", "-0.05", "0.005", "", "", "reproduced",
        r"\|delta\| is more than 0.005",
    ]  # fmt: skip
    assert result[4][:5] == ["ours", "rr", "ours significantly above base", "+0.3", "-0.25"]


def test_only_the_scales_own_reason_is_left_out():
    rows = [row("not comparable", reason="a toy."), row("not comparable", reason="another index")]
    page = ledger.page(rows, "toy", "a toy.").split("## Every number")[1]
    assert [line[-1] for line in lines(page, "| ours")] == ["", "another index"]


def test_what_is_printed_at_the_end_of_a_job_is_the_opening_alone(tmp_path):
    path = tmp_path / "ledger.md"
    path.write_text(ledger.page(ROWS, "toy", "a toy."))
    shown = show([str(tmp_path / "nothing.md")], str(path), {"all"})
    assert f"\n\n{path}\n\n# Ledger, scale toy" in shown
    assert "| toy " in shown and "Against" not in shown and "more -->" not in shown


def test_an_empty_ledger_says_so():
    assert "report no number" in ledger.page([], "toy", "a toy.")


def test_the_command_prints_the_counts_and_where_the_pages_lie(tmp_path):
    path = tmp_path / "ledger.tsv"
    grids.frame(ROWS, LedgerRow).write_csv(path, separator="\t")
    manifest.write(path, {}, {}, [], "residuum.ledger")
    shown = CliRunner().invoke(app, ["ledger", "--results", str(tmp_path)]).output
    assert shown.startswith("| paper | printed ")
    assert f"{tmp_path / 'ledger.md'}" in shown and f"{tmp_path / 'ledger.tsv'}" in shown


def test_a_folder_without_a_ledger_is_one_error(tmp_path):
    with pytest.raises(
        ResiduumError, match=r"no such file; name a results folder with --results: "
    ):
        ledger.digest(tmp_path)
    (tmp_path / "ledger.tsv").write_text("a\tb\n1\t2\n")
    with pytest.raises(ResiduumError, match="it lacks the column paper; make it again: delete"):
        ledger.digest(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("paper\tkind\tverd", "its last line is cut short"),
        ("paper\tkind\n1\t2\t3\n", r"cannot be read as a TSV \("),
    ],
)
def test_a_ledger_that_is_cut_short_is_one_error_that_says_how_to_mend(tmp_path, text, says):
    (tmp_path / "ledger.tsv").write_text(text)
    with pytest.raises(ResiduumError, match=rf"^\S*ledger\.tsv: {says}") as error:
        ledger.digest(tmp_path)
    assert str(error.value).endswith("make it again: delete it, then snakemake --cores all")
    assert "\n" not in str(error.value)


def test_what_data_could_not_show_and_what_few_trainings_show_stand_with_their_reasons():
    few = row("these models only", kind="comparison", reason="p 0.01; 1 training of a side")
    why = "x answers no more than chance on d/dev: RR@10 0.0100"
    lacking = row("not judged", kind="comparison", reason=f"the data could not show it: {why}")
    of_claim = f"x above y in rr: the data could not show it: {why}."
    sentence = row("not judged", kind="claim", claim="It is so.", reason=of_claim)
    untestable = row("no test", kind="claim", claim="It is close.", reason="no margin is named")
    page = ledger.page([few, lacking, sentence, untestable], "toy", "a toy.")
    short = page.split(layout.MORE)[1].split("## Every number")[0]
    assert "Not judged, because the data could not show it: 2." in short
    [listed] = [line for line in short.splitlines() if why in line]
    assert "1 comparison, 1 claim" in listed and "no margin" not in short
    [line] = [line for line in short.splitlines() if "1 training of a side" in line]
    assert "None" not in line
