"""All of the wiring for one scale, a part per stage: what the rules are written with.

Usage: `WIRING = Wiring(config, workflow)`, then `input: unpack(WIRING.fusion.inputs)`. Must not
know rules.
"""

from collections.abc import Mapping
from pathlib import Path

from residuum.core import loading
from residuum.wiring import driver
from residuum.wiring.constraints import Constraints
from residuum.wiring.data import Data
from residuum.wiring.lexical import Lexical
from residuum.wiring.models import Negatives, Pretrain, Train
from residuum.wiring.pages import Cases, Characteristics, Figures, Ledger, Tables
from residuum.wiring.part import Part
from residuum.wiring.paths import Paths
from residuum.wiring.resources import Resources
from residuum.wiring.runs import Evaluate, External, Fusion, Rerank
from residuum.wiring.vectors import Dense, Encode


class Wiring:
    """The parts, the paths and the resources of the scale that config/ chooses."""

    def __init__(self, config: Mapping[str, object], workflow: driver.Workflow) -> None:
        """Load config/ with Snakemake's `config` over it; a ResiduumError lists all its faults."""
        self._workflow = workflow
        self.registry = registry = loading.load(Path("config"), config)
        self.paths = paths = Paths(f"results/{registry.config.scale}")
        self.hub = hub = driver.HubLookup(workflow, Path(paths.absent))
        self.constraints = Constraints(registry)
        self.resources = Resources(registry)
        self.runs = Part(registry, paths, hub)
        self.data = Data(registry, paths, hub)
        self.lexical = Lexical(registry, paths, hub)
        self.negatives = Negatives(registry, paths, hub)
        self.pretrain = Pretrain(registry, paths, hub)
        self.train = Train(registry, paths, hub)
        self.encode = Encode(registry, paths, hub)
        self.dense = Dense(registry, paths, hub)
        self.fusion = Fusion(registry, paths, hub)
        self.rerank = Rerank(registry, paths, hub)
        self.external = External(registry, paths, hub)
        self.evaluate = Evaluate(registry, paths, hub)
        self.tables = Tables(registry, paths, hub)
        self.characteristics = Characteristics(registry, paths, hub)
        self.figures = Figures(registry, paths, hub)
        self.cases = Cases(registry, paths, hub)
        self.ledger = Ledger(registry, paths, hub)

    def start(self) -> None:
        """Do what comes before the first job: lock the folder, say what is missing."""
        with driver.in_snakemakes_words():
            driver.hold_lock()
        driver.calm_scheduler(self._workflow)
        driver.tell_absent(self.registry, self.hub)

    def finished(self) -> str:
        """Return the pages to print at the end."""
        pages = [*self.ledger.all(None), self.paths.ledger.beside(".md")]
        return driver.show(driver.requested(pages, self._workflow))
