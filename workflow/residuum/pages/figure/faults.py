"""Faults of figures: series without a curve or snapshots, unknown groups, unfit tests.

Usage: `faults(registry, figure)` yields the key and the fault.
"""

from collections.abc import Iterator

from residuum.config.faults import reference_faults
from residuum.config.registry import Registry
from residuum.config.schema.base import Ref
from residuum.config.schema.systems import DenseSystem
from residuum.pages.faults import Fault, misnamed, reported_faults, unfolded, with_baselines
from residuum.pages.figure.entry import DEPTH, EFFORT, SNAPSHOT, Figure


def faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the faults between a figure and other entries."""
    yield from reported_faults(registry, figure)
    yield from _curve_faults(registry, figure)
    yield from snapshot_faults(registry, figure)
    yield from group_faults(registry, figure)
    tests, some = registry.tests.get(figure.tests), with_baselines(registry, figure.tests)
    if tests and (not some or tests.family == "paper"):
        cause = "a figure compares with its first series only, and is not in its paper's family"
        cure = "needs `compare: with_baselines` and `family: column` or `table`"
        yield "tests", f"{cause}; {registry.file('tests', figure.tests)} {cure}"


def _curve_faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the series without a curve, because their system is of the wrong kind."""
    for series in figure.series if figure.of_curves else ():
        system, key = registry.systems.get(series.system), f"series.{series.id}.system"
        kind = "rerank" if figure.over == DEPTH else "dense"
        fitting = Ref("system", (kind,) if system else ())
        yield from ((key, text) for text in reference_faults(registry, fitting, series.system))
        if figure.over == EFFORT and isinstance(system, DenseSystem) and system.search:
            text = f"'{series.system}' searches by an index of its own; name one without `search`"
            yield key, text


def group_faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the unknown groups that a figure shows or reports numbers of."""
    yield from (("groups", text) for text in misnamed(registry, figure.over, figure.groups))
    for row, column, _ in figure.cells():
        for text in misnamed(registry, figure.over, [column.partition("/")[2]]):
            yield f"reported.{row}.{column}", text
    for grouping, role in figure.grouped_by():
        yield from (("over", text) for text in unfolded(registry, grouping, role, figure.groups))


def snapshot_faults(registry: Registry, figure: Figure) -> Iterator[Fault]:
    """Yield the series over snapshots whose systems have no snapshots."""
    players = registry.players(figure) if figure.over == SNAPSHOT else {}
    for series, system in players.items():
        whole = all(name in registry.systems for name in registry.made_from(system))
        if whole and registry.snapshots_behind(system) is None:
            behind = ", ".join(registry.trained_behind(system)) or "no model"
            have = "dense systems and fusions have some whose trainings keep them"
            text = f"'{system}' has no snapshots (behind it: {behind}); {have} (training.snapshots)"
            yield f"series.{series}.system", text
