"""What a training on a mix reads: tuples, queries and pairs of each of its splits."""

import re
from dataclasses import replace

import pytest

from plan_fixture import MODEL, MODELS, SCALE, SYSTEM, TRAINING, named, registry
from residuum.config.schema.scales import Scale
from residuum.wiring import sizes
from residuum.wiring.availability import all_available
from residuum.wiring.base import Constraints
from residuum.wiring.corpora import encoded_splits
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths

HOW = {**TRAINING, "batch_size": 10, "epochs": None, "steps": 7}
MIX = {**MODELS["inbatch"], "training": HOW, "train_on": {"more": 0.2, "train": 0.8}}
TOY = registry()
TOY = replace(
    TOY,
    models={**TOY.models, "mix": MODEL.validate_python(MIX)},
    systems={**TOY.systems, "mixed": SYSTEM.validate_python({"kind": "dense", "model": "mix",
                                                             "k": 10})},
    scales={"toy": Scale.model_validate({**SCALE, "roles": {**SCALE["roles"],
                                                            "more": "toy/dev"}})},
)  # fmt: skip
PARTS = Models(TOY, Paths("r"), all_available)
TRAIN, MORE = (f"r/training/mix@toy.{split}/tuples.jsonl.gz" for split in ("train", "dev"))


def test_a_training_reads_the_tuples_and_queries_of_each_role():
    job = named(model="mix", seed="1")
    assert PARTS.tuples(job) == [TRAIN, MORE]
    assert PARTS.queries(job) == ["r/data/toy/train/queries.tsv", "r/data/toy/dev/queries.tsv"]
    assert PARTS.trained_on(PARTS.paths.corpus)(job) == "r/data/toy/corpus/manifest.json"
    assert PARTS.pairs(job) == (
        f"--tuples train={TRAIN} --tuples more={MORE} "
        "--queries train=r/data/toy/train/queries.tsv --queries more=r/data/toy/dev/queries.tsv"
    )
    assert PARTS.folds(job) == [] and PARTS.held_out(job) == ""


def test_fixed_vectors_of_a_mix_are_those_of_each_of_its_splits():
    vectors = {"kind": "lexical-vectors", "system": "bm25"}
    residual = {**MIX, "fixed": {"model": "vectors"}, "loss": {"kind": "residual_nll",
                                                               "lambda_train": 1.0}}  # fmt: skip
    models = {"mix": MODEL.validate_python(residual), "vectors": MODEL.validate_python(vectors)}
    toy = replace(TOY, models={**TOY.models, **models})
    parts, job = Models(toy, Paths("r"), all_available), named(model="mix", seed="1")
    [folder] = {path.rpartition("/")[0] for path in parts.fixed(parts.paths.query_embeddings)(job)}
    assert parts.fixed_queries(job) == (
        f"--fixed-queries train={folder}/train --fixed-queries more={folder}/dev"
    )
    assert {"train", "dev"} <= {*encoded_splits(toy, "toy", "vectors", 1)}


def test_a_training_on_one_role_is_commanded_as_ever():
    assert PARTS.pairs(named(model="dual", seed="1")) == (
        "--tuples r/training/dual/tuples.jsonl.gz --queries r/data/toy/train/queries.tsv"
    )


@pytest.mark.parametrize(("split", "level"), [("train", 2), ("dev", 1)])
def test_tuples_of_each_role_are_of_its_own_split(split, level):
    job = named(model=f"mix@toy.{split}")
    files = [PARTS.trained_on(path)(job) for path in (PARTS.paths.queries, PARTS.paths.qrels)]
    assert files == [f"r/data/toy/{split}/queries.tsv", f"r/data/toy/{split}/qrels.trec"]
    assert f'"positive_level":{level}' in PARTS.mined_spec(job)
    assert PARTS.mined_index(job) == PARTS.mined_runs(job) == PARTS.docpairs(job) == []


def test_tuples_of_a_mix_are_made_by_the_rule_that_makes_all_and_no_model_is_so_called():
    only = Constraints(TOY)
    template = only.tuples(PARTS.paths.tuples)
    expression = template.partition("{model,")[2].partition("}")[0]
    for name in ("mix@toy.train", "mix@toy.dev", "dual"):
        assert re.fullmatch(expression, name)
    assert not re.fullmatch(expression, "dual@toy.train")
    assert not re.fullmatch(only.model, "mix@toy.train")


def test_jobs_of_a_mix_are_estimated_by_the_pairs_of_its_splits():
    """30 grade 3 and 40 grade 2 less 10 held out are 60 pairs of train; dev has 20."""
    assert sizes.examples(TOY, "mix") == 80
    assert sizes.examples(TOY, "mix@toy.train") == 60
    assert sizes.examples(TOY, "mix@toy.dev") == 20
    estimates = Estimates(TOY)
    assert estimates.training(named(model="mix")).steps == 7
    disk = [estimates.negatives(named(model=f"mix@toy.{s}")).disk for s in ("train", "dev")]
    assert disk[0] == 3 * disk[1]
