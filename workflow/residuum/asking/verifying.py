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
from residuum.core import driver, manifest
from residuum.core.errors import ResiduumError
from residuum.core.jobs import CharacteristicsJob
from residuum.core.schema import parts_of

LONG = 90  # characters of a differing line that are shown
SWEEP, SCORED = ".sweep.tsv", ".trec.gz.manifest.json"


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

    def inputs(self, path: str, start: str, end: str = "") -> list[Path]:
        """Return the recorded inputs of a page below a folder, in their order."""
        names = self.graph[path].inputs
        return [self.results / n for n in names if n.startswith(start) and n.endswith(end)]

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
        kind, _, name = path.partition("/")
        page = (name or kind).removesuffix(".tsv")
        if path not in known:
            yield Check(page, False, False, f"no manifest of {path}: it cannot be made again")
        elif kind == "tables":
            yield _table(bench, path, page)
        elif kind == "figures":
            compared = [f"figures/{page}.{form}" for form in ("tsv", "md")]
            yield _made(bench, page, compared, _figure, "; drawings carried, checked by hash")
        elif kind == "cases":
            yield Check(
                page, False, True, "carried, checked by hash: it quotes texts of the corpus"
            )
    if "ledger.tsv" in known:
        yield _made(bench, "ledger", ["ledger.tsv", "ledger.md"], _ledger)


def _ledger_last(path: str) -> tuple[bool, str]:
    return path == "ledger.tsv", path


def _table(bench: Bench, path: str, page: str) -> Check:
    compared = [f"tables/{page}.{form}" for form in ("tsv", "md", "tex")]
    if "runs" in bench.spec(path):
        return _made(bench, page, [f"significance/{page}.tsv", *compared], _tested)
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

    path = f"tables/{page}.tsv"
    spec = driver.canonical(bench.spec(path))
    tests = bench.made / "significance" / f"{page}.tsv"
    metrics = bench.results / "metrics"
    family = [driver.canonical(other) for other in _corrected_with(bench, path)]
    significance.compare(spec=spec, metrics=metrics, output=tests, together=family)
    tables.render(
        spec=spec,
        metrics=metrics,
        significance=tests,
        output=bench.made / path,
        tuning=bench.inputs(path, "tuning/"),
    )


def _corrected_with(bench: Bench, path: str) -> Iterator[dict[str, Any]]:
    """Yield the specs of the other tables whose comparisons are corrected with a table's."""
    own = bench.spec(path)
    paper = parts_of(own["id"])[0]
    if own["tests"]["family"] == "paper":
        for name in bench.graph:
            if name != path and parts_of(name)[0] == f"tables/{paper}":
                other = bench.spec(name)
                if other["table"].get("tests") == own["table"]["tests"]:
                    yield other


def _counted(bench: Bench, page: str) -> None:
    """Write a table of characteristics from the counts that its manifest keeps."""
    from residuum import characteristics

    path = f"tables/{page}.tsv"
    job = CharacteristicsJob.model_validate(bench.spec(path))
    counts = bench.graph[path].record["artefact"]["counts"]
    characteristics.write(job, counts, bench.made / path)


def _figure(bench: Bench, page: str) -> None:
    """Draw a figure, as the stage figures does."""
    from residuum import figures

    path = f"figures/{page}.tsv"
    figures.draw(
        spec=driver.canonical(bench.spec(path)),
        sweep=bench.inputs(path, "rerank/", SWEEP),
        scored=bench.inputs(path, "rerank/", SCORED),
        output=bench.made / path,
    )


def _ledger(bench: Bench, page: str) -> None:
    """Judge the tables in the order that the ledger's manifest keeps: made again, or carried."""
    from residuum import ledger

    names = [path for path in bench.graph["ledger.tsv"].inputs if path.startswith("tables/")]
    tests = [p for p in bench.graph["ledger.tsv"].inputs if p.startswith("significance/")]
    ledger.write(
        spec=[driver.canonical(bench.spec(name)) for name in names],
        table=[bench.newest(name) for name in names],
        significance=[bench.newest(name) for name in tests],
        output=bench.made / "ledger.tsv",
    )


def _other_code(bench: Bench, page: str) -> str:
    """Say whether this code is another than that which made a page of the bundle."""
    names = [f"{kind}/{page}.tsv" for kind in ("significance", "tables", "figures")]
    found = (bench.graph[n].record for n in [*names, f"{page}.tsv"] if n in bench.graph)
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
