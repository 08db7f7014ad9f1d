"""Make pages again from a bundle's files, by the functions that the stages run.

Usage: `make(Bench(results, graph, made), "tables/clear-table1.tsv")`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from residuum import ledger, significance
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.specs import canonical_json
from residuum.inspect import provenance
from residuum.pages.characteristics import make as characteristics
from residuum.pages.characteristics.job import BoundCharacteristics
from residuum.pages.claims import make as claims
from residuum.pages.dimensions import make as dimensions
from residuum.pages.figure import make as figure
from residuum.pages.jobs import kind_of
from residuum.pages.kinds import JUDGED
from residuum.pages.lines import make as lines
from residuum.pages.table import make as table
from residuum.pages.table.bind import corrected_with
from residuum.pages.table.job import BoundTable
from residuum.pages.venn import make as venn
from residuum.wiring.paths import Paths, Template

PATHS = Paths()
CARRIED = "; drawings carried, checked by hash"
CURVES = [PATHS.depth_curve, PATHS.sweep]
COMPUTED = [PATHS.checkpoint, PATHS.query_embeddings, PATHS.pairs.manifest]


class Remade(NamedTuple):
    """The arguments for making a page again: its spec, its output, the verdicts on learning."""

    spec: str
    output: Path
    learning: list[Path]


class Bench(NamedTuple):
    """The folders for making pages again: the bundle's results, and an empty folder for output."""

    results: Path
    graph: provenance.Graph
    made: Path

    @property
    def bounds(self) -> Path:
        """The folder of the bounds of measures."""
        return self.results / PATHS.bounds_root

    def page(self, path: str) -> Remade:
        """Return the arguments that every kind of page is made again from."""
        spec = canonical_json(self.graph.manifest(path).spec)
        return Remade(spec, self.made / path, self.files(path, PATHS.learning))

    def files(self, path: str, *forms: Template) -> list[Path]:
        """Return a page's inputs that fit the templates; remade files replace the bundle's."""
        inputs = self.graph.manifest(path).inputs
        names = [name for name in inputs if any(form.parse(name) for form in forms)]
        if outside := [name for name in names if ".." in name.split("/")]:
            raise ResiduumError(f"its input {outside[0]} lies outside the bundle")
        return [self.made / n if (self.made / n).is_file() else self.results / n for n in names]


def make(bench: Bench, path: str) -> str:
    """Make a page again as its stage does; return a remark on it, or ""."""
    if path == PATHS.ledger:
        return _ledger(bench, path)
    kind = kind_of(bench.graph.manifest(path).spec)
    if kind not in MADE:
        raise ResiduumError(f"{path}: {unknown('kind of page that is made again', kind, MADE)}")
    return MADE[kind](bench, path)


def _ledger(bench: Bench, path: str) -> str:
    record, forms = bench.graph.manifest(path), [PATHS.pages[kind] for kind in JUDGED]
    judged = [n for n in record.inputs if any(form.parse(n) is not None for form in forms)]
    specs = [canonical_json(bench.graph.manifest(name).spec) for name in judged]
    tests = bench.files(path, PATHS.significance)
    sentences = bench.files(path, PATHS.pages["claims"])
    ledger.write(specs, bench.files(path, *forms), bench.made / path, tests, sentences)
    return ""


def _table(bench: Bench, path: str) -> str:
    page, metrics = bench.page(path), bench.results / PATHS.metrics_root
    tests = PATHS.significance.fill(page=page.output.stem)
    made, others = bench.made / tests, _corrected_with(bench, page.output.stem)
    in_tests, of_all = bench.files(tests, PATHS.groups), bench.files(tests, PATHS.learning)
    significance.compare(
        page.spec, metrics, made, bench.bounds, others, learning=of_all, groups=in_tests
    )
    computed = [p for form in COMPUTED for p in bench.files(path, form)]
    tuned = [file for form in PATHS.choices for file in bench.files(path, form)]
    groups = bench.files(path, PATHS.groups)
    table.render(page.spec, metrics, made, page.output, tuned, computed, page.learning, groups)
    return ""


def _characteristics(bench: Bench, path: str) -> str:
    record = bench.graph.manifest(path)
    job = BoundCharacteristics.model_validate(record.spec)
    characteristics.write(job, record.artefact["counts"], bench.made / path)
    return ", from the counts in its manifest"


def _claims(bench: Bench, path: str) -> str:
    page, metrics = bench.page(path), bench.results / PATHS.metrics_root
    read = bench.files(path, PATHS.table, PATHS.pages["dimensions"])
    curves = bench.files(path, PATHS.depth_curve)
    made = bench.made / PATHS.significance.fill(page=page.output.stem)
    groups = bench.files(path, PATHS.groups)
    folders = bench.bounds, bench.results / PATHS.fidelity_root
    inputs = read, curves, groups, page.learning
    claims.judge(page.spec, metrics, made, page.output, *folders, *inputs)
    return ""


def _figure(bench: Bench, path: str) -> str:
    page, metrics = bench.page(path), bench.results / PATHS.metrics_root
    curves, groups = bench.files(path, *CURVES), bench.files(path, PATHS.groups)
    costs = bench.files(path, PATHS.pairs.manifest, PATHS.sweep.manifest)
    figure.draw(page.spec, page.output, metrics, curves, costs, groups, page.learning)
    return CARRIED


def _venn(bench: Bench, path: str) -> str:
    page = bench.page(path)
    venn.draw(page.spec, bench.results / PATHS.metrics_root, page.output, page.learning)
    return CARRIED


def _lines(bench: Bench, path: str) -> str:
    page = bench.page(path)
    lines.draw(page.spec, bench.files(path, PATHS.table)[0], page.output)
    return CARRIED


def _dimensions(bench: Bench, path: str) -> str:
    page = bench.page(path)
    dimensions.draw(page.spec, bench.results / PATHS.fidelity_root, page.output)
    return CARRIED


MADE: dict[str, Callable[[Bench, str], str]] = {
    "table": _table,
    "characteristics": _characteristics,
    "figure": _figure,
    "venn": _venn,
    "dimensions": _dimensions,
    "lines": _lines,
    "claims": _claims,
}
REMADE = [*dict.fromkeys(PATHS.pages[kind] for kind in MADE), PATHS.ledger]


def _corrected_with(bench: Bench, page: str) -> list[str]:
    """Return the specs of the other tables that are corrected together with a table."""
    names = [name for name in bench.graph if PATHS.table.parse(name)]
    specs = {Path(name).stem: bench.graph.manifest(name).spec for name in names}
    jobs = {
        n: BoundTable.model_validate(spec) for n, spec in specs.items() if kind_of(spec) == "table"
    }
    tables_of_all = {name: job.entry for name, job in jobs.items()}
    others = corrected_with(page, tables_of_all, jobs[page].tests)
    return [canonical_json(specs[other]) for other in others]
