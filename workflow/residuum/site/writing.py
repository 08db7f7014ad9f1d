"""Write the report's pages from templates and results folders, whole or not at all.

Usage: `write([Path("results/mini")], Path("results/mini/report"))` returns index.html.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

import residuum
from residuum.artefacts import files, intact, yamls
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.roots import packaged
from residuum.inspect import citing, recorded
from residuum.inspect import reproductions as log
from residuum.inspect.reproductions import Reproduction
from residuum.site import differences, ledgers, markup, rendering
from residuum.site.charts import charts
from residuum.site.folder import Folder, Sheet, read
from residuum.site.numbers import Numbers
from residuum.site.provenance import Provenance, artefact
from residuum.site.replacing import INDEX, replaced
from residuum.wiring.paths import REPRODUCTIONS

ASSETS = [
    packaged("site/assets/report.css"),
    packaged("site/assets/report.js"),
    packaged("site/assets/charts.js"),
    packaged("site/vendor/d3.min.js"),
    packaged("site/vendor/d3.LICENSE.txt"),
    packaged("site/vendor/plot.umd.min.js"),
    packaged("site/vendor/plot.LICENSE.txt"),
]
VENDORED = packaged("site/vendor/vendored.yaml")
DRAWINGS = (".pdf", ".png")
FILTERS = ("paper", "verdict", "kind", "printed", "scale")  # columns of the ledger
COLOURS = 64  # colours of a PNG: a few lines, and their edges


def write(
    results: Sequence[Path],
    output: Path,
    against: Path | None = None,
    reproductions: Path = Path(REPRODUCTIONS),
) -> Path:
    """Write the report of results folders, one per scale; return the path of its index.

    `against` is another folder of the first folder's scale; a page then lists the differences. Rows
    of the ledger are compared with those of the log `reproductions`. An older report in `output` is
    replaced, see `replacing`. A folder that holds other files is refused.
    """
    with replaced(output) as made:
        _write_all(results, made, against, reproductions)
    return output / INDEX


def _write_all(
    results: Sequence[Path], made: Path, against: Path | None, reproductions: Path
) -> None:
    folders = [read(path) for path in results]
    scales = [folder.scale for folder in folders]
    if len({*scales}) < len(scales):
        raise ResiduumError(
            f"two results folders of scale {max(scales, key=scales.count)}; a report has one of "
            "each scale, and --against compares two of the same"
        )
    there = differences.compared(folders[0], read(against)) if against else None
    (made / "assets").mkdir()
    for asset in ASSETS:
        shutil.copyfile(asset, made / "assets" / asset.name)
    logged = {scale: log.read(reproductions, scale) for scale in scales}
    shared: dict[str, object] = {
        "folders": folders,
        "logged": [scale for scale in scales if logged[scale]],
        "version": residuum.__version__,
        "against": there,
    }
    lines = {f.scale: list(ledgers.rows(f, logged[f.scale])) for f in folders}
    for folder in folders:
        scale = folder.scale
        _write_folder(folder, made / scale, lines[scale], logged[scale], shared)
    shared["root"] = ""
    _write(made / INDEX, INDEX, **shared, **_index(folders, lines))
    if there:
        _write(made / "against.html", "against.html", **shared)


def _write(path: Path, template: str, **values: object) -> None:
    files.write_text(path, rendering.render(template, **values))


def _index(folders: Sequence[Folder], lines: dict[str, list[ledgers.Line]]) -> dict[str, object]:
    every = [line for shown in lines.values() for line in shown]
    papers = [
        {
            "name": paper,
            "scale": folder.scale,
            "counts": ledgers.counts(lines[folder.scale], paper),
            "sheets": folder.pages(paper),
        }
        for folder in folders
        for paper in folder.papers
    ]
    unjudged = [folder for folder in folders if not lines[folder.scale]]
    opening = [_opening(folder, paper) for folder in unjudged for paper in folder.papers]
    filters = {name: list(dict.fromkeys(getattr(line, name) for line in every)) for name in FILTERS}
    scales = ", ".join(lines)
    shown = {"papers": papers, "rows": every, "filters": filters, "scales": scales}
    return shown | {"opening": opening}


def _opening(folder: Folder, paper: str) -> tuple[Sheet, str, Markup]:
    """Return the first page of a paper that prints nothing, its address, and what it shows."""
    sheet = folder.pages(paper)[0]
    address = f"{folder.scale}/{sheet.name}.html"
    return sheet, address, markup.html(sheet.markdown, sheet.grid(), address)


def _write_folder(
    folder: Folder,
    output: Path,
    lines: Sequence[ledgers.Line],
    reproductions: Sequence[Reproduction],
    shared: dict[str, object],
) -> None:
    """Write a scale's pages: its papers, provenance, costs, rows not run, and details."""
    roots = [root for sheet in folder.sheets for cell in sheet.cells for root in cell.roots]
    provenance = Provenance(folder.graph, roots)
    numbers, common = Numbers(folder, provenance), {**shared, "root": "../", "folder": folder}
    for sheet in track(folder.sheets, "report", len(folder.sheets), "pages"):
        _write_sheet(folder, sheet, output, numbers, common)
    artefacts = {key: artefact(group) for key, group in provenance.groups.items()}
    kin = rendering.embedded({"artefacts": artefacts})
    _write(output / "provenance.html", "provenance.html", data=kin, **common)
    _write(output / "absent.html", "absent.html", groups=ledgers.absent(lines), **common)
    stages = recorded.stages(folder.results)
    _write(
        output / "costs.html",
        "costs.html",
        stages=[*stages, recorded.sum_of(stages)] if stages else [],
        rerankings=list(recorded.rerankings(folder.graph)),
        disk=recorded.disk(folder.results),
        **common,
    )
    _write(
        output / "about.html",
        "about.html",
        corpora=list(recorded.corpora(folder.graph)),
        seeds=recorded.seeds(folder.graph),
        environments=recorded.environments(folder.graph),
        papers=citing.papers(folder.papers),
        citation=citing.software(),
        libraries=yamls.read(VENDORED),
        **common,
    )
    if reproductions:
        body = markup.html(log.of_scale(reproductions))
        _write(output / "reproductions.html", "reproductions.html", body=body, **common)


def _write_sheet(
    folder: Folder, sheet: Sheet, output: Path, numbers: Numbers, common: dict[str, object]
) -> None:
    drawn, files = charts(folder, sheet), output / "files"
    times = dict.fromkeys(one["pictures"] for one in drawn if "pictures" in one)
    data = numbers.behind(sheet) | ({"charts": drawn} if drawn else {})
    _write(
        output / f"{sheet.name}.html",
        "page.html",
        sheet=sheet,
        has_charts=bool(drawn),
        notes=[one["note"] for one in drawn if "note" in one],
        files=[
            *_drawings(folder.results / sheet.path, files),
            *(one for path in times for one in _drawings(folder.results / path, files, "time")),
        ],
        body=markup.html(sheet.markdown, sheet.grid()),
        data=rendering.embedded(data),
        **common,
    )


def _drawings(data: Path, output: Path, what: str = "") -> Iterator[tuple[str, str]]:
    for form in DRAWINGS:
        path = intact.checked(data.with_suffix(form))
        if path.is_file():
            output.mkdir(parents=True, exist_ok=True)
            name = f"{path.stem}{f'-{what}' * bool(what)}{form}"
            (_reduce if form == ".png" else shutil.copyfile)(path, output / name)
            yield name, f"{form[1:].upper()}{f' by {what}' * bool(what)}"


def _reduce(path: Path, copy: Path) -> None:
    """Copy a PNG with a reduced palette, which takes a third of the bytes."""
    from PIL import Image

    with Image.open(path) as drawing:
        drawing.convert("RGB").quantize(COLOURS).save(copy, format="PNG", optimize=True)
