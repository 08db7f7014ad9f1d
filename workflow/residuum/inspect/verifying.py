"""Every page of a bundle made again from the bundle alone, and compared byte for byte.

Usage: `residuum bundle verify mini.tar.gz`. Calls what the stages run: significance, tables,
characteristics, figures, ledger. Needs no Lucene, GPU, Java, texts or qrels.
Must not know how a page is computed.
"""

import tempfile
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError
from residuum.config.schema.papers import Table
from residuum.config.specs import canonical_json
from residuum.inspect import bundling, provenance
from residuum.wiring.bound import BoundCharacteristics, BoundTable, corrected_with
from residuum.wiring.paths import Paths, Template

PATHS = Paths()
LONG = 90  # characters of a differing line that are shown


class Check(NamedTuple):
    """The check of one page: made again or carried, whether it agrees, and what to print."""

    page: str
    made: bool
    agrees: bool
    text: str


class Bench(NamedTuple):
    """Where pages are made again: the bundle's results, its manifests, and an empty folder."""

    results: Path
    graph: provenance.Graph
    made: Path

    def record(self, path: str, section: str) -> provenance.Record:
        """Return a section of the manifest of a page; without one it is a ResiduumError."""
        if path not in self.graph or not self.graph[path].record:
            raise ResiduumError(f"{path}: no manifest, so what it was made from is not known")
        return dict(self.graph[path].record[section])

    def spec(self, path: str) -> provenance.Record:
        """Return the spec that a page was made from."""
        return self.record(path, "spec")

    def files(self, path: str, template: Template) -> list[Path]:
        """Return the recorded inputs of a page that are of one sort, in their order.

        Those that were made again are taken as they are now.
        """
        names = [name for name in self.graph[path].inputs if template.parse(name)]
        again = ((self.made / name).is_file() for name in names)
        return [
            (self.made if new else self.results) / n for n, new in zip(names, again, strict=True)
        ]


def verify(archive: Path) -> list[Check]:
    """Check an archive: a check per faulty file, then one per page; the ledger comes last."""
    with tempfile.TemporaryDirectory(prefix="residuum-bundle-") as folder:
        root = Path(folder) / "bundle"
        unpacked = bundling.unpack(archive, root)
        graph, unreadable = provenance.read_what_can_be(unpacked.results)
        faults = [*unpacked.faults, *(text.removeprefix(f"{root}/") for text in unreadable)]
        bench = Bench(unpacked.results, graph, Path(folder) / "made")
        names = {path for path in graph if graph[path].record} | {*bundling.pages(bench.results)}
        checks = [_page(bench, name) for name in sorted(names, key=_ledger_last)]
        return [*(Check(fault, False, False, fault) for fault in faults), *filter(None, checks)]


def _ledger_last(path: str) -> tuple[bool, str]:
    return path == PATHS.ledger, path


def _page(bench: Bench, path: str) -> Check | None:
    """Check the page that a TSV belongs to; None where the file is not a page."""
    page, artefact = Path(path).stem, bench.graph.get(path)
    if artefact is None or not artefact.record:
        return Check(page, False, False, f"no manifest of {path}: it cannot be made again")
    if path == PATHS.ledger:
        return _made(bench, path, [".tsv", ".md"], _ledger)
    if PATHS.figure.parse(path):
        return _made(bench, path, [".tsv", ".md"], _figure, "; drawings carried, checked by hash")
    if PATHS.cases.parse(path):
        return Check(page, False, True, "carried, checked by hash: it quotes texts of the corpus")
    if not PATHS.table.parse(path):
        return None
    if "runs" in artefact.record["spec"]:
        return _made(bench, path, [".tsv", ".md", ".tex"], _tested)
    if "counts" not in artefact.record["artefact"]:
        return Check(page, False, True, "carried, checked by hash: its manifest holds no counts")
    note = ", from the counts in its manifest"
    return _made(bench, path, [".tsv", ".md", ".tex"], _counted, note)


def _made(
    bench: Bench,
    path: str,
    forms: list[str],
    make: Callable[[Bench, str], list[str]],
    note: str = "",
) -> Check:
    """Make a page again and compare its forms, and what else `make` names.

    What differs or cannot be made is a fault, and no exception.
    """
    page = Path(path).stem
    try:
        compared = [*make(bench, path), *(Template(path).beside(form) for form in forms)]
        unlike = [_unlike(name, bench.results, bench.made) for name in compared]
    except Exception as error:  # a file that was changed can raise whatever its reader raises
        kind = "" if isinstance(error, ResiduumError) else f"{type(error).__name__}: "
        text = " ".join(str(error).split()).replace(f"{bench.results}/", "")
        fault = f"cannot be made again: {kind}{text}"
    else:
        fault = next((f"differs: {text}" for text in unlike if text), "")
    if fault:
        return Check(page, True, False, fault + _other_code(bench, page))
    return Check(page, True, True, f"made again, same bytes{note}")


def _tested(bench: Bench, path: str) -> list[str]:
    """Test and render a table, as the stages significance and tables do."""
    from residuum import significance, tables

    tests = PATHS.significance.fill(page=Path(path).stem)
    spec, metrics = canonical_json(bench.spec(path)), bench.results / PATHS.metrics_root
    family = [canonical_json(other) for other in _corrected_with(bench, path)]
    significance.compare(spec=spec, metrics=metrics, output=bench.made / tests, together=family)
    tables.render(
        spec=spec,
        metrics=metrics,
        significance=bench.made / tests,
        output=bench.made / path,
        tuning=bench.files(path, PATHS.tuning),
    )
    return [tests]


def _corrected_with(bench: Bench, path: str) -> list[provenance.Record]:
    """Return the specs of the other tables whose comparisons are corrected with a table's."""
    named = {name: PATHS.table.parse(name) for name in bench.graph}
    pages = {wildcards["page"]: bench.spec(n) for n, wildcards in named.items() if wildcards}
    own = BoundTable.model_validate(bench.spec(path))
    tables = {page: Table.model_validate(s["table"]) for page, s in pages.items() if "runs" in s}
    return [pages[other] for other in corrected_with(own.id, tables, own.tests)]


def _counted(bench: Bench, path: str) -> list[str]:
    """Write a table of characteristics from the counts that its manifest keeps."""
    from residuum import characteristics

    table = BoundCharacteristics.model_validate(bench.spec(path))
    counts = bench.record(path, "artefact")["counts"]
    characteristics.write(table, counts, bench.made / path)
    return []


def _figure(bench: Bench, path: str) -> list[str]:
    """Draw a figure, as the stage figures does."""
    from residuum import figures

    figures.draw(
        spec=canonical_json(bench.spec(path)),
        depths=bench.files(path, PATHS.depth_curve),
        scored=bench.files(path, PATHS.pairs.manifest),
        output=bench.made / path,
    )
    return []


def _ledger(bench: Bench, path: str) -> list[str]:
    """Judge the tables in the order that the ledger's manifest keeps: made again, or carried."""
    from residuum import ledger

    names = [name for name in bench.graph[path].inputs if PATHS.table.parse(name)]
    ledger.write(
        spec=[canonical_json(bench.spec(name)) for name in names],
        table=bench.files(path, PATHS.table),
        significance=bench.files(path, PATHS.significance),
        output=bench.made / path,
    )
    return []


def _other_code(bench: Bench, page: str) -> str:
    """Name the stages that made a page of the bundle by other code than this."""
    templates = (PATHS.significance, PATHS.table, PATHS.figure)
    names = [*(template.fill(page=page) for template in templates), f"{page}.tsv"]
    codes = [
        bench.graph[n].record["code"] for n in names if n in bench.graph and bench.graph[n].record
    ]
    modules = [code["module"] for code in codes if not manifest.same_code(code)]
    return f" (made by other code of {', '.join(modules)} than is installed)" if modules else ""


def _unlike(name: str, results: Path, made: Path) -> str | None:
    """Return the first line in which a page of the bundle and the one made again differ."""
    pages = [(folder / name).read_bytes() for folder in (results, made)]
    if pages[0] == pages[1]:
        return None
    texts = (page.decode(errors="backslashreplace") for page in pages)
    pairs = zip_longest(*(text.split("\n") for text in texts), fillvalue="")
    number, (a, b) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(0, same - LONG // 2)
    shown = (f"'{text[start : start + LONG]}'" for text in (a, b))
    return f"{name}, line {number}: {' in the bundle, '.join(shown)} made again"


def report(checks: list[Check]) -> str:
    """Write a line per check and what they come to."""
    lines = [c.text if c.text == c.page else f"{c.page}: {c.text}" for c in checks]
    bad = sum(not check.agrees for check in checks)
    made = sum(check.made and check.agrees for check in checks)
    carried = sum(not check.made and check.agrees for check in checks)
    end = f"{made} pages made again byte for byte, {carried} carried"
    return "\n".join([*lines, f"{end}; {f'{bad} faults' if bad else 'no fault'}"])
