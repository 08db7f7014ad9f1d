"""Which cards of this machine the jobs of a run may take, and how many jobs share a card.

Usage: `placement = Placement(workflow, config)`, `placement.limit()` while rules are read, and
`placement.start()` before the first job. A job then takes a card (`residuum.neural.cards`).
"""

import os
import sys
from functools import cached_property

from residuum.cli.errors import ResiduumError
from residuum.config.schema.scales import Config
from residuum.neural import cards
from residuum.wiring.base import Workflow

RESOURCE = "gpu"  # rules request it, and `--resources gpu=2` limits it


class Placement:
    """The cards of this machine, as often as jobs share them; none if a cluster runs the jobs."""

    def __init__(self, workflow: Workflow, config: Config) -> None:
        self._workflow, self._config = workflow, config

    @cached_property
    def number(self) -> int:
        """The number of jobs that cards take at once; 0 on a cluster, whose nodes are unknown here.

        Snakemake does not name the executor while it reads rules. But it has a number of `jobs`
        (`nodes`) only for a cluster, and `remote_exec` is set inside a cluster's jobs.
        """
        elsewhere = self._workflow is None or self._workflow.nodes is not None
        return 0 if elsewhere or self._workflow.remote_exec else len(self._slots)

    @cached_property
    def _slots(self) -> tuple[str, ...]:
        """Each card's name as often as jobs may share it: first all cards once, then again."""
        return self._cards.names * self._config.jobs_per_card

    @cached_property
    def _cards(self) -> cards.Cards:
        if self._config.device not in ("auto", "cuda"):
            return cards.Cards()
        if self._workflow.deployment_settings.deployment_method:
            return cards.usable(None)  # the jobs' environment has its own torch
        made = cards.build()
        return cards.Cards() if made and made.hip else cards.usable(made)

    def limit(self) -> None:
        """Limit the jobs on cards to the slots of the machine, unless the user sets a limit."""
        if self.number and len(self._cards.names) >= self._config.gpus and self._limit is None:
            self._workflow.global_resources[RESOURCE] = self.number

    @property
    def _limit(self) -> int | None:
        limit: int | None = self._workflow.global_resources.get(RESOURCE).value
        return limit

    def start(self) -> None:
        """Check the device, the GPUs of a training and the limit, and name the cards to jobs.

        Raises ResiduumError if this machine lacks what is requested. Prints on standard error why
        `device: auto` uses no card although the machine has a card.
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
        os.environ[cards.NAMES] = ",".join(self._slots)

    def _check(self, names: tuple[str, ...]) -> None:
        have = f"this machine has {len(names)}: {', '.join(names)}"
        if self._config.gpus > len(names):
            raise ResiduumError(f"gpus: {self._config.gpus} train together, but {have}. Lower it.")
        if (self._limit or 0) > len(self._slots):
            raise ResiduumError(
                f"--resources gpu={self._limit}, but {have}. A card takes "
                f"{self._config.jobs_per_card} jobs at once: leave the option out, lower it, or "
                "set `jobs_per_card`."
            )
