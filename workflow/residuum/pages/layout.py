"""A page with one grid, written as Markdown and as LaTeX.

Usage: `write(Path("table.tsv"), rows, Layout(...))` writes table.tsv, .md and .tex. Cells hold
text; each form adds superscripts, arrows and bold words in its own way.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from residuum.artefacts import files
from residuum.pages import latex as typeset
from residuum.pages.visible import visible

if TYPE_CHECKING:
    import polars as pl

    from residuum.pages.entries import Printed

DASH = "\N{EN DASH}"
MORE = "<!-- more -->"  # a run prints a long page only to this mark
MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|*`<["})
ACTIVE, ESCAPED = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\("), r"\\\g<0>"  # HTML tags, and links
SUPERSCRIPTS = str.maketrans("0123456789-,", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ")

Places = list[list[str | None]]  # for each cell of a grid, `<row>/<column>` of its number


class TextCell(NamedTuple):
    """A text with a superscript, an arrow for "below", (start, end) of bold parts, and a spread."""

    text: str
    superscript: str = ""
    below: bool = False
    bold: Sequence[tuple[int, int]] = ()
    spread: str = ""  # such as ±0.012; superscript and arrow come before it


class Layout(NamedTuple):
    """A grid under its title; `align` holds the LaTeX column types, if LaTeX is written.

    A line break in a header stays in LaTeX and becomes a space in Markdown.
    """

    title: str
    printed_in: str
    header: list[str]
    rows: Sequence[Sequence[TextCell]]
    notes: list[str]
    align: str = ""


def page(
    entry: "Printed",
    header: list[str],
    rows: Sequence[Sequence[TextCell]],
    notes: Iterable[str],
    align: str = "",
) -> Layout:
    """Return the layout of a page of a paper: the notes of its entry stand before the others."""
    return Layout(entry.title, entry.printed_in, header, rows, [*entry.notes, *notes], align)


def write(output: Path, rows: "pl.DataFrame", page: Layout, image: str = "") -> list[Path]:
    """Write the rows as .tsv, unrounded, and the page as .md and, without an image, as .tex.

    Returns the written files.
    """
    texts = {".tsv": rows.write_csv(separator="\t"), ".md": markdown(page, image)}
    texts |= {} if image else {".tex": latex(page, output.stem)}
    for ending, text in texts.items():
        files.write_text(output.with_suffix(ending), text)
    return [output.with_suffix(ending) for ending in texts]


def markdown(page: Layout, image: str = "") -> str:
    """Render as Markdown that is readable as plain text; an image goes between title and grid."""
    picture = [f"![{harmless(page.title)}]({image})"] if image else []
    header = [harmless(text) for text in page.header]
    table = [grid(header, [list(map(_plain, row)) for row in page.rows])] if page.rows else []
    notes = "\n".join(f"- {harmless(note)}" for note in page.notes)
    parts = [f"## {harmless(page.title)}", f"({harmless(page.printed_in)})"]
    parts += [*picture, *table, notes]
    return "\n\n".join(parts) + "\n"


def together(pages: Mapping[str, Layout], form: Literal["markdown", "latex"]) -> str:
    """Render pages, given by the labels that LaTeX refers to, one after another."""
    if form == "latex":
        return "\n".join(latex(page, label) for label, page in pages.items())
    return "\n".join(map(markdown, pages.values()))


def harmless(text: str) -> str:
    """Escape HTML and links in text and put it on one line. Marks of emphasis keep their effect."""
    return ACTIVE.sub(ESCAPED, visible(text).replace("\n", " "))


def grid(header: list[str], body: list[list[str]]) -> str:
    """Write a padded table of texts that are already Markdown."""
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
    """Escape text for Markdown."""
    return visible(text).replace("\n", " ").translate(MARKDOWN)


def _text(cell: TextCell, escaped: Callable[[str], str], opening: str, closing: str) -> str:
    text, done = "", 0
    for start, end in sorted(cell.bold):
        text += f"{escaped(cell.text[done:start])}{opening}{escaped(cell.text[start:end])}{closing}"
        done = end
    return text + escaped(cell.text[done:])


def span(indices: list[int]) -> str:
    """Write row indices as papers do: 1-3 for three or more consecutive indices, else 1,2."""
    runs = groupby(enumerate(sorted(indices)), key=lambda item: item[1] - item[0])
    parts = [[str(index) for _, index in run] for _, run in runs]
    return ",".join(f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(r) for r in parts)


def raised(beats: str) -> str:
    """Write beaten rows as papers' superscripts: 1-5, or 135 if all indices have one digit."""
    digits = beats.replace(",", "")
    return digits if digits.isdigit() and all(len(i) == 1 for i in beats.split(",")) else beats


def latex(page: Layout, label: str) -> str:
    """Render as LaTeX tables in booktabs style; without rows, render the notes only."""
    rows = [list(map(_typeset, row)) for row in page.rows]
    return typeset.table(page.title, label, page.header, page.align, rows, page.notes)


def _typeset(cell: TextCell) -> typeset.Cell:
    text = _text(cell, typeset.escape, r"\textbf{", "}")
    return typeset.cell(text, cell.text, raised(cell.superscript) + "↓" * cell.below, cell.spread)
