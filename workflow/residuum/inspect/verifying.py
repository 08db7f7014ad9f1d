"""Every page of a bundle made again from the bundle alone, and compared byte for byte.

Usage: `residuum bundle verify mini.tar.gz`. Calls what the stages run: significance, tables,
characteristics, figures, ledger. Needs no Lucene, GPU, Java, texts or qrels.
Must not know how a page is computed.
"""

import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from residuum import characteristics, figures, ledger, significance, tables
from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError
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

    def manifest(self, path: str) -> provenance.Manifest:
        """Return the manifest of a page; without one it is a ResiduumError."""
        if path in self.graph and (made := self.graph[path].manifest):
            return made
        raise ResiduumError(f"{path}: no manifest, so what it was made from is not known")

    def spec(self, path: str) -> str:
        """Return the spec that a page was made from, as a stage takes it."""
        return canonical_json(self.manifest(path).spec)

    def files(self, path: str, template: Template) -> list[Path]:
        """Return the recorded inputs of a page that are of one sort, in their order.

        Those that were made again are taken as they are now.
        """
        names = [name for name in self.manifest(path).inputs if template.parse(name)]
        again = [(self.made / name).is_file() for name in names]
        folders = [self.made if made else self.results for made in again]
        return [folder / name for folder, name in zip(folders, names, strict=True)]


def verify(archive: Path) -> list[Check]:
    """Check an archive: a check per faulty file, then one per page; the ledger comes last."""
    with tempfile.TemporaryDirectory(prefix="residuum-bundle-") as folder:
        root, unreadable = Path(folder) / "bundle", list[str]()
        faults = bundling.unpack(archive, root)
        results = root / bundling.RESULTS
        graph = provenance.read(results, unreadable)
        faults += [text.removeprefix(f"{root}/") for text in unreadable]
        bench = Bench(results, graph, Path(folder) / "made")
        pages = {path for path in graph if any(p.parse(path) is not None for p in bundling.PAGES)}
        pages |= {*provenance.finished(results, bundling.PAGES)}
        in_order = sorted(pages, key=lambda path: (path == PATHS.ledger, path))
        checks = [Check(fault, False, False, fault) for fault in faults]
        return checks + [_page(bench, path) for path in in_order]


def _page(bench: Bench, path: str) -> Check:
    """Check the page that a TSV belongs to; what differs or cannot be made is no exception."""
    page = Path(path).stem
    if path not in bench.graph or bench.graph[path].manifest is None:
        return Check(page, False, False, f"no manifest of {path}: it cannot be made again")
    if PATHS.cases.parse(path):
        return Check(page, False, True, "carried, checked by hash: it quotes texts of the corpus")
    tests = PATHS.significance.fill(page=page)
    names = [tests, *(Template(path).beside(ending) for ending in (".tsv", ".md", ".tex"))]
    try:
        note = _make(bench, path)
        written = [n for n in names if (bench.results / n).exists() or (bench.made / n).exists()]
        unlike = [_unlike(name, bench.results, bench.made) for name in written]
    except Exception as error:  # a file that was changed can raise whatever its reader raises
        kind = "" if isinstance(error, ResiduumError) else f"{type(error).__name__}: "
        text = " ".join(str(error).split()).replace(f"{bench.results}/", "")
        fault = f"cannot be made again: {kind}{text}"
    else:
        fault = next((f"differs: {text}" for text in unlike if text), "")
    if not fault:
        return Check(page, True, True, f"made again, same bytes{note}")
    made = (bench.graph[n].manifest for n in (tests, path) if n in bench.graph)
    others = [record.module for record in made if record and not manifest.same_code(record.code)]
    other = f" (made by other code of {', '.join(others)} than is installed)" if others else ""
    return Check(page, True, False, fault + other)


def _make(bench: Bench, path: str) -> str:
    """Make a page again, as its stage does; return a note on how."""
    record, output = bench.manifest(path), bench.made / path
    if path == PATHS.ledger:
        judged = [name for name in record.inputs if PATHS.table.parse(name)]
        ledger.write(
            spec=[bench.spec(name) for name in judged],
            table=bench.files(path, PATHS.table),
            significance=bench.files(path, PATHS.significance),
            output=output,
        )
        return ""
    if PATHS.figure.parse(path):
        figures.draw(
            spec=bench.spec(path),
            depths=bench.files(path, PATHS.depth_curve),
            scored=bench.files(path, PATHS.pairs.manifest),
            output=output,
        )
        return "; drawings carried, checked by hash"
    if "runs" in record.spec:
        _test_and_render(bench, path)
        return ""
    page = BoundCharacteristics.model_validate(record.spec)
    characteristics.write(page, record.artefact["counts"], output)
    return ", from the counts in its manifest"


def _test_and_render(bench: Bench, path: str) -> None:
    """Make a table again, tested together with the tables that its tests are corrected with."""
    names = [name for name in bench.graph if PATHS.table.parse(name)]
    specs = {Path(name).stem: bench.manifest(name).spec for name in names}
    pages = {n: BoundTable.model_validate(spec) for n, spec in specs.items() if "runs" in spec}
    own = pages[Path(path).stem]
    family = corrected_with(own.id, {name: page.table for name, page in pages.items()}, own.tests)
    tests, metrics = PATHS.significance.fill(page=own.id), bench.results / PATHS.metrics_root
    significance.compare(
        spec=bench.spec(path),
        metrics=metrics,
        output=bench.made / tests,
        together=[canonical_json(specs[name]) for name in family],
    )
    tables.render(
        spec=bench.spec(path),
        metrics=metrics,
        significance=bench.made / tests,
        output=bench.made / path,
        tuning=bench.files(path, PATHS.tuning),
    )


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
