"""A registry so small that what its jobs take can be computed by hand."""

import json
from dataclasses import replace
from types import SimpleNamespace

from pydantic import TypeAdapter

from residuum.config.registry import Registry
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.models import Model
from residuum.config.schema.scales import Config, Scale
from residuum.config.schema.systems import System

MODEL = TypeAdapter(Model)
SYSTEM = TypeAdapter(System)
TRAINING = {"learning_rate": 1e-5, "batch_size": 4, "epochs": 2}
ANALYSIS = {"stemmer": "porter", "stopwords": "lucene"}
BM25 = {"kind": "lexical", "analysis": ANALYSIS, "bm25": {"k1": 0.9, "b": 0.4}, "k": 10}
GRID = {"feedback_docs": [5, 10], "feedback_terms": [6, 18], "original_query_weight": [0.5]}
DATASET = {
    "title": "Toy",
    "description": "A toy.",
    "licence": "none",
    "citation": "none",
    "access": "ask the keeper",
    "source": {"kind": "irds", "docs": "toy", "text_fields": ["text"]},
    "downloads": [
        {"home": "toy/docs.gz", "url": "https://example.org/docs.gz", "bytes": 700},
        {"home": "toy/t.gz", "url": "https://example.org/t.gz", "bytes": 20, "splits": ["train"]},
        {"home": "toy/dev.gz", "url": "https://example.org/dev.gz", "splits": ["dev"]},
    ],
    "splits": {
        "train": {"irds": "toy/train", "positive_level": 2},
        "tune": {"holdout": {"of": "train", "queries": 10, "seed": 1}},
        "dev": {"irds": "toy/dev", "measures": ["RR@10"]},
        "open": {"irds": "toy/open"},
    },
    "editions": [
        {"name": "old", "docs": 900},
        {
            "name": "new",
            "docs": 1000,
            "splits": {
                "train": {"queries": 110, "qrels": 150, "relevance": {0: 30, 1: 50, 2: 40, 3: 30}},
                "dev": {"queries": 20, "qrels": 20},
            },
        },
    ],
}  # fmt: skip
MODELS = {
    "small": {
        "kind": "backbone", "corpora": ["dev"], "vocabulary": 486, "hidden": 64, "layers": 2,
        "heads": 1, "intermediate": 128, "max_length": 64, "seed": 1,
    },
    "dual": {
        "kind": "dual-encoder", "backbone": "start", "train_on": "train",
        "negatives": {
            "pools": {"errors": {"kind": "hits", "system": "bm25", "top": 10}},
            "scores": "bm25", "per_pair": 3,
        },
        "loss": {"kind": "residual_margin", "xi": 1.0, "lambda_train": 0.1},
        "encoder": {"query_length": 8, "doc_length": 100}, "training": TRAINING,
    },
    "inbatch": {
        "kind": "dual-encoder", "backbone": "hub", "train_on": "train",
        "loss": {"kind": "nll"},
        "encoder": {"query_length": 8, "doc_length": 100}, "training": TRAINING,
    },
    "cross": {
        "kind": "cross-encoder", "backbone": "start", "train_on": "train", "group": 1,
        "negatives": {"same_as": "dual"}, "loss": {"kind": "nll"}, "reading": {"length": 50},
        "training": TRAINING,
    },
}  # fmt: skip
SYSTEMS = {
    "bm25": BM25,
    "tuned": {**BM25, "rm3": {"grid": GRID, "folds": 2, "seed": 1, "measures": {"dev": "RR@10"}}},
    "vectors": {"kind": "dense", "model": "dual", "k": 10},
    "deep": {
        "kind": "rerank", "first_stage": "bm25", "reranker": "role",
        "depth": {"grid": [2, 5], "tune_on": "tune", "measure": "RR@10"},
    },
    "deeper": {
        "kind": "rerank", "first_stage": "bm25", "reranker": "role",
        "depth": {"grid": [5, 8], "tune_on": "tune", "measure": "RR@10"},
    },
    "hybrid": {
        "kind": "rerank", "first_stage": "vectors", "reranker": "role",
        "depth": {"grid": [3], "tune_on": "tune", "measure": "RR@10"},
    },
    "elsewhere": {
        "kind": "rerank", "first_stage": "bm25", "reranker": "nobody",
        "depth": {"grid": [9], "tune_on": "tune", "measure": "RR@10"},
    },
}  # fmt: skip
SCALE = {
    "description": "a toy",
    "comparable": False,
    "reason": "a toy",
    "seeds": [1, 2],
    "roles": {"train": "toy/train", "tune": "toy/tune", "dev": "toy/dev"},
    "backbones": {
        "start": {"model": "small"},
        "hub": {"hub": "org/bert-base", "revision": "main"},
    },
    "rerankers": {
        "role": {"hub": "org/bert-large", "revision": "main", "reading": {"length": 512}}
    },
    "threads": 2,
    "shard_docs": 300,
    "batch_size": 8,
    "pair_batch_size": 4,
}


def registry() -> Registry:
    """Return it: 1,000 docs, 100 training queries and 60 pairs, 20 dev queries, two seeds."""
    return Registry(
        config=Config(scale="toy", papers=["toy"]),
        scales={"toy": Scale.model_validate(SCALE)},
        datasets={"toy": Dataset.model_validate(DATASET)},
        models={name: MODEL.validate_python(entry) for name, entry in MODELS.items()},
        systems={name: SYSTEM.validate_python(entry) for name, entry in SYSTEMS.items()},
        tests={},
        pages={},
    )


def with_triples(first: int | None, docpairs: str | None = "toy/triples") -> Registry:
    """Return it with two models that are trained on the training triples of toy/train, 500."""
    toy = registry()
    data = json.loads(json.dumps(DATASET))
    data["splits"]["train"]["docpairs"] = docpairs
    data["editions"][1]["splits"]["train"]["docpairs"] = docpairs and 500
    dual = MODELS["dual"]
    official = {**dual, "negatives": {"triples": {"first": first}, "scores": "bm25"}}
    follower = {**dual, "negatives": {"same_as": "official"}}
    models = {"official": official, "follower": follower}
    systems = {name: {"kind": "dense", "model": name, "k": 10} for name in models}
    made = {name: MODEL.validate_python(entry) for name, entry in models.items()}
    found = {name: SYSTEM.validate_python(entry) for name, entry in systems.items()}
    return replace(
        toy,
        datasets={"toy": Dataset.model_validate(data)},
        models=toy.models | made,
        systems=toy.systems | found,
    )


def named(**wildcards: str) -> SimpleNamespace:
    """Return the wildcards of a job, as Snakemake gives them to a rule."""
    return SimpleNamespace(**wildcards)
