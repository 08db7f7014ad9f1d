"""Ids that are made of parts: of runs, indexes and rerankers; written and parsed here alone.

Usage: `str(RunId("clear", 1))` is `clear.seed1`, `RunId.parse("clear.seed1").system` is `clear`.
Must not know the registry or any path.
"""

from typing import NamedTuple

SEED = r"\.seed\d+"


class RunId(NamedTuple):
    """A system and the seed of the model behind it, None where none is trained once per seed."""

    system: str
    seed: int | None = None

    def __str__(self) -> str:
        return self.system if self.seed is None else f"{self.system}.seed{self.seed}"

    @classmethod
    def parse(cls, text: str) -> "RunId":
        """Read `clear.seed1` or `bm25`; raises ValueError if the seed is no integer."""
        system, found, seed = text.rpartition(".seed")
        return cls(system, int(seed)) if found else cls(text)


class FixedId(NamedTuple):
    """A name and, where it is not enough, what fixes the thing behind an @.

    An index has the id of its form, and the run id of term weights: en-porter-lucene@deepct.seed1.
    A model that belongs to a collection has the split that it is trained on: clear@nfcorpus.train.
    A reranker has that of its role, or a model with a seed or a hash: reranker-base@seed3.
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
