"""Every page of a bundle made again from the bundle alone, and compared byte for byte.

Usage: `residuum bundle verify mini.tar.gz`. Calls what the stages run: significance, tables,
characteristics, figures, ledger. Needs no Lucene, GPU, Java, texts or qrels.
Must not know how a page is computed.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from residuum.asking import bundling, lineage
from residuum.core import manifest
from residuum.core.errors import ResiduumError
from residuum.core.schema.papers import Table
from residuum.wiring.bound import BoundCharacteristics, BoundTable, corrected_with
from residuum.wiring.paths import Paths, Template
from residuum.wiring.specs import canonical_json

PATHS = Paths()
LONG = 90  # characters of a differing line that are shown


class Check(NamedTuple):
    """What became of one page: made again or carried, whether it agrees, and what to print."""

    page: str
    made: bool
    agrees: bool
    text: str


class Bench(NamedTuple):
    """Where pages are made again: the bundle's results, its manifests, and an empty folder."""

    results: Path
    graph: lineage.Graph
    made: Path

    def spec(self, path: str) -> dict[str, Any]:
        """Return the spec that a page was made from; without a manifest it is a ResiduumError."""
        if path not in self.graph or not self.graph[path].record:
            raise ResiduumError(f"{path}: no manifest, so what it was made from is not known")
        return dict(self.graph[path].record["spec"])

    def inputs(self, path: str, template: Template) -> list[str]:
        """Return the recorded inputs of a page that are of one sort, in their order."""
        return [name for name in self.graph[path].inputs if template.parse(name)]

    def files(self, path: str, template: Template) -> list[Path]:
        """Return those as files of the bundle."""
        return [self.results / name for name in self.inputs(path, template)]

    def newest(self, name: str) -> Path:
        """Return a page as it was made again, or as it was carried."""
        return self.made / name if (self.made / name).is_file() else self.results / name


def verify(archive: Path) -> list[Check]:
    """Check an archive: a check per faulty file, then one per page; the ledger comes last."""
    with tempfile.TemporaryDirectory(prefix="residuum-bundle-") as folder:
        root = Path(folder) / "bundle"
        unpacked = bundling.unpack(archive, root)
        graph, unreadable = lineage.read_what_can_be(unpacked.results)
        faults = [*unpacked.faults, *(text.removeprefix(f"{root}/") for text in unreadable)]
        bench = Bench(unpacked.results, graph, Path(folder) / "made")
        return [*(Check(fault, False, False, fault) for fault in faults), *_pages(bench)]


def _pages(bench: Bench) -> Iterator[Check]:
    known = [path for path in bench.graph if bench.graph[path].record]
    for path in sorted({*known, *bundling.pages(bench.results)}, key=_ledger_last):
        page = Path(path).stem
        if path not in known:
            yield Check(page, False, False, f"no manifest of {path}: it cannot be made again")
        elif PATHS.table.parse(path):
            yield _table(bench, path, page)
        elif PATHS.figure.parse(path):
            compared = [path, Template(path).beside(".md")]
            yield _made(bench, page, compared, _figure, "; drawings carried, checked by hash")
        elif PATHS.cases.parse(path):
            yield Check(
                page, False, True, "carried, checked by hash: it quotes texts of the corpus"
            )
    if PATHS.ledger in known:
        yield _made(bench, "ledger", [PATHS.ledger, PATHS.ledger.beside(".md")], _ledger)


def _ledger_last(path: str) -> tuple[bool, str]:
    return path == PATHS.ledger, path


def _table(bench: Bench, path: str, page: str) -> Check:
    compared = [Template(path).beside(form) for form in (".tsv", ".md", ".tex")]
    if "runs" in bench.spec(path):
        return _made(bench, page, [PATHS.significance.fill(page=page), *compared], _tested)
    if "counts" in bench.graph[path].record["artefact"]:
        return _made(bench, page, compared, _counted, ", from the counts in its manifest")
    return Check(page, False, True, "carried, checked by hash: its manifest holds no counts")


def _made(
    bench: Bench, page: str, compared: list[str], make: Callable[[Bench, str], None], note: str = ""
) -> Check:
    """Make a page again; what differs or cannot be made is told, and is no exception."""
    try:
        make(bench, page)
        unlike = [_unlike(name, bench.results, bench.made) for name in compared]
    except Exception as error:  # a file that was changed can raise whatever its reader raises
        kind = "" if isinstance(error, ResiduumError) else f"{type(error).__name__}: "
        text = " ".join(str(error).split()).replace(f"{bench.results}/", "")
        said = f"cannot be made again: {kind}{text}"
        return Check(page, True, False, f"{said}{_other_code(bench, page)}")
    if found := [text for text in unlike if text]:
        return Check(page, True, False, f"differs: {found[0]}{_other_code(bench, page)}")
    return Check(page, True, True, f"made again, same bytes{note}")


def _tested(bench: Bench, page: str) -> None:
    """Test and render a table, as the stages significance and tables do."""
    from residuum import significance, tables

    path = PATHS.table.fill(page=page)
    spec = canonical_json(bench.spec(path))
    tests = bench.made / PATHS.significance.fill(page=page)
    metrics = bench.results / PATHS.metrics_root
    family = [canonical_json(other) for other in _corrected_with(bench, path)]
    significance.compare(spec=spec, metrics=metrics, output=tests, together=family)
    tables.render(
        spec=spec,
        metrics=metrics,
        significance=tests,
        output=bench.made / path,
        tuning=bench.files(path, PATHS.tuning),
    )


def _corrected_with(bench: Bench, path: str) -> list[dict[str, Any]]:
    """Return the specs of the other tables whose comparisons are corrected with a table's."""
    named = {name: PATHS.table.parse(name) for name in bench.graph}
    pages = {found["page"]: bench.spec(name) for name, found in named.items() if found}
    own = BoundTable.model_validate(bench.spec(path))
    tables = {page: Table.model_validate(s["table"]) for page, s in pages.items() if "runs" in s}
    return [pages[other] for other in corrected_with(own.id, tables, own.tests)]


def _counted(bench: Bench, page: str) -> None:
    """Write a table of characteristics from the counts that its manifest keeps."""
    from residuum import characteristics

    path = PATHS.table.fill(page=page)
    job = BoundCharacteristics.model_validate(bench.spec(path))
    counts = bench.graph[path].record["artefact"]["counts"]
    characteristics.write(job, counts, bench.made / path)


def _figure(bench: Bench, page: str) -> None:
    """Draw a figure, as the stage figures does."""
    from residuum import figures

    path = PATHS.figure.fill(page=page)
    figures.draw(
        spec=canonical_json(bench.spec(path)),
        depths=bench.files(path, PATHS.depth_curve),
        scored=bench.files(path, PATHS.pairs.manifest),
        output=bench.made / path,
    )


def _ledger(bench: Bench, page: str) -> None:
    """Judge the tables in the order that the ledger's manifest keeps: made again, or carried."""
    from residuum import ledger

    names = bench.inputs(PATHS.ledger, PATHS.table)
    tests = bench.inputs(PATHS.ledger, PATHS.significance)
    ledger.write(
        spec=[canonical_json(bench.spec(name)) for name in names],
        table=[bench.newest(name) for name in names],
        significance=[bench.newest(name) for name in tests],
        output=bench.made / PATHS.ledger,
    )


def _other_code(bench: Bench, page: str) -> str:
    """Say whether this code is another than that which made a page of the bundle."""
    made = (PATHS.significance, PATHS.table, PATHS.figure)
    names = [*(template.fill(page=page) for template in made), f"{page}.tsv"]
    found = (bench.graph[name].record for name in names if name in bench.graph)
    codes = [record["code"] for record in found if record]
    modules = [code["module"] for code in codes if not manifest.same_code(code)]
    return f" (made by other code of {', '.join(modules)} than runs here)" if modules else ""


def _unlike(name: str, results: Path, made: Path) -> str | None:
    """Return the first line in which a page of the bundle and the one made again differ."""
    ours, theirs = ((folder / name).read_bytes() for folder in (results, made))
    if ours == theirs:
        return None
    pairs = [data.decode(errors="replace").split("\n") for data in (ours, theirs)]
    length = max(map(len, pairs))
    a, b = ([*lines, *[""] * (length - len(lines))] for lines in pairs)
    line = next(i for i in range(length) if a[i] != b[i])
    start = next((i for i, (x, y) in enumerate(zip(a[line], b[line], strict=False)) if x != y), 0)
    start = max(0, start - LONG // 2)
    shown = (f"'{text[line][start : start + LONG]}'" for text in (a, b))
    return f"{name}, line {line + 1}: {' in the bundle, '.join(shown)} made again"


def report(checks: list[Check]) -> str:
    """Write a line per check and what they come to."""
    lines = [c.text if c.text == c.page else f"{c.page}: {c.text}" for c in checks]
    bad = sum(not check.agrees for check in checks)
    made = sum(check.made and check.agrees for check in checks)
    carried = sum(not check.made and check.agrees for check in checks)
    end = f"{made} pages made again byte for byte, {carried} carried"
    return "\n".join([*lines, f"{end}; {f'{bad} faults' if bad else 'no fault'}"])
