"""LaTeX that fits a page: the text of every machine, and what TeX says of it where there is one."""

import re
import shutil
import subprocess

import pytest

from residuum.pages import latex, layout
from residuum.pages.layout import Layout, TextCell

NOTE = "Test: p < 0.05 | family_1, 100% of #2, ~x^y \\ and [a]*; " + "generated-mini/dev " * 30


def text(words):
    return [TextCell(word) for word in words]


def of_measures(splits, measures, rows=8):
    """Return a page as tables.py lays it out: groups, labels, values with marks and spreads."""
    names = [f"{split}\n{measure}" for split in splits for measure in measures]
    value = TextCell("0.488", "1-3,5,6", below=True, spread="±0.029")
    groups = ["Lexical"] * (rows // 2) + ["Lexical+Embedding"] * (rows - rows // 2)
    body = [
        [*text([group, f"{i} DeepCT+RM3"]), *[value] * len(names)]
        for i, group in enumerate(groups, 1)
    ]
    header, align = ["", "Model", *names], "ll" + "c" * len(names)
    return Layout("Effectiveness & more", "T 1", header, body, [NOTE] * 30, align)


def of_cases(rows=10):
    """Return a page of long texts in columns of fixed width."""
    long = f"a word of_some_length {' '.join(latex.SIGNS)} é “ł” \N{PRIME} " * 3
    body = [text([f"[{i}] what is it", long, "1", "3 → 1"]) for i in range(rows)]
    align = r"p{.2\linewidth}p{.45\linewidth}ll"
    return Layout("Cases", "T 3", ["Query", "Doc", "Judged", "bm25 → clear"], body, [NOTE], align)


def of_claims(rows=12):
    """Return a page as claims.py lays it out: sentences, and one of them last."""
    says = "CLEAR outperforms BM25 and BM25+RM3 systems by large margins in both metrics (R@1k)."
    why = (
        "4 of 5 comparisons hold; 1 inconclusive, such as clear above bm25-rm3 in dl-recall: p 0.2"
    )
    body = [text(["5.1", says, "clear above bm25", "these models only", why * (i % 3)])
            for i in range(rows)]  # fmt: skip
    align = r"lp{.3\linewidth}p{.2\linewidth}lp{.3\linewidth}"
    header = ["Section", "The paper says", "Tested here", "Verdict", "Reason"]
    return Layout("Claims", "prose", header, body, [NOTE], align)


def of_comparisons(rows, name):
    """Return a page as residuum compare lays its tests out."""
    header = ["Measure", "A", "B", "A - B", "95% interval", "p", "p\nadjusted", "effect\nsize"]
    header += ["wins/ties/losses", "detectable\nat 80% power"]
    values = ["[-0.0837, -0.0214]", "0.00087", "0.00087", "-0.47", "1000/5000/980", "0.0214"]
    difference = TextCell("-0.0525", bold=[(0, 7)])
    body = [
        [*text(["nDCG@10", name, f"{name}-{i}"]), difference, *text(values)] for i in range(rows)
    ]
    return Layout("Comparisons", "paired", header, body, [NOTE], "lll" + "r" * 7)


PAGES = {
    "narrow": of_measures(["dev"], ["RR@10"]),
    "five": of_measures(["dev", "judged"], ["nDCG@10", "AP@1000", "R@1000"][:2]),
    "wide": of_measures(["trec-dl-2019-passage", "dev"], [f"R(rel=2)@{i}000" for i in range(7)]),
    "long": of_measures(["dev"], ["RR@10", "R@1000"], rows=130),
    "both": of_comparisons(100, "bm25-default"),
    "hundreds": of_comparisons(900, "bm25.default_of-a-system"),
    "names": of_comparisons(5, "bm25.default_of-a-system.with-a-very-long.name_v2"),
    "cases": of_cases(),
    "manycases": of_cases(40),
    "claims": of_claims(),
    "manyclaims": of_claims(90),
}


def grids(tex):
    """Yield the column types and the lines of every tabular."""
    for types, body in re.findall(
        r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", tex, re.S
    ):
        lines = body.replace(r"\tabularnewline", r"\\").splitlines()
        ended = [line.removesuffix(r" \\") for line in lines if line.endswith(r"\\")]
        yield re.findall(r"[lcr]|p\{[^}]*\}", types), ended


def cells_in(line):
    spans = re.findall(r"\\multicolumn\{(\d+)\}", line)
    return len(re.split(r"(?<!\\)&", line)) + sum(int(n) - 1 for n in spans)


@pytest.mark.parametrize("name", PAGES)
def test_structure(name):
    page = PAGES[name]
    tex = layout.latex(page, name)
    assert tex.count(r"\begin{") == tex.count(r"\end{")
    for types, lines in grids(tex):
        assert all(cells_in(line) == len(types) for line in lines)
    for inside in re.findall(r"\\begin\{table\*\}(.*?)\\end\{table\*\}", tex, re.S):
        assert "family" not in inside and inside.count(r"\caption") == 1
        assert inside.count("\n") < 80, "no page holds more lines"
    assert tex.count(rf"\label{{tab:{name}}}") == 1
    below = tex.rpartition(r"\end{table*}")[2]
    assert below.count("family\\_1") == len(page.notes)


@pytest.mark.parametrize("name", PAGES)
def test_every_value_stands_once_and_every_name_in_each_part(name):
    page = PAGES[name]
    parts = list(grids(layout.latex(page, name)))
    groups = page.header[0] == ""
    names = len(page.align) - len(page.align.lstrip("l")) - groups
    values = 0
    for types, lines in parts:
        values += sum(
            len(types) - names
            for line in lines
            if re.match(r"(\d+ D|nDCG|5\.1|\\raggedright (nDCG|\{\[))", line)
        )
    assert values == len(page.rows) * (len(page.header) - names - groups)


def test_marks_hang_on_the_mean_and_the_spread_below_it():
    cell = layout.TextCell("0.437", "1,2,5,6", spread="±0.014")
    page = Layout("T", "", ["", "Model", "RR@10"], [[*text(["", "3 DeepCT"]), cell]], [], "llc")
    assert r"3 DeepCT & 0.437$^{1256}_{\pm 0.014}$ \\" in layout.latex(page, "t")
    assert "| 0.437 ¹²⁵⁶ ±0.014 |" in layout.markdown(page)
    below = layout.TextCell("0.339", "1-3", below=True, spread="±0.009")
    page = page._replace(rows=[[*text(["", "w/o"]), below]])
    assert r"0.339$^{1\textrm{--}3\downarrow}_{\pm 0.009}$" in layout.latex(page, "t")
    assert "| 0.339 ¹⁻³ ↓ ±0.009 |" in layout.markdown(page)


def test_headers_above_columns_that_share_them():
    tex = layout.latex(PAGES["five"], "five")
    assert r" & \multicolumn{2}{c}{dev} & \multicolumn{2}{c}{judged} \\" in tex
    assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}" in tex
    assert "dev nDCG@10 " in layout.markdown(PAGES["five"])


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("p < 0.05", "p $<$ 0.05"),
        ("[-0.1, -0.2]", "{[}$-$0.1, $-$0.2{]}"),
        ("-0.5 of covid-19, 1-3", "$-$0.5 of covid-19, 1-3"),
        ("a_b & 5% #1 {x} $", r"a\_b \& 5\% \#1 \{x\} \$"),
        (
            "λ_test of 5-β, ΔT ≥ \N{MINUS SIGN}1",
            r"$\lambda$\_test of 5-$\beta$, $\Delta$T $\geq$ $-$1",
        ),
        ("\\ ~ ^ * |", r"\textbackslash{} \textasciitilde{} \textasciicircum{} {*} $|$"),
    ],
)
def test_escapes(plain, tex):
    assert latex.escape(plain) == tex


def test_a_page_without_rows_is_its_notes():
    tex = layout.latex(PAGES["cases"]._replace(rows=[]), "cases")
    assert "table*" not in tex and "tabular" not in tex and "family" in tex


# Without TeX the tests above hold the structure of every page, what stands in which part, marks,
# spans and escapes. Only TeX has the widths of its fonts and knows which characters it can set.
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no TeX on this machine: pdflatex")
@pytest.mark.parametrize("options", ["", "twocolumn"])
def test_tex_sets_every_page_without_an_overfull_box(tmp_path, options):
    # Beside `article` (345pt) the text of LNCS (347pt), ACL (455pt) and acmart (506pt) is wider.
    inputs = []
    for name, page in PAGES.items():
        (tmp_path / f"{name}.tex").write_text(layout.latex(page, name), encoding="utf-8")
        inputs.append(rf"\typeout{{FILE {name}}}\input{{{name}}}\clearpage")
    (tmp_path / "all.tex").write_text(
        rf"\documentclass[{options}]{{article}}\usepackage{{booktabs}}\begin{{document}}"
        + "\n".join(inputs)
        + r"\end{document}"
    )
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "all.tex"], cwd=tmp_path, capture_output=True
    )
    log = (tmp_path / "all.log").read_text(errors="replace")
    assert "Output written on all.pdf" in log
    messages = re.findall(r"^FILE .*|^!.*|Overfull.*|.*Float too large.*", log, re.M)
    assert messages == [f"FILE {name}" for name in PAGES]
