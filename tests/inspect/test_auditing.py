"""`residuum audit`: what it reads, and that each form gives the same page of the same values."""

import json

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import residuum as rs
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.inspect import auditing
from residuum.pages import layout
from residuum.paired.audits import audit
from results_fixture import build

QUERIES = [f"q{number:02d}" for number in range(40)]
NAMES = ["one", "two", "three", "four"]
QUALITY = {"one": 1.0, "two": 0.5, "three": 0.48, "four": 0.0}


def ranks(name, seed):
    """Return the rank of the relevant doc of each query: 1, or 2 to 11."""
    random = np.random.default_rng([seed, NAMES.index(name)])
    good = random.random(len(QUERIES)) < QUALITY[name]
    return [1 if first else int(rank) for first, rank in zip(
        good, random.integers(2, 12, len(QUERIES)), strict=True)]  # fmt: skip


def lay(folder, seed=1, names=NAMES):
    """Write qrels and runs, whose relevant doc stands at `ranks`; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "qrels.txt").write_text("".join(f"{q} 0 right 1\n" for q in QUERIES))
    for name in names:
        lines = []
        for query, rank in zip(QUERIES, ranks(name, seed), strict=True):
            docs = [f"d{n}" for n in range(10)]
            if rank <= 10:
                docs[rank - 1] = "right"
            lines += [f"{query} Q0 {doc} {n} {20 - n} x" for n, doc in enumerate(docs, start=1)]
        (folder / f"{name}.trec").write_text("\n".join(lines) + "\n")
    return folder


def reciprocal(seed=1, names=NAMES):
    return np.array([[1 / r if r <= 10 else 0.0 for r in ranks(name, seed)] for name in names])


def command(*words):
    done = CliRunner().invoke(app, ["audit", *map(str, words)])
    if done.exception:
        raise done.exception
    return done.stdout


def test_a_page_says_what_is_certain_of_runs(tmp_path):
    folder = lay(tmp_path / "lb")
    output = tmp_path / "out.tsv"
    page = command(folder, "--measure", "RR@10", "--output", output)
    made = audit(reciprocal(), None, 9999, 1)
    table = pl.read_csv(output, separator="\t")
    names = sorted(NAMES)  # as files are read
    order = sorted(range(4), key=lambda n: -reciprocal(names=names)[n].mean())
    assert table["system"].to_list() == [names[n] for n in order]
    given = {name: n for n, name in enumerate(NAMES)}
    for line in table.iter_rows(named=True):
        number = given[line["system"]]
        assert line["mean"] == pytest.approx(made.means[number])
        assert (line["rank_low"], line["rank_high"]) == (made.low[number], made.high[number])
    leads = [made.apart[given[a], given[b]] for a, b in zip(
        table["system"], table["system"][1:], strict=False)]  # fmt: skip
    assert table["lead_apart"].to_list()[:3] == leads and sum(leads) == 2
    assert "Of 3 leads over the next system, 2 are certain (bold), all 6 pairs taken" in page
    assert "| 1    | one" in page and "Rank 1 may be of one." in page
    assert f"| 2{layout.DASH}3 " in page and page.count("**") == 4
    assert "4 systems, 40 queries." in page
    assert command(folder / "qrels.txt", *(folder / f"{n}.trec" for n in names),
                   "--measure", "RR@10") == page  # fmt: skip


def test_each_form_of_the_same_values_gives_the_same_page(tmp_path):
    """Runs of TREC and of JSON, tables by query, frames, dictionaries; each from its own file."""
    folder = lay(tmp_path / "lb")
    names = sorted(NAMES)
    expected = command(folder, "--measure", "RR@10")
    beir = tmp_path / "beir"
    beir.mkdir()
    (beir / "qrels.txt").write_bytes((folder / "qrels.txt").read_bytes())
    runs = {name: {} for name in names}
    for name in names:
        for run in ir_measures.read_trec_run(str(folder / f"{name}.trec")):
            runs[name].setdefault(run.query_id, {})[run.doc_id] = run.score
        (beir / f"{name}.json").write_text(json.dumps(runs[name]))
    assert command(beir, "--measure", "RR@10") == expected
    qrels = {query: {"right": 1} for query in QUERIES}
    api = rs.audit({"": (qrels, runs)}, "RR@10")
    assert api.to_markdown() + "\n" == expected
    assert rs.audit(folder, "RR@10").to_markdown() == api.to_markdown()
    lines = [
        {"system": name, "query_id": query, "value": value}
        for name, values in zip(names, reciprocal(names=names), strict=True)
        for query, value in zip(QUERIES, values, strict=True)
    ]
    table = pl.DataFrame(lines)
    same = expected.replace("means of RR@10", "means over queries")
    table.write_csv(tmp_path / "values.tsv", separator="\t")
    table.rename({"system": "model", "value": "score"}).write_csv(tmp_path / "values.csv")
    table.write_parquet(tmp_path / "values.parquet")
    table.write_ndjson(tmp_path / "values.jsonl")
    for ending in ("tsv", "csv", "parquet", "jsonl"):
        assert command(tmp_path / f"values.{ending}") == same
    for frame in (table, pd.DataFrame(lines)):
        assert rs.audit(frame).to_markdown() + "\n" == same


def test_collections_count_alike_and_what_one_lacks_is_left_out(tmp_path):
    lay(tmp_path / "lb" / "a")
    lay(tmp_path / "lb" / "b", seed=2, names=NAMES[:3])
    page = command(tmp_path / "lb", "--measure", "RR@10")
    assert "3 systems, 80 queries of 2 collections, which count alike." in page
    assert "Left out, because a collection lacks them: four." in page
    both = (reciprocal()[:3].mean(axis=1) + reciprocal(2, NAMES[:3]).mean(axis=1)) / 2
    assert f"{max(both):.4f}" in page
    with pytest.raises(ResiduumError, match="2 collections; an audit needs three"):
        command(tmp_path / "lb", "--measure", "RR@10", "--over", "collections")


def test_a_table_of_means_is_audited_over_collections(tmp_path):
    random = np.random.default_rng(4)
    hard = random.random(12)
    means = {
        f"c{n}": [hard[n] + 0.2, hard[n] + 0.001 * random.random(), hard[n]] for n in range(12)
    }
    table = pl.DataFrame({"model": ["best", "near", "nearer"], **means})
    table.write_csv(tmp_path / "board.csv")
    page = command(tmp_path / "board.csv", "--over", "collections")
    assert "| 1    | best" in page and "3 systems, 12 queries of 12 collections" not in page
    assert "3 systems, 12 collections." in page
    assert rs.audit(table, over="collections").frame()["system"].to_list()[0] == "best"
    with pytest.raises(ResiduumError, match="a mean of each collection; give --over collections"):
        command(tmp_path / "board.csv")


def test_columns_of_a_page_are_audited_by_their_values_per_query(tmp_path):
    results = build(tmp_path / "results" / "toy")
    page = command("toy/table1/rr", "--results", results)
    rows = rs.explain(results, "toy/table1/base/rr").frame()
    assert f"{rows['value'].mean():.4f}" in page
    assert "means of RR@10 on data/dev" in page
    with pytest.raises(ResiduumError, match="no file, folder, page or column 'toy/table9'"):
        command("toy/table9", "--results", results)


def test_a_picture_is_drawn(tmp_path):
    folder = lay(tmp_path / "lb")
    command(folder, "--measure", "RR@10", "--picture", tmp_path / "picture")
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    figure = rs.audit(folder, "RR@10").picture()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[0] == "one" and len(labels) == 4
    assert "<img" in rs.audit(folder, "RR@10")._repr_html_()


def test_systems_with_the_same_values_are_named(tmp_path):
    folder = lay(tmp_path / "lb")
    (folder / "again.trec").write_bytes((folder / "two.trec").read_bytes())
    page = command(folder, "--measure", "RR@10")
    assert "The same values for all queries: again and two." in page
    assert rs.audit(folder, "RR@10").frame().filter(system="again")["detectable"].item() is None


def test_files_of_this_tool_and_readme_files_beside_runs_are_left_out(tmp_path):
    folder = lay(tmp_path / "lb")
    expected = command(folder, "--measure", "RR@10")
    (folder / "one.trec.manifest.json").write_text("{}")
    (folder / "README.md").write_text("what it is")
    assert command(folder, "--measure", "RR@10") == expected


def test_a_folder_without_judgements_is_named_among_collections(tmp_path):
    for name in ("a", "b", "c"):
        lay(tmp_path / "lb" / name)
    (tmp_path / "lb" / "c" / "qrels.txt").rename(tmp_path / "lb" / "c" / "judgements.txt")
    page = command(tmp_path / "lb", "--measure", "RR@10")
    assert "80 queries of 2 collections" in page
    assert "Not read, because no file of it says qrels: c." in page
    lay(tmp_path / "lb")
    with pytest.raises(ResiduumError, match="qrels of its own and folders with qrels"):
        command(tmp_path / "lb", "--measure", "RR@10")


def test_rows_of_one_label_have_names_of_their_own(tmp_path, monkeypatch):
    results = build(tmp_path / "results" / "toy")
    monkeypatch.setattr("residuum.pages.table.entry.Table.labels", lambda self: dict.fromkeys(
        [row.id for row in self.rows], "same"))  # fmt: skip
    assert "same (base)" in command("toy/table1/rr", "--results", results)


def test_a_split_counts_once(tmp_path, monkeypatch):
    """Two columns of one measure and split: the same queries are no second collection."""
    results = build(tmp_path / "results" / "toy")
    cells = [*auditing.every(results, auditing.provenance.read(results))]
    again = [
        cell._replace(address=f"{cell.address}-again")
        for _, _, some in cells
        for cell in some
        if cell.address.startswith("toy/table1/") and cell.address.endswith("/rr")
    ]
    path, page, some = next(one for one in cells if any("/table1/" in c.address for c in one[2]))
    doubled = [(path, page, [*some, *again])]
    monkeypatch.setattr(auditing, "every", lambda *_: iter(doubled))
    with pytest.raises(
        ResiduumError, match="several columns are of data/dev, which would count it"
    ):
        command("toy/table1/rr", "toy/table1/rr-again", "--results", results)


def test_many_groups_have_letters_of_their_own():
    values = pl.DataFrame(
        [(f"s{n:02d}", "", query, n + 0.01 * number)
         for n in range(30) for number, query in enumerate(QUERIES)],
        schema=auditing.SCHEMA, orient="row",
    )  # fmt: skip
    groups = auditing.audited(values, "values", resamples=99).table()["groups"].to_list()
    assert groups[:2] == ["a", "b"] and groups[25:28] == ["z", "za", "zb"]


@pytest.mark.parametrize(
    ("write", "words", "message"),
    [
        ({}, ["gone"], "gone: no such file or folder. Give a folder"),
        ({"lb/one.trec": "q 0 d 1\n"}, ["lb"], "whose name says qrels, is needed; there is none"),
        ({"lb/qrels.txt": "q 0 d 1\n"}, ["lb"], "no run beside the judgements"),
        ({"lb/qrels.txt": "q 0 d 1\n", "lb/a.json": "[1]"}, ["lb"], "a.json: no run of JSON"),
        ({"v.tsv": "name\tvalue\na\t1\n"}, ["v.tsv"], "no column system (or run, model); it has"),
        (
            {"v.tsv": "system\tquery\tvalue\na\tq\tx\n"},
            ["v.tsv"],
            "v.tsv: a, q: value is x, and must",
        ),
        (
            {"v.tsv": "system\tquery\tvalue\na\tq\t1_0\n"},
            ["v.tsv"],
            "value is 1_0, and must be a numb",
        ),
        ({"v.tsv": "system\tquery\tvalue\na\tq\t1\na\tq\t2\n"}, ["v.tsv"], "two values of a, q"),
        ({"v.tsv": "system\tquery\tvalue\na\tq\t1\nb\tr\t2\n"}, ["v.tsv"], "no value of query "),
        ({"v.tsv": "system\tquery\tvalue\na\tq\t1\nb\tq\t2\n"}, ["v.tsv"], "2 systems and 1 quer"),
        (
            {"v.tsv": "system\tquery\tvalue\n\tq\t1\n"},
            ["v.tsv"],
            "system is None (NoneType); ids are",
        ),
        ({"v.csv": "system,c1,Average\na,1,1\n"}, ["v.csv"], "a column Average sums up the others"),
        (
            {"v.jsonl": '{"run": "a", "qid": "q", "value": 1}\n{"run": "a", "qid": "r"}\n'},
            ["v.jsonl"],
            "value is None, and must be a number",
        ),
        (
            {"lb/qrels.txt": "q 0 d 1\n"},
            ["lb", "--measure", "RR@10 P@5"],
            "an audit is of one meas",
        ),
        ({"lb/qrels.txt": "q 0 d 1\n"}, ["leaderbord/"], "leaderbord: no such file or folder"),
    ],
)
def test_what_cannot_be_audited_is_refused(tmp_path, monkeypatch, write, words, message):
    monkeypatch.chdir(tmp_path)
    for name, text in write.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(ResiduumError) as caught:
        command(*words)
    assert message in str(caught.value)


@pytest.mark.parametrize("source", [{}, [], pl.DataFrame(schema={"system": pl.String})])
def test_python_refuses_nothing(source):
    with pytest.raises(ResiduumError):
        rs.audit(source)
    with pytest.raises(ResiduumError, match="an audit is of one measure"):
        rs.audit("x", ["RR@10", "P@5"])
