"""A page with one grid, for reading as Markdown and for typesetting as LaTeX.

Usage: `pages.write(Path("table.tsv"), Page(...))` writes table.md and table.tex. Cells hold text;
raised markers, arrows and bold words are put in by form. Must not know what a cell means.
"""

from pathlib import Path
from typing import NamedTuple

from residuum.core import files, schema

DASH = "\N{EN DASH}"
MORE = "<!-- more -->"  # in a long page: what stands above is enough to print
LATEX = str.maketrans(
    {**{c: f"\\{c}" for c in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
SYMBOLS = {"±": r"$\pm$", "↓": r"$\downarrow$", "→": r"$\rightarrow$", DASH: "--"}
MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|*`<["})
SUPERSCRIPTS = str.maketrans("0123456789-,", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ ")


class Cell(NamedTuple):
    """A text, what stands raised behind it, an arrow for "below", and its (start, end) in bold."""

    text: str
    above: str = ""
    below: bool = False
    bold: tuple[tuple[int, int], ...] = ()


class Page(NamedTuple):
    """A grid under its title; `align` holds a LaTeX column type for each column."""

    title: str
    place: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str]
    align: list[str]


def write(output: Path, page: Page) -> None:
    """Write the page as .md and .tex beside `output`."""
    files.write_text(output.with_suffix(".md"), markdown(page))
    files.write_text(output.with_suffix(".tex"), latex(page))


def markdown(page: Page, image: str = "") -> str:
    """Render for reading as Markdown or as plain text: columns are padded.

    `image` names a picture to stand between the title and the grid.
    """
    picture = f"![{page.title}]({image})\n\n" if image else ""
    under = "\n".join(f"- {note}" for note in page.notes)
    grid = f"{_grid(page)}\n\n" if page.rows else ""
    return f"## {page.title}\n\n({page.place})\n\n{picture}{grid}{under}\n"


def _grid(page: Page) -> str:
    return grid(page.header, [[_plain(cell) for cell in row] for row in page.rows])


def grid(header: list[str], body: list[list[str]]) -> str:
    """Write a padded Markdown table; the texts stand in it as they are."""
    rows = [header, *body]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    padded = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def _plain(cell: Cell) -> str:
    text = "".join(
        f"**{part.translate(MARKDOWN)}**" if bold else part.translate(MARKDOWN)
        for part, bold in _parts(cell)
    )
    above = raised(cell.above).translate(SUPERSCRIPTS)
    return text + (f" {above}" if above else "") + (" ↓" if cell.below else "")


def _parts(cell: Cell) -> list[tuple[str, bool]]:
    """Cut a cell's text into (part, is bold)."""
    parts, done = [], 0
    for start, end in sorted(cell.bold):
        parts += [(cell.text[done:start], False), (cell.text[start:end], True)]
        done = end
    return [part for part in [*parts, (cell.text[done:], False)] if part[0]]


def span(indices: list[int]) -> str:
    """Write row indices as the papers do: 1-3 for a run of three or more, else 1,2."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = [f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(map(str, r)) for r in runs]
    return ",".join(parts)


def raised(beats: str) -> str:
    """Write beaten rows as the papers raise them: 1-5, or 135 where one digit is enough."""
    plain = beats.replace(",", "")
    return plain if plain.isdigit() and all(len(i) == 1 for i in beats.split(",")) else beats


def latex(page: Page) -> str:
    """Render as a LaTeX table in booktabs style; without rows, the notes alone."""
    grid = [
        rf"\begin{{tabular}}{{{''.join(page.align)}}}",
        r"\toprule",
        " & ".join(map(escape, page.header)) + r" \\",
        r"\midrule",
        *(" & ".join(map(_typeset, row)) + r" \\" for row in page.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            rf"\caption{{{escape(page.title)}}}",
            *(grid if page.rows else []),
            *(rf"\par\footnotesize {escape(note)}" for note in page.notes),
            r"\end{table}",
            "",
        ]
    )


def _typeset(cell: Cell) -> str:
    text = "".join(
        rf"\textbf{{{escape(part)}}}" if bold else escape(part) for part, bold in _parts(cell)
    )
    above = raised(cell.above).replace("-", r"\textrm{--}")
    arrow = r"$^{\downarrow}$" if cell.below else ""
    return text + (f"$^{{{above}}}$" if above else "") + arrow


def escape(text: str) -> str:
    """Write text so that LaTeX prints it as it stands."""
    text = text.replace("\\", "\0").translate(LATEX).replace("\0", r"\textbackslash{}")
    for symbol, command in SYMBOLS.items():
        text = text.replace(symbol, command)
    return text


def tests_note(
    tests: schema.Tests, column: str = "column", table: str = "table", compared: str = ""
) -> str:
    """Say in one sentence how the comparisons of a page are tested.

    `column` and `table` are what the families of those names are on the page; `compared` says
    which pairs are, where not all.
    """
    paper = "all tables of the paper with these tests"
    family = {"column": f"each {column}", "table": f"each {table}", "paper": paper}[tests.family]
    flips = f", {tests.resamples} sign flips, seed {tests.seed}" * (tests.test == "permutation")
    pairs = f"{compared}, " if compared else ""
    return (
        f"Test: {tests.test} (paired, two-sided{flips}), alpha {tests.alpha}, {pairs}"
        f"correction {tests.correction}, family: {family}."
    )
