r"""A grid as LaTeX that fits a page: divided if it is too wide or long, with notes below the float.

Usage: `table("Runs", "runs", ["Run", "dev\nRR@10"], "lc", rows, notes)`, each row of `Cell(text,
width)`. It needs booktabs and no other package. In a two-column class `table*` spans both columns.
pdfLaTeX sets Latin and Greek letters; other scripts need XeLaTeX or LuaLaTeX and a font for them.
"""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from residuum.pages.visible import visible

# Widths are in digits of \footnotesize (4.25pt of Computer Modern, wider than Times and
# Libertine). The narrowest text block is that of article, 345pt; LNCS has 347pt, ACL 455pt, acmart
# 506pt. Heights are in lines; LNCS's 549pt hold 57.
WIDTH, LINES = 78.0, 42
HELD = 10  # floats before a \clearpage: TeX holds at most 18
GAP = 1.42  # \tabcolsep of 3pt on both sides of a column
NAMES = 42.0  # the width shared by the columns that name rows; wider columns break their lines
SMALL = 0.86  # the width of a raised or lowered character
FRAME = 5  # the lines of a grid's rules, header and distance
# Signs and Greek letters, as LaTeX commands or as Latin letters of the same form.
COMMANDS = {
    "±✓↓→↔⇒": "pm surd downarrow rightarrow leftrightarrow Rightarrow",
    "≤≥≠≈≡∈∞∑⋅∩": "leq geq neq approx equiv in infty sum cdot cap",
    "\N{TILDE OPERATOR}\N{ASTERISK OPERATOR}\N{UNION}": "sim ast cup",
    "αβγδεζηθικλμ": "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu",
    "νξοπρςστυφχψω": "nu xi o pi rho varsigma sigma tau upsilon phi chi psi omega",
    "ΑΒΓΔΕΖΗΘΙΚΛΜΝ": "A B Gamma Delta E Z H Theta I K Lambda M N",
    "ΞΟΠΡΣΤΥΦΧΨΩ": "Xi O Pi P Sigma T Upsilon Phi X Psi Omega",
}
SIGNS = {
    sign: command
    for signs, commands in COMMANDS.items()
    for sign, command in zip(signs, commands.split(), strict=True)
}
SPECIAL = str.maketrans(
    {
        **{c: f"$\\{SIGNS[c]}$" if len(SIGNS[c]) > 1 else SIGNS[c] for c in SIGNS},
        **{c: f"\\{c}" for c in "&%$#_{}"},
        **{c: f"${c}$" for c in "<>|"},
        **{c: f"{{{c}}}" for c in "[]*"},  # what \\ would take as its argument
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\N{EN DASH}": "--",
        "\N{MINUS SIGN}": "$-$",
        "\N{PRIME}": "$'$",
    }
)
MINUS = re.compile(r"(?<![\w.)])-(?=\d)")
BREAKS = re.compile(r"(\\_|[/+]|\.(?=[A-Za-z]))(?=\w)")
COLUMN = re.compile(r"[lcr]|p\{[^}]*\}")
FRACTION = re.compile(r"[\d.]+")
WIDE, NARROW = "@%±→↓✓+=—<>", " .,:;'()[]/|!-ijlI"
NOTES = r"\providecommand{\residuumnotes}[1]{\par{\footnotesize\raggedright #1\par}}"
HEAD = r"% needs \usepackage{booktabs}; leave out notes: \newcommand{\residuumnotes}[1]{} before it"


class Cell(NamedTuple):
    """A typeset text and its width in digits."""

    text: str
    width: float


Rows = Sequence[Sequence[Cell]]


def escape(text: str) -> str:
    """Escape text for LaTeX; a hyphen before a digit becomes a minus sign."""
    return "$-$".join(part.translate(SPECIAL) for part in MINUS.split(visible(text)))


def width(text: str) -> float:
    """Estimate the width of a text in digits."""
    digits = (1.5 if c.isupper() or c in WIDE else 0.6 if c in NARROW else 1.0 for c in text)
    return sum(digits) + 0.9 * len(MINUS.findall(text))


def cell(text: str, plain: str, raised: str = "", lowered: str = "") -> Cell:
    """Return a typeset text with raised and lowered marks at its end; `plain` gives its width."""
    marks = (f"^{{{_mark(raised)}}}" if raised else "") + (
        f"_{{{_mark(lowered)}}}" if lowered else ""
    )
    beside = SMALL * max(width(raised), width(lowered))
    return Cell(f"{text}${marks}$" if marks else text, width(plain) + beside)


def _mark(text: str) -> str:
    symbols = {"±": r"\pm ", "↓": r"\downarrow", "-": r"\textrm{--}"}
    return "".join(symbols.get(c, c) for c in text)


def table(
    title: str, label: str, header: list[str], align: str, rows: Rows, notes: Sequence[str]
) -> str:
    r"""Return floats with one caption and, below them, the notes as argument of \residuumnotes.

    `align` has a column type per column. p{} columns of texts share the rest of a line, in
    proportion to their fractions of \linewidth. The leading `l` columns name the rows and are
    repeated in every part. If there are several, the first names groups of rows if it has no
    header. A line break in a header stacks it; columns with the same upper line share it.
    """
    listed = "\n\\par ".join(map(escape, notes))
    below = f"{NOTES}\n\\residuumnotes{{%\n{listed}\n}}\n" if notes else ""
    grids = _Grid(header, COLUMN.findall(align), rows).parts() if rows else []
    floats: list[str] = []
    for number, parts in enumerate(_floats(grids), start=1):
        again = "\\addtocounter{table}{-1}\n" if floats else ""
        more, named = (" (continued)", "") if floats else ("", f"\\label{{tab:{label}}}")
        inside = "\n\n\\medskip\n".join(parts)
        floats.append(
            f"{again}\\begin{{table*}}\n\\caption{{{escape(title)}{more}}}{named}\n"
            f"\\centering\\footnotesize\\setlength{{\\tabcolsep}}{{3pt}}\n{inside}\n\\end{{table*}}\n"
            + "\\clearpage\n" * (number % HELD == 0)
        )  # fmt: skip
    return f"{HEAD}\n{''.join(floats)}{below}"


def _floats(parts: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    held: list[str] = []
    height = 0
    for text, lines in parts:
        if held and height + lines > LINES:
            yield held
            held, height = [], 0
        held.append(text)
        height += lines
    if held:
        yield held


class _Grid:
    """A grid and the widths of its columns."""

    def __init__(self, header: list[str], types: list[str], rows: Rows) -> None:
        self.tops = [text.rpartition("\n")[0] for text in header]
        self.bottoms = [text.rpartition("\n")[2] for text in header]
        self.types, self.rows = types, rows
        names = next((i for i, kind in enumerate(types) if kind != "l"), len(types))
        self.grouped = names > 1 and not header[0]
        self.names = [*range(int(self.grouped), names)]
        self.values = [*range(names, len(types))]
        self.longest = NAMES / max(1, len(self.names))
        self.shown = [*self.names, *self.values]
        self.texts = [i for i, kind in enumerate(types) if kind.startswith("p")]
        self.widths = self._with_texts([self._width(column) for column in range(len(types))])
        self.broken = [i for i in self.shown if i in self.texts or self._breaks(i)]

    def _width(self, column: int) -> float:
        """Return the width of a column; 0 for a column of texts."""
        if column in self.texts:
            return 0.0
        widest = max([width(self.bottoms[column]), *(row[column].width for row in self.rows)])
        if column in self.names:
            return min(widest, self.longest)
        return max(widest, width(self.tops[column]) / self.tops.count(self.tops[column]))

    def _with_texts(self, widths: list[float]) -> list[float]:
        """Return the widths, with the rest of a line shared by the columns of texts."""
        room = WIDTH - sum(widths) - GAP * len(widths)
        shares = {c: float(FRACTION.findall(self.types[c])[0]) for c in self.texts}
        whole = sum(shares.values())
        return [
            room * shares[c] / whole if c in shares else width for c, width in enumerate(widths)
        ]

    def parts(self) -> list[tuple[str, int]]:
        """Return grids that fit a page, each with its height in lines."""
        result = []
        for columns in self._side_by_side():
            for rows in self._below_each_other():
                shown = [*self.names, *columns]
                lines = "\n".join(self._lines(shown, rows))
                text = (
                    f"\\begin{{tabular}}{{{''.join(map(self._type, shown))}}}\n\\toprule\n"
                    f"{self._header(shown)}\n\\midrule\n{lines}\n\\bottomrule\n\\end{{tabular}}"
                )
                headings = 2 * len({row[0].text for row in rows}) if self.grouped else 0
                result.append((text, FRAME + headings + sum(map(self._height, rows))))
        return result

    def _side_by_side(self) -> list[list[int]]:
        """Divide the columns of values evenly into as few groups as the width allows."""
        if self.texts:
            return [self.values]
        room = WIDTH - sum(self.widths[column] + GAP for column in self.names)
        for count in range(1, len(self.values)):
            size = -(-len(self.values) // count)
            groups = [self.values[i : i + size] for i in range(0, len(self.values), size)]
            if all(sum(self.widths[c] + GAP for c in group) <= room for group in groups):
                return groups
        return [[column] for column in self.values] or [[]]

    def _below_each_other(self) -> Iterator[Rows]:
        heights = map(self._height, self.rows)
        numbers = [height // (LINES - FRAME) for height in accumulate(heights)]
        for _, part in groupby(zip(numbers, self.rows, strict=True), key=lambda item: item[0]):
            yield [row for _, row in part]

    def _height(self, row: Sequence[Cell]) -> int:
        """Estimate the lines of a row. Broken lines count 1.25 times: words do not fill them."""
        filled = [row[column].width / (self.widths[column] or 1.0) for column in self.shown]
        return max(math.ceil(1.25 * n) if n > 1 else 1 for n in filled)

    def _type(self, column: int) -> str:
        share = f"p{{{self.widths[column] / WIDTH:.3f}\\linewidth}}"
        return share if column in self.broken else self.types[column]

    def _breaks(self, column: int) -> bool:
        return column in self.names and any(row[column].width > self.longest for row in self.rows)

    def _header(self, columns: list[int]) -> str:
        bottom = " & ".join(escape(self.bottoms[column]) for column in columns)
        spans, rules, start = [], [], 1
        for top, members in groupby(columns, key=self.tops.__getitem__):
            count = len(list(members))
            spans += [f"\\multicolumn{{{count}}}{{c}}{{{escape(top)}}}"] if top else [""] * count
            rules += [f"\\cmidrule(lr){{{start}-{start + count - 1}}}"] if top else []
            start += count
        above = f"{' & '.join(spans)} \\\\\n{''.join(rules)}\n" if rules else ""
        return f"{above}{bottom} \\\\"

    def _lines(self, columns: list[int], rows: Rows) -> Iterator[str]:
        group = ""
        for number, row in enumerate(rows):
            if self.grouped and row[0].text != group:
                group = row[0].text
                yield from ["\\addlinespace"] * bool(number)
                if group:
                    yield f"\\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{group}}}}} \\\\"
            end = r"\tabularnewline" if columns[-1] in self.broken else r"\\"
            yield " & ".join(self._text(row, column) for column in columns) + f" {end}"

    def _text(self, row: Sequence[Cell], column: int) -> str:
        text = row[column].text
        if column not in self.broken:
            return text
        return "\\raggedright " + BREAKS.sub(r"\1\\allowbreak{}", text)
