"""Pages made again from what a bundle holds: each by the function that its stage runs.

Usage: `make(Bench(results, graph, made), "tables/clear-table1.tsv")`. Must not know archives, nor
how a page is computed.
"""

from pathlib import Path
from typing import NamedTuple

from residuum import (
    characteristics,
    claims,
    dimensions,
    figures,
    ledger,
    lines,
    significance,
    tables,
    venn,
)
from residuum.cli.errors import ResiduumError
from residuum.config.specs import canonical_json
from residuum.inspect import provenance
from residuum.wiring.bound import BoundCharacteristics, BoundTable
from residuum.wiring.pages import corrected_with
from residuum.wiring.paths import Paths, Template

PATHS = Paths()
DRAWN = [PATHS.pages[kind] for kind in ("figure", "venn", "dimensions")]
REMADE = [PATHS.table, *DRAWN, PATHS.pages["lines"], PATHS.pages["claims"], PATHS.ledger]
CURVES = [PATHS.depth_curve, PATHS.sweep]
COMPUTED = [PATHS.checkpoint, PATHS.query_embeddings, PATHS.pairs.manifest]


class Bench(NamedTuple):
    """Where pages are made again: the bundle's results, its manifests, and an empty folder."""

    results: Path
    graph: provenance.Graph
    made: Path

    def files(self, path: str, *forms: Template) -> list[Path]:
        """Return the inputs of some sorts that a page records, as made again where they were."""
        inputs = self.graph.manifest(path).inputs
        names = [name for name in inputs if any(form.parse(name) for form in forms)]
        if outside := [name for name in names if ".." in name.split("/")]:
            raise ResiduumError(f"its input {outside[0]} lies outside the bundle")
        return [self.made / n if (self.made / n).is_file() else self.results / n for n in names]


def make(bench: Bench, path: str) -> str:
    """Make a page again, as its stage does; return a note on how."""
    record, output = bench.graph.manifest(path), bench.made / path
    spec, learning = canonical_json(record.spec), bench.files(path, PATHS.learning)
    if path == PATHS.ledger:
        forms = (PATHS.table, *DRAWN)
        judged = [n for n in record.inputs if any(form.parse(n) is not None for form in forms)]
        specs = [canonical_json(bench.graph.manifest(name).spec) for name in judged]
        tests = bench.files(path, PATHS.significance)
        sentences = bench.files(path, PATHS.pages["claims"])
        ledger.write(specs, bench.files(path, *forms), output, tests, sentences)
        return ""
    metrics = bench.results / PATHS.metrics_root
    if PATHS.pages["claims"].parse(path):
        read, curves = bench.files(path, PATHS.table), bench.files(path, PATHS.depth_curve)
        made = bench.made / PATHS.significance.fill(page=output.stem)
        groups = bench.files(path, PATHS.groups)
        claims.judge(spec, metrics, made, output, read, curves, groups, learning)
        return ""
    if PATHS.pages["figure"].parse(path):
        curves, groups = bench.files(path, *CURVES), bench.files(path, PATHS.groups)
        costs = bench.files(path, PATHS.pairs.manifest, PATHS.sweep.manifest)
        figures.draw(spec, output, metrics, curves, costs, groups, learning)
        return "; drawings carried, checked by hash"
    if PATHS.pages["venn"].parse(path):
        venn.draw(spec, metrics, output, learning)
        return "; drawings carried, checked by hash"
    if PATHS.pages["lines"].parse(path):
        lines.draw(spec, bench.files(path, PATHS.table)[0], output)
        return "; drawings carried, checked by hash"
    if PATHS.pages["dimensions"].parse(path):
        dimensions.draw(spec, bench.results / PATHS.fidelity_root, output)
        return "; drawings carried, checked by hash"
    if "runs" not in record.spec:
        counted = BoundCharacteristics.model_validate(record.spec)
        characteristics.write(counted, record.artefact["counts"], output)
        return ", from the counts in its manifest"
    tests_made = bench.made / PATHS.significance.fill(page=output.stem)
    of_all = bench.files(PATHS.significance.fill(page=output.stem), PATHS.learning)
    others = _corrected_with(bench, output.stem)
    in_tests = bench.files(PATHS.significance.fill(page=output.stem), PATHS.groups)
    significance.compare(
        spec, metrics, tests_made, together=others, learning=of_all, groups=in_tests
    )
    computed = [p for form in COMPUTED for p in bench.files(path, form)]
    tuned = [*bench.files(path, PATHS.tuning), *bench.files(path, PATHS.rate)]
    groups = bench.files(path, PATHS.groups)
    tables.render(spec, metrics, tests_made, output, tuned, computed, learning, groups)
    return ""


def _corrected_with(bench: Bench, page: str) -> list[str]:
    """Return the specs of the other tables whose comparisons are corrected with a table's."""
    names = [name for name in bench.graph if PATHS.table.parse(name)]
    specs = {Path(name).stem: bench.graph.manifest(name).spec for name in names}
    jobs = {n: BoundTable.model_validate(spec) for n, spec in specs.items() if "runs" in spec}
    tables_of_all = {name: job.table for name, job in jobs.items()}
    others = corrected_with(page, tables_of_all, jobs[page].tests)
    return [canonical_json(specs[other]) for other in others]
