"""README and docs: how long they are, where their links lead, and what the docs site is made of."""

import importlib
import re
import tomllib

import pytest
from typer.testing import CliRunner

from conftest import ROOT
from projects import of_site
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError

DOCS = ROOT / "docs"
LINKING = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
]
PAGES = [*LINKING, ROOT / "CHANGELOG.md"]
WIDTH = 120
FENCE = re.compile(r"^( *)```.*?^ *```[^\n]*$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
TICKED = re.compile(r"`([^`\n]+)`")

ASSEMBLE = of_site("assemble")


def prose(path):
    """Return a page's lines, those of code empty."""
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())
    return text.splitlines()


def breakable(line):
    """Say whether a line could end earlier: a table row, a link and code could not."""
    if line.startswith("|"):
        return False
    kept = re.sub(r"`[^`]*`|!?\[[^\]]*\]\([^)]*\)", lambda m: "x" * len(m[0]), line.strip())
    return any(not set(word) <= {"x"} and len(word) < WIDTH for word in kept.split()[1:])


def anchor(heading):
    """Return the anchor that repository hosts and the site give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path):
    return {anchor(m[1]) for line in prose(path) if (m := re.match(r"#+ (.*)", line))}


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_lines_are_wrapped(path):
    long = [
        (number, line)
        for number, line in enumerate(prose(path), start=1)
        if len(line) > WIDTH and breakable(line)
    ]
    assert not long


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(path):
    for address in LINK.findall("\n".join(prose(path))):
        if re.match(r"[a-z]+:", address):
            continue
        name, _, wanted = address.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), address
        assert not wanted or wanted in anchors(target), address


def named_files(path):
    """Yield the files of code that a page names, `x/y.py`, by the whole path or its end."""
    for text in TICKED.findall("\n".join(prose(path))):
        for word in text.split():
            if re.fullmatch(r"(?!/)[\w./-]*\w/[\w.-]+\.(py|smk|js|sh)", word):
                yield word.replace("KIND", "table")


PROJECT = [
    f"/{path.relative_to(ROOT)}"
    for folder in ("config", "docs", "envs", "profiles", "results", "rules", "tests", "workflow")
    for path in (ROOT / folder).rglob("*")
    if path.is_file()
]


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_pages_name_exist(path):
    lost = [n for n in named_files(path) if not any(file.endswith(f"/{n}") for file in PROJECT)]
    assert not lost


def said(*words):
    done = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_values_that_the_docs_show_of_a_model_are_those_that_it_has(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (DOCS / "how-to" / "show.md").read_text()
    [block] = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
    command, *lines = block.splitlines()
    printed = said(*command.removeprefix("$ residuum ").split()).splitlines()
    shown = [line for line in lines if line != "..."]
    assert len(shown) > 15 and "..." in lines
    order = [printed.index(line) for line in shown if line]
    assert order == sorted(order)
    named = lines.index("Named by:")
    assert lines[named:] == printed[printed.index("Named by:") :], "all of it"


def test_what_the_docs_ask_of_show_is_answered(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (DOCS / "how-to" / "show.md").read_text()
    commands = re.findall(r"^\| .* \| `residuum (show .*)` \|$", text, re.M)
    assert len(commands) == 5 and all(said(*command.split()) for command in commands)
    [kinds] = re.findall(r"^Kinds are ([\w,\s]+)\.", text, re.M)
    with pytest.raises(ResiduumError) as unknown:
        said("show", "nothing")
    known = re.search(r"known: (.*?)\.", str(unknown.value))[1]
    assert sorted(re.split(r",\s+|\s+and\s+", kinds)) == known.split(", ")


def counts(path):
    """Return the rows of a page's tables and grids, by their first cells."""
    rows = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("| ").split("|")] for row in rows]


def test_the_counts_of_markers_are_the_same_in_the_readme_and_in_the_ledger():
    header, *ledger = (
        dict(zip(("paper", "printed"), row[:2], strict=True)) | {"counts": row[2:]}
        for row in counts(DOCS / "how-to" / "read-a-page.md")
        if len(row) == 15
    )
    markers = {row["paper"]: row["counts"] for row in ledger if row["printed"] == "comparisons"}
    head, *rows = (row for row in counts(ROOT / "README.md") if len(row) == 9)
    assert head[2:] == header["counts"][:7]
    ids = {"CLEAR": "clear", "DualRM": "dualrm", "RoC": "roc", "ME-BERT": "mebert"}
    papers = {row[0].partition(" (")[0]: row[2:] for row in rows}
    assert papers.pop("BioASQ hybrids") == ["\N{EN DASH}"] * 7, "it prints no marker"
    assert {ids[name]: row for name, row in papers.items()} == {
        name: row[:7] for name, row in markers.items()
    }
    assert f"so {markers['dualrm'][-1]} more of its comparisons" in (ROOT / "README.md").read_text()


def test_code_and_configuration_name_pages_that_exist():
    named = set()
    for folder, ending in (("workflow", ".py"), ("config", ".yaml"), ("rules", ".smk")):
        for path in (ROOT / folder).rglob(f"*{ending}"):
            named |= set(re.findall(r"\bdocs/[\w/-]+\.md", path.read_text()))
    assert named and all((ROOT / name).is_file() for name in named - {
        "docs/experiments-covid.md", "docs/regressions-dl19-passage.md",  # Anserini's
    })  # fmt: skip


def test_the_site_has_every_page_once():
    site = tomllib.loads((DOCS / "site" / "zensical.toml").read_text())["project"]
    shown = []
    for entry in site["nav"]:
        [(_, pages)] = entry.items()
        shown += [pages] if isinstance(pages, str) else [n for page in pages for n in page.values()]
    assert len(shown) == len(set(shown))
    sources = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    written = {path.relative_to(DOCS).with_suffix(".md").as_posix() for path in sources}
    assert set(shown) == written | set(ASSEMBLE.MADE) | {*ASSEMBLE.OUTSIDE.values()}


def described(page):
    """Return the commands that a page has headings for."""
    return re.findall(r"^#{3,4} `(.*)`$", page, re.M)


def verbs(application, words):
    """Yield the command lines of an application, without their options."""
    for command in application.registered_commands:
        yield f"{words} {command.name or command.callback.__name__.replace('_', '-')}"
    for group in application.registered_groups:
        yield from verbs(group.typer_instance, f"{words} {group.name}")


def test_the_site_describes_each_command_of_each_stage():
    modules = [
        ".".join(path.relative_to(ROOT / "workflow").with_suffix("").parts)
        for path in (ROOT / "workflow" / "residuum").rglob("*.py")
        if "app = command.app" in path.read_text()
    ]
    stages = {*modules} - {"residuum.__main__", "residuum.config.loading"}
    commands = [
        line
        for name in stages
        for line in verbs(importlib.import_module(name).app, f"python -m {name}")
    ]
    assert len(commands) > len(stages) > 30
    assert sorted(described(ASSEMBLE.of_stages())) == sorted(commands)


def test_the_site_describes_each_command_that_reads_results():
    headings = described(ASSEMBLE.of_results())
    assert {*verbs(app, "residuum")} <= {*headings}
    assert {*headings} - {*verbs(app, "residuum")} == {"residuum bundle", "residuum datasets"}


def test_the_site_fetches_nothing_and_opens_from_disk():
    site = tomllib.loads((DOCS / "site" / "zensical.toml").read_text())["project"]
    assert site["theme"]["font"] is False and site["use_directory_urls"] is False
    assert "offline" in site["plugins"]
    assert all((DOCS / path).is_file() for path in site["extra"]["polyfills"])
    assert any("iframe-worker" in path for path in site["extra"]["polyfills"])


def test_locks_agree_on_what_they_share():
    pins = {}
    for lock in sorted(ROOT.glob("requirements*.lock")):
        for line in lock.read_text().splitlines():
            if "==" in line:
                name, version = re.sub(r"[-_.]+", "-", line).lower().split("==")
                assert pins.setdefault(name, version) == version, (lock, name)
