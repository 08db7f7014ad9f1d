"""How an encoder makes vectors of text: pooling, markers, lengths, a projection.

Poolings are an open table: their classes are beside their code.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from residuum.code.tables import Kinds
from residuum.config.schema.base import Positive, Strict

TextKind = Literal["query", "doc"]


class Pooling(Strict):
    """Base of the poolings, which make a text's vectors from its tokens.

    Each pooling is an entry of residuum.neural.heads.HEADS.
    """

    kind: str
    sparse: ClassVar[bool] = False  # vectors have a dimension for each term

    def most(self, kind: TextKind) -> int:
        """Return the largest number of vectors of a text. A shorter text has one per token."""
        return 1


class Encoder(Strict):
    """How text becomes vectors (CLEAR Eq. 2-4)."""

    pooling: Annotated[Pooling, Kinds("residuum.neural.heads:HEADS")] = Field(
        "mean", validate_default=True, description="how tokens become vectors"
    )
    query_marker: str = Field("[QRY]", description="special token before a query")
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
    score_scale: float = Field(1.0, gt=0, description="s_emb = score_scale * dot product")

    def check(self) -> None:
        if self.dimensions and self.pooling.sparse:
            raise ValueError("dimensions: vectors have one for each term; leave it out")
        if not (self.norm or self.dimensions):
            raise ValueError("norm: without dimensions neither layer is made; leave it out")
