"""A page with one grid, for reading as Markdown and for typesetting as LaTeX.

Usage: `write(Path("table.tsv"), rows, Layout(...))` writes table.tsv, .md and .tex. Cells hold
text; superscripts, arrows and bold words are put in by form.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from residuum.artefacts import files
from residuum.pages import latex as typeset
from residuum.pages.visible import visible

if TYPE_CHECKING:
    import polars as pl

DASH = "\N{EN DASH}"
MORE = "<!-- more -->"  # in a long page: what stands above is enough to print
MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|*`<["})
ACTIVE, ESCAPED = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\("), r"\\\g<0>"  # HTML tags, and links
SUPERSCRIPTS = str.maketrans("0123456789-,", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ")

Places = list[list[str | None]]  # `<row>/<column>` of the number in each cell of a grid


class TextCell(NamedTuple):
    """A text, its superscript, an arrow for "below", the (start, end) of what is bold, a spread."""

    text: str
    superscript: str = ""
    below: bool = False
    bold: Sequence[tuple[int, int]] = ()
    spread: str = ""  # as ±0.012; superscript and arrow belong to the text and stand before it


class Layout(NamedTuple):
    """A grid under its title; `align` holds the LaTeX column types, where LaTeX is written.

    A line break in a header is one in LaTeX and a space in Markdown.
    """

    title: str
    printed_in: str
    header: list[str]
    rows: Sequence[Sequence[TextCell]]
    notes: list[str]
    align: str = ""


def write(output: Path, rows: "pl.DataFrame", page: Layout, image: str = "") -> list[Path]:
    """Write the rows as .tsv, unrounded, the page as .md and, unless it captions an image, .tex.

    Returns the files that were written.
    """
    texts = {".tsv": rows.write_csv(separator="\t"), ".md": markdown(page, image)}
    texts |= {} if image else {".tex": latex(page, output.stem)}
    for ending, text in texts.items():
        files.write_text(output.with_suffix(ending), text)
    return [output.with_suffix(ending) for ending in texts]


def markdown(page: Layout, image: str = "") -> str:
    """Render as Markdown that reads as plain text too; an image stands between title and grid."""
    picture = [f"![{harmless(page.title)}]({image})"] if image else []
    header = [harmless(text) for text in page.header]
    table = [grid(header, [list(map(_plain, row)) for row in page.rows])] if page.rows else []
    notes = "\n".join(f"- {harmless(note)}" for note in page.notes)
    parts = [f"## {harmless(page.title)}", f"({harmless(page.printed_in)})"]
    parts += [*picture, *table, notes]
    return "\n\n".join(parts) + "\n"


def harmless(text: str) -> str:
    """Write text on one line, whose marks of emphasis hold, without HTML and links."""
    return ACTIVE.sub(ESCAPED, visible(text).replace("\n", " "))


def grid(header: list[str], body: list[list[str]]) -> str:
    """Write a padded Markdown table of texts that are Markdown already."""
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    padded = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in (header, *body)
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def _plain(cell: TextCell) -> str:
    superscript = f" {raised(cell.superscript).translate(SUPERSCRIPTS)}" if cell.superscript else ""
    marked = _text(cell, plain, "**", "**") + superscript + (" ↓" if cell.below else "")
    return f"{marked} {cell.spread}" if cell.spread else marked


def plain(text: str) -> str:
    """Write text so that Markdown prints it literally."""
    return visible(text).replace("\n", " ").translate(MARKDOWN)


def _text(cell: TextCell, escaped: Callable[[str], str], opening: str, closing: str) -> str:
    """Write a cell's text with what is bold between two marks."""
    text, done = "", 0
    for start, end in sorted(cell.bold):
        text += f"{escaped(cell.text[done:start])}{opening}{escaped(cell.text[start:end])}{closing}"
        done = end
    return text + escaped(cell.text[done:])


def span(indices: list[int]) -> str:
    """Write row indices as the papers do: 1-3 for a run of three or more, else 1,2."""
    runs = groupby(enumerate(sorted(indices)), key=lambda item: item[1] - item[0])
    parts = [[str(index) for _, index in run] for _, run in runs]
    return ",".join(f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(r) for r in parts)


def raised(beats: str) -> str:
    """Write beaten rows as the papers raise them: 1-5, or 135 where one digit is enough."""
    digits = beats.replace(",", "")
    return digits if digits.isdigit() and all(len(i) == 1 for i in beats.split(",")) else beats


def latex(page: Layout, label: str) -> str:
    """Render as LaTeX tables in booktabs style; without rows, the notes alone."""
    rows = [list(map(_typeset, row)) for row in page.rows]
    return typeset.table(page.title, label, page.header, page.align, rows, page.notes)


def _typeset(cell: TextCell) -> typeset.Cell:
    text = _text(cell, typeset.escape, r"\textbf{", "}")
    return typeset.cell(text, cell.text, raised(cell.superscript) + "↓" * cell.below, cell.spread)
