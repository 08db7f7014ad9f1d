"""Add an entry to the log of reproductions, made from a published bundle alone.

Usage: `residuum record mini.tar.gz`. The same bundle gives the same entry, so that a bundle proves
its entry: `residuum bundle verify mini.tar.gz --entry FOLDER`. The module `reproductions` reads
entries and compares them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from pydantic import ValidationError

from residuum.artefacts import files, manifest, yamls
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, checkpoints, provenance, recorded
from residuum.inspect.reproductions import ENTRY, NUMBERS, Entry, Number, counted
from residuum.inspect.text import Finding
from residuum.pages import grids, verdicts
from residuum.wiring.paths import Paths

OF_MACHINE = ("python", "platform", "cpu.model", "cpu.instructions")
PACKAGE = "packages."


def record(archive: Path, folder: Path) -> str:
    """Add the entry of a published bundle to a folder, and return what was done.

    A bundle with a fault, and one that names no publisher, raise ResiduumError.
    """
    with files.temporary("record") as work:
        if faults := [each for each in bundling.checked(archive, work) if not each.good]:
            raise ResiduumError(
                f"{archive}: not recorded. {faults[0].what}: {faults[0].message}. All faults: "
                f"residuum bundle verify {archive}"
            )
        entry, numbers = _of_bundle(archive, work)
    path = folder / name_of(entry)
    if path.is_dir():
        return f"{path}: recorded before"
    with files.new_directory(path) as made:
        _write(made, entry, numbers)
    return f"{path}: {len(numbers)} rows of the ledger. {counted(entry)}"


def verify(archive: Path, path: Path) -> list[Finding]:
    """Check a bundle, and whether it gives an entry byte for byte: findings as of a bundle."""
    if lacking := [name for name in (ENTRY, NUMBERS) if not (path / name).is_file()]:
        raise ResiduumError(f"{path}: no entry of a log: it has no {lacking[0]}")
    with files.temporary("record") as work:
        findings = bundling.checked(archive, work)
        if findings[-1].good:
            made = work / "entry"
            made.mkdir()
            _write(made, *_of_bundle(archive, work))
            faults = [
                bundling.unlike(name, path, made, "in the entry") for name in (ENTRY, NUMBERS)
            ]
            fault = next(filter(None, faults), "")
            message = f"differs: {fault}" if fault else bundling.MADE
            findings.append(Finding(str(path), message, not fault))
    return findings


def _of_bundle(archive: Path, work: Path) -> tuple[Entry, list[Number]]:
    """Return the entry of a bundle that `bundling.checked` left in a folder, and its rows."""
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
    used = {manifest.arithmetic(a.manifest.spec) for a in graph.values() if a.manifest}
    known = {key: sorted(values) for key, values in recorded.environments(graph).items()}
    counts: dict[str, Counter[str]] = {}
    for row in (row for row in rows if not row.same_as):
        counts.setdefault(row.paper, Counter())[row.verdict] += 1
    grids.write(work / NUMBERS, numbers, Number)
    machine = {key: known[key] for key in OF_MACHINE if key in known}
    packages = {key: values for key, values in known.items() if key.startswith(PACKAGE)}
    try:
        entry = Entry(
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
    return entry, numbers


def _write(folder: Path, entry: Entry, numbers: Sequence[Number]) -> None:
    files.write_text(folder / ENTRY, yamls.dump(entry.model_dump(mode="json")))
    grids.write(folder / NUMBERS, numbers, Number)


def name_of(entry: Entry) -> str:
    """Return an entry's folder below the log: scale, day, publisher and bundle."""
    letters = unicodedata.normalize("NFKD", entry.published.by).encode("ascii", "ignore").decode()
    by = re.sub(r"[^a-z0-9]+", "-", letters.lower()).strip("-") or "unnamed"
    return f"{entry.scale}/{entry.published.day}-{by}-{entry.bundle[:8]}"
