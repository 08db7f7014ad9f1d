"""What a job takes, in one unit each: disk, cores, a card.

Usage: `Estimate(core_s=3.0)`; `residuum.wiring.estimates` makes them of jobs. Must not know jobs.
"""

from typing import NamedTuple

from residuum.wiring import assumptions as assumed
from residuum.wiring import sizes


class Estimate(NamedTuple):
    """Bytes below results/, seconds of one core, operations, steps and bytes of a card.

    `shards` is how many jobs alike this one stands for (`Bindings.numbered`).
    """

    disk: float = 0.0
    core_s: float = 0.0
    operations: float = 0.0
    steps: int = 0
    card: float = 0.0
    shards: int = 1


def of_run(lines: float, core_s: float) -> Estimate:
    """Return what a run of so many lines takes, made in some seconds."""
    return Estimate(disk=assumed.LINE_BYTES * lines, core_s=core_s)


def of_reading(shape: sizes.Shape, tokens: float, at_once: float) -> Estimate:
    """Estimate what reading `tokens` takes, of which a card holds `at_once` in one layer."""
    card = 4 * shape.parameters + assumed.ACTIVATIONS * shape.hidden * at_once
    return Estimate(operations=2.0 * shape.layer_parameters * tokens, card=card)
