"""Heads: how the vectors of a text's tokens become one vector or several for search.

Usage: `vectors = head.pool(hidden, mask, "doc")`, with a head as in `encoder.pooling` of a model. A
new head is a class here and a line in HEADS.
"""

from __future__ import annotations

from abc import abstractmethod
from string import punctuation
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from residuum.code.tables import OpenTable
from residuum.config.schema.base import Id, Positive, Ref, Strict
from residuum.config.schema.encoder import Pooling, TextKind

if TYPE_CHECKING:
    from torch import Tensor


# sentence-transformers' name of a pooling: the key by which its versions before 6 name it.
FLAGS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


class Head(Pooling):
    """A pooling that computes, to one vector a text unless a subclass says otherwise.

    `mode` is the name that sentence-transformers gives this pooling; "" if it has none.
    """

    mode: ClassVar[str] = ""

    @abstractmethod
    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        """Return (texts, most, dimensions) of token vectors (texts, tokens, dimensions).

        `mask` (texts, tokens) marks tokens with 1. A text of fewer tokens than `most` fills as many
        rows as it has tokens; the other rows mean nothing.
        """


class Mean(Head):
    """The average over all tokens (CLEAR Eq. 2-3)."""

    kind: Literal["mean"]
    mode: ClassVar[str] = "mean"

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return mean(hidden, mask)[:, None]


def mean(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (texts, dimensions) over the tokens that the mask marks with 1."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


class Cls(Head):
    """The first token: the marker, or [CLS] if `keep_cls` is true."""

    kind: Literal["cls"]
    mode: ClassVar[str] = "cls"

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return hidden[:, :1]


class Max(Head):
    """The largest value of each dimension over all tokens."""

    kind: Literal["max"]
    mode: ClassVar[str] = "max"

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return hidden.masked_fill(mask[:, :, None] == 0, float("-inf")).amax(1, keepdim=True)


class RootMean(Head):
    """The sum over all tokens, divided by the square root of their number."""

    kind: Literal["mean-sqrt"]
    mode: ClassVar[str] = "mean_sqrt_len_tokens"

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return (mean(hidden, mask) * mask.sum(1, keepdim=True).sqrt())[:, None]


class WeightedMean(Head):
    """The average over all tokens, where the token at place i, from 1, weighs i (SGPT)."""

    kind: Literal["weighted-mean"]
    mode: ClassVar[str] = "weightedmean"

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return mean(hidden, mask * mask.cumsum(1))[:, None]


class Last(Head):
    """The last token, special ones included."""

    kind: Literal["last"]
    mode: ClassVar[str] = "lasttoken"

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        ends = (mask.cumsum(1) * mask).argmax(1)
        return hidden.take_along_dim(ends[:, None, None], dim=1)


class First(Head):
    """The first `vectors` tokens of a doc, and a query's first token (Luan et al. 2021, 3)."""

    kind: Literal["first"]
    vectors: Positive

    def most(self, kind: TextKind, length: int) -> int:
        return self.vectors if kind == "doc" else 1

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        from torch.nn.functional import pad

        most = self.most(kind, hidden.shape[1])
        tokens = hidden[:, :most]
        return pad(tokens, (0, 0, 0, most - tokens.shape[1]))


class Tokens(Head):
    """A vector for each token, of queries too: late interaction (ColBERT).

    A query's score of a doc is the sum, over the query's vectors, of the largest inner product with
    a vector of the doc (Khattab and Zaharia 2020, Eq. 3). [MASK] tokens lengthen a query: they
    have vectors, and stand for words that the query might have (section 3.2).
    """

    kind: Literal["tokens"]
    expanded: Positive | None = Field(
        None, description="tokens to which [MASK] lengthens a query; absent: it does not"
    )
    attended: bool = Field(False, description="true: other tokens attend to those [MASK]")
    skipped: Literal["punctuation"] | list[str] = Field(
        default=[], description="tokens of a doc that get no vector"
    )
    late: ClassVar[bool] = True
    trained: ClassVar[bool] = False

    def most(self, kind: TextKind, length: int) -> int:
        return length

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        return hidden

    @property
    def words(self) -> list[str]:
        """The tokens of a doc that get no vector."""
        return [*punctuation] if self.skipped == "punctuation" else [*self.skipped]


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


class Splade(Head):
    """A weight for each term of the vocabulary, also of terms that a text lacks (SPLADE).

    The masked-language head scores term j at token i as w_ij. A text's weight of j is the largest
    log(1 + ReLU(w_ij)) over its tokens (Formal et al. 2021, SPLADE v2, Eq. 6), or their sum
    (SPLADE, Eq. 1).
    """

    kind: Literal["splade"]
    over: Literal["max", "sum"] = Field("max", description="tokens are joined by max or sum")
    saturated: Literal[1, 2] = Field(
        1, exclude_if=lambda times: times == 1, description="how often log(1 + x) is taken"
    )
    sparse: ClassVar[bool] = True

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        """Return weights (texts, 1, terms), given scores of terms (texts, tokens, terms)."""
        scores = hidden.relu() * mask.unsqueeze(-1)
        scores = scores.amax(1, keepdim=True) if self.over == "max" else scores
        for _ in range(self.saturated):
            scores = scores.log1p()
        return scores.sum(dim=1, keepdim=True)

    def joined(self, some: Tensor, others: Tensor) -> Tensor:
        """Join the weights of two parts of the same texts."""
        return some.maximum(others) if self.over == "max" else some + others


class Static(Head):
    """A weight for each term of a text, which no network makes: queries without inference.

    A term's weight is the same in every text, however often the text has it (Geng et al. 2024).
    """

    kind: Literal["static"]
    sparse: ClassVar[bool] = True
    trained: ClassVar[bool] = False

    def pool(self, hidden: Tensor, mask: Tensor, kind: TextKind) -> Tensor:
        """Return the weights of texts (texts, 1, terms), which are given."""
        return hidden


HEADS: OpenTable[type[Head]] = OpenTable(
    {
        "mean": "residuum.neural.heads:Mean",
        "cls": "residuum.neural.heads:Cls",
        "max": "residuum.neural.heads:Max",
        "mean-sqrt": "residuum.neural.heads:RootMean",
        "weighted-mean": "residuum.neural.heads:WeightedMean",
        "last": "residuum.neural.heads:Last",
        "first": "residuum.neural.heads:First",
        "tokens": "residuum.neural.heads:Tokens",
        "terms": "residuum.neural.heads:Terms",
        "splade": "residuum.neural.heads:Splade",
        "static": "residuum.neural.heads:Static",
    },
    "pooling",
)
