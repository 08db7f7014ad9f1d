"""Add a reproduction to the log, made from a published bundle alone.

Usage: `residuum record mini.tar.gz`. The same bundle gives the same reproduction, so that it can be
checked: `residuum bundle verify mini.tar.gz --reproduction FOLDER`. The module `reproductions`
reads and compares them.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from pydantic import ValidationError

from residuum.artefacts import files, manifest, yamls
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, checkpoints, provenance, recorded
from residuum.inspect.reproductions import FACTS, NUMBERS, Facts, Number, counted, name_of
from residuum.inspect.text import Finding
from residuum.pages import grids, verdicts
from residuum.wiring.paths import Paths

OF_MACHINE = ("python", "platform", "cpu.model", "cpu.instructions")
PACKAGE = "packages."


def record(archive: Path, folder: Path) -> str:
    """Add the reproduction of a published bundle to a log, and return what was done.

    A bundle with a fault, and one that names no publisher, raise ResiduumError.
    """
    with files.temporary("record") as work:
        if faults := [each for each in bundling.checked(archive, work) if not each.good]:
            raise ResiduumError(
                f"{archive}: not recorded. {faults[0].what}: {faults[0].message}. All faults: "
                f"residuum bundle verify {archive}"
            )
        facts, numbers = _of_bundle(archive, work)
        path = folder / name_of(facts)
        if os.path.lexists(path):
            if fault := _difference(path, work / "again", facts, numbers):
                raise ResiduumError(f"{path}: exists, and is not of this bundle: {fault}")
            return f"{path}: recorded before"
    with files.new_directory(path) as made:
        _write(made, facts, numbers)
    return f"{path}: {len(numbers)} rows of the ledger. {counted(facts)}"


def verify(archive: Path, path: Path) -> list[Finding]:
    """Check a bundle, and whether it gives a reproduction: findings as of a bundle, and one more.

    The reproduction's folder needs its name and no other files.
    """
    if not (path / FACTS).is_file():
        raise ResiduumError(f"{path}: no reproduction: it has no {FACTS}")
    with files.temporary("record") as work:
        findings = bundling.checked(archive, work)
        if not findings[-1].good:
            return [*findings, Finding(str(path), "not checked: the bundle has faults", None)]
        facts, numbers = _of_bundle(archive, work)
        fault = _difference(path, work / "again", facts, numbers)
    return [*findings, Finding(str(path), fault or bundling.MADE, not fault)]


def _difference(path: Path, made: Path, facts: Facts, numbers: Sequence[Number]) -> str:
    """Return how a folder of the log differs from what a bundle gives, which is put into `made`."""
    if (name := "/".join(path.resolve().parts[-2:])) != name_of(facts):
        return f"lies at {name}, and belongs to {name_of(facts)}"
    made.mkdir()
    _write(made, facts, numbers)
    for name in sorted({each.name for folder in (path, made) for each in folder.iterdir()}):
        if not (path / name).is_file():
            return f"lacks {name}"
        if not (made / name).is_file():
            return f"holds {name}, which no reproduction does"
        if fault := bundling.unlike(name, path, made, "in the log"):
            return f"differs: {fault}"
    return ""


def _of_bundle(archive: Path, work: Path) -> tuple[Facts, list[Number]]:
    """Return the facts and rows of a bundle that `bundling.checked` left in a folder."""
    root = work / bundling.UNPACKED
    index = bundling.index_of(root)
    if index.published is None:
        raise ResiduumError(
            f"{archive}: names no publisher. Write it with: residuum bundle write --output "
            f"{archive.name} --by 'YOUR NAME' --licence CC-BY-4.0"
        )
    results = root / bundling.RESULTS
    graph, rows = provenance.read(results), verdicts.ledger(results / Paths().ledger)
    numbers = [Number(*(getattr(row, field.name) for field in fields(Number))) for row in rows]
    used = {manifest.precision_on_device(a.manifest.spec) for a in graph.values() if a.manifest}
    known = {key: sorted(values) for key, values in recorded.environments(graph).items()}
    counts: dict[str, Counter[str]] = {}
    for row in (row for row in rows if not row.same_as):
        counts.setdefault(row.paper, Counter())[row.verdict] += 1
    grids.write(work / NUMBERS, numbers, Number)
    machine = {key: known[key] for key in OF_MACHINE if key in known}
    packages = {key: values for key, values in known.items() if key.startswith(PACKAGE)}
    try:
        facts = Facts(
            scale=checkpoints.scale_of(results, graph),
            published=index.published,
            bundle=files.sha256(archive),
            residuum=index.residuum,
            commits=known.get("git_commit", []),
            machine=machine | {"arithmetic": sorted(filter(None, used))},
            packages={key.removeprefix(PACKAGE): values for key, values in packages.items()},
            verdicts={paper: dict(sorted(of.items())) for paper, of in counts.items()},
            numbers=files.sha256(work / NUMBERS),
        )
    except ValidationError as error:  # the scale's name comes from the bundle
        raise ResiduumError(describe(f"{archive}: not recorded", error)) from None
    return facts, numbers


def _write(folder: Path, facts: Facts, numbers: Sequence[Number]) -> None:
    files.write_text(folder / FACTS, yamls.dump(facts.model_dump(mode="json")))
    grids.write(folder / NUMBERS, numbers, Number)
