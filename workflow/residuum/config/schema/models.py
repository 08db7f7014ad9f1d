"""config/models/*.yaml: models with their backbone, losses, negatives and hyper-parameters.

Losses and pools are open tables: `Kinds` names the table, and the classes are beside their code.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from residuum.code.tables import Kinds
from residuum.config.schema.backbones import Adapted, Backbone, OnBackbone
from residuum.config.schema.base import Entry, Id, Positive, Probability, Ref, Role, Strict
from residuum.config.schema.encoder import Encoder, Pooling
from residuum.config.schema.pairs import Pairs
from residuum.config.schema.questions import CrossAttention, Length, SpanWriting
from residuum.config.schema.reading import Reading

LATE_TOKENS = 180  # most vectors of a doc, where files say: ColBERTv2's
Needs = Literal["negatives", "candidates", "vectors", "fixed", "fixed_scores"]
NEEDS: dict[Needs, str] = {
    "negatives": "sampled negatives with lexical scores: give negatives.pools, triples or same_as",
    "candidates": "the scores of more docs than the positive",
    "vectors": "dense vectors of queries and docs: only a dual encoder has them, and not one whose "
    "pooling is terms",
    "fixed": "vectors of the same texts by a model without training: give fixed",
    "fixed_scores": "the scores of all candidates by a model without training: give fixed",
}


class Loss(Strict):
    """Base of every loss; an entry of residuum.neural.losses.LOSSES."""

    kind: str
    weight: float = Field(1.0, gt=0, description="factor of this loss in the sum of several")
    needs: ClassVar[frozenset[Needs]] = frozenset()


class OnPairs(Pairs, OnBackbone):
    """The keys of models that are trained on (query, positive) pairs."""


class PairsAlone(OnPairs):
    """The base of models that learn from pairs alone and compare no docs."""

    kind: str

    def check(self) -> None:
        super().check()
        if self.negatives.pools:
            raise ValueError(f"a {self.kind} model learns from pairs alone: leave out the pools")
        if self.training.visits != "pairs":
            raise ValueError(
                f"training.visits: a {self.kind} model has no choice of visits; leave it out"
            )


class TermWeights(PairsAlone):
    """DeepCT: a BERT that predicts the recall of each word of a doc in the doc's queries."""

    kind: Literal["term-weights"]
    length: Positive = Field(128, description="tokens kept of a doc, special ones included")
    scale: Positive = Field(100, description="a word's tf is its weight times this, rounded")


class TermGate(PairsAlone):
    """SparTerm's gating controller: it predicts the probability of each term in a query."""

    kind: Literal["term-gate"]
    length: Positive = Field(description="tokens kept of a doc, special ones included")
    absent: float = Field(1.0, gt=0, description="lambda_1, of terms that the query lacks")
    present: float = Field(1.0, gt=0, description="lambda_2, of terms that the query has")


class QuestionGenerator(PairsAlone):
    """An encoder-decoder that writes a query for a doc (Ma et al. 2020, section 2.2).

    Encoder and decoder are the first layers of the backbone and share their parameters.
    """

    kind: Literal["question-generator"]
    layers: Positive = Field(3, description="number of the backbone's first layers")
    doc_length: Length = Field(512, description="tokens kept of a doc, special ones included")
    question_length: Length = Field(64, description="tokens kept of a query, its end included")
    cross_attention: CrossAttention = Field(
        "random",
        description="its first weights. copying: value and output are the identity, so the decoder "
        "sees a doc's tokens as the encoder gives them",
    )
    head_gain: float = Field(
        1.0,
        gt=0,
        description="first gain of the layer norm before the logits; small models have flat ones",
    )
    spans: SpanWriting | None = Field(None, description="spans of docs to write beside questions")

    def check(self) -> None:
        super().check()
        for key in self.training.rules:
            raise ValueError(f"training.{key}: no ranking compares trainings; give one number")
        size = self.training.batch_size
        if self.spans and not 0 < round(self.spans.share * size) < size:
            text = f"{self.spans.share:g} of a batch of {size} leaves no span or no question"
            raise ValueError(f"spans.share: {text}")
        if self.spans and self.training.epochs:
            raise ValueError("training: questions and spans together have no epochs; give steps")
        if self.spans and self.training.halve_after:
            text = "questions and spans together have no epochs; leave it out"
            raise ValueError(f"training.halve_after: {text}")


class ReleasedWeights(Entry):
    """Released weights: term weights that somebody else predicted for a collection."""

    kind: Literal["released-weights"]
    source: str = Field(description="who made them and where to get them; shown if they are absent")
    dataset: Annotated[Id, Ref("dataset")]
    path: str = Field(description="file, or folder of files, below RESIDUUM_DATA")
    least: Probability = Field(1.0, description="share of the docs held; others have no word")


class Reads(Strict):
    """How a released encoder is read, where its files do not say so or are to be overruled."""

    pooling: Annotated[Pooling, Kinds("residuum.neural.heads:HEADS")] | None = Field(
        None, description="how tokens become vectors"
    )
    similarity: Literal["cosine", "dot"] | None = Field(
        None, description="how vectors are compared"
    )
    query_prompt: str | None = Field(None, description="text that is read before a query")
    doc_prompt: str | None = Field(None, description="text that is read before a doc")
    query_length: Positive | None = Field(None, description="tokens kept of a query")
    doc_length: Positive | None = Field(None, description="tokens kept of a doc")
    dimensions: Positive | None = Field(
        None, description="first dimensions that are kept (Matryoshka); absent: all"
    )

    def check(self) -> None:
        if self.sparse and (self.dimensions or self.similarity == "cosine"):
            key = "dimensions" if self.dimensions else "similarity: cosine"
            text = "vectors have a dimension for each term, and are compared by inner products"
            raise ValueError(f"{key}: {text}; leave it out")

    @property
    def most(self) -> int:
        """The largest number of vectors of a doc, as far as the entry says."""
        return self.pooling.most("doc", self.doc_length or LATE_TOKENS) if self.pooling else 1

    @property
    def late(self) -> bool:
        """Say whether each token has a vector, of queries too."""
        return bool(self.pooling and self.pooling.late)

    @property
    def sparse(self) -> bool:
        """Say whether vectors have a dimension for each term, as far as the entry says."""
        return bool(self.pooling and self.pooling.sparse)


class ReleasedEncoder(Reads, Entry):
    """A released encoder: a model of the hub or a folder, read as its own files say, not trained.

    Files of sentence-transformers say how vectors are made, and a key here replaces theirs. A model
    without these files needs `pooling` and `similarity`.
    """

    kind: Literal["released-encoder"]
    hub: str | None = Field(None, description="id on the Hugging Face hub")
    revision: str | None = Field(None, description="commit on the hub")
    pickled: bool = Field(False, description="as of a hub model in a scale")
    path: str | None = Field(None, description="folder on this machine, in place of a hub id")
    queries: Annotated[Id, Ref("model", kinds=("released-encoder",))] | None = Field(
        None,
        exclude_if=lambda model: model is None,
        description="released encoder that reads the queries; absent: the same one",
    )
    precision: Literal["fp32", "bf16", "fp16"] | None = Field(
        None,
        exclude_if=lambda precision: precision is None,
        description="precision of matrix products; absent: that of config.yaml",
    )
    seed: ClassVar[int] = 0  # in paths, where a training has its seed

    def check(self) -> None:
        super().check()
        if bool(self.hub) == bool(self.path):
            raise ValueError("give exactly one of hub and path")
        if bool(self.hub) != bool(self.revision):
            raise ValueError("revision: give the commit of a model of the hub, and no other")
        if self.pickled and self.path:
            raise ValueError("pickled: a folder's weights are safetensors; leave it out")


class WithIds(Strict):
    """Vectors in a file that holds no ids: a NumPy array, or a FAISS index."""

    vectors: str = Field(description="file of vectors: .npy, or .faiss or .index of FAISS")
    ids: str = Field(description="file of their ids in this order, a line for each")


VectorFile = str | WithIds
VectorFiles = VectorFile | list[VectorFile]  # below RESIDUUM_DATA or absolute


class ReleasedVectors(Entry):
    """Released vectors: those of docs and queries that somebody else computed.

    A file is JSON lines, NumPy's npz (arrays ids and vectors) or Parquet (a column of ids, one of
    lists), or a folder of such files. An npy and an index of FAISS need a file of ids beside them.
    A doc may have several vectors: its id is repeated.
    """

    kind: Literal["released-vectors"]
    source: str = Field(description="who made them and where to get them; shown if they are absent")
    docs: dict[Annotated[Id, Ref("dataset")], VectorFiles] = Field(
        min_length=1, description="dataset: file or files of its docs' vectors, below RESIDUUM_DATA"
    )
    queries: dict[Role, VectorFiles] = Field(
        min_length=1, description="role: file or files of its queries' vectors, below RESIDUUM_DATA"
    )
    similarity: Literal["cosine", "dot"] = Field(description="how vectors are compared")
    others: bool = Field(False, description="files hold other queries too, which are left out")
    seed: ClassVar[int] = 0  # in paths, where a training has its seed

    def of_docs(self, dataset: str) -> list[VectorFile]:
        """Return the files of the vectors of a dataset's docs."""
        return _listed(self.docs[dataset])

    def of_queries(self, role: str) -> list[VectorFile]:
        """Return the files of the vectors of a role's queries."""
        return _listed(self.queries[role])


def _listed(files: VectorFiles) -> list[VectorFile]:
    return files if isinstance(files, list) else [files]


class Program(Entry):
    """A program that reads texts and writes their vectors, both as JSON lines.

    It reads `{"id": ..., "text": ..., "side": "doc"}`, or side query. It writes, in this order,
    `{"id": ..., "vector": [...]}`, or `terms: {"word": weight}` in place of vector.
    """

    kind: Literal["program"]
    command: list[str] = Field(
        min_length=1,
        description="program and arguments; no shell reads them. An edit of a file among them "
        "makes the vectors again",
    )
    files: list[str] = Field([], description="more files whose edit makes the vectors again")
    similarity: Literal["cosine", "dot"] = Field(description="how vectors are compared")
    seed: ClassVar[int] = 0  # in paths, where a training has its seed


class Perturbation(Strict):
    """Masking, in training only, of a doc's tokens that its query has too (RoC, Eq. 10)."""

    share: Probability = Field(
        0.15, description="share of these tokens that is masked, drawn singly"
    )


class LexicalVectors(Entry):
    """BM25 as vectors with a dimension for each term, or projected to fewer; without training."""

    kind: Literal["lexical-vectors"]
    system: Annotated[Id, Ref("system", kinds=("lexical",))] = Field(
        description="lexical system of these weights; without boosts, joined, term_weights and rm3"
    )
    dimensions: Positive | None = Field(
        None,
        description="dimensions of a random projection (RoC, Eq. 3); absent: one for each term",
    )
    seed: int = Field(1, ge=0, description="seed of the projection's signs")


class Fixed(Strict):
    """Vectors that training does not change.

    A loss reads them projected at random to the encoder's width, or reads their inner products.
    """

    model: Annotated[Id, Ref("model", kinds=("lexical-vectors",), use="fixed")]
    seed: int = Field(1, ge=0, description="seed of the projection's signs")


class Contrastive(OnPairs):
    """A model whose losses compare the scores of a query's docs: one loss, or a weighted sum."""

    loss: Annotated[Loss, Kinds("residuum.neural.losses:LOSSES")] | None = None
    losses: list[Annotated[Loss, Kinds("residuum.neural.losses:LOSSES")]] = Field(default=[])
    group: Positive = Field(1, description="stored negatives beside a positive at a visit, in turn")
    perturbation: Perturbation | None = None
    passages: Literal["best"] | None = Field(
        None,
        exclude_if=lambda passages: passages is None,
        description="best: of a dataset with windows, training reads the passage of a doc that "
        "answers, or that BM25 scores best for the query; absent: the start of a doc",
    )
    gives: ClassVar[frozenset[Needs]] = frozenset({"candidates"})

    @property
    def given(self) -> frozenset[Needs]:
        """The inputs for losses that a batch holds beside sampled negatives."""
        return self.gives

    @property
    def objectives(self) -> list[Loss]:
        """The losses whose weighted sum is minimised."""
        return [self.loss] if self.loss else self.losses

    @property
    def drawn(self) -> int:
        """The number of negatives that a visit of a pair draws; 0 if pairs have no negatives."""
        return self.group if self.negatives.sampled else 0

    def check(self) -> None:
        super().check()
        if bool(self.loss) == bool(self.losses):
            raise ValueError("give exactly one of loss and losses")
        kinds = [loss.kind for loss in self.objectives]
        if len({*kinds}) < len(kinds):
            raise ValueError(f"losses {', '.join(kinds)}: one of them is given twice")
        given = self.given | ({"negatives"} if self.negatives.sampled else set())
        for loss in self.objectives:
            for need in sorted(loss.needs - given):
                raise ValueError(f"loss {loss.kind} needs {NEEDS[need]}")


class CrossEncoder(Contrastive):
    """A reranker: an encoder reads query and doc together and gives a score.

    In training, the candidates of a query are its positive and its `group` negatives.
    """

    kind: Literal["cross-encoder"]
    reading: Reading

    def check(self) -> None:
        super().check()
        if not self.negatives.sampled:
            raise ValueError("a cross-encoder needs negatives of its own: give negatives.pools")


class DualEncoder(Contrastive):
    """A shared encoder for queries and docs. In training, candidates are all docs of the batch."""

    kind: Literal["dual-encoder"]
    encoder: Encoder
    fixed: Fixed | None = Field(None, description="fixed vectors, for losses that need them")
    mixable: ClassVar[bool] = True
    gives: ClassVar[frozenset[Needs]] = frozenset({"candidates", "vectors"})

    @property
    def most(self) -> int:
        """The largest number of vectors of a doc."""
        return self.encoder.pooling.most("doc", self.encoder.doc_length)

    @property
    def sparse(self) -> bool:
        """Say whether vectors have a dimension for each term of the vocabulary."""
        return self.encoder.pooling.sparse

    @property
    def given(self) -> frozenset[Needs]:
        gives: frozenset[Needs] = self.gives - {"vectors"} if self.sparse else self.gives
        return gives | ({"fixed", "fixed_scores"} if self.fixed else set())

    def check(self) -> None:
        super().check()
        if not self.encoder.pooling.trained:
            raise ValueError(
                f"encoder.pooling: no training makes a model with pooling "
                f"{self.encoder.pooling.kind}; kind: released-encoder reads one"
            )
        read = any(loss.needs & {"fixed", "fixed_scores"} for loss in self.objectives)
        if self.fixed and not read:
            raise ValueError("fixed: no loss reads fixed vectors; leave it out")


Trained = Annotated[
    DualEncoder | TermWeights | CrossEncoder | TermGate | QuestionGenerator,
    Field(discriminator="kind"),
]
Given = ReleasedEncoder | ReleasedVectors | Program  # what makes vectors and is not trained here
Vectors = DualEncoder | Given | LexicalVectors
Untrained = Annotated[ReleasedWeights | Given | LexicalVectors, Field(discriminator="kind")]
Model = Annotated[Backbone | Adapted | Trained | Untrained, Field(discriminator="kind")]
