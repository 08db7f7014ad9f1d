"""How models read long docs, and pairs of query and doc: keys of models and datasets."""

from typing import Literal

from pydantic import Field

from residuum.config.schema.base import Positive, Strict


class Windows(Strict):
    """How models read docs longer than their input: in overlapping passages, a vector for each.

    A doc's score is the largest score of its passages (ME-BERT, model settings for MS MARCO).
    """

    length: Positive = Field(description="tokens of a passage, head included, in the model's own")
    stride: Positive = Field(description="tokens from the start of one passage to the next's")
    head: list[str] = Field([], description="fields that every passage starts with")
    body: str = Field(description="field that is cut")
    expected: Positive = Field(description="passages of a doc on average; shards are sized by it")

    def check(self) -> None:
        if self.stride > self.length:
            raise ValueError(f"stride {self.stride} is more than length {self.length}")


class Reading(Strict):
    """How a cross-encoder reads a query and a doc."""

    pooling: Literal["mean", "cls"] = "cls"
    query_length: Positive = Field(64, description="tokens kept of a query")
    length: Positive = Field(512, description="tokens kept of the pair, special ones included")
    docs: Literal["passages", "cut"] = Field(
        "passages",
        exclude_if=lambda docs: docs == "passages",
        description="docs of a dataset with windows; cut: only the start of each text is read",
    )
