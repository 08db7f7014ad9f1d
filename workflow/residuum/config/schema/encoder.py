"""How an encoder makes vectors of text: pooling, markers, lengths, a projection.

Poolings are an open table: their classes are beside their code.
"""

import operator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from residuum.code.tables import Kinds
from residuum.config.schema.base import Positive, Strict

TextKind = Literal["query", "doc"]


def _absent(value: object) -> bool:
    return value is None


class Pooling(Strict):
    """Base of the poolings, which make a text's vectors from its tokens.

    Each pooling is an entry of residuum.neural.heads.HEADS.
    """

    kind: str
    sparse: ClassVar[bool] = False  # vectors have a dimension for each term
    late: ClassVar[bool] = False  # each token has a vector, of queries too
    trained: ClassVar[bool] = True  # a training can make a model with this pooling

    def most(self, kind: TextKind, length: int) -> int:
        """Return the largest number of vectors of a text of which `length` tokens are read.

        A shorter text has one per token.
        """
        return 1


class Encoder(Strict):
    """How text becomes vectors (CLEAR Eq. 2-4)."""

    pooling: Annotated[Pooling, Kinds("residuum.neural.heads:HEADS")] = Field(
        "mean", validate_default=True, description="how tokens become vectors"
    )
    query_marker: str = Field("[QRY]", description='special token before a query; "": none')
    doc_marker: str = Field("[DOC]", description="special token before a doc")
    keep_cls: bool = Field(
        False, description="[CLS] stands before the marker; else the marker takes its place"
    )
    query_length: Positive = Field(description="tokens kept of a query, special ones included")
    doc_length: Positive
    dimensions: Positive | None = Field(
        None,
        description="size of a linear layer with a layer norm behind the pooling; absent: neither",
    )
    norm: bool = Field(
        True, exclude_if=bool, description="false: a linear layer without a layer norm"
    )
    activation: Literal["tanh"] | None = Field(
        None, exclude_if=_absent, description="function behind the linear layer; absent: none"
    )
    truncate: Positive | None = Field(
        None,
        exclude_if=_absent,
        description="first dimensions of a vector that are kept (Matryoshka); absent: all",
    )
    normalise: bool = Field(
        False,
        exclude_if=operator.not_,
        description="true: vectors have length 1, so that their inner product is the cosine",
    )
    query_prompt: str = Field(
        "",
        exclude_if=operator.not_,
        description="text that is read before a query, behind the marker; an end space counts",
    )
    doc_prompt: str = Field(
        "", exclude_if=operator.not_, description="text that is read before a doc, likewise"
    )
    score_scale: float = Field(1.0, gt=0, description="s_emb = score_scale * dot product")

    def lead(self, kind: TextKind, first: str = "") -> str:
        """Return what stands before a text: its marker, or else `first`, a space, its prompt."""
        marker, prompt = self.query_marker, self.query_prompt
        if kind == "doc":
            marker, prompt = self.doc_marker, self.doc_prompt
        token = marker or first
        return (f"{token} " if token else "") + prompt

    def check(self) -> None:
        if self.pooling.sparse:
            for key in ("dimensions", "truncate"):
                if getattr(self, key):
                    raise ValueError(f"{key}: vectors have one for each term; leave it out")
            if self.normalise:
                text = "vectors with a dimension for each term are not scaled"
                raise ValueError(f"normalise: {text}; leave it out")
        if not (self.norm or self.dimensions):
            raise ValueError("norm: without dimensions neither layer is made; leave it out")
        if self.activation and (self.norm or not self.dimensions):
            raise ValueError(
                "activation: it stands behind a linear layer without a layer norm; give dimensions "
                "and norm: false"
            )
        if self.truncate and self.dimensions and self.truncate > self.dimensions:
            text = f"truncate: {self.truncate} of {self.dimensions} dimensions"
            raise ValueError(f"{text}; give at most as many")
