"""Counts of query sets by hand, and DualRM's Table 1 from the official files."""

import json
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT, irds_process
from corpora import make_corpus
from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json
from residuum.pages import grids, verdicts
from residuum.pages.cells import PrintedCell
from residuum.pages.characteristics import make as characteristics
from residuum.pages.characteristics.job import BoundCharacteristics
from residuum.pages.verdicts import Before

ROWS = [
    {"id": "queries", "label": "# of queries", "quantity": "queries"},
    {"id": "relevant", "label": "# of rel. doc. per query", "quantity": "relevant_per_query"},
    {"id": "grades", "label": "Relevance levels", "quantity": "grades"},
]


def job(**changes):
    table = {
        "kind": "characteristics",
        "title": "Toy characteristics",
        "notes": ["A choice."],
        "printed_in": "Toy, Table 1",
        "columns": [
            {"id": "dev", "role": "msmarco-dev", "header": "Dev"},
            {"id": "dl", "role": "trec-dl-2019", "header": "DL"},
        ],
        "rows": ROWS,
        "tolerance": {"default": 0.5},
        "reported": {
            "queries": {"dev": "6980", "dl": "43"},
            "relevant": {"dev": "1", "dl": "95"},
            "grades": {"dev": "2", "dl": "4"},
        },
    }
    made = {
        "id": "toy-table1",
        "entry": table,
        "splits": {"dev": "data/dev", "dl": "data/judged"},
        "scale": "toy",
        "comparable": True,
        "reason": "a toy.",
    }
    return BoundCharacteristics.model_validate({**made, **changes})


def write(folder, queries, qrels):
    trec.write_queries(folder / "queries.tsv", [(q, f"text of {q}") for q in queries])
    trec.write_qrels(folder / "qrels.trec", qrels)
    return folder


def count(folder, made, splits):
    spec = canonical_json(made.model_dump(mode="json"))
    output = folder / "toy-table1.tsv"
    characteristics.count(spec, output, [f"{name}={path}" for name, path in splits.items()])
    return pl.read_csv(output, separator="\t", infer_schema_length=None), output


def values(table, column):
    return dict(table.filter(column=column).select("measure", "measured").iter_rows())


def test_counts_by_hand(tmp_path):
    qrels = [("a", "d1", 1), ("a", "d2", 0), ("b", "d1", 3), ("b", "d2", 2), ("b", "d3", 1)]
    folder = write(tmp_path, ["a", "b", "unjudged"], qrels)
    assert characteristics.quantities(folder) == {
        "queries": 2, "relevant_per_query": 4 / 2, "grades": 4
    }  # fmt: skip


def test_the_page_rounds_and_the_tsv_does_not(tmp_path):
    dev = write(tmp_path / "dev", ["a", "b", "c"], [(q, f"d{q}{i}", 1) for q in "ab" for i in "1"]
                + [("c", "d1", 1), ("c", "d2", 1)])  # fmt: skip
    judged = write(tmp_path / "judged", ["q"], [("q", f"d{i}", i % 4) for i in range(1300)])
    table, output = count(tmp_path, job(), {"dev": dev, "dl": judged})
    assert values(table, "dev") == {"queries": 3, "relevant_per_query": 4 / 3, "grades": 2}
    page = output.with_suffix(".md").read_text()
    assert "\n- A choice.\n" in page, "a note of the entry"
    lines = [[c.strip() for c in x.split("|")[1:-1]] for x in page.splitlines() if x[:1] == "|"]
    assert lines[0] == ["", "data/dev", "data/judged"]
    assert lines[2:] == [
        ["# of queries", "3", "1"],
        ["# of rel. doc. per query", "1", "975"],
        ["Relevance levels", "binary", "4-level"],
    ]
    assert "data/dev: in the role of msmarco-dev (the paper's Dev)." in page
    assert r"\# of queries & 3 & 1 \\" in output.with_suffix(".tex").read_text()
    assert (tmp_path / "toy-table1.tsv.manifest.json").is_file()


SIZES = [
    {"id": name, "label": name, "quantity": name}
    for name in (
        *("train_queries", "train_pairs", "test_queries"),
        *("docs", "query_words", "doc_words"),
    )
]
PRINTED = {
    "train_queries": {"dev": "2", "dl": "1K"},
    "test_queries": {"dev": "3", "dl": "1"},
    "docs": {"dev": "0.0K", "dl": "3"},
    "query_words": {"dev": "2.6", "dl": "2.4"},
    "doc_words": {"dev": "3.3", "dl": "3.4"},
}


def sized(folder, **changes):
    """Count a split of three queries beside two training queries, and one of four in two folds."""
    table = {**job().entry.model_dump(exclude={"reported"}), "rows": SIZES, "last_digits": True,
             "tolerance": {"default": 1}, "reported": PRINTED}  # fmt: skip
    made = job(entry=table, trained={"dev": "data/train"}, folds={"dl": 2}, **changes)
    texts = {"dev": ["one", "two  words", " and\tthese are five words"],
             "dl": ["a b", "c", "d e f", "g h i"], "train": ["first", "second"]}  # fmt: skip
    for name, of in texts.items():
        numbered = [(f"{name}{i}", text.replace("\t", " ")) for i, text in enumerate(of)]
        trec.write_queries(folder / name / "queries.tsv", numbered)
        judged = [(f"{name}0", "d1", 1)]
        judged += [("train0", "d2", 2), ("train1", "d1", 0)] if name == "train" else []
        trec.write_qrels(folder / name / "qrels.trec", judged)
    docs = [("d1", "a doc of five words"), ("d2", "two  words"), ("d3", "not\nthree, four")]
    corpus, output = make_corpus(folder / "corpus", docs), folder / "toy-table1.tsv"
    spec = canonical_json(made.model_dump(mode="json"))
    options = [[f"{name}={folder / name}" for name in ("dev", "dl")], [f"dev={folder / 'train'}"]]
    characteristics.count(spec, output, *options, [f"{name}={corpus}" for name in ("dev", "dl")])
    return made, output


def test_sizes_and_lengths_by_hand(tmp_path):
    """Queries of 1, 2 and 5 words; of 2, 1, 3 and 3 in two folds; docs of 5, 2 and 3 words."""
    _, output = sized(tmp_path)
    table = pl.read_csv(output, separator="\t", infer_schema_length=None)
    assert values(table, "dev") == {
        "train_queries": 2, "train_pairs": 2, "test_queries": 3, "docs": 3,
        "query_words": 8 / 3, "doc_words": 10 / 3
    }  # fmt: skip
    assert values(table, "dl") == {
        "train_queries": 2, "train_pairs": None, "test_queries": 2, "docs": 3,
        "query_words": 9 / 4, "doc_words": 10 / 3
    }  # fmt: skip
    page = output.with_suffix(".md").read_text()
    lines = [[c.strip() for c in x.split("|")[1:-1]] for x in page.splitlines() if x[:1] == "|"]
    assert [line[1:] for line in lines[2:]] == [
        ["2", "2"], ["2", "not run"], ["3", "2"], ["3", "3"], ["2.7", "2.2"], ["3.3", "3.3"]
    ]  # fmt: skip
    assert "data/dev: its training queries are those of data/train." in page
    assert "of its 2 folds one is for testing" in page
    assert "levels from 0" not in page, "nothing of it is counted"
    kept = json.loads(manifest.beside(output).read_text())["inputs"]
    assert {Path(name).parent.name for name in kept} == {"dev", "dl", "train", "corpus"}


def test_a_tolerance_counts_the_last_digit_that_is_printed(tmp_path):
    """58K of 58,880 is cut: within 1,000. Docs: 3 of 0.0K, whose last digit counts 100."""
    made, output = sized(tmp_path)
    cells = grids.rows(output, grids.GridCell, optional=grids.OPTIONAL)
    rows = verdicts.judge(made, cells, [], Before())
    shown = {(row.row, row.column): (row.tolerance, row.verdict) for row in rows}
    assert shown["docs", "dev"] == (100, "reproduced")
    assert shown["train_queries", "dl"] == (1000, "reproduced"), "998 off"
    assert shown["test_queries", "dl"] == (1, "reproduced")
    assert shown["query_words", "dev"] == (0.1, "reproduced"), "2.667 of 2.6"
    assert shown["query_words", "dl"] == (0.1, "differs"), "2.25 of 2.4"


def test_a_quantity_is_counted_of_its_split_the_training_split_or_the_corpus():
    made = job(trained={"dev": "data/train"}, folds={"dl": 2})
    of = {"queries": "data/dev", "query_words": "data/dev", "train_queries": "data/train",
          "train_pairs": "data/train", "docs": "data/corpus",
          "doc_words": "data/corpus"}  # fmt: skip
    assert {name: made.measured_in("", "dev", name) for name in of} == of
    assert made.measured_in("", "dl", "train_queries") == "data/judged", "its other folds"


@pytest.mark.parametrize(
    ("text", "value", "digit"),
    [("808K", 808_000, 1000), ("6.9K", 6900, 100), ("8.8M", 8_800_000, 100_000), ("200", 200, 1),
     ("56.2", 56.2, 0.1), ("-0.05", -0.05, 0.01)],
)  # fmt: skip
def test_a_printed_number_may_be_of_thousands_or_millions(text, value, digit):
    cell = PrintedCell.parse(text)
    assert (cell.value, cell.digit) == (value, digit)


def test_a_collection_without_training_queries_has_none_to_count(tmp_path):
    table = {**job().entry.model_dump(), "rows": SIZES[:3], "reported": {}}
    dev = write(tmp_path / "dev", ["a"], [("a", "d", 1)])
    table, _ = count(
        tmp_path, job(entry=table, splits={"dev": "data/dev", "dl": None}), {"dev": dev}
    )
    why = {row["row"]: row["not_run"] for row in table.filter(column="dev").iter_rows(named=True)}
    assert why["test_queries"] is None
    assert "data/dev: its collection names no training split" in why["train_queries"]


def test_a_column_that_is_not_cast_is_not_run(tmp_path):
    dev = write(tmp_path / "dev", ["a"], [("a", "d", 1)])
    made = job(splits={"dev": "data/dev", "dl": None})
    table, output = count(tmp_path, made, {"dev": dev})
    cell = table.filter(column="dl", row="queries").row(0, named=True)
    assert cell["measured"] is None
    assert cell["not_run"] == "scale toy binds nothing to trec-dl-2019"
    assert "| not run" in output.with_suffix(".md").read_text()
    judged = verdicts.judge(
        made, grids.rows(output, grids.GridCell, optional=grids.OPTIONAL), [], Before()
    )
    by_cell = {(r.row, r.column): r.verdict for r in judged}
    assert by_cell["queries", "dl"] == "not run"
    assert by_cell["queries", "dev"] == "differs"


def test_a_split_whose_files_are_absent_is_not_counted_with_the_reason(tmp_path):
    folder = write(tmp_path / "dev", ["a"], [("a", "d1", 1)])
    made = job(absent={"dl": "no such file: x. Get it."})
    table, output = count(tmp_path, made, {"dev": folder})
    result = table.filter(column="dl")
    assert result["measured"].to_list() == [None] * 3
    assert set(result["not_run"]) == {"no such file: x. Get it."}
    note = "data/judged: in the role of trec-dl-2019 (the paper's DL), not run: no such file: x."
    assert f"- {note} Get it.\n" in output.with_suffix(".md").read_text()


def test_splits_must_be_those_that_are_bound(tmp_path):
    with pytest.raises(ResiduumError, match="--split: no name 'other'; known: dev, dl"):
        count(tmp_path, job(), {"other": tmp_path})


def test_a_split_without_judgements_is_an_error(tmp_path):
    folder = write(tmp_path, ["a"], [("b", "d1", 1)])
    with pytest.raises(ResiduumError, match="no query has a judgement"):
        characteristics.quantities(folder)


def test_where_no_judgements_are_public_queries_are_counted_all_the_same(tmp_path):
    judged = write(tmp_path / "dl", ["a"], [("a", "d1", 1)])
    unjudged = write(tmp_path / "dev", ["a", "b"], [("a", "d1", 1)])
    trec.write_refusal(unjudged / "qrels.trec", "no public judgements of its docs")
    rows = [*ROWS, {"id": "test", "label": "# of test queries", "quantity": "test_queries"}]
    made = job(entry={**job().entry.model_dump(exclude={"rows"}), "rows": rows})
    table, output = count(tmp_path, made, {"dev": unjudged, "dl": judged})
    counted = {**dict.fromkeys(("queries", "relevant_per_query", "grades")), "test_queries": 2}
    assert values(table, "dev") == counted
    reasons = table.filter(column="dev", measure="grades")["not_run"].to_list()
    assert reasons == ["data/dev has no public judgements"]
    assert (
        values(table, "dl")["queries"] == 1 and "not run" in output.with_suffix(".md").read_text()
    )


@pytest.mark.shared_data
def test_the_official_files_give_table_1_of_dualrm(tmp_path, official_home):
    page = ROOT / "config" / "datasets" / "msmarco-passage.yaml"
    entry = entries.parse(page, Dataset)
    folders = {"dev": tmp_path / "dev", "dl": tmp_path / "trec-dl-2019"}
    for folder in folders.values():
        words = ["-m", "residuum.data", "split", "--dataset", "msmarco-passage"]
        words += ["--name", folder.name, "--spec", canonical_json(entry.for_split(folder.name))]
        words += ["--queries", folder / "queries.tsv", "--qrels", folder / "qrels.trec"]
        done = irds_process(official_home, *words)
        assert done.returncode == 0, done.stderr
    table, output = count(tmp_path, job(), folders)
    assert values(table, "dev") == {
        "queries": 6980, "relevant_per_query": 7437 / 6980, "grades": 2
    }  # fmt: skip
    sizes = characteristics.sizes(folders["dev"], None, None)
    assert (sizes["test_queries"], round(sizes["query_words"], 1)) == (6980, 5.9), "RoC's Table 2"
    dl = values(table, "dl")
    assert (dl["queries"], round(dl["relevant_per_query"]), dl["grades"]) == (43, 95, 4)
    assert {
        r.verdict
        for r in verdicts.judge(
            job(), grids.rows(output, grids.GridCell, optional=grids.OPTIONAL), [], Before()
        )
    } == {"reproduced"}
    lines = [x.split("|")[2:-1] for x in output.with_suffix(".md").read_text().splitlines()
             if x.startswith("|")]  # fmt: skip
    assert [[c.strip() for c in line] for line in lines[2:]] == [
        ["6,980", "43"], ["1", "95"], ["binary", "4-level"]
    ]  # fmt: skip
