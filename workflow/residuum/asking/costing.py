"""What a planned job takes: disk, seconds of cores, seconds and memory of a card.

Usage: `cost(registry, job)`, None of a rule that no model is known for. Every number is an
estimate that rests on residuum.asking.assumptions. Must not know what is done already.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple, cast

from residuum.asking import listcosts, modelcosts
from residuum.asking.assumptions import Cost, assumed
from residuum.asking.dryrun import Job
from residuum.core.registry import Registry
from residuum.wiring.part import Wildcards


class Card(NamedTuple):
    """What is assumed of a GPU: its rated speed in TFLOPS, and the share that is reached."""

    tflops: float
    utilisation: float

    def seconds(self, cost: Cost) -> float:
        """Return the seconds that a job holds the card."""
        work = cost.operations / (self.tflops * 1e12 * self.utilisation)
        return max(work, cost.steps * assumed("step"))


class Model(NamedTuple):
    """How a rule's jobs are costed, and the assumptions that this rests on."""

    cost: Callable[[Registry, Wildcards], Cost]
    rests_on: tuple[str, ...]


READING = ("length", "text", "memory", "core")
PAGE = Model(listcosts.page, ("page",))

# By rule, or by stage where its rules cost alike.
MODELS = {
    "data_corpus": Model(listcosts.corpus, ("text", "zip", "export")),
    "data_split": Model(listcosts.split, ("query",)),
    "data_answers": Model(listcosts.split, ("query",)),
    "lexical_index": Model(listcosts.index, ("text", "index", "index-size")),
    "lexical_search": Model(listcosts.search, ("search", "rm3", "hit")),
    "rm3_tune": Model(listcosts.tune_rm3, ("search", "rm3", "setting", "hit")),
    "lexical_score": Model(listcosts.score, ("search", "score", "hit")),
    "negatives": Model(listcosts.mine, ("search", "score", "hit", "export")),
    "pretrain_backbone": Model(modelcosts.backbone, ("text", "lsa")),
    "pretrain_adapt": Model(modelcosts.adapt, (*READING, "step")),
    "train": Model(modelcosts.train, (*READING, "step")),
    "termweights": Model(modelcosts.weights, (*READING, "weights")),
    "encode_docs": Model(modelcosts.encode_docs, (*READING, "product")),
    "encode_queries": Model(modelcosts.encode_queries, (*READING, "product")),
    "dense_search": Model(modelcosts.dense_search, ("product", "hit")),
    "dense_gather": Model(modelcosts.gather, ("hit", "hit-time")),
    "dense_score": Model(modelcosts.dense_score, ("read", "hit", "hit-time")),
    "fusion_tune": Model(listcosts.tune, ("hit-time", "depth-time")),
    "fusion_fuse": Model(listcosts.fuse, ("hit", "hit-time")),
    "rerank_score": Model(modelcosts.rerank, (*READING, "hit")),
    "rerank_depths": Model(listcosts.depths, ("depth-time",)),
    "rerank_cut": Model(listcosts.cut, ("hit", "hit-time")),
    "external": Model(listcosts.cut, ("hit", "hit-time")),
    "evaluate": Model(listcosts.evaluate, ("hit-time",)),
    "significance": PAGE,
    "tables": PAGE,
    "characteristics": PAGE,
    "cases": PAGE,
    "figures": PAGE,
    "ledger": PAGE,
}


def model_of(rule: str) -> Model | None:
    """Return the model of a rule: its own, or that of its stage."""
    return MODELS.get(rule) or MODELS.get(rule.partition("_")[0])


def place(rule: str) -> int:
    """Return where a rule stands among the stages; one without a model stands last."""
    known = [*MODELS]
    found = next((name for name in (rule, rule.partition("_")[0]) if name in MODELS), None)
    return known.index(found) if found else len(known)


def cost(registry: Registry, job: Job) -> Cost | None:
    """Return what a job takes with its start, or None of a rule without a model."""
    model = model_of(job.rule)
    if model is None:
        return None
    found = model.cost(registry, cast(Wildcards, SimpleNamespace(**job.wildcards)))
    return found._replace(core_s=found.core_s + assumed("start"))
