"""What Snakemake's own report shows: one file of each page, by paper and kind, under a caption."""

import re
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
import yaml
from docutils.core import publish_parts

from conftest import ROOT
from residuum.config import loading
from residuum.wiring.driver import CAPTIONS, Reported
from residuum.wiring.paths import Paths

CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
CAPTIONED = sorted((ROOT / "rules" / CAPTIONS).resolve().glob("*.rst"))
PATHS = Paths("results/smoke")


def mark(path, **options):
    return path, options


@pytest.fixture(scope="module")
def shown():
    return Reported(loading.load(ROOT / "config", {**CONFIG, "scale": "smoke"}), mark)


def test_of_a_page_the_text_alone_is_marked_and_of_a_drawn_one_the_drawing(shown):
    forms = PATHS.table.forms("md", "tex")
    outputs = shown.texts(forms)
    path, options = outputs.pop("md")
    assert (path, outputs) == (forms.pop("md"), forms)
    assert options["caption"] == f"{CAPTIONS}/page.rst"
    drawn = PATHS.pages["figure"].forms("md", "pdf", "png")
    outputs = shown.drawings(drawn)
    assert [name for name in drawn if outputs[name] != drawn[name]] == ["png"]
    assert outputs["png"][1]["caption"] == f"{CAPTIONS}/drawing.rst"


def test_a_page_stands_under_its_paper_and_kind_by_its_name_and_title(shown):
    (_, options) = shown.texts(PATHS.table.forms("md"))["md"]
    page = SimpleNamespace(page="lexical-baselines-msmarco_passage")
    assert options["category"](page) == "lexical-baselines"
    assert options["subcategory"](page) == "table"
    title = shown.labels(page)["title"]
    assert shown.labels(page) == {"page": "msmarco_passage", "title": title}
    assert (
        f"title: {title}\n"
        in (ROOT / "config" / "papers" / "lexical-baselines" / "msmarco_passage.yaml").read_text()
    )


def test_the_ledger_has_a_category_of_its_own_which_is_no_paper(shown):
    path, options = shown.ledger(PATHS.ledger.forms("md"))["md"]
    assert path == "results/smoke/ledger.md" and options["category"] == "ledger"
    assert not (ROOT / "config" / "papers" / "ledger").exists()


def test_every_rule_that_makes_a_page_marks_it():
    texts = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    made = [line for text in texts for line in re.findall(r"^ +\*\*.*\.forms\(.*$", text, re.M)]
    assert len(made) == 9
    assert all(re.match(r" +\*\*SHOWN\.(texts|drawings|ledger)\(", line) for line in made), made


@pytest.mark.parametrize("caption", CAPTIONED, ids=lambda path: path.stem)
def test_a_caption_prints_its_parameters_and_the_page(monkeypatch, tmp_path, caption):
    """As Snakemake renders it: Jinja with what the job has, then docutils."""
    monkeypatch.chdir(tmp_path)
    Path("page.md").write_text("## A_title_\n\n| a | *b* |\n\n- `c` <d> |e|\n", encoding="utf-8")
    output = SimpleNamespace(md="page.md", tsv="page.tsv", png="page.png", pdf="page.pdf")
    job = SimpleNamespace(
        config={**CONFIG, "scale": "some-scale"},
        output=output,
        wildcards=SimpleNamespace(page="clear-table_1"),
    )
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    text = environment.from_string(caption.read_text()).render(snakemake=job)
    shown = publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["body"]
    assert "some-scale" in shown
    if caption.stem != "workflow":
        assert "| a | *b* |" in shown and "- `c` &lt;d&gt; |e|" in shown, "the page, as it is"
        assert "page.tsv" in shown


def test_there_is_a_caption_for_each_sort_and_no_other():
    assert [path.stem for path in CAPTIONED] == ["drawing", "ledger", "page", "workflow"]
