"""config/scales/*.yaml and config/config.yaml: bindings of roles, budgets, seeds, settings."""

import re
from pathlib import PurePath
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Discriminator, Field, Tag

from residuum.config.schema.base import OWN, Id, JudgedMeasure, Positive, Ref, Seeds, Strict
from residuum.config.schema.datasets import Edition
from residuum.config.schema.reading import Reading

DatasetId = Annotated[Id, Ref("dataset")]
SystemId = Annotated[Id, Ref("system")]
ADAPTED = ("masked-language", "next-text", "inverse-cloze")
RERANKERS = ("cross-encoder", "dual-encoder", "released-encoder")
STARTS = ("backbone", *ADAPTED, "dual-encoder", "cross-encoder", "question-generator")


class FromHub(Strict):
    """A Hugging Face model, pinned by revision."""

    hub: str
    revision: str
    pickled: bool = Field(
        default=False,
        description="allow weights in a pickle (pytorch_model.bin) if it has no safetensors; only "
        "tensors are read from a pickle",
    )


class FromPath(Strict):
    """A Hugging Face model directory on this machine."""

    path: str


class Released(Strict):
    """How a released cross-encoder reads a pair, and what it is."""

    reading: Reading
    description: str = Field("", description="who trained it on what; stands under its tables")

    def told(self, place: str) -> str:
        """Return where the model is and what it is, for a note."""
        return ": ".join(filter(None, [place, self.description]))


class HubReranker(Released, FromHub):
    """A cross-encoder on the hub, and how it reads a pair."""

    def described(self) -> str:
        """Return what it is, for a note."""
        return self.told(f"{self.hub} at {self.revision[:8]}")

    @property
    def named(self) -> str:
        """The model's name in paths."""
        return self.hub.replace("/", "_")


class LocalReranker(Released, FromPath):
    """A cross-encoder in a folder of this machine, and how it reads a pair."""

    def described(self) -> str:
        """Return what it is, for a note."""
        return self.told(self.path)

    @property
    def named(self) -> str:
        """The model's name in paths."""
        return re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(self.path).name)


class FromModel(Strict):
    """A checkpoint that the graph makes (an entry of config/models).

    It replaces a released checkpoint, so it is made once, with one seed for all later trainings.
    """

    model: Annotated[Id, Ref("model", kinds=STARTS, use="released")]
    seed: int = Field(1, ge=0, description="seed of its training")

    def described(self) -> str:
        """Return what it is, for a note."""
        return f"{self.model}, trained here with seed {self.seed}, in place of a released one"


def _form(given: object) -> str | None:
    """Return the form of a start by its keys, so faults are reported for this form only."""
    known = {"hub": "FromHub", "path": "FromPath", "model": "FromModel", "datasets": "ByDataset"}
    if not isinstance(given, dict):
        return type(given).__name__
    return next((form for key, form in known.items() if key in given), None)


By = Discriminator(
    _form,
    custom_error_type="start",
    custom_error_message="give hub and revision, a path, a model, or datasets and otherwise",
)
Start = Annotated[
    Annotated[FromHub, Tag("FromHub")]
    | Annotated[FromPath, Tag("FromPath")]
    | Annotated[FromModel, Tag("FromModel")],
    By,
]


class ByDataset(Strict):
    """The starts of a backbone role by dataset: some datasets', and `otherwise` for the others.

    The dataset of a model is the dataset that it is trained on or adapted to.
    """

    datasets: dict[DatasetId, Start] = Field(min_length=1)
    otherwise: Start

    def starts(self) -> list[Start]:
        """Return all starts that may be used."""
        return [*self.datasets.values(), self.otherwise]


class RerankerModel(FromModel):
    """A model of config/models that plays a role of rerankers."""

    model: Annotated[Id, Ref("model", kinds=RERANKERS, use="released")] = Field(
        description="cross-encoder or dual encoder that the graph trains, or released encoder"
    )


class TrainedReranker(RerankerModel):
    """A model of config/models that a system names as its reranker."""

    def described(self) -> str:
        return f"{self.model}, trained here with seed {self.seed}"


class ReleasedReranker(NamedTuple):
    """A released encoder, given by its id, whose vectors score pairs."""

    model: str

    def described(self) -> str:
        """Return what it is, for a note."""
        return f"{self.model}, a released encoder, scores a query and a doc by their vectors"


class Learning(Strict):
    """The test whether a model learned: its ranking of candidates that no training step saw.

    The queries are those of `own.tune` of the model's training collection. Their candidates are a
    lexical system's first docs and all relevant docs. Term weights are tested by their error on the
    relevant docs. Question generators are tested by their error, which must be less with a
    question's own doc than with another doc.
    """

    candidates: Annotated[Id, Ref("system", kinds=("lexical",))]
    top: Positive = Field(description="docs of the system for each query")
    measure: JudgedMeasure = Field(description="measure that compares start and trained model")


class Comparability(Strict):
    """Whether a page's numbers compare with those that its paper prints, and why."""

    comparable: bool = Field(description="whether its numbers compare")
    reason: str = Field(description="why: collection, edition, encoder, generator, gold")
    but: dict[str, str] = Field(
        {}, description="row, column or panel whose numbers do not compare: why"
    )

    def check(self) -> None:
        if self.but and not self.comparable:
            raise ValueError("but: no number of the page compares; leave it out")


class LeftOut(Strict):
    """A system without runs on some datasets, to save time."""

    system: SystemId
    datasets: list[DatasetId] = Field(min_length=1, description="where it has no runs")


class Scale(Strict):
    """config/scales/<id>.yaml: the bindings of roles, the budgets and the seeds."""

    description: str
    comparable: bool = Field(description="whether numbers compare with the papers' numbers")
    reason: str = Field(description="why they do or do not; printed under tables and in ledger")
    pages: dict[str, Comparability] = Field(
        {}, description="paper, or paper/page: in place of comparable and reason of the scale"
    )
    editions: dict[DatasetId, list[Edition]] = Field({}, description="pins of a dataset's replica")
    seeds: Seeds
    roles: dict[Id, Annotated[str, Ref("dataset/split")]] = Field(description="role: dataset/split")
    backbones: dict[
        Id,
        Annotated[
            Annotated[FromHub, Tag("FromHub")]
            | Annotated[FromPath, Tag("FromPath")]
            | Annotated[FromModel, Tag("FromModel")]
            | Annotated[ByDataset, Tag("ByDataset")],
            By,
        ],
    ]
    rerankers: dict[Id, HubReranker | LocalReranker | RerankerModel] = Field(default={})
    learning: Learning | None = Field(
        None, description="test whether a model learned; absent: no test, and all models count"
    )
    systems: dict[SystemId, SystemId] = Field({}, description="a page's system: its player")
    left_out: list[SystemId | LeftOut] = Field(
        [], description="systems without runs here, to save time; or a system and datasets"
    )
    budgets: dict[Id, dict[str, object]] = Field({}, description="laid over entries that name them")
    threads: Positive = Field(description="threads of a process; neural last digits depend on them")
    shard_docs: Positive = Field(description="most vectors in an embedding shard")
    shard_pairs: Positive = Field(
        2_500_000, description="most pairs of queries and docs that one job of reranking scores"
    )
    batch_size: Positive = Field(description="texts encoded at once; halved if a GPU is too small")
    pair_batch_size: Positive = Field(
        description="pairs in a cross-encoder's batch, as batch_size; halved too"
    )

    def leaves_out(self, system: str, dataset: str | None) -> str | None:
        """Return what a system is left out of, `out` or `out on DATASET`; None if it has runs."""
        if system in self.left_out:
            return "out"
        parted = [entry for entry in self.left_out if isinstance(entry, LeftOut)]
        on = [name for entry in parted if entry.system == system for name in entry.datasets]
        return f"out on {dataset}" if dataset in on else None

    def starts(self, role: str) -> list[Start]:
        """Return all starts bound to a backbone role, for any dataset."""
        bound = self.backbones.get(role)
        return bound.starts() if isinstance(bound, ByDataset) else [bound] if bound else []

    def check(self) -> None:
        for role, split in self.roles.items():
            if role == OWN:
                raise ValueError("roles.own: 'own' means a collection's own splits; choose a name")
            if split.count("/") != 1:
                raise ValueError(f"roles.{role}: write dataset/split, found '{split}'")


class Config(Strict):
    """config/config.yaml, each key overridable by `--config key=value`."""

    scale: Id
    papers: Annotated[
        list[Annotated[Id, Ref("paper")]],
        # `--config papers=clear` means a list of one.
        BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
        Field(min_length=1, description="papers whose pages are made"),
    ]
    seeds: Seeds | None = Field(None, description="absent: the scale's seeds")
    encoder: str | None = Field(None, description="hub id or path in place of hub backbones")
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    arithmetic: Literal["native", "portable"] = Field(
        "native", description="kernels of this kind of CPU, or those that every x86-64 has"
    )
    gpus: Positive = Field(1, description="GPUs that train a model; its last digits depend on them")
    jobs_per_card: Positive = Field(
        1, description="jobs of this machine that share a GPU; several for small models"
    )
    tflops: float = Field(312, gt=0, description="rated speed of a GPU, for estimates of time")
    utilisation: float = Field(0.4, gt=0, le=1, description="share of it that is reached")
    docs: dict[DatasetId, Positive] = Field(
        {},
        description="dataset: docs in place of its pins; for plans only, a run refuses it",
    )
    preload: bool = Field(True, description="fork jobs from a process with its packages loaded")

    def check(self) -> None:
        # The machine that plans the graph may have no GPU, so `auto` cannot mean several.
        if self.gpus > 1 and self.device != "cuda":
            raise ValueError(f"gpus: more than one needs device: cuda, not {self.device}")
        if self.arithmetic == "portable" and self.device in ("cuda", "mps"):
            raise ValueError(f"arithmetic: portable needs device: cpu, not {self.device}")
