"""Which cards the jobs of a run on this machine compute on, each on its own.

Usage: `Placement(workflow, config)`: its `number` are the cards to request, `limit` tells
Snakemake that there are no more, `start` what jobs are to know. On a cluster, whose scheduler hands
out cards, it does nothing. Must not know rules, nor what jobs compute.
"""

import os
import sys
from functools import cached_property
from typing import Any

from residuum.cli.errors import ResiduumError
from residuum.config.schema.scales import Config
from residuum.neural import cards

Workflow = Any  # Snakemake's, which has no types
RESOURCE = "gpu"  # what rules request, and `--resources gpu=2` limits


class Placement:
    """The cards of this machine, if its jobs run here and their device may be one."""

    def __init__(self, workflow: Workflow, config: Config) -> None:
        self._workflow, self._config = workflow, config

    @cached_property
    def number(self) -> int:
        """How many cards the jobs may request: of a cluster's node nothing is known here.

        What executor runs the jobs is not known yet while rules are read; but only with one that is
        not this machine does Snakemake have a number of `jobs`, as well as the jobs of such a one.
        """
        elsewhere = self._workflow is None or self._workflow.nodes is not None
        return 0 if elsewhere or self._workflow.remote_exec else len(self._cards.names)

    @cached_property
    def _cards(self) -> cards.Cards:
        if self._config.device not in ("auto", "cuda"):
            return cards.Cards()
        if self._workflow.deployment_settings.deployment_method:
            return cards.usable(None)  # of another torch than the one beside Snakemake
        made = cards.build()
        return cards.Cards() if made and made.hip else cards.usable(made)

    def limit(self) -> None:
        """Let Snakemake start no more jobs than there are cards, unless its user says how many."""
        if self.number >= self._config.gpus and self._limit is None:
            self._workflow.global_resources[RESOURCE] = self.number

    @property
    def _limit(self) -> int | None:
        limit: int | None = self._workflow.global_resources.get(RESOURCE).value
        return limit

    def start(self) -> None:
        """Check what is requested of cards, and name them to the jobs, which take one each.

        Raises ResiduumError for a device, for GPUs of a training and for a limit that this machine
        does not have. Says on standard error why `auto` takes no card, if there is one.
        """
        os.environ.pop(cards.NAMES, None)
        if not self._workflow.local_exec or self._config.device not in ("auto", "cuda"):
            return
        found = self._cards
        if found.names:
            self._check(found.names)
        elif self._config.device == "cuda" and found.why:
            text = "Set device: auto to compute on the CPU, or see docs/gpu.md"
            raise ResiduumError(f"device: cuda: {found.why}. {text}")
        elif found.seen:
            print(f"device auto: {found.why}. Computing on the CPU.", file=sys.stderr)
        os.environ[cards.NAMES] = ",".join(found.names)

    def _check(self, names: tuple[str, ...]) -> None:
        have = f"this machine has {len(names)}: {', '.join(names)}"
        if self._config.gpus > len(names):
            raise ResiduumError(f"gpus: {self._config.gpus} train together, but {have}. Lower it.")
        if (self._limit or 0) > len(names):
            raise ResiduumError(
                f"--resources gpu={self._limit}, but {have}. Each job takes a card for itself: "
                "leave the option out, or lower it."
            )
