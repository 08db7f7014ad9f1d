"""Specs as canonical JSON; ids of runs, indexes, models and rerankers; seeds.

Usage: `of_entry(registry.systems["bm25"])`; `str(RunId("clear", 1))` is `clear.seed1`.
"""

import hashlib
import json
from typing import NamedTuple

from pydantic import BaseModel

FOR_READERS = {"description", "label", "budgets", "seeds"}
ONE_SEED = r"\d+(@\d+)?"  # the seed of a finished model, or of a snapshot
SEED = rf"\.seed{ONE_SEED}"
SNAPSHOT = r"\.seed\d+@\d+"


def canonical_json(data: object) -> str:
    """Write canonical JSON: sorted keys, no white space, characters unescaped."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def of_entry(entry: BaseModel) -> str:
    """Write an entry as the `--spec` argument of a stage, without the keys in FOR_READERS."""
    return canonical_json(entry.model_dump(mode="json", exclude=FOR_READERS))


def derive(seed: int, *names: str) -> int:
    """Return a 32-bit seed for the purpose that `names` state, the same on every machine.

    It is a hash rather than an offset, so seed 2 of one purpose is never seed 1 of another.
    """
    text = "/".join([str(seed), *names])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


class Snapshot(NamedTuple):
    """A model kept during its training with a seed; snapshots count from 1: `1@2`."""

    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.seed}@{self.number}"


Seed = int | Snapshot


def seed_of(text: str) -> Seed:
    """Read `1` or `1@2`; raises ValueError for anything else."""
    seed, on_its_way, number = text.partition("@")
    return Snapshot(int(seed), int(number)) if on_its_way else int(seed)


def trained_with(seed: Seed) -> int:
    """Return the training seed of a finished model or of a snapshot."""
    return seed.seed if isinstance(seed, Snapshot) else seed


class RunId(NamedTuple):
    """A system and the seed of the model behind it; None without a model trained per seed."""

    system: str
    seed: Seed | None = None

    def __str__(self) -> str:
        return self.system if self.seed is None else f"{self.system}.seed{self.seed}"

    @classmethod
    def parse(cls, text: str) -> "RunId":
        """Read `clear.seed1`, `clear.seed1@2` or `bm25`; ValueError for a malformed seed."""
        system, seeded, seed = text.rpartition(".seed")
        return cls(system, seed_of(seed)) if seeded else cls(text)

    @property
    def finished(self) -> "RunId":
        """The run of the finished model, of this snapshot's training."""
        return self if self.seed is None else RunId(self.system, trained_with(self.seed))

    def kept(self, number: int) -> "RunId":
        """The run of a snapshot, by its number."""
        assert self.seed is not None, "a training is behind it"
        return RunId(self.system, Snapshot(trained_with(self.seed), number))


class OrderId(NamedTuple):
    """A run, and the system whose docs it orders instead of its own: `a.seed1.on.b`."""

    run: str
    over: str = ""

    def __str__(self) -> str:
        return f"{self.run}.on.{self.over}" if self.over else self.run

    @classmethod
    def parse(cls, text: str) -> "OrderId":
        """Read `me-bert.seed1.on.candidates`, or a run id."""
        run, _, over = text.partition(".on.")
        return cls(run, over)


class FixedId(NamedTuple):
    """A name, and after an @ what else identifies the thing, if the name is not enough.

    An index: the id of its form, and the run id of term weights: en-porter-lucene@deepct.seed1.
    A model of a collection: the split that it is trained on: clear@nfcorpus.train.
    A reranker: its role, or a model with a seed or a hash: reranker-base@seed3.
    """

    name: str
    by: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.by}" if self.by else self.name

    @classmethod
    def parse(cls, text: str) -> "FixedId":
        """Read `en-porter-lucene` or `reranker-base@seed3`."""
        name, _, by = text.partition("@")
        return cls(name, by)
