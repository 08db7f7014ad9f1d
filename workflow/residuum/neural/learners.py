"""Learners: what each kind of trained model does in a step; the table of kinds.

Usage: `learner = KINDS[spec.kind](spec, Start(...), tuples, texts)`. A new kind is a subclass of
`Learner` beside its model, and a line in KINDS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import Contrastive
from residuum.config.schema.reading import Windows
from residuum.config.specs import derive
from residuum.neural import devices
from residuum.neural.batches import B, Batch, EpochSampler, Fold, Sampler, draw_batch, usable
from residuum.neural.best import BestPassages, Passages
from residuum.neural.devices import Device
from residuum.neural.fixed import FixedVectors
from residuum.neural.losses import LOSSES, Candidates, Hinge, weighted
from residuum.neural.mixes import Tuples, pairs_of, positives_of, sampler_of
from residuum.neural.optimisers import Moment
from residuum.neural.pretrained import GATE, Source, TextModel
from residuum.neural.tokens import Cut, Readable, TokenStore, masked

if TYPE_CHECKING:
    from torch import Tensor

Outputs = Sequence["Tensor"]


class Start(NamedTuple):
    """What a training begins with: source of the weights (with dropout), device, seed.

    `fixed` are vectors for losses that need them. `held_out` is the fold that training leaves out.
    `corpora` are folders whose texts it reads beside its pairs. With
    `passages`, it reads a passage of each doc.
    """

    source: Source
    device: Device
    seed: int
    fixed: FixedVectors | None = None
    held_out: Fold | None = None
    corpora: tuple[Path, ...] = ()
    passages: Passages | None = None


class BatchLoss(NamedTuple):
    """Losses (examples,) of some rows, and values whose means the log shows by column."""

    losses: Tensor
    logged: dict[str, Tensor]


class HeldOut(NamedTuple):
    """Data for a check on held-out queries: texts by id, candidates, and relevant pairs.

    With `windows`, docs are read in passages, which are cut from their `records`.
    """

    queries: Mapping[str, str]
    docs: Mapping[str, str]
    candidates: list[tuple[str, str]]
    relevant: list[tuple[str, str]]
    batch_size: int
    windows: Windows | None = None
    records: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class Values(NamedTuple):
    """Ids, and values by two models, by the models' names: columns of equal length."""

    ids: dict[str, list[str]]
    values: dict[str, np.ndarray]


class Learner(ABC, Generic[B]):
    """A torch module in training, in place, and the examples that it learns from.

    The loss of a row depends on the row alone, unless the learner is `joint`: then it depends on
    the outputs of the whole batch. A batch is a named tuple of columns, lists with one item per
    row.
    """

    joint = False
    sampler: Sampler
    encoder: TextModel  # its `model` is trained, unless `save` is overridden

    def __init__(self, model: Any, spec: Any, start: Start, count: int) -> None:
        self.model, self.spec, self.start = model, spec, start
        how = spec.training
        self.sampler = sampler = EpochSampler(count, how.batch_size, start.seed)
        self.steps = how.length or sampler.steps(how.epochs or 1)
        if not getattr(spec, "trained", True):
            self.steps = 0

    def moment(self, step: int) -> Moment:
        """Return where a step, counted from 0, stands in the training."""
        epoch = step * self.spec.training.batch_size // self.sampler.examples
        return Moment(step, self.steps, epoch)

    @abstractmethod
    def batch(self, step: int) -> B:
        """Return the batch of a step, counted from 0."""

    def examples(self, batch: B) -> int:
        """Return the number of losses of a batch: one for each row."""
        return len(batch[0])

    def part(self, batch: B, rows: slice) -> B:
        """Return the rows of a batch that a slice selects."""
        return batch._make(column[rows] for column in batch)

    @abstractmethod
    def forward(self, batch: B) -> Outputs:
        """Return the model's outputs for rows of a batch, with gradient; if joint, one per row."""

    @abstractmethod
    def losses(self, batch: B, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the losses of some rows of a batch, given the outputs of the whole batch."""

    def save(self, folder: Path) -> None:
        """Write the finished checkpoint into a folder."""
        self.encoder.save(folder)

    def indifferent(self, batch: B) -> Outputs | None:
        """Return the outputs of a model that scores all docs equally, or None for other losses."""
        return None

    def seen(self, batch: B, outputs: Outputs) -> dict[str, Tensor]:
        """Return columns of values that the pre-flight reports beside the losses of a batch."""
        return {}


class Kind(Protocol):
    """A class of learners on pairs: the type of an entry of KINDS."""

    def __call__(
        self, spec: Any, start: Start, tuples: Tuples, texts: Readable
    ) -> Learner[Any]: ...

    def on_held_out(self, spec: Any, start: Start, trained: Path, held: HeldOut) -> Values:
        """Return what a trained checkpoint and the model it must beat give for held-out texts.

        With the ids query_id and doc_id the values are scores of candidates; without query_id,
        errors of docs.
        """


KINDS: OpenTable[Kind] = OpenTable(
    {
        "dual-encoder": "residuum.neural.duals:DualLearner",
        "term-weights": "residuum.neural.termweighter:TermLearner",
        "cross-encoder": "residuum.neural.crossencoder:CrossLearner",
        "term-gate": "residuum.neural.termgate:GateLearner",
        "question-generator": "residuum.neural.questions:QuestionLearner",
    },
    "kind of trained model",
)


class OnTexts(Protocol):
    """A class of learners on the texts of corpora: the type of an entry of ADAPTED."""

    def __call__(self, spec: Any, start: Start, texts: Iterable[str]) -> Learner[Any]: ...


ADAPTED: OpenTable[OnTexts] = OpenTable(
    {
        "masked-language": "residuum.neural.masking:MaskedLearner",
        "next-text": "residuum.neural.nexttext:NextLearner",
        "inverse-cloze": "residuum.neural.cloze:ClozeLearner",
    },
    "kind of adapted backbone",
)


class ScorePairs(Protocol):
    """The scores of docs by a model that knows the queries."""

    def __call__(
        self, docs: Sequence[Sequence[np.ndarray]], query: np.ndarray, doc: np.ndarray
    ) -> np.ndarray:
        """Return the score of query `query[i]` and doc `doc[i]` (numbers): floats (pairs,).

        A doc is the token ids of its passages, one or more. With several, a pair has the score of
        the whole doc.
        """


class Ranker(TextModel):
    """A model that scores docs for queries."""

    @abstractmethod
    def cut(self, windows: Windows | None) -> Cut:
        """Return the function that cuts a doc's record into texts: its text, or its passages."""

    @abstractmethod
    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids, cut to the length of queries or docs."""

    @abstractmethod
    def relevance(
        self,
        queries: Mapping[str, str],
        docs: Mapping[str, str],
        pairs: Sequence[tuple[str, str]],
        batch_size: int,
    ) -> np.ndarray:
        """Return float32 scores (pairs,) of pairs (query_id, doc_id), given the texts by id."""


class ContrastiveLearner(Learner[Batch]):
    """A model whose losses compare the scores of a query's docs. Texts are tokenised once."""

    encoder: Ranker

    def __init__(self, spec: Contrastive, start: Start, tuples: Tuples, texts: Readable) -> None:
        self.encoder = encoder = self.begin(spec, start)
        every = pairs_of(tuples, start.held_out)
        self.pairs = usable(every, spec.drawn)
        super().__init__(encoder.model, spec, start, len(self.pairs))
        self.sampler = sampler_of(spec, self.pairs, start.seed)
        self.drawn = spec.drawn
        self.positives = positives_of(every, texts if spec.mixed else None)
        self.objectives = [LOSSES[loss.kind].model_validate(loss) for loss in spec.objectives]
        queries, docs = self._read()
        as_query, as_doc = (partial(encoder.tokenise, kind=kind) for kind in ("query", "doc"))
        self.queries = TokenStore(texts.read("query", queries), as_query)
        self.best: BestPassages | None = None
        if start.passages:
            cut, records = encoder.cut(start.passages.windows), texts.docs(docs)
            cut_docs = ((doc_id, cut(record)) for doc_id, record in records)
            known = {query_id: self.positives[query_id] for query_id in queries}
            special = encoder.tokenizer.all_special_ids
            self.best = BestPassages(cut_docs, as_doc, start.passages, known, special)
        self.docs = TokenStore(() if self.best else texts.read("doc", docs), as_doc)
        if spec.perturbation and encoder.tokenizer.mask_token_id is None:
            raise ResiduumError(
                f"{start.source.name}: its tokenizer has no mask token. Leave out perturbation"
            )

    def _read(self) -> tuple[set[str], set[str]]:
        """Return the query ids and doc ids that training reads: of all or of the visited pairs."""
        if 0 < self.steps * self.spec.training.batch_size < len(self.pairs):
            visits = (visit for step in range(self.steps) for visit in self.sampler.visits(step))
            read = draw_batch(self.pairs, self.drawn, visits)
            return {*read.query_ids}, {*read.docs}
        docs = {doc for pair in self.pairs for doc in (pair.positive, *pair.negatives)}
        return {pair.query_id for pair in self.pairs}, docs

    def batch(self, step: int) -> Batch:
        return draw_batch(self.pairs, self.drawn, self.sampler.visits(step))

    def tokens_of(self, batch: Batch, rows: Sequence[int], docs: Sequence[str]) -> list[np.ndarray]:
        """Return the tokens of docs; with `perturbation`, mask matches with each row's query.

        With `passages`, they are those of the passage that the row's query reads.
        """
        tokens, how = self.read(batch, rows, docs), self.spec.perturbation
        if how is None:
            return tokens
        special, mask = self.encoder.tokenizer.all_special_ids, self.encoder.tokenizer.mask_token_id
        queries = self.queries.tokens(batch.query_ids)
        randoms = (
            np.random.default_rng(derive(batch.draws[row], "perturbation", doc))
            for row, doc in zip(rows, docs, strict=True)
        )
        return [
            masked(queries[row], doc, special, mask, how.share, random)
            for row, doc, random in zip(rows, tokens, randoms, strict=True)
        ]

    def read(self, batch: Batch, rows: Sequence[int], docs: Sequence[str]) -> list[np.ndarray]:
        """Return the tokens of docs, or of the passages that the queries of these rows read."""
        if self.best is None:
            return self.docs.tokens(docs)
        query_ids = [batch.query_ids[row] for row in rows]
        queries = self.queries.tokens(query_ids)
        return list(map(self.best.of, query_ids, queries, docs))

    @classmethod
    @abstractmethod
    def begin(cls, spec: Any, start: Start) -> Ranker:
        """Return the model at the beginning of a training."""

    @classmethod
    def on_held_out(cls, spec: Any, start: Start, trained: Path, held: HeldOut) -> Values:
        return cls.scored(spec, start, {"trained": trained}, held)

    @classmethod
    def scored(cls, spec: Any, start: Start, kept: Mapping[str, Path], held: HeldOut) -> Values:
        """Return the scores of candidates by the start, and by each kept model, by its name."""
        gate = next(iter(kept.values())) / GATE  # the same gate for all models
        begun = cls.begin(spec, start._replace(source=start.source._replace(gate=gate))).freeze()
        scores = {"start": relevance_of(begun, held)}
        for name, folder in kept.items():
            scores[name] = relevance_of(begun.load(folder, start.device), held)
        query_ids, doc_ids = map(list, zip(*held.candidates, strict=True))
        return Values({"query_id": query_ids, "doc_id": doc_ids}, scores)

    @abstractmethod
    def candidates(self, batch: Batch, outputs: Outputs, rows: slice) -> Candidates:
        """Return the scores and ids that the losses of some rows of a batch need."""

    @abstractmethod
    def indifferent(self, batch: Batch) -> Outputs:
        """Return the outputs of a model whose scores are all equal."""

    def losses(self, batch: Batch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the weighted sum of the losses of each row."""
        seen = self.candidates(batch, outputs, rows)
        total, parts = weighted(self.objectives, seen)
        logged = dict(zip(("positive", "negative"), self.logged(seen, rows), strict=True))
        for objective in self.objectives:
            logged |= objective.watched(seen)
        return BatchLoss(total, logged | (parts if len(parts) > 1 else {}))

    def logged(self, seen: Candidates, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the scores of the positives and of the negatives."""
        return seen.scores[:, 0], seen.scores[:, 1:]

    def seen(self, batch: Batch, outputs: Outputs) -> dict[str, Tensor]:
        """Return s+ - s- and margins of sampled negatives, and whether each positive is best."""
        import torch

        seen = self.candidates(batch, outputs, slice(0, len(batch.query_ids)))
        positive = seen.positive[:, None]
        others = seen.scores.masked_fill(seen.ignore, float("-inf")).scatter(
            1, positive, float("-inf")
        )
        best = others.max(dim=1).values < seen.scores.gather(1, positive)[:, 0]
        columns = {"best": best.float()}
        if self.drawn:
            columns["gap"] = gap = seen.sampled[:, :1] - seen.sampled[:, 1:]
            for objective in self.objectives:
                if isinstance(objective, Hinge):
                    columns["margin"] = torch.zeros_like(gap) + objective.margins(seen.lexical)
        return columns


def relevance_of(model: Ranker, held: HeldOut) -> np.ndarray:
    """Return float32 scores (candidates,) of held-out candidates, by each doc's best passage."""
    if held.windows is None:
        return model.relevance(held.queries, held.docs, held.candidates, held.batch_size)
    cut = model.cut(held.windows)
    passages = {doc_id: cut(held.records[doc_id]) for doc_id in held.docs}
    numbered = ((doc, enumerate(texts)) for doc, texts in passages.items())
    texts = {f"{doc} {n}": text for doc, of_doc in numbered for n, text in of_doc}
    pairs = [(q, f"{doc} {n}") for q, doc in held.candidates for n in range(len(passages[doc]))]
    counts = [len(passages[doc]) for _, doc in held.candidates]
    scores = model.relevance(held.queries, texts, pairs, held.batch_size)
    return np.maximum.reduceat(scores, np.cumsum([0, *counts[:-1]]))


def of_own_docs(scores: Tensor, batch: Batch) -> Candidates:
    """Return candidates that are only each query's positive and its own negatives."""
    import torch

    lexical = devices.put(np.array(batch.lexical, dtype=np.float32), scores.device.type)
    positive = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    ignore = torch.zeros_like(scores, dtype=torch.bool)
    return Candidates(scores, lexical, scores, positive, ignore)
