"""Questions that a question generator writes for docs: their sampling and their split."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Positive, Ref, Role, Strict

CrossAttention = Literal["random", "copying"]
Length = Annotated[int, Field(ge=2)]  # tokens of a text with its end token


class SpanWriting(Strict):
    """Spans of docs that a generator learns to write beside the questions, as in pretraining.

    So a small generator can still write names that no training question holds. Of `tries` spans
    drawn from a doc, the span whose words recur most in the doc is taken.
    """

    corpora: Annotated[list[Role], Field(min_length=1, description="roles whose docs give spans")]
    share: float = Field(0.5, gt=0, lt=1, description="share of each batch that is spans")
    length: tuple[Length, Length] = Field((4, 10), description="least and most tokens of a span")
    tries: Positive = Field(4, description="spans that are drawn of a doc; 1: any is taken")

    def check(self) -> None:
        if self.length[0] > self.length[1]:
            raise ValueError(f"length {list(self.length)}: the first number exceeds the second")


class Sampling(Strict):
    """How a generator writes questions: for which docs, how many, and how tokens are drawn."""

    per_doc: Positive = Field(description="questions of a doc; empty and repeated ones are dropped")
    top_k: Annotated[int, Field(gt=0, le=1000)] = Field(
        25, description="number of likeliest tokens to draw from; 1: greedy"
    )
    doc_length: Length = Field(512, description="tokens read of a doc, special ones included")
    question_length: Length = Field(64, description="most tokens of a question, its end included")
    docs: Positive | None = Field(None, description="drawn from the corpus by a hash; absent: all")
    seed: int = Field(1, ge=0, description="seed of the draws")


class Synthetic(Sampling):
    """A split of generated questions. The relevant doc of a question is its own doc."""

    generator: Annotated[Id, Ref("backbone", use="generator")] = Field(
        description="role under `backbones:` of the scale: a question-generator, or one of the hub"
    )
