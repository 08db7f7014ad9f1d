"""The form of every YAML file under config/: keys, types, limits, and what each key means.

`residuum.core.registry` loads with it; `python -m residuum.core.registry schema` writes it as
JSON schema for editors. Must not know paths, stages or other entries.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$")]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
CELL = re.compile(r"^(?P<value>\d+(?:\.\d+)?)(?: \^(?P<beats>[0-9,-]+))?(?P<below> ↓)?$")


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- datasets -------------------------------------------------------------------------------


class GeneratedSource(Strict):
    """A collection made by residuum.collections.generated; see docs/generated-collection.md."""

    kind: Literal["generated"]
    seed: int
    entities: Positive
    passages: Positive = Field(description="attribute passages")
    listings: int = Field(ge=0, description="listing pages, lexical distractors")
    stubs: int = Field(ge=0, description="question stubs, lexical distractors")
    train_pairs: Positive
    train_share: Probability = Field(description="share of passages that train pairs come from")
    tune: Positive
    dev: Positive
    judged: Positive
    shift: Probability = Field(description="probability that a concept changes its surface form")


class IrdsSource(Strict):
    """A collection read through ir_datasets."""

    kind: Literal["irds"]
    docs: str = Field(description="ir_datasets id whose docs are exported")
    text_fields: list[str] = Field(min_length=1, description="joined in this order by a space")


class FilesSource(Strict):
    """A collection of your own: jsonl (doc_id, text or named fields) or TSV (doc_id TAB text).

    Paths are relative to the folder that the environment variable RESIDUUM_DATA names
    (default: data/ in the working directory).
    """

    kind: Literal["files"]
    corpus: str
    text_fields: list[str] = Field(default=["text"], min_length=1)


class Holdout(Strict):
    """A split drawn from another one, whose queries it removes there."""

    of: Id
    queries: Positive
    seed: int


class Split(Strict):
    """Queries with their judgements. Which keys are needed depends on the source's kind."""

    irds: str | None = Field(None, description="ir_datasets id of queries and qrels")
    queries: str | None = Field(None, description="TSV file, query_id TAB text")
    query_field: str = Field("text", description="field of an ir_datasets query")
    qrels: str | None = Field(None, description="TREC qrels file")
    holdout: Holdout | None = None
    positive_level: Positive = Field(1, description="least relevance of a train positive")
    measures: list[str] = Field(
        default=[], description="ir_measures names, beside those the tables ask for"
    )


class SplitCount(Strict):
    """Pinned size of one split."""

    queries: Positive
    qrels: Positive


class Edition(Strict):
    """Pinned counts of one known edition of a collection."""

    name: str
    docs: Positive
    splits: dict[Id, SplitCount] = {}


class Collection(Strict):
    """What the data stage needs of a dataset: where it comes from, its splits, its pins."""

    access: str = Field(description="shown when the collection is not there: how to get it")
    source: GeneratedSource | IrdsSource | FilesSource = Field(discriminator="kind")
    splits: dict[Id, Split] = Field(min_length=1)
    editions: list[Edition] = Field(
        min_length=1, description="the export must match one; its name goes into the manifest"
    )

    @model_validator(mode="after")
    def splits_fit_source(self) -> "Collection":
        """Each split names what its source needs, and holdouts name a split."""
        for name, split in self.splits.items():
            if split.holdout and split.holdout.of not in self.splits:
                raise ValueError(f"splits.{name}.holdout.of: no split '{split.holdout.of}'")
            if split.holdout or self.source.kind == "generated":
                continue
            needed = ["irds"] if self.source.kind == "irds" else ["queries", "qrels"]
            missing = [key for key in needed if getattr(split, key) is None]
            if missing:
                raise ValueError(f"splits.{name}: source {self.source.kind} needs {missing}")
        return self


class Dataset(Collection):
    """config/datasets/<id>.yaml: a collection and what a reader should know of it."""

    title: str
    description: str
    licence: str
    citation: str

    def collection(self) -> dict[str, Any]:
        """Return the part that decides which files the data stage writes, and no more."""
        unused = {"splits": {"__all__": {"measures", "positive_level"}}}
        return Collection.model_validate(
            self.model_dump(include=set(Collection.model_fields))
        ).model_dump(mode="json", exclude=unused)


# --- models ---------------------------------------------------------------------------------


class Backbone(Strict):
    """A small BERT made in the graph: WordPiece vocabulary and LSA-initialised embeddings."""

    kind: Literal["backbone"]
    description: str
    corpus: Id = Field(description="role whose dataset gives the text")
    vocabulary: Positive
    hidden: Positive
    layers: Positive
    heads: Positive
    intermediate: Positive
    max_length: Positive
    seed: int
    budgets: list[Id] = Field(default=[], description="scale budgets laid over this file")


class Encoder(Strict):
    """How text becomes a vector (CLEAR Eq. 2-4)."""

    pooling: Literal["mean", "cls"] = "mean"
    query_marker: str = Field("[QRY]", description="special token before a query")
    doc_marker: str = Field("[DOC]", description="special token before a doc")
    query_length: Positive = Field(description="tokens kept of a query, special ones included")
    doc_length: Positive
    score_scale: float = Field(
        1.0, gt=0, description="s_emb = score_scale * dot product; decides whether a margin binds"
    )


class LexicalErrorNegatives(Strict):
    """Negatives drawn uniformly from a lexical system's top docs that are not positives."""

    kind: Literal["lexical_error"]
    system: Id = Field(description="lexical system that makes the errors and the scores")
    pool: Positive = Field(description="top N docs drawn from")
    per_pair: Positive = Field(description="negatives stored for each training pair")
    seed: int = 1


class RandomNegatives(Strict):
    """Negatives drawn uniformly from the corpus; the system gives their lexical scores."""

    kind: Literal["random"]
    system: Id
    per_pair: Positive
    seed: int = 1


class InBatchNegatives(Strict):
    """The other positives of the batch are the negatives."""

    kind: Literal["in_batch"]


class SameNegatives(Strict):
    """The tuples of another model, so that an ablation differs in one thing only."""

    kind: Literal["same_as"]
    model: Id


class ResidualMargin(Strict):
    """Hinge loss with CLEAR's residual margin (Eq. 6-7)."""

    kind: Literal["residual_margin"]
    xi: float = Field(ge=0)
    lambda_train: float


class ConstantMargin(Strict):
    """Hinge loss with a constant margin (CLEAR Eq. 5)."""

    kind: Literal["constant_margin"]
    margin: float = Field(gt=0)


class Nll(Strict):
    """Negative log-likelihood of the positive among the positives of the batch."""

    kind: Literal["nll"]


class Training(Strict):
    """How long and with which optimiser. One of epochs and steps is given."""

    optimizer: Literal["adam"] = "adam"
    learning_rate: float = Field(gt=0)
    batch_size: Positive
    epochs: float | None = Field(None, gt=0)
    steps: Positive | None = None
    dropout: Probability | None = Field(None, description="absent: as the backbone has it")
    part: tuple[Positive, Positive] = Field(
        (1, 1), description="[i, n]: train on the i-th of n equal parts of the pairs"
    )
    checkpoint_every: Positive = Field(500, description="steps between resumable checkpoints")

    @model_validator(mode="after")
    def one_length(self) -> "Training":
        """Exactly one of epochs and steps says how long, and the part exists."""
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("give exactly one of epochs and steps")
        if self.part[0] > self.part[1]:
            raise ValueError(f"part {list(self.part)}: the first number exceeds the second")
        return self


Negatives = Annotated[
    LexicalErrorNegatives | RandomNegatives | InBatchNegatives | SameNegatives,
    Field(discriminator="kind"),
]
Loss = Annotated[ResidualMargin | ConstantMargin | Nll, Field(discriminator="kind")]


class DualEncoder(Strict):
    """One shared encoder for queries and docs, trained on (query, positive, negative)."""

    kind: Literal["dual-encoder"]
    description: str
    backbone: Id = Field(description="backbone role that the scale casts")
    train_on: Id = Field(description="role of the training split")
    negatives: Negatives
    loss: Loss
    encoder: Encoder
    training: Training
    budgets: list[Id] = Field(default=[], description="scale budgets laid over this file, in order")

    @model_validator(mode="after")
    def loss_fits_negatives(self) -> "DualEncoder":
        """NLL takes in-batch negatives, the margin losses take sampled ones."""
        in_batch = self.negatives.kind == "in_batch"
        if in_batch != (self.loss.kind == "nll"):
            raise ValueError(f"loss {self.loss.kind} does not go with {self.negatives.kind}")
        return self


Model = Annotated[Backbone | DualEncoder, Field(discriminator="kind")]

# --- systems --------------------------------------------------------------------------------


class Analysis(Strict):
    """How Lucene turns text into terms; together they name the index."""

    language: Literal["en"] = "en"
    stemmer: Literal["porter", "krovetz", "none"]
    stopwords: Literal["lucene", "none"]

    def index_id(self) -> str:
        """Return the id of the index that this analysis makes, such as en-porter-lucene."""
        return f"{self.language}-{self.stemmer}-{self.stopwords}"


class Bm25(Strict):
    """Parameters of Lucene's BM25."""

    k1: float = Field(ge=0)
    b: Probability


class Rm3(Strict):
    """Parameters of Anserini's RM3."""

    feedback_docs: Positive
    feedback_terms: Positive
    original_query_weight: Probability


class LexicalSystem(Strict):
    """A Lucene run."""

    kind: Literal["lexical"]
    label: str
    analysis: Analysis
    bm25: Bm25
    rm3: Rm3 | None = None
    k: Positive = Field(description="hits asked for")


class DenseSystem(Strict):
    """An exact inner-product search over a model's embeddings."""

    kind: Literal["dense"]
    label: str
    model: Id
    k: Positive


class Missing(Strict):
    """What a doc that is in only one of the two lists scores in the other."""

    lexical: Literal["true_score", "minimum"]
    dense: Literal["true_score", "minimum"]


class Interpolation(Strict):
    """lambda_test of CLEAR Eq. 8: the grid and the queries on which it is chosen."""

    grid: list[float] = Field(min_length=1)
    tune_on: Id = Field(description="role of the tuning split")
    measure: str


class FusionSystem(Strict):
    """lambda_test * lexical + dense over the union of both lists (CLEAR Eq. 8)."""

    kind: Literal["fusion"]
    label: str
    lexical: Id
    dense: Id
    missing: Missing
    weight: Interpolation
    k: Positive


System = Annotated[LexicalSystem | DenseSystem | FusionSystem, Field(discriminator="kind")]

# --- scales ---------------------------------------------------------------------------------


class FromHub(Strict):
    """A Hugging Face model, pinned by revision."""

    hub: str
    revision: str


class FromPath(Strict):
    """A Hugging Face model directory on this machine."""

    path: str


class FromModel(Strict):
    """A checkpoint that the graph makes (an entry of config/models)."""

    model: Id


class Scale(Strict):
    """config/scales/<id>.yaml: what plays which role, and how much is spent."""

    description: str
    comparable: bool = Field(description="do measured numbers compare with the papers' numbers?")
    reason: str = Field(description="why they do or do not; printed under tables and in ledger")
    seeds: list[int] = Field(min_length=1)
    roles: dict[Id, str] = Field(description="role: dataset/split")
    backbones: dict[Id, FromHub | FromPath | FromModel]
    budgets: dict[Id, dict[str, Any]] = Field(
        default={}, description="partial model entries, laid over the models that name them"
    )
    threads: Positive = Field(description="compute threads of a neural job; part of the result")
    shard_docs: Positive = Field(description="docs in an embedding shard")
    batch_size: Positive = Field(description="texts in an encoding batch")

    @field_validator("roles")
    @classmethod
    def roles_name_a_split(cls, roles: dict[str, str]) -> dict[str, str]:
        """A role is cast as dataset/split."""
        for role, cast in roles.items():
            if cast.count("/") != 1:
                raise ValueError(f"{role}: write dataset/split, found '{cast}'")
        return roles


# --- tables ---------------------------------------------------------------------------------


class Column(Strict):
    """One measured column: role and measure give everything the header prints."""

    id: Id
    role: Id
    measure: str
    header: str = Field(description="the measure as the paper prints it")


class Row(Strict):
    """One system of a table."""

    id: Id
    label: str
    group: str = ""
    index: Positive | None = Field(None, description="the number by which others claim to beat it")
    system: Id | None = None
    not_run: str | None = Field(None, description="reason why no system makes this row yet")
    below: Id | None = Field(
        None, description="row of reference: an arrow marks cells significantly below it"
    )

    @model_validator(mode="after")
    def made_or_excused(self) -> "Row":
        """A row has a system or the reason why it has none."""
        if (self.system is None) == (self.not_run is None):
            raise ValueError("give exactly one of system and not_run")
        return self


class Tests(Strict):
    """How the comparisons of a table are tested."""

    test: Literal["permutation", "t-test", "wilcoxon"]
    alpha: float = Field(gt=0, lt=1)
    resamples: Positive = Field(9999, description="sign flips, for the permutation test")
    seed: int = 1
    correction: Literal["none", "bonferroni", "holm"]
    family: Literal["column", "table"] = Field(
        description="which comparisons are corrected together"
    )


class Table(Strict):
    """config/papers/<paper>/<table>.yaml: rows x columns, reported cells and tests."""

    title: str
    place: str = Field(description="where the paper prints it")
    columns: list[Column] = Field(min_length=1)
    rows: list[Row] = Field(min_length=1)
    tests: Tests
    tolerance: dict[str, float] = Field(
        description="column id (or 'default'): largest |measured - reported| that reproduces"
    )
    reported: dict[Id, dict[Id, str]] = Field(
        description="row id: column id: '0.243 ^1,2,4' (rows it beats) or '0.241 ↓'"
    )

    @field_validator("reported")
    @classmethod
    def cells_parse(cls, reported: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Every reported cell follows the small grammar of `Cell`."""
        for row, cells in reported.items():
            for column, text in cells.items():
                if not CELL.match(text):
                    raise ValueError(f"{row}.{column}: cannot read the cell '{text}'")
        return reported


class Cell(Strict):
    """A reported cell: the number, the row indices it beats, whether an arrow marks it."""

    value: float
    beats: list[int]
    below: bool

    @classmethod
    def parse(cls, text: str) -> "Cell":
        """Read `0.308 ^1-4`, `0.241 ↓` or `0.307`."""
        match = CELL.match(text)
        if not match:
            raise ValueError(f"cannot read the cell '{text}'")
        beats = _indices(match["beats"] or "")
        return cls(value=float(match["value"]), beats=beats, below=bool(match["below"]))


def _indices(text: str) -> list[int]:
    indices: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        indices.extend(range(int(first), int(last or first) + 1))
    return indices


class Config(Strict):
    """config/config.yaml, each key overridable by `--config key=value`."""

    scale: Id
    papers: list[Id] = Field(min_length=1, description="whose tables are made")
    seeds: list[int] | None = Field(None, description="absent: the scale's seeds")
    encoder: str | None = Field(
        None, description="hub id or path that replaces every hub backbone of the scale"
    )
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
