"""Assemble the pages of the docs site, and write those that are made of code: `make docs`.

Usage: `python docs/site/assemble.py build/docs`. Copies docs/ and the project's other pages into
`pages/`, turns their links to the site's own pages, and writes the reference of commands and the
log of reproductions.
"""

import importlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = "zensical.toml"
SHOWN = {".md", ".png", ".svg", ".js", ".css"}
OUTSIDE = {  # pages that lie elsewhere in the project, and their paths on the site
    "README.md": "index.md",  # docs/index.md stands for it
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/reporting.md",
    "CHANGELOG.md": "project/changelog.md",
    "config/README.md": "reference/configuration.md",
    "results/README.md": "reference/results.md",
    "reproductions/README.md": "reference/reproductions.md",  # the log stands for it
}
RESULTS = """These commands read finished results and other people's runs. They change no result.
The [commands of stages](stages.md) make the results."""
STAGES = """The graph runs these commands, one for each job. To run one by hand, see
[Run the graph](../how-to/run.md#run-one-job-by-hand)."""
REPRODUCTIONS = """Each was recorded from a bundle, whose pages were made again byte for byte. To
add yours, see [Share results](../how-to/share.md#a-reproduction-for-the-log)."""
LINK = re.compile(r"(!?\[[^\]]*\])\(([^()\s]+)\)")
FENCED = r"^ *```.*?^ *```"
CODE = r"`[^`\n]+`"


def path_on_site(path: Path) -> str | None:
    """Return the path on the site of a file of the project; None if the site has no such page."""
    if path.is_relative_to(DOCS):
        page = path.with_suffix(".md") if path.suffix == ".ipynb" else path
        return page.relative_to(DOCS).as_posix()
    return OUTSIDE.get(path.relative_to(ROOT).as_posix())


def apart(kept: str, text: str, change: Callable[[str], str]) -> str:
    """Return a text in which `change` was applied to all but the matches of the pattern `kept`."""
    parts = re.split(f"({kept})", text, flags=re.M | re.S)
    return "".join(part if n % 2 else change(part) for n, part in enumerate(parts))


def linked(text: str, source: Path, target: str) -> str:
    """Return a page whose links lead to pages of the site; a link to another file is its label.

    A link to a file that does not exist ends the program.
    """

    def relinked(match: re.Match[str]) -> str:
        label, address = match.groups()
        name, mark, anchor = address.partition("#")
        if not name or re.match(r"[a-z]+:", address):
            return match[0]
        path = Path(os.path.normpath(source.parent / name))
        if not path.exists():
            raise SystemExit(f"{source}: a link to {name}, which does not exist. Mend the link.")
        page = path_on_site(path)
        if page is None:
            return label[1:-1]
        return f"{label}({os.path.relpath(page, os.path.dirname(target) or '.')}{mark}{anchor})"

    return apart(FENCED, text, lambda part: LINK.sub(relinked, part))


def written(app: typer.Typer, words: str, depth: int = 0) -> str:
    """Return what `--help` of a Typer application and of each of its commands says, as Markdown."""
    group = typer.main.get_command(app)
    text = get_docs_for_click(obj=group, ctx=typer.Context(group), name=words, indent=depth)
    text = re.sub(r"^\* `--help`: .*\n", "", text, flags=re.M)
    text = re.sub(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n?", "", text, flags=re.M)  # cut short there
    text = re.sub(r"^\*\*Options\*\*:\n\n(?!\*)", "", text, flags=re.M)
    return apart(f"{FENCED}|{CODE}", text, lambda part: part.replace("<", "&lt;"))


def notebook(path: Path, pages: Path) -> None:
    """Write a notebook with what its cells show as a page, and pictures into a folder beside."""
    import nbformat
    from nbconvert import MarkdownExporter  # of the docs' own packages

    target = path_on_site(path)
    assert target is not None
    cells = nbformat.read(path, as_version=4)
    for cell in (cell for cell in cells.cells if cell.cell_type == "markdown"):
        cell.source = linked(cell.source, path, target)
    below = {"output_files_dir": f"{path.stem}_files"}
    text, resources = MarkdownExporter().from_notebook_node(cells, resources=below)
    page = pages / target
    page.parent.mkdir(exist_ok=True)
    page.write_text(text)
    for name, data in resources["outputs"].items():
        (page.parent / name).parent.mkdir(exist_ok=True)
        (page.parent / name).write_bytes(data)


def of_results() -> str:
    """Return the page of the command `residuum`."""
    from residuum.__main__ import app

    return f"# Commands\n\n{RESULTS}\n\n{written(app, 'residuum', 1)}"


def of_stages() -> str:
    """Return the page of the stages' commands, which the graph runs."""
    from residuum.pages.kinds import ENTRIES

    text = f"# Commands of stages\n\n{STAGES}\n"
    stages = {path.stem for path in (ROOT / "rules").glob("*.smk")} - {"wiring"}
    modules = [f"pages.{stage}.make" if stage in ENTRIES else stage for stage in stages]
    for name in (f"residuum.{module}" for module in sorted(modules)):
        text += "\n" + written(importlib.import_module(name).app, f"python -m {name}", 1)
    return text


def of_reproductions() -> str:
    """Return the page of the log of reproductions; a brace would begin attributes on the site."""
    from residuum.inspect import reproductions

    text = reproductions.log(ROOT / "reproductions").replace("{", "&#123;")
    return f"# Reproductions\n\n{REPRODUCTIONS}\n\n{text}\n"


MADE = {
    "reference/commands.md": of_results,
    "reference/stages.md": of_stages,
    "reference/reproductions.md": of_reproductions,
}


def main(folder: Path) -> None:
    """Write the site's configuration and pages into a folder, anew."""
    pages = folder / "pages"
    for old in (pages, folder / "site"):
        shutil.rmtree(old, ignore_errors=True)
    sources = [p for p in DOCS.rglob("*") if p.suffix in SHOWN and p.is_file()]
    sources += [ROOT / name for name in OUTSIDE if not (DOCS / OUTSIDE[name]).exists()]
    for source in sources:
        target = path_on_site(source)
        assert target is not None
        (pages / target).parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            (pages / target).write_text(linked(source.read_text(), source, target))
        else:
            shutil.copy(source, pages / target)
    for path in DOCS.glob("notebooks/*.ipynb"):
        notebook(path, pages)
    (pages / "reference").mkdir(exist_ok=True)
    for name, page in MADE.items():
        (pages / name).write_text(page())
    shutil.copy(DOCS / "site" / CONFIG, folder / CONFIG)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
