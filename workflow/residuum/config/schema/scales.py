"""config/scales/*.yaml and config/config.yaml: what plays which role, and how much is spent."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from residuum.config.schema.base import Id, Positive, Ref, Seeds, Strict
from residuum.config.schema.datasets import Edition
from residuum.config.schema.models import Reading


def _listed(value: object) -> object:
    """`--config papers=clear` means a list of one."""
    return [value] if isinstance(value, str) else value


STARTS = ("backbone", "masked-language", "dual-encoder", "cross-encoder")


class FromHub(Strict):
    """A Hugging Face model, pinned by revision."""

    hub: str
    revision: str


class HubReranker(FromHub):
    """A cross-encoder of the hub, and how it reads a pair."""

    reading: Reading


class FromPath(Strict):
    """A Hugging Face model directory on this machine."""

    path: str


class FromModel(Strict):
    """A checkpoint that the graph makes (an entry of config/models).

    It stands for a released one, so it is made once, whatever the seeds of what starts from it.
    """

    model: Annotated[Id, Ref("model", kinds=STARTS, use="released")]
    seed: int = Field(1, ge=0, description="seed of its training")


class RerankerModel(FromModel):
    """A cross-encoder that the graph trains, and which takes a released one's place."""

    model: Annotated[Id, Ref("model", kinds=("cross-encoder",), use="released")]


class Scale(Strict):
    """config/scales/<id>.yaml: what plays which role, and how much is spent."""

    description: str
    comparable: bool = Field(description="do measured numbers compare with the papers' numbers?")
    reason: str = Field(description="why they do or do not; printed under tables and in ledger")
    editions: dict[Annotated[Id, Ref("dataset")], list[Edition]] = Field(
        {}, description="dataset: pinned counts in place of its own, where a replica stands in"
    )
    seeds: Seeds
    roles: dict[Id, Annotated[str, Ref("dataset/split")]] = Field(description="role: dataset/split")
    backbones: dict[Id, FromHub | FromPath | FromModel]
    rerankers: dict[Id, HubReranker | RerankerModel] = Field(default={})
    budgets: dict[Id, dict[str, object]] = Field(
        default={},
        description="partial entries, laid over the datasets, models and systems that name them",
    )
    threads: Positive = Field(
        description="threads of a process; the last digits of what is neural depend on them"
    )
    shard_docs: Positive = Field(
        description="most docs, or passages of docs, in an embedding shard; each is encoded and "
        "searched by its own job"
    )
    batch_size: Positive = Field(
        description="texts in an encoding batch; halved on a GPU whose memory does not hold it"
    )
    pair_batch_size: Positive = Field(
        description="pairs in a batch of a cross-encoder; halved as batch_size is"
    )

    @field_validator("roles")
    @classmethod
    def roles_name_a_split(cls, roles: dict[str, str]) -> dict[str, str]:
        """A role is bound to a dataset/split."""
        for role, bound in roles.items():
            if bound.count("/") != 1:
                raise ValueError(f"{role}: write dataset/split, found '{bound}'")
        return roles


class Config(Strict):
    """config/config.yaml, each key overridable by `--config key=value`."""

    scale: Id
    papers: Annotated[list[Annotated[Id, Ref("paper")]], BeforeValidator(_listed)] = Field(
        min_length=1, description="whose tables are made"
    )
    seeds: Seeds | None = Field(None, description="absent: the scale's seeds")
    encoder: str | None = Field(
        None, description="hub id or path that replaces every hub backbone of the scale"
    )
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    gpus: Positive = Field(
        1, description="GPUs that train one model together; the last digits depend on them"
    )
    tflops: float = Field(312, gt=0, description="rated speed of a GPU, for estimates of time")
    utilisation: float = Field(0.4, gt=0, le=1, description="share of it that is reached")

    preload: bool = Field(
        True, description="fork jobs of this machine from a process that has its packages loaded"
    )

    @field_validator("gpus")
    @classmethod
    def several_gpus_are_named(cls, gpus: int, others: ValidationInfo) -> int:
        """The machine that plans the graph may have no GPU, so `auto` cannot mean several."""
        device = others.data.get("device")
        if gpus > 1 and device != "cuda":
            raise ValueError(f"more than one GPU needs device: cuda, not {device}")
        return gpus
