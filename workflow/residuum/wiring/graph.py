"""All of the wiring for one scale, in parts: what the rules are written with.

Usage: `WIRING = Wiring(config, workflow)`, then `input: unpack(WIRING.runs.fused)`. Must not
know rules.
"""

from collections.abc import Mapping
from pathlib import Path

from residuum.config import loading
from residuum.wiring import driver
from residuum.wiring.constraints import Constraints
from residuum.wiring.data import Data
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models
from residuum.wiring.pages import Pages
from residuum.wiring.paths import Paths, results_of
from residuum.wiring.resources import Resources
from residuum.wiring.runs import Runs
from residuum.wiring.searching import Searching


class Wiring:
    """The parts, the paths and the resources of the scale that config/ chooses."""

    def __init__(self, config: Mapping[str, object], workflow: driver.Workflow) -> None:
        """Load config/ with Snakemake's `config` over it; a ResiduumError lists all its faults."""
        self._workflow = workflow
        self.registry = registry = loading.load(Path("config"), config)
        self.paths = paths = Paths(results_of(registry.config.scale))
        self.hub = hub = driver.HubLookup(workflow, Path(paths.absent))
        self.constraints = Constraints(registry)
        self.resources, self.estimates = Resources(registry), Estimates(registry)
        self.data = Data(registry, paths, hub)
        self.models = Models(registry, paths, hub)
        self.searching = Searching(registry, paths, hub)
        self.runs = Runs(registry, paths, hub)
        self.pages = Pages(registry, paths, hub)

    def start(self) -> None:
        """Do what comes before the first job: lock the folder, preload, say what is missing."""
        with driver.in_snakemakes_words():
            driver.hold_lock()
        driver.calm_scheduler(self._workflow)
        driver.preload(self._workflow, self.registry.config)
        driver.tell_absent(self.registry, self.hub)

    def finished(self) -> str:
        """Return the pages to print at the end."""
        pages = [*self.pages.all(None), self.paths.ledger.beside(".md")]
        return driver.show(pages, self._workflow)
