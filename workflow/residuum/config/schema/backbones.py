"""Models that other models start from: a small BERT, and backbones adapted to texts."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Entry, Id, Positive, Probability, Ref, Role, Span
from residuum.config.schema.encoder import Encoder
from residuum.config.schema.training import Training

BackboneRole = Annotated[Id, Ref("backbone"), Field(description="role that the scale binds")]
Corpora = Annotated[
    list[Role], Field(min_length=1, description="roles whose datasets give the text")
]


class Backbone(Entry):
    """A small BERT that the graph makes: WordPiece vocabulary, embeddings initialised by LSA."""

    kind: Literal["backbone"]
    corpora: Corpora
    vocabulary: Positive
    hidden: Positive
    layers: Positive
    heads: Positive
    intermediate: Positive
    max_length: Positive
    seed: int


class OnBackbone(Entry):
    """The keys of models that start from a backbone."""

    backbone: BackboneRole


class OnTexts(OnBackbone):
    """The keys of models that are trained on the texts of corpora alone."""

    corpora: Corpora
    training: Training
    seed: int

    def check(self) -> None:
        if self.training.visits != "pairs":
            raise ValueError("training.visits: texts are no pairs; leave it out")
        for key in self.training.rules:
            raise ValueError(f"training.{key}: no ranking compares trainings; give one number")


class MaskedLanguage(OnTexts):
    """A backbone adapted to a corpus by masked-language modelling (Devlin et al. 2019)."""

    kind: Literal["masked-language"]
    mask: Probability = Field(0.15, description="share of the tokens that are predicted")
    length: Positive = Field(description="tokens kept of a doc, special ones included")


class NextText(OnTexts):
    """A backbone adapted by masked words and pairs of texts (Ma et al. 2020, section 5.1).

    It is BERT's next sentence prediction with a softmax over the batch: which text continues this?
    """

    kind: Literal["next-text"]
    mask: Probability = Field(0.15, description="share of the tokens that are predicted")
    length: Positive = Field(
        description="tokens kept of a doc, special ones of both halves included"
    )
    least: Positive = Field(8, description="least tokens of a half")


class InverseCloze(OnTexts):
    """An encoder that learns to find the doc of a span (Lee, Chang and Toutanova 2019).

    The paper takes a sentence; here it is a span of tokens.
    """

    kind: Literal["inverse-cloze"]
    encoder: Encoder
    span: Span = Field(description="least and most tokens of a span")
    removed: Probability = Field(0.9, description="share of the spans that leave their doc")

    def check(self) -> None:
        super().check()
        if self.encoder.pooling.sparse or not self.encoder.pooling.trained:
            raise ValueError(
                "encoder.pooling: a start for all models has a dense one, such as mean"
            )
        if self.encoder.query_prompt or self.encoder.doc_prompt:
            raise ValueError("encoder: prompts are not read with spans; leave them out")
        if self.encoder.dimensions:
            raise ValueError("encoder.dimensions: a start for all models has its own; leave it out")


Adapted = Annotated[MaskedLanguage | NextText | InverseCloze, Field(discriminator="kind")]
