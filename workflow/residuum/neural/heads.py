"""Heads: how the vectors of a text's tokens become one vector or several for search.

Usage: `vectors = head.pool(hidden, mask, "doc")`, with a head as in `encoder.pooling` of a model. A
new head is a class here and a line in HEADS.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from residuum.code.tables import OpenTable
from residuum.config.schema.base import Id, Positive, Ref, Strict
from residuum.config.schema.encoder import Pooling, TextKind

if TYPE_CHECKING:
    from torch import Tensor


class Head(Pooling):
    """A pooling that computes, to one vector a text unless a subclass says otherwise."""

    @abstractmethod
    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        """Return (texts, most, dimensions) of token vectors (texts, tokens, dimensions).

        `mask` (texts, tokens) marks tokens with 1. A text of fewer tokens than `most` fills as many
        rows as it has tokens; the other rows mean nothing.
        """


class Mean(Head):
    """The average over all tokens (CLEAR Eq. 2-3)."""

    kind: Literal["mean"]

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return mean(hidden, mask)[:, None]


def mean(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (texts, dimensions) over the tokens that the mask marks with 1."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


class Cls(Head):
    """The first token: the marker, or [CLS] if `keep_cls` is true."""

    kind: Literal["cls"]

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return hidden[:, :1]


class First(Head):
    """The first `vectors` tokens of a doc, and a query's first token (Luan et al. 2021, 3)."""

    kind: Literal["first"]
    vectors: Positive

    def most(self, kind: TextKind) -> int:
        return self.vectors if kind == "doc" else 1

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        from torch.nn.functional import pad

        tokens = hidden[:, : self.most(kind)]
        return pad(tokens, (0, 0, 0, self.most(kind) - tokens.shape[1]))


class Gate(Strict):
    """A gate, trained separately, that opens terms for a text beside the text's own terms."""

    model: Annotated[Id, Ref("model", kinds=("term-gate",), use="gate")]
    threshold: float = Field(0.7, gt=0, lt=1, description="least probability that opens a term")


class Terms(Head):
    """A weight for each term of the vocabulary (SparTerm, Bai et al. 2020).

    The masked-language head scores term j at token i as w_ij. A text's weight of j is sum_i
    ReLU(w_ij), as Formal et al. 2021 (SPLADE), Eq. 1-2, print it. Without a gate a text has its own
    terms alone.
    """

    kind: Literal["terms"]
    gate: Gate | None = None
    sparse: ClassVar[bool] = True

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return (hidden.relu() * mask.unsqueeze(-1)).sum(dim=1, keepdim=True)


HEADS: OpenTable[type[Head]] = OpenTable(
    {
        "mean": "residuum.neural.heads:Mean",
        "cls": "residuum.neural.heads:Cls",
        "first": "residuum.neural.heads:First",
        "terms": "residuum.neural.heads:Terms",
    },
    "pooling",
)
