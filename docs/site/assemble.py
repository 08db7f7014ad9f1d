"""Assemble the pages of the docs site, with those that are made of code: `make docs`.

Usage: `python docs/site/assemble.py build/docs`. Copies docs/ and the project's other pages into
`pages/`, turns their links to the site's own pages, and writes the reference of commands.
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
OUTSIDE = {  # pages that lie elsewhere in the project, and their places on the site
    "README.md": "index.md",  # docs/index.md stands for it
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/reporting.md",
    "CHANGELOG.md": "project/changelog.md",
    "config/README.md": "reference/configuration.md",
    "results/README.md": "reference/results.md",
}
RESULTS = """These commands read finished results and other people's runs. They change no result.
The [commands of stages](stages.md) make the results."""
STAGES = """The graph runs these commands, one for each job. To run one by hand, see
[Run the graph](../how-to/run.md#run-one-job-by-hand)."""
LINK = re.compile(r"(!?\[[^\]]*\])\(([^()\s]+)\)")
FENCED = r"^ *```.*?^ *```"
CODE = r"`[^`\n]+`"


def place(path: Path) -> str | None:
    """Return where a file of the project lies on the site; None if it is no page of it."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return OUTSIDE.get(path.relative_to(ROOT).as_posix())


def apart(kept: str, text: str, turned: Callable[[str], str]) -> str:
    """Return a text with all of it turned but what a pattern matches."""
    parts = re.split(f"({kept})", text, flags=re.M | re.S)
    return "".join(part if n % 2 else turned(part) for n, part in enumerate(parts))


def linked(text: str, source: Path, target: str) -> str:
    """Return a page with its links turned to the site; files that it lacks keep their names alone.

    A link to a file that does not exist ends the program.
    """

    def turned(match: re.Match[str]) -> str:
        label, address = match.groups()
        name, mark, anchor = address.partition("#")
        if not name or re.match(r"[a-z]+:", address):
            return match[0]
        path = Path(os.path.normpath(source.parent / name))
        if not path.exists():
            raise SystemExit(f"{source}: a link to {name}, which does not exist. Mend the link.")
        found = place(path)
        if found is None:
            return label[1:-1]
        return f"{label}({os.path.relpath(found, os.path.dirname(target) or '.')}{mark}{anchor})"

    return apart(FENCED, text, lambda part: LINK.sub(turned, part))


def written(app: typer.Typer, words: str, depth: int = 0) -> str:
    """Return what `--help` of a Typer application and of each of its commands says, as Markdown."""
    group = typer.main.get_command(app)
    text = get_docs_for_click(obj=group, ctx=typer.Context(group), name=words, indent=depth)
    text = re.sub(r"^\* `--help`: .*\n", "", text, flags=re.M)
    text = re.sub(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n?", "", text, flags=re.M)  # cut short there
    text = re.sub(r"^\*\*Options\*\*:\n\n(?!\*)", "", text, flags=re.M)
    return apart(f"{FENCED}|{CODE}", text, lambda part: part.replace("<", "&lt;"))


def of_results() -> str:
    """Return the page of the command `residuum`."""
    from residuum.__main__ import app

    return f"# Commands\n\n{RESULTS}\n\n{written(app, 'residuum', 1)}"


def of_stages() -> str:
    """Return the page of the stages' commands, which the graph runs."""
    text = f"# Commands of stages\n\n{STAGES}\n"
    for path in sorted((ROOT / "rules").glob("*.smk")):
        if (ROOT / "workflow" / "residuum" / path.name).with_suffix(".py").exists():
            module = importlib.import_module(f"residuum.{path.stem}")
            text += "\n" + written(module.app, f"python -m residuum.{path.stem}", 1)
    return text


COMMANDS = {"commands.md": of_results, "stages.md": of_stages}


def main(folder: Path) -> None:
    """Write the site's configuration and pages into a folder, anew."""
    pages = folder / "pages"
    for old in (pages, folder / "site"):
        shutil.rmtree(old, ignore_errors=True)
    sources = [p for p in DOCS.rglob("*") if p.suffix in SHOWN and p.is_file()]
    sources += [ROOT / name for name in OUTSIDE if not (DOCS / OUTSIDE[name]).exists()]
    for source in sources:
        target = place(source)
        assert target is not None
        (pages / target).parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            (pages / target).write_text(linked(source.read_text(), source, target))
        else:
            shutil.copy(source, pages / target)
    for name, made in COMMANDS.items():
        (pages / "reference").mkdir(exist_ok=True)
        (pages / "reference" / name).write_text(made())
    shutil.copy(DOCS / "site" / CONFIG, folder / CONFIG)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
