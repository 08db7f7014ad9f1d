"""The pairs that a training visits, from one role or from a mix: visits, positives and texts.

Usage: `pairs = pairs_of({"real": Path(...), "made": Path(...)}, None)`, then `MixedSampler(pairs,
{"real": 8, "made": 2}, seed=1).visits(step)`. In a mix, a query's key is its role and its id, since
ids of two splits may be equal.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import contracts
from residuum.artefacts.contracts import Tuple
from residuum.cli.errors import ResiduumError
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import Contrastive
from residuum.config.specs import derive
from residuum.neural.batches import (
    EpochSampler,
    Fold,
    QuerySampler,
    Sampler,
    Visit,
    in_fixed_order,
    keyed,
    training_pairs,
)
from residuum.neural.tokens import Readable, Texts

Tuples = Path | Mapping[str, Path]  # a role's file, or a mix's files by role


def pairs_of(tuples: Tuples, held_out: Fold | None) -> list[Tuple]:
    """Return the pairs of files in a fixed order. In a mix, order by role and use query keys."""
    if isinstance(tuples, Path):
        return training_pairs(tuples, held_out)
    return [
        pair._replace(query_id=keyed(role, pair.query_id))
        for role, path in tuples.items()
        for pair in in_fixed_order(contracts.read_tuples(path))
    ]


class MixedSampler:
    """Visits pairs of several roles, with a fixed number of each role in every batch.

    Each role has epochs of its own; the role's name and the seed determine their order.
    """

    def __init__(self, pairs: Iterable[Tuple], in_batch: Mapping[str, int], seed: int) -> None:
        self.in_batch = in_batch
        self.counts = Counter(pair.query_id.partition("/")[0] for pair in pairs)
        self.examples = self.counts.total()
        if empty := [role for role in in_batch if not self.counts[role]]:
            raise ResiduumError(
                f"train_on: {empty[0]} has no training pair: its tuples are empty. Check the "
                "split's qrels, or leave the role out"
            )
        self._samplers = {
            role: EpochSampler(self.counts[role], size, derive(seed, "mix", role))
            for role, size in in_batch.items()
        }

    def visits(self, step: int) -> list[Visit]:
        """Return the visits of a step, counted from 0, by the numbers of all pairs."""
        visits: list[Visit] = []
        first = 0
        for sampler in self._samplers.values():
            of_role = sampler.visits(step)
            visits += [visit._replace(number=first + visit.number) for visit in of_role]
            first += sampler.count
        return visits

    def facts(self) -> dict[str, object]:
        """Return what a manifest records: the number of pairs in all, by role and in a batch."""
        roles = {
            role: {"pairs": self.counts[role], "in_batch": size}
            for role, size in self.in_batch.items()
        }
        return {"pairs": self.examples, "mix": roles}


def sampler_of(spec: Contrastive, pairs: Sequence[Tuple], seed: int) -> Sampler:
    """Return the sampler that decides which pairs a step visits."""
    size = spec.training.batch_size
    if spec.mixed:
        return MixedSampler(pairs, spec.in_batch, seed)
    if spec.training.visits == "queries":
        return QuerySampler(pairs, size, seed)
    return EpochSampler(len(pairs), size, seed)


class MixedTexts(NamedTuple):
    """The texts of a mix by role; all roles share one corpus."""

    by_role: Mapping[str, Texts]

    def read(self, kind: TextKind, ids: set[str]) -> Iterator[tuple[str, str]]:
        """Stream (id, text) of queries, by their keys, or of docs. Errors are those of `Texts`."""
        if kind == "doc":
            yield from self._docs().read(kind, ids)
            return
        ids_by_role: defaultdict[str, set[str]] = defaultdict(set)
        for key in ids:
            role, _, query_id = key.partition("/")
            ids_by_role[role].add(query_id)
        for role, query_ids in ids_by_role.items():
            for query_id, text in self.by_role[role].read(kind, query_ids):
                yield keyed(role, query_id), text

    def docs(self, ids: set[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Stream (id, record with all its fields) of docs by id. Errors are those of `Texts`."""
        return self._docs().docs(ids)

    def _docs(self) -> Texts:
        """Return the texts of docs, with the tuples of all roles named in errors."""
        first, *_ = every = [*self.by_role.values()]
        return first._replace(namer=" or ".join(texts.namer for texts in every))


def positives_of(pairs: Iterable[Tuple], mixed: Readable | None) -> dict[str, set[str]]:
    """Return the positives of each query. In a mix, queries of equal text share their positives.

    A question may occur twice. A doc that answers one occurrence is no negative of the other.
    """
    positives: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        positives[pair.query_id].add(pair.positive)
    if mixed is None:
        return positives
    shared: defaultdict[str, set[str]] = defaultdict(set)
    texts = dict(mixed.read("query", {*positives}))
    for key, text in texts.items():
        shared[text] |= positives[key]
    return {key: shared[text] for key, text in texts.items()}
