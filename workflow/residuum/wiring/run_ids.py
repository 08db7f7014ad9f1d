"""Ids that are made of parts: of runs, indexes and rerankers; written and parsed here alone.

Usage: `str(RunId("clear", 1))` is `clear.seed1`, `RunId.parse("clear.seed1").system` is `clear`.
Must not know the registry or any path.
"""

from typing import NamedTuple


class RunId(NamedTuple):
    """A system and the seed of the model behind it, None where none is trained once per seed."""

    system: str
    seed: int | None = None

    def __str__(self) -> str:
        return self.system if self.seed is None else f"{self.system}.seed{self.seed}"

    @classmethod
    def parse(cls, text: str) -> "RunId":
        """Read `clear.seed1` or `bm25`; raises ValueError if the seed is no integer."""
        system, _, seed = text.partition(".seed")
        return cls(system, int(seed) if seed else None)

    @staticmethod
    def pattern(system: str, seeded: bool) -> str:
        """Return the regular expression of a system's run ids."""
        return system + (r"\.seed\d+" if seeded else "")


class IndexId(NamedTuple):
    """A Lucene index of a corpus: its form, and whose predicted term weights it holds, if any."""

    form: str
    weights: RunId | None = None

    def __str__(self) -> str:
        return f"{self.form}@{self.weights}" if self.weights else self.form

    @classmethod
    def parse(cls, text: str) -> "IndexId":
        """Read `en-porter-lucene` or `en-porter-lucene@deepct.seed1`."""
        form, _, weights = text.partition("@")
        return cls(form, RunId.parse(weights) if weights else None)


class RerankerId(NamedTuple):
    """A reranker: a role that the scale casts, or a model with what fixes it, a seed or a hash."""

    name: str
    fixed_by: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.fixed_by}" if self.fixed_by else self.name

    @property
    def is_role(self) -> bool:
        """Say whether the scale decides what the reranker is."""
        return not self.fixed_by

    @classmethod
    def parse(cls, text: str) -> "RerankerId":
        """Read `bert-base-reranker`, `reranker-base@seed3` or `org_name@1a2b3c4d`."""
        name, _, fixed_by = text.partition("@")
        return cls(name, fixed_by)

    @classmethod
    def of_model(cls, model: str, seed: int) -> "RerankerId":
        """Return the id of a model that the graph trains with a seed."""
        return cls(model, f"seed{seed}")

    @classmethod
    def of_hub(cls, model: str, digest: str) -> "RerankerId":
        """Return the id of a hub model, read as the entry with this SHA-256 says."""
        return cls(model.replace("/", "_"), digest[:8])
