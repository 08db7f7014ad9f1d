"""The report as files: what it shows of each number, what it refuses, and what stays text."""

import base64
import gzip
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import drawn_fixture
from conftest import ROOT
from hostile_texts import HOSTILE, build_hostile
from residuum import report
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.config.roots import packaged
from residuum.inspect import citing, explaining
from residuum.site import about, costs, folder, rendering, writing
from residuum.site.numbers import Packed
from residuum.site.text import shown
from results_fixture import build


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
                    assert place in pages[target].cells, f"{path.name}: {link}"


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
    with pytest.raises(ResiduumError, match="is there and is no report"):
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
        title, *parents = page["lineage"][ahead.pop()]
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
    packed = Packed.of(values, 0)
    whole = np.frombuffer(base64.b64decode(packed.data), "<i2")
    assert whole * packed.step == pytest.approx(values, abs=5e-5)
    assert Packed.of(np.zeros(2), 0).step == 1.0


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


def test_costs_add_up_to_those_of_the_jobs(results, tmp_path):
    copy = tmp_path / "toy"
    shutil.copytree(results, copy, ignore=shutil.ignore_patterns("report"))
    for name, seconds in (("train/a.seed1", 61.5), ("train/b/c", 2.25), ("data/d", 1.0)):
        path = copy / "benchmarks" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\tcpu_time\n{seconds}\t120.5\t-\n")
    train, data = costs.stages(folder.read(copy))
    assert (train.name, train.jobs, train.seconds, train.longest) == (
        "train", 2, 63.75, "train/a.seed1",
    )  # fmt: skip
    assert (data.memory, data.core_seconds) == (120.5, 0.0)
    [pairs] = costs.rerankings(folder.read(copy))
    assert (pairs.pairs, pairs.alone, pairs.runs) == (100, 200, 1)
    site = writing.write([copy], tmp_path / "site").parent
    text = (site / "toy" / "costs.html").read_text()
    assert "1:04" in text and "50%" in text
    assert [rendering.duration(s) for s in (0.44, 12.4, 185, 7630)] == [
        "0.4 s", "12 s", "3:05", "2:07:10",
    ]  # fmt: skip


def test_every_paper_of_the_configuration_is_cited():
    papers = {path.name for path in (ROOT / "config" / "papers").iterdir()}
    known = yaml.safe_load(citing.CITATIONS.read_text())
    assert {*known} == papers - {"lexical-baselines"}, "which are no paper's"


def test_where_it_was_made_is_what_the_manifests_record(results, made):
    opened = folder.read(results)
    manifests = [json.loads(path.read_text()) for path in results.rglob("*manifest.json")]
    recorded = dict(about.environments(opened))
    for key in ("python", "git_commit"):
        assert recorded[key] == [(str(manifests[0]["environment"][key]), len(manifests))]
    [corpus] = about.collections(opened)
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
        assert len(max(text.splitlines(), key=len)) < 400_000
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
