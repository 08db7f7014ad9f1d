"""Term gates: a BERT that reads a text and predicts which terms its queries have.

Usage: `TermGater.load(folder, device).logits(tokens)`. A gate is SparTerm's first phase of training
(Bai et al. 2020). It learns from pairs, and stays fixed while term weights are learned.
AutoModelForMaskedLM loads a checkpoint too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from residuum.config.schema.base import Positive, Strict
from residuum.config.schema.encoder import TextKind
from residuum.config.schema.models import TermGate
from residuum.neural import devices, layers, padding, pretrained
from residuum.neural.batches import training_pairs
from residuum.neural.learners import BatchLoss, HeldOut, Learner, Outputs, Start, Values
from residuum.neural.losses import gating
from residuum.neural.tokens import Texts, TokenStore, special_ids, tokenise

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase


class Gating(Strict):
    """Settings of a checkpoint: tokens read of a doc."""

    length: Positive


class TermGater(pretrained.TextModel):
    """A masked-language model whose best score of a term over all tokens is the term's logit.

    We do not know how SparTerm makes one probability of the scores at all tokens. A sum of ReLUs,
    as for its weights, would leave no probability below a half.
    """

    schema, remedy = Gating, "length"
    settings: Gating

    def __init__(self, source: pretrained.Source, settings: Gating, device: devices.Device) -> None:
        from transformers import AutoModelForMaskedLM

        self.hold(*pretrained.load(AutoModelForMaskedLM, source), settings, device)
        self.term_head = layers.take_head(self.model, source.name)
        pretrained.check_length(self.model, "length", settings.length)
        terms = int(self.model.get_input_embeddings().num_embeddings)
        self.is_term = ordinary(self.tokenizer, terms)

    def tokenise(self, texts: Iterable[str], kind: TextKind) -> Iterator[np.ndarray]:
        """Yield each text's token ids, [CLS] text [SEP]; only docs are cut to the length."""
        return tokenise(self.tokenizer, texts, self.settings.length if kind == "doc" else None)

    def logits(self, rows: Sequence[np.ndarray]) -> Tensor:
        """Return the logit of each term for tokenised texts: float32 (texts, vocabulary).

        The logits have a gradient, unless the gate is fixed.
        """
        from torch import stack
        from torch.nn.functional import linear

        given, mask = self.inputs.arguments(rows)
        with self.computing():
            states = self.model(**given).logits
            weight, bias = self.term_head.weight, self.term_head.bias
            if states.requires_grad:
                scores = linear(states, weight, bias).float()
                beyond = mask[..., None] == 0
                best: Tensor = scores.masked_fill(beyond, float("-inf")).max(dim=1).values
            else:  # text by text: a text's scores stay in a CPU's caches and take little memory
                texts = zip(states, map(len, rows), strict=True)
                bests = [linear(some[:length], weight, bias).amax(dim=0) for some, length in texts]
                best = stack(bests).float()
        return best


def ordinary(tokenizer: PreTrainedTokenizerBase, terms: int) -> np.ndarray:
    """Return which ids are terms: boolean (terms,), false for special tokens and unused ids."""
    known = np.arange(terms) < len(tokenizer)
    known[special_ids(tokenizer)] = False
    return known


class GateBatch(NamedTuple):
    """Docs and the terms of one query for each, as token ids."""

    docs: list[np.ndarray]
    queries: list[np.ndarray]


class GateLearner(Learner[GateBatch]):
    """A gate in training on pairs; its outputs are the logits of all terms."""

    spec: TermGate
    encoder: TermGater

    def __init__(self, spec: TermGate, start: Start, tuples: Path, texts: Texts) -> None:
        self.encoder = TermGater(start.source, Gating(length=spec.length), start.device)
        self.pairs = training_pairs(tuples, start.held_out)
        queries, docs = {p.query_id for p in self.pairs}, {p.positive for p in self.pairs}
        as_query, as_doc = (partial(self.encoder.tokenise, kind=kind) for kind in ("query", "doc"))
        self.queries = TokenStore(texts.read("query", queries), as_query)
        self.docs = TokenStore(texts.read("doc", docs), as_doc)
        super().__init__(self.encoder.model, spec, start, len(self.pairs))

    def batch(self, step: int) -> GateBatch:
        pairs = [self.pairs[visit.number] for visit in self.sampler.visits(step)]
        docs, queries = [p.positive for p in pairs], [p.query_id for p in pairs]
        return GateBatch(self.docs.tokens(docs), self.queries.tokens(queries))

    def forward(self, batch: GateBatch) -> Outputs:
        """Return the logits (rows, vocabulary) of a batch's docs."""
        return [padding.by_length(batch.docs, self.encoder.logits, self.model)]

    def losses(self, batch: GateBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return the loss of each pair, and the probabilities of present and absent terms."""
        terms, device = self.encoder.is_term, self.encoder.device.name
        asked = targets(batch.queries, terms)
        logits = outputs[0][:, devices.put(np.flatnonzero(terms), device)]
        present = devices.put(asked, device)
        losses = gating(logits, present, self.spec.absent, self.spec.present)
        chances = logits.detach().sigmoid().flatten()
        logged = {"present": np.flatnonzero(asked), "absent": np.flatnonzero(~asked)}
        each = {name: chances[devices.put(terms, device)] for name, terms in logged.items()}
        return BatchLoss(losses, each)

    @classmethod
    def on_held_out(cls, spec: TermGate, start: Start, trained: Path, held: HeldOut) -> Values:
        """Return each relevant doc's mean squared error, for the gate and the best constant.

        The constant is the best constant probability. A doc's terms are the terms of all queries
        that the doc is relevant to.
        """
        import torch

        gate = TermGater.load(trained, start.device)
        queries_of: defaultdict[str, list[str]] = defaultdict(list)
        for query, doc in held.relevant:
            queries_of[doc].append(held.queries[query])
        texts = list(gate.tokenise([held.docs[doc] for doc in queries_of], "doc"))
        asked = [
            np.concatenate([*gate.tokenise(queries, "query")]) for queries in queries_of.values()
        ]
        shares = [targets([row], gate.is_term).mean() for row in asked]
        constant, errors = float(np.mean(shares)), []
        gate.model.eval()
        with torch.inference_mode():
            for doc, row in zip(texts, asked, strict=True):
                chance = gate.logits([doc]).sigmoid().cpu().numpy()[:, gate.is_term]
                wanted = targets([row], gate.is_term)
                errors.append(np.mean((chance - wanted) ** 2))
        equal = [share * (1 - constant) ** 2 + (1 - share) * constant**2 for share in shares]
        values = {"mean target": np.array(equal), "trained": np.array(errors, dtype=np.float64)}
        return Values({"doc_id": list(queries_of)}, values)


def targets(queries: Sequence[np.ndarray], is_term: np.ndarray) -> np.ndarray:
    """Return which terms queries have, given the queries' token ids: boolean (queries, terms)."""
    present = np.zeros((len(queries), len(is_term)), dtype=bool)
    for row, tokens in zip(present, queries, strict=True):
        row[tokens] = True
    return present[:, is_term]
