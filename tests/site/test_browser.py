"""The report in a browser, opened from disk: clicked, tabbed through, narrow, dark and printed."""

import pytest
from playwright.sync_api import expect

from browsing import check_scripts, chromium, needs_chromium, opened, serious
from bundles import reproduced
from hostile_texts import build_hostile
from indexes_fixture import indexed
from residuum.config.specs import canonical_json
from residuum.pages.figure import make as figures
from residuum.site import writing
from results_fixture import build
from tables_fixture import TESTS

pytestmark = needs_chromium
PAGES = ["index.html", "against.html", "toy/toy-table1.html", "toy/toy-figure1.html",
         "toy/toy-claims.html", "toy/provenance.html", "toy/costs.html", "toy/absent.html",
         "toy/about.html", "toy/reproductions.html"]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with chromium() as one:
        yield one


@pytest.fixture(autouse=True)
def scripts():
    yield
    check_scripts()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return a report of a toy folder, beside another one with another k1."""
    folder = tmp_path_factory.mktemp("report")
    here, there = build(folder / "here"), build(folder / "there", k1=1.2)
    for day, results in enumerate((there, here), 1):
        reproduced(results, folder / "log", day)
    return writing.write([here], folder / "report", there, folder / "log").parent


def visible_rows(page):
    return page.locator("#ledger tbody tr:visible")


def test_the_ledger_is_filtered_and_its_address_keeps_the_view(browser, report):
    page = opened(browser, report / "index.html")
    every = visible_rows(page).count()
    page.select_option("select[name=kind]", "claim")
    assert visible_rows(page).count() == 1 < every
    assert page.locator("#shown").text_content() == f"1 of {every} rows"
    again = opened(browser, report / "index.html", page.url[page.url.index("#") :])
    assert visible_rows(again).count() == 1
    page.click("button[type=reset]")
    page.fill("input[name=text]", "ABLATION")
    kept = visible_rows(page)
    assert all("ablation" in text.lower() for text in kept.all_text_contents()) and kept.count()


def test_a_count_of_a_paper_filters_the_ledger(browser, report):
    page = opened(browser, report / "index.html")
    link = page.locator(".counts a").first
    verdict, count = link.text_content().rsplit(" ", 1)
    link.click()
    expect(visible_rows(page)).to_have_count(int(count))
    shown = page.locator("#ledger tbody tr:visible td:nth-child(7)").all_text_contents()
    assert {*map(str.strip, shown)} == {verdict}


def test_a_row_leads_to_its_number_and_a_click_to_its_tests(browser, report):
    page = opened(browser, report / "index.html")
    page.locator("#ledger tbody tr", has_text="ours significantly above base").locator("a").click()
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    assert dialog.locator("h2").text_content() == "Ours: MRR@10"
    # seed 1 has every relevant doc first, seed 2 second: 1 and 1/2
    facts = dialog.locator("dl.facts").first.text_content()
    assert "0.75" in facts and "1, 0.5" in facts and "0.400 ^1,3" in facts
    tests = dialog.locator("table", has_text="Tests over queries:")
    assert "+0.4167" in tests.text_content()  # 3/4 less 1/3, where base has each doc third
    assert "is above Base in 12 queries, equal in 0, below in 0" in dialog.text_content()
    assert dialog.locator("svg rect, svg path").count() > 12
    dialog.get_by_role("button", name="Differences per query from w/o it").click()
    # the ablation has all second: 1/2 in each
    assert "Ours less w/o it" in dialog.locator("#picture").text_content()
    best = dialog.locator("table", has_text="Best queries").locator("tbody tr").first
    assert best.text_content() == "q00text of q000.750.5+0.25"
    page.keyboard.press("Escape")
    assert not page.locator("dialog[open]").count()


def test_a_point_says_its_value_and_the_legend_hides_its_series(browser, report):
    page = opened(browser, report / "toy/toy-figure1.html")
    chart = page.locator("figure.chart").first
    dots = chart.locator(".plot svg [data-mark=dot] > *")
    assert dots.count() == 2
    page.locator(".plot svg").first.scroll_into_view_if_needed()
    box = dots.first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = chart.locator("[aria-label=tip]")
    expect(tip).to_contain_text("n = 12 queries")
    assert "0.2" in tip.text_content() and "n = 12 queries" in tip.text_content()
    button = chart.get_by_role("button", name="Base")
    button.click()
    assert button.get_attribute("aria-pressed") == "false" and dots.count() == 0
    button.click()
    assert dots.count() == 2


def test_the_provenance_is_followed_from_a_number_to_the_corpus(browser, report):
    page = opened(browser, report / "toy/toy-table1.html", "#base/rr")
    page.locator("dialog").get_by_role("link", name="runs/data/dev/base.trec.gz").click()
    article = page.locator("#artefact")
    article.locator("h2").wait_for()
    assert "runs/data/dev/base.trec.gz" in article.locator("h2").text_content()
    assert "metrics/data/dev/base.tsv" in article.text_content(), "what was made from it"
    article.get_by_role("link", name="index/data/en").click()
    article.get_by_role("link", name="data/data/corpus").click()
    expect(article.locator("h2")).to_contain_text("corpus")
    assert "docs 20" in article.text_content()


def test_two_folders_stand_side_by_side(browser, report):
    page = opened(browser, report / "against.html")
    first = page.locator("main p strong").locator("..").text_content()
    assert "parameter bm25.k1: 0.9 against 1.2" in first
    row = page.locator("tbody tr", has_text="toy/table1/base/rr")
    # at 0.9 each doc is third, at 1.2 the ranks are 1, 2, 3 in turn: mean of 1, 1/2 and 1/3
    assert "0.333333" in row.text_content() and "0.611111" in row.text_content()
    row.get_by_role("link").click()
    page.locator("dialog[open]").wait_for()


def test_all_is_reached_with_the_keyboard(browser, report):
    page = opened(browser, report / "toy/toy-table1.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "number":
            break
    page.keyboard.press("Enter")
    page.locator("dialog[open]").wait_for()
    assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(page.locator("a.number:focus")).to_have_count(1)


@pytest.mark.parametrize("place", ["#100%", "#%E0", "#constructor", "#__proto__", "#main"])
@pytest.mark.parametrize("name", ["index.html", "toy/toy-table1.html", "toy/provenance.html"])
def test_an_address_that_names_nothing_breaks_nothing(browser, report, name, place):
    page = opened(browser, report / name, place)
    assert not page.locator("dialog[open]").count()
    if name == "toy/toy-table1.html":
        page.locator("a.number").first.click()
        page.locator("dialog[open]").wait_for()


def test_the_skip_link_leaves_the_filter_and_the_artefact(browser, report):
    page = opened(browser, report / "index.html", "#kind=claim")
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    assert visible_rows(page).count() == 1
    page = opened(browser, report / "toy/provenance.html", "#a1")
    shown = page.locator("#artefact h2").text_content()
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    assert page.locator("#artefact h2").text_content() == shown


def test_numbers_that_were_opened_and_closed_do_not_stand_in_the_way_back(browser, report):
    page = opened(browser, report / "index.html")
    page.goto((report / "toy/toy-table1.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    for _ in range(3):
        page.locator("a.number").first.click()
        page.locator("dialog[open]").wait_for()
        page.keyboard.press("Escape")
        expect(page.locator("a.number:focus")).to_have_count(1)
    # By the page, which knows where its own Back has led, and once the answer to this is out.
    page.evaluate("setTimeout(() => history.back(), 50); 0")
    page.wait_for_url("**/index.html")


def test_a_number_that_was_closed_has_the_focus_once_its_address_is_gone(browser, report):
    page = opened(browser, report / "toy/toy-table1.html")
    page.locator("a.number").first.click()
    page.locator("dialog[open]").wait_for()
    page.evaluate(  # no wait_for_function, whose polling the pages' policy of scripts forbids
        "window.seen = new Promise((found) => {"
        " addEventListener('focusin', (event) => {"
        "  if (event.target.matches('a.number')) found(location.hash); });"
        " setTimeout(() => found('no focus'), 9000); }); 0"
    )
    page.keyboard.press("Escape")
    assert page.evaluate("window.seen") == ""


def test_a_number_that_a_link_opened_gives_the_focus_to_its_cell(browser, report):
    page = opened(browser, report / "toy/toy-table1.html", "#ours/rr")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")
    focused = page.locator("td[id='ours/rr'] a.number:focus")
    expect(focused).to_have_count(1)
    page.wait_for_url("**/toy-table1.html")


def test_a_sentence_leads_to_the_numbers_that_it_rests_on(browser, report):
    page = opened(browser, report / "toy/toy-claims.html", "#better")
    dialog = page.locator("dialog[open]")
    assert "Ours is better." in dialog.locator("h2").text_content()
    dialog.get_by_role("link", name="Ours").click()
    expect(page.locator("dialog[open] h2")).to_have_text("Ours: MRR@10")


@pytest.mark.parametrize("name", ["index.html", "toy/toy-table1.html"])
def test_a_printed_page_is_no_wider_than_its_paper(browser, report, name):
    page = opened(browser, report / name, viewport={"width": 1032, "height": 700})
    page.emulate_media(media="print")  # A4 across, less its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 1032


def test_the_numbers_of_a_chart_stand_below_it(browser, report):
    page = opened(browser, report / "toy/toy-figure1.html")
    page.locator("summary", has_text="Numbers of this chart").click()
    lines = page.locator("figure.chart details tbody tr").all_text_contents()
    assert lines[1:] == ["Basedepth 100.212", "Basedepth 200.312"] and "first stage" in lines[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_has_no_serious_finding(browser, report, name, scheme):
    assert not serious(opened(browser, report / name, color_scheme=scheme))


def test_axe_has_no_serious_finding_in_an_open_number(browser, report):
    assert not serious(opened(browser, report / "toy/toy-table1.html", "#ours/rr"))


@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_page_does_not_scroll_sideways(browser, report, name):
    page = opened(browser, report / name, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_printed_page_has_its_table_and_no_controls(browser, report):
    page = opened(browser, report / "index.html")
    page.emulate_media(media="print")
    assert page.locator("#ledger").is_visible() and not page.locator("form.filters").is_visible()
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_notes_behind_the_fifth_open_at_a_click_and_on_paper(browser, report):
    page = opened(browser, report / "toy" / "toy-table1.html")
    last = page.locator("details.notes li").last
    assert not last.is_visible()
    page.click("details.notes summary")
    assert last.is_visible()
    page.click("details.notes summary")
    assert not last.is_visible()
    page.pdf()
    assert last.is_visible()


def test_a_script_that_came_with_the_data_would_not_run(browser, report, tmp_path):
    text = (report / "index.html").read_text()
    harmed = report / "harmed.html"
    harmed.write_text(text.replace("<main", "<script>window.harmed = 1</script><main", 1))
    page = browser.new_context().new_page()
    page.goto(harmed.as_uri())
    assert page.evaluate("window.harmed") is None


def test_hostile_texts_are_shown_and_not_run(browser, tmp_path):
    results = build_hostile(tmp_path / "results")
    site = writing.write([results], tmp_path / "site").parent
    for name in ("index.html", "toy/toy-table1.html", "toy/absent.html", "toy/provenance.html"):
        page = opened(browser, site / name)
        assert page.evaluate("window.harmed") is None
    page = opened(
        browser, site / "toy/toy-table1.html", "#base/rr", viewport={"width": 400, "height": 800}
    )
    dialog = page.locator("dialog[open]")
    assert "<script>window.harmed = 1</script>" in dialog.text_content()
    assert "U+202E" in dialog.text_content() and "\u202e" not in dialog.text_content()
    assert page.evaluate("window.harmed") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Return a report with a figure over queries, and a table of systems with two sizes."""
    folder = tmp_path_factory.mktemp("pictures")
    results = indexed(build(folder / "toy", k1=1.2))
    made = {
        "id": "toy-figure2", "tests": {**TESTS, "compare": "with_baselines"}, "scale": "toy",
        "entry": {
            "kind": "figure", "title": "Toy queries", "role": "dev", "over": "query",
            "series": [{"id": one, "label": one, "system": one} for one in ("base", "ours")],
            "panels": [{"id": "rr", "shows": "measure", "measure": "RR@10", "header": "MRR"}],
            "tests": "toy",
        },
        "runs": {"base": ["base"], "ours": ["ours.seed1", "ours.seed2"]},
        "splits": dict.fromkeys(("base", "ours"), "data/dev"), "reason": "a toy.",
    }  # fmt: skip
    output = results / "figures" / "toy-figure2.tsv"
    figures.draw(canonical_json(made), output, results / "metrics")
    return writing.write([results], folder / "report").parent / "toy"


def test_circles_stand_for_queries_with_equal_values(browser, pictures):
    """Of base a third of the 12 queries each have 1, 1/2 and 1/3; of ours all have 3/4."""
    page = opened(browser, pictures / "toy-figure2.html", viewport={"width": 400, "height": 800})
    dots = page.locator("figure.chart .plot svg [data-mark=dot] > circle")
    assert dots.count() == 3 and {dot.get_attribute("r") for dot in dots.all()} == {"7"}
    page.locator("summary", has_text="Numbers of this chart").click()
    lines = page.locator("figure.chart details tbody tr").all_text_contents()
    assert [line.split("ours")[1].strip() for line in lines] == [
        "0.33330.754",
        "0.50.754",
        "10.754",
    ]
    assert serious(page) == []


def test_below_a_table_stands_what_its_systems_reach_by_size(browser, pictures):
    page = opened(browser, pictures / "toy-table1.html")
    dots = page.locator("figure.chart .plot svg [data-mark=dot] > *")
    assert dots.count() == 3
    table, chart = (page.locator(one).bounding_box()["y"] for one in (".printed", "#charts"))
    assert table < chart and serious(page) == []
