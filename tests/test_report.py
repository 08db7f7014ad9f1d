"""The report as files: what it shows of each number, what it refuses, and what stays text."""

import base64
import gzip
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import polars as pl
import pytest
import yaml
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import derived_fixture
import drawn_fixture
from conftest import ROOT
from hostile_texts import HOSTILE, build_hostile
from pages import test_lines
from residuum import report
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.config.roots import packaged
from residuum.inspect import citing, explaining, recorded
from residuum.inspect.text import duration
from residuum.pages.lines import make as lines
from residuum.pages.lines.job import BoundLines
from residuum.site import charts, differences, folder, writing
from residuum.site.numbers import Values, step_of
from residuum.site.text import shown
from results_fixture import build, change, seal

AXES = {"x": {"label": "K"}, "y": {"label": "MRR"}}


class Reader(HTMLParser):
    """Gathers a page's elements that can run or load, the cells with an id, and its data."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.data, self._cell, self._data = [], {}, "", None, False

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append((tag, named))
        if tag == "td":
            self._cell = named.get("id")
        self._data = tag == "script" and named.get("id") == "data"

    def handle_data(self, text):
        if self._data:
            self.data += text
        elif self._cell:
            self.cells[self._cell] = self.cells.get(self._cell, "") + text

    def handle_endtag(self, tag):
        self._cell = None if tag == "td" else self._cell
        self._data = self._data and tag != "script"


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def data_of(path):
    return json.loads(gzip.decompress(base64.b64decode(read(path).data)))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return build(tmp_path_factory.mktemp("toy") / "results" / "toy")


@pytest.fixture(scope="module")
def made(results):
    return writing.write([results], results / "report").parent


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    results = drawn_fixture.build(tmp_path_factory.mktemp("drawn") / "results" / "toy")
    return results, writing.write([results], results / "report").parent


def test_the_stage_writes_a_site_whose_every_link_leads_somewhere(results, tmp_path):
    output = tmp_path / "site"
    done = CliRunner().invoke(
        report.app, ["write", "--results", str(results), "--output", str(output)]
    )
    assert done.exit_code == 0 and f"report: {output}/index.html" in done.output
    pages = {path: read(path) for path in output.rglob("*.html")}
    for path, page in pages.items():
        for tag, named in page.tags:
            for link in filter(None, (named.get("href"), named.get("src"))):
                name, _, place = link.partition("#")
                target = (path.parent / name).resolve() if name else path
                assert target.is_file(), f"{path.name}: {tag} {link}"
                if place not in ("", "main") and target.name.startswith("toy-"):
                    # A number that the grid leaves out opens by the page's data.
                    held = pages[target].cells | data_of(target)["cells"]
                    assert unquote(place) in held, f"{path.name}: {link}"


def test_the_command_names_the_first_page_and_takes_several_scales_of_one_each(results, tmp_path):
    copy = tmp_path / "results" / "toy"
    shutil.copytree(results, copy, ignore=shutil.ignore_patterns("report"))
    done = CliRunner().invoke(app, ["report", "--results", str(copy)])
    assert done.output.strip().endswith(f"{copy}/report/index.html")
    with pytest.raises(ResiduumError, match=r"two results folders of scale toy; .* --against"):
        writing.write([copy, results], tmp_path / "both")
    assert not (tmp_path / "both").exists()


def test_only_a_report_is_replaced(results, tmp_path):
    output = tmp_path / "mine"
    output.mkdir()
    (output / "notes.txt").write_text("keep")
    with pytest.raises(ResiduumError, match="exists and holds no report"):
        writing.write([results], output)
    assert (output / "notes.txt").read_text() == "keep"
    writing.write([results], tmp_path / "site")
    (tmp_path / "site" / "index.html").unlink()  # as Snakemake does before the job
    writing.write([results], tmp_path / "site")
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_folder_without_a_ledger_is_named(tmp_path):
    with pytest.raises(ResiduumError, match=r"ledger\.tsv: no such file, .*--results"):
        writing.write([tmp_path], tmp_path / "site")


def test_two_reports_of_one_folder_are_equal(results, made, tmp_path):
    again = writing.write([results], tmp_path / "again").parent
    for path in (p for p in made.rglob("*") if p.is_file() and p.name != "costs.html"):
        assert path.read_bytes() == (again / path.relative_to(made)).read_bytes(), path.name


def check_numbers(results, made, digits):
    """Compare the text of each linked cell with the number that the link is to."""
    count = 0
    for sheet in folder.read(results).sheets:
        own = read(made / "toy" / f"{sheet.name}.html")
        for cell in sheet.cells:
            place = f"{cell.line.row}/{cell.line.column}"
            if place in own.cells and cell.line.measured is not None:
                text = re.match(r"[+-]?[\d,.]+", own.cells[place].strip())[0]
                assert float(text.replace(",", "")) == pytest.approx(
                    cell.line.measured, abs=0.5 * 10.0**-digits + 1e-9
                ), place
                count += 1
    return count


def test_every_linked_cell_shows_the_number_that_it_leads_to(results, made, drawn):
    assert check_numbers(results, made, 3) == 3 + 1  # a table's column, a characteristic
    # three diagrams of six quantities; three panels of three series, in the hard group alone
    assert check_numbers(*drawn, 3) == 3 * 6 + 3 * 3


def test_what_stands_behind_a_number_is_what_explain_says(results, made):
    page = data_of(made / "toy" / "toy-table1.html")
    cell = page["cells"]["ours/rr"]
    assert (cell["measured"], cell["seeds"]) == (0.75, [1.0, 0.5])
    text = explaining.explain(results, cell["address"])
    assert "measured   0.75 " in text and cell["reported"] in text
    reached, ahead = [], list(cell["from"])
    while ahead:
        title, *parents = page["provenance"][ahead.pop()]
        reached, ahead = [*reached, title], [*ahead, *parents]
    titles = {line.partition("] ")[2] for line in text.splitlines() if line.startswith("[")}
    assert {*reached} == titles
    assert "runs/data/dev/ours.seed{1,2}.trec.gz" in titles
    names = page["tests"]["names"]
    tests = [dict(zip(names, row, strict=True)) for row in page["tests"]["rows"]]
    of = next(test for test in tests if {test["a"], test["b"]} == {"base", "ours"})
    assert abs(of["difference"]) == pytest.approx(5 / 12, abs=1e-6) and of["significant"]


def test_values_survive_their_packing():
    values = np.array([0.0, 1.0, 1 / 3, -0.25, 0.7071])
    rows = {"a/rr": Values(0, values), "b/rr": Values(0, values / 3)}
    step = step_of(rows)
    whole = {
        name: np.frombuffer(base64.b64decode(own.packed(step)["data"]), "<i2")
        for name, own in rows.items()
    }
    assert whole["a/rr"] * step == pytest.approx(values, abs=5e-5)
    assert whole["a/rr"][2] == whole["b/rr"][1], "equal values are equal in two rows"
    assert step_of({"a/rr": Values(0, np.zeros(2))}) == 1.0


def test_an_interval_is_that_of_the_number_beside_it(results, made, drawn):
    for folder_of, pages in ((results, made), drawn):
        for sheet in folder.read(folder_of).sheets:
            for cell in data_of(pages / "toy" / f"{sheet.name}.html").get("cells", {}).values():
                if low_high := cell.get("interval"):
                    assert low_high[0] <= cell["measured"] <= low_high[1]
    gains = data_of(drawn[1] / "toy" / "toy-figure4.html")
    assert not any("interval" in cell for cell in gains["cells"].values()), "of differences alone"


def test_a_figure_has_its_tests_at_its_points_and_behind_its_numbers(drawn):
    results, made = drawn
    page = data_of(made / "toy" / "toy-figure4.html")
    message = explaining.explain(results, "toy/figure4/ours/mean/hard")
    names = page["tests"]["names"]
    named = [dict(zip(names, values, strict=True)) for values in page["tests"]["rows"]]
    [test] = [one for one in named if (one["a"], one["column"]) == ("ours", "mean/hard")]
    assert test["b"] == "dpr"
    assert f"Against Dpr: {test['difference']:+.4f}, 95% {test['low']:+.4f}" in message
    panel = next(chart for chart in page["charts"] if chart["y"]["label"] == "MRR")
    ours = next(series for series in panel["series"] if series["id"] == "ours")
    assert ours["points"][0]["test"]["p"] == test["p_adjusted"] and panel["against"] == "Dpr"


def test_the_values_of_a_change_are_its_own_rows(tmp_path):
    """So that a picture of two rows subtracts as their test does."""
    results = derived_fixture.build(tmp_path / "results" / "toy")
    made = writing.write([results], tmp_path / "site").parent
    count = 0
    for sheet in folder.read(results).sheets:
        page = data_of(made / "toy" / f"{sheet.name}.html")
        for values in page.get("tests", {"rows": []})["rows"]:
            test = dict(zip(page["tests"]["names"], values, strict=True))
            both = [page["values"].get(f"{test[side]}/{test['column']}") for side in "ab"]
            if all(both):
                a, b = (
                    np.frombuffer(base64.b64decode(own["data"]), "<i2") * page["step"]
                    for own in both
                )
                assert (a - b).mean() == pytest.approx(test["difference"], abs=1e-4)
                counts = [((a - b) > 1e-9).sum(), ((a - b) < -1e-9).sum()]
                assert counts == [test["wins"], test["losses"]]
                count += any(
                    page["cells"][f"{test[side]}/{test['column']}"].get("change_from")
                    for side in "ab"
                )
    assert count


def test_circles_and_groups_are_drawn_from_their_data(drawn):
    _, made = drawn
    circles = data_of(made / "toy" / "toy-figure1.html")["charts"][0]["circles"]
    # Lee et al., Figure 1a: 32.4% in both, 15.2% of D alone, 5.9% of S alone, 46.5% of neither
    assert circles[0]["shares"] == pytest.approx([0.059, 0.324, 0.152, 0.465])
    areas = [np.pi * radius**2 for radius in circles[0]["radii"]]
    assert areas == pytest.approx([0.476, 0.383])
    panels = data_of(made / "toy" / "toy-figure4.html")["charts"]
    point = next(s for s in panels[0]["series"] if s["id"] == "clear")["points"][0]
    assert point["x"] == "hard" and point["n"] == 5


def test_lines_break_where_a_place_has_no_number():
    chart = {"title": "t", "series": [
        {"id": "x", "label": "X", "points": [{"x": "1", "y": 0.5}, {"x": "2", "y": None}]},
        {"id": "y", "label": "Y", "points": [{"x": "1", "y": None}]},
    ]}  # fmt: skip
    assert [series["id"] for series in charts.drawn(chart)["series"]] == ["x"]
    assert charts.drawn({"title": "t", "series": chart["series"][1:]}) is None
    both = charts.named_apart([dict(AXES, title="t"), dict(AXES, title="t"), dict(AXES, title="u")])
    assert [one["title"] for one in both] == ["t, MRR by K", "t, MRR by K", "u"]


def test_the_lines_of_a_table_are_drawn_with_their_gaps(tmp_path):
    lines.draw(test_lines.spec(), test_lines.write_table(tmp_path), tmp_path / "x-figure1.tsv")
    job = BoundLines.model_validate_json(test_lines.spec())
    left, right = map(
        charts.drawn, charts._lines(job, pl.read_csv(tmp_path / "x-figure1.tsv", separator="\t"))
    )
    points = {s["label"]: [(p["x"], p["y"]) for p in s["points"]] for s in left["series"]}
    assert points["First"] == [("9", None), ("80", 0.75)]
    assert points["Second"] == [("9", pytest.approx(0.6)), ("80", pytest.approx(0.15))]
    assert left["x"]["order"] == ["9", "80"] and left["series"][0]["points"][0]["low"] == 0.5
    assert [series["label"] for series in right["series"]] == ["Second"]


def test_another_verdict_or_curve_is_seen_between_two_folders(results, tmp_path):
    other = tmp_path / "results" / "toy"
    shutil.copytree(results, other, ignore=shutil.ignore_patterns("report"))
    change(other / "ledger.tsv", "these models only", "holds")
    change(other / "figures" / "toy-figure1.tsv", "0.2", "0.3")
    for path in ("ledger.tsv", "figures/toy-figure1.tsv"):
        seal(other / path)
    seen = differences.compared(folder.read(results), folder.read(other))
    assert not seen.numbers and seen.first == ""
    assert ["these models only" in row.here and "holds" in row.there for row in seen.verdicts] == [
        True
    ]
    assert [name for name, _ in seen.pages] == ["toy-figure1"]
    with pytest.raises(ResiduumError, match=r"is of scale toy, .* of mini: give --against a"):
        differences.compared(folder.read(results), folder.read(other)._replace(scale="mini"))


def test_costs_add_up_to_those_of_the_jobs(results, tmp_path):
    copy = tmp_path / "toy"
    shutil.copytree(results, copy, ignore=shutil.ignore_patterns("report"))
    for name, seconds in (("train/a.seed1", 61.5), ("train/b/c", 2.25), ("data/d", 1.0)):
        path = copy / "benchmarks" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\tcpu_time\n{seconds}\t120.5\t-\n")
    train, data = recorded.stages(copy)
    assert (train.name, train.jobs, train.seconds, train.longest) == (
        "train", 2, 63.75, "train/a.seed1",
    )  # fmt: skip
    assert (data.memory, data.core_seconds) == (120.5, 0.0)
    [pairs] = recorded.rerankings(folder.read(copy).graph)
    assert (pairs.pairs, pairs.alone, pairs.runs) == (100, 200, 1)
    site = writing.write([copy], tmp_path / "site").parent
    text = (site / "toy" / "costs.html").read_text()
    assert "1:04" in text and "50%" in text
    assert [duration(s) for s in (0.44, 12.4, 185, 7630)] == [
        "0.4 s", "12 s", "3:05", "2:07:10",
    ]  # fmt: skip


def test_every_paper_of_the_configuration_is_cited():
    papers = {path.name for path in (ROOT / "config" / "papers").iterdir()}
    known = yaml.safe_load(citing.CITATIONS.read_text())
    assert {*known} == papers - {"lexical-baselines", "released"}, "which are no papers"


def test_where_it_was_made_is_what_the_manifests_record(results, made):
    opened = folder.read(results)
    manifests = [json.loads(path.read_text()) for path in results.rglob("*manifest.json")]
    found = recorded.environments(opened.graph)
    for key in ("python", "git_commit"):
        assert found[key] == {str(manifests[0]["environment"][key]): len(manifests)}
    [corpus] = recorded.corpora(opened.graph)
    assert (corpus.name, corpus.docs, corpus.edition) == ("data", "20", "first")
    text = (made / "toy" / "about.html").read_text()
    assert manifests[0]["environment"]["packages"]["numpy"] in text and "BibTeX" not in text


def test_vendored_libraries_are_those_that_their_hashes_name():
    listed = yaml.safe_load(writing.VENDORED.read_text())
    place = packaged("site/vendor")
    named = {name: sha for library in listed for name, sha in library["files"].items()}
    assert {path.name for path in place.iterdir()} == {*named, "vendored.yaml"}
    for name, sha in named.items():
        assert hashlib.sha256((place / name).read_bytes()).hexdigest() == sha, name
    for library in listed:
        assert library["version"] in (place / next(iter(library["files"]))).read_text()[:80]


def test_hostile_texts_stay_texts_in_every_form(tmp_path):
    results = build_hostile(tmp_path / "results" / "toy")
    made = writing.write([results], tmp_path / "site").parent
    own = {"assets/report.js", "assets/d3.min.js", "assets/plot.umd.min.js", "assets/charts.js"}
    for path in made.rglob("*.html"):
        page = read(path)
        for tag, named in page.tags:
            assert tag not in ("img", "iframe", "object", "embed", "svg")
            assert not [name for name in named if name.startswith("on")]
            assert not str(named.get("href", "")).lower().startswith("javascript")
            if tag == "script" and named.get("id") != "data":
                assert named["src"].removeprefix("../") in own
        text = path.read_text()
        assert not [c for c in "\x07\u202e\u2066" if c in text], path.name
        texts = re.sub(r'id="data">[^<]*<', "", text)
        assert len(max(texts.splitlines(), key=len)) < 20_000, path.name
    for path in results.rglob("*.md"):
        # as a renderer would that lets HTML through
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(path.read_text())
        reader = Reader()
        reader.feed(html)
        assert not {"script", "iframe"} & {tag for tag, _ in reader.tags}, path.name
        assert not [n for tag, n in reader.tags if tag == "img" and not n["src"].endswith(".png")]
        assert not [n for tag, n in reader.tags if tag == "a"], path.name
    for path in [*results.rglob("*.md"), *results.rglob("*.tex")]:
        text = path.read_text()
        assert "U+202E" in text or path.stem not in ("toy-table1",), path.name
        assert not [c for c in "\x07\u202e\u2066" if c in text], path.name
    tex = (results / "tables" / "toy-table1.tex").read_text()
    assert r"\textbackslash" in tex and r"\input{" not in tex
    assert shown(HOSTILE[-1]).endswith("(100,000 characters)") and len(shown(HOSTILE[-1])) < 600


def test_more_in_a_page_than_it_can_show_is_cut_and_counted():
    assert shown("a\nb\tc\x00") == "a b cU+0000"
    assert shown("\u202eabc") == "U+202Eabc"
    assert shown("a\u200cb") == "a\u200cb", "a joiner is a part of words, as Persian's"
