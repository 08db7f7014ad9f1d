"""Splits that a generator writes: what they may say and are made of, why there may be none."""

import json
import re
from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest
import yaml
from pydantic import ValidationError

from conftest import ROOT
from plan_fixture import DATASET, MODEL, SCALE, SYSTEM, TRAINING, named, registry
from residuum.config import faults, specs
from residuum.config.entries import Folder
from residuum.config.faults import generator_faults
from residuum.config.registry import Registry, SplitId
from residuum.config.schema.datasets import Dataset, Own
from residuum.config.schema.scales import Config, Learning, Scale
from residuum.config.schema.splits import Split
from residuum.inspect.dryrun import Job
from residuum.inspect.planning import HUB, required
from residuum.wiring import sizes
from residuum.wiring.availability import all_available, why_no_export, why_unavailable
from residuum.wiring.base import Constraints
from residuum.wiring.corpora import Questions
from residuum.wiring.estimates import Estimates
from residuum.wiring.models import Models, models_judged
from residuum.wiring.paths import Paths
from residuum.wiring.resources import Resources

WRITER = {
    "kind": "question-generator", "backbone": "start", "train_on": "train", "layers": 1,
    "doc_length": 100, "question_length": 16, "training": TRAINING,
}  # fmt: skip
T5 = {"hub": "org/t5-base", "revision": "main", "pickled": True}
WRITTEN = SplitId("toy", "written")
SPLIT = named(dataset="toy", split="written")


def with_questions(start: object = None, train_on: str = "written", **sampling: object) -> Registry:
    """Return the toy with a split that a generator writes, and a model trained on it."""
    toy = registry()
    splits = {**DATASET["splits"], "written": {"synthetic": synthetic(**sampling)}}
    backbones = {**SCALE["backbones"], "writer": start or {"model": "writer", "seed": 3}}
    roles = {**SCALE["roles"], "written": "toy/written"}
    scale = {**SCALE, "roles": roles, "backbones": backbones if start != {} else SCALE["backbones"]}
    dual = {
        "kind": "dual-encoder", "backbone": "start", "train_on": train_on, "loss": {"kind": "nll"},
        "encoder": {"query_length": 8, "doc_length": 100}, "training": TRAINING,
    }  # fmt: skip
    models = {"writer": MODEL.validate_python(WRITER), "learner": MODEL.validate_python(dual)}
    system = SYSTEM.validate_python({"kind": "dense", "model": "learner", "k": 10})
    return replace(
        toy,
        scales={"toy": Scale.model_validate(scale)},
        datasets={"toy": Dataset.model_validate({**DATASET, "splits": splits})},
        models=toy.models | models,
        systems=toy.systems | {"learned": system},
    )


def synthetic(**changes: object) -> dict[str, object]:
    return {"generator": "writer", "per_doc": 6, **changes}


@pytest.mark.parametrize(("keys", "text"), [
    ({"irds": "toy/x"}, "synthetic: queries and judgements are a generator's; leave out irds"),
    ({"queries": "q", "qrels": "r"}, "leave out qrels, queries"),
    ({"positive_level": 2}, "leave out positive_level"),
    ({"folds": ["a"], "unjudged": True}, "leave out folds, unjudged"),
    ({"part": {"of": "dev", "ids": ["1"]}}, "leave out part"),
])  # fmt: skip
def test_such_a_split_says_nothing_else(keys: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(text)):
        Split.model_validate({"synthetic": synthetic(), **keys})
    assert Split.model_validate({"synthetic": synthetic(), "measures": ["RR@10"]}).judged


def test_no_split_is_drawn_from_one() -> None:
    for made in ({"holdout": {"of": "written", "queries": 5, "seed": 1}},
                 {"part": {"of": "written", "ids": ["1"]}}):  # fmt: skip
        splits = {**DATASET["splits"], "written": {"synthetic": synthetic()}, "drawn": made}
        with pytest.raises(ValidationError, match="'written' is what a generator writes"):
            Dataset.model_validate({**DATASET, "splits": splits})


@pytest.mark.parametrize("name", [
    "generated-mini", "generated-articles-mini", "ict-50", "nq-50", "msmarco-passage",
])  # fmt: skip
def test_a_collection_of_any_source_may_have_one(name: str) -> None:
    record = deepcopy(Folder(ROOT / "config" / "datasets").locations[name].read())
    record["splits"]["written"] = {"synthetic": synthetic()}
    assert Dataset.model_validate(record).judged("written")


def test_what_a_generator_is_trained_with() -> None:
    with pytest.raises(ValidationError, match="a question-generator model learns from pairs alone"):
        pools = {"pools": {"e": {"kind": "hits", "system": "bm25", "top": 9}}, "scores": "bm25"}
        MODEL.validate_python({**WRITER, "negatives": {**pools, "per_pair": 1}})
    grid = {"grid": [0.1], "of": "writer", "role": "dev", "measure": "RR@10"}
    with pytest.raises(ValidationError, match="no ranking compares trainings"):
        MODEL.validate_python({**WRITER, "training": {**TRAINING, "learning_rate": grid}})
    with pytest.raises(ValidationError, match="'random' or 'copying'"):
        MODEL.validate_python({**WRITER, "cross_attention": "identity"})
    of_paper = MODEL.validate_python(
        {k: WRITER[k] for k in ("kind", "backbone", "train_on", "training")}
    )
    assert (of_paper.layers, of_paper.doc_length, of_paper.question_length) == (3, 512, 64)
    assert of_paper.cross_attention == "random"


def test_the_stage_reads_corpus_and_generator_and_what_is_sampled() -> None:
    parts = Questions(with_questions(docs=50, seed=2), Paths("r"), all_available)
    assert parts.generator_files(SPLIT) == ["r/models/writer/seed3/manifest.json"]
    assert parts.generator(SPLIT) == "r/models/writer/seed3"
    assert json.loads(parts.spec(SPLIT)) == {
        "per_doc": 6, "top_k": 25, "doc_length": 512, "question_length": 64, "docs": 50, "seed": 2,
    }  # fmt: skip
    hub = Questions(with_questions(T5), Paths("r"), all_available)
    assert hub.generator_files(SPLIT) == []
    assert hub.generator(SPLIT) == "org/t5-base --revision main --pickled"
    encoder = replace(with_questions(T5), config=Config(scale="toy", papers=["toy"], encoder="x"))
    assert "org/t5-base" in Questions(encoder, Paths("r"), all_available).generator(SPLIT)
    models = Models(with_questions(), Paths("r"), all_available)
    trained = models.trained_on(models.paths.queries)(named(model="learner"))
    assert trained == "r/data/toy/written/queries.tsv"


def test_one_rule_makes_it_and_the_export_all_others() -> None:
    constraints, paths = Constraints(with_questions()), Paths("r")
    written, exported = (
        re.compile(re.sub(r"\{(\w+)(?:,(.+?))?\}(?=/)", lambda m: m[2] or "[a-z]+", path))
        for path in (constraints.synthetic(paths.queries), constraints.exported(paths.queries))
    )
    for split, own in {"written": True, "dev": False, "writtens": False}.items():
        path = f"r/data/toy/{split}/queries.tsv"
        assert bool(written.fullmatch(path)) == own
        assert bool(exported.fullmatch(path)) != own
    none = Constraints(registry())
    assert "(?!)" in none.synthetic(paths.queries)


def test_what_the_generator_lacks_the_split_lacks_and_what_learns_from_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr(Dataset, "missing", lambda *_: [])
    dev = SplitId("toy", "dev")
    toy = with_questions()
    assert why_no_export(toy, *WRITTEN) is None
    assert why_unavailable(toy, "learned", dev, all_available) is None
    unbound = with_questions({})
    for why in (
        why_no_export(unbound, *WRITTEN),
        why_unavailable(unbound, "learned", dev, all_available),
    ):
        assert why and "writer" in why and "toy" in why
    assert why_unavailable(unbound, "vectors", dev, all_available) is None, "trained on others"

    def offline(model: object) -> str:
        return f"no {getattr(model, 'hub', '')}"

    hub = with_questions(T5)
    assert why_unavailable(hub, "learned", dev, offline) == "no org/t5-base"
    assert why_no_export(hub, *WRITTEN, hub=offline) == "no org/t5-base"
    assert why_no_export(hub, "toy", "dev", hub=offline) is None
    behind = replace(toy, models={**toy.models, "writer": toy.models["writer"].model_copy(
        update={"train_on": "elsewhere"})})  # fmt: skip
    assert "elsewhere" in str(why_unavailable(behind, "learned", dev, all_available))


def test_a_role_is_played_by_what_it_needs() -> None:
    wrong = with_questions({"model": "small"})
    [(key, text)] = generator_faults(wrong, wrong.datasets["toy"])
    assert key == "splits.written.synthetic.generator"
    assert (
        "small play writer, which is of kind backbone, and a question-generator is needed" in text
    )
    toy = with_questions(doc_length=64, question_length=16)  # small reads 64 tokens
    assert [*generator_faults(toy, toy.datasets["toy"])] == []
    start = toy.models["learner"].model_copy(update={"backbone": "writer"})
    [(key, text)] = generator_faults(toy, start)
    assert key == "backbone" and "of kind question-generator, and an encoder is needed" in text


def test_a_run_rests_on_the_generator_that_wrote_its_training_questions() -> None:
    """A page then shows no number of it where the generator did not learn."""

    def judged(system: str, start: object = None) -> list[str]:
        toy = with_questions(start)
        learning = Learning(candidates="bm25", top=10, measure="RR@10")
        scale = toy.scale.model_copy(update={"learning": learning})
        dataset = toy.datasets["toy"].model_copy(update={"own": Own(train="train", tune="tune")})
        toy = replace(toy, scales={"toy": scale}, datasets={"toy": dataset})
        return models_judged(toy, system, 1, "toy")

    assert judged("learned") == ["learner/seed1", "writer/seed3"]
    assert judged("learned", T5) == ["learner/seed1"], "nobody trained it here"
    assert judged("vectors") == ["dual/seed1"], "it learns from no written question"


def test_a_generator_does_not_learn_from_what_it_writes() -> None:
    toy = with_questions()
    learner = toy.models["writer"].model_copy(update={"train_on": "written"})
    circular = replace(toy, models={**toy.models, "writer": learner})
    assert any("made from itself: writer -> writer" in text for text in faults.between(circular))
    assert not any("made from itself" in text for text in faults.between(toy))


def test_what_is_written_is_counted_and_estimated() -> None:
    toy = with_questions()
    assert sizes.queries(toy, WRITTEN) == sizes.pairs(toy, WRITTEN) == 6000
    assert sizes.examples(toy, "learner") == 6000
    few = with_questions(docs=50, per_doc=2)
    assert sizes.queries(few, WRITTEN) == 100
    assert sizes.queries(with_questions(docs=5000), WRITTEN) == 6000, "the corpus has 1,000"
    # one of the start's two layers, of 64 units and 128 between: 4 * 64^2 + 2 * 64 * 128
    assert sizes.shape(toy, "writer").layer_parameters == 32_768
    # 1000 bytes a doc: 100 of its tokens are read, and 10 of a question
    assert sizes.example(toy, toy.models["writer"], "toy") == (110, 116)
    how = Estimates(few).questions(SPLIT)
    read = 1000 / 4.5 + 2
    head = 2 * 486 * 64 * 50 * 20
    assert how.operations == pytest.approx(2 * 32_768 * 50 * (read + 20) + head)
    length = toy.datasets["toy"].splits["written"].synthetic.question_length
    assert how.steps == 7 * length, "batches of 8 docs, all questions of them together"
    # of each token a state, and a key and a value of the one layer, 64 numbers of two bytes each
    one = Estimates(with_questions(docs=50, per_doc=1)).questions(SPLIT)
    assert how.card - one.card == 8 * 512 * 3 * 64 * 2
    assert how.disk == 1.5 * 40 * 100


def test_pairs_of_synthetic_questions_are_held_by_each_process_of_a_training() -> None:
    toy = with_questions(per_doc=1000)  # a million: 1,500 bytes each
    several = replace(toy, config=Config(scale="toy", papers=["toy"], device="cuda", gpus=2))
    resources = Resources(several)
    training = resources.training(Estimates(several).training, mem_mb=6000)
    assert training["mem_mb"](named(model="learner", seed="1"), 1) == 2 * (6000 + 1500)
    assert resources.tuples_mb(named(model="learner")) == 4000 + 400


def test_a_plan_lists_the_hub_s_generator() -> None:
    job = Job("questions_generate", {"dataset": "toy", "split": "written"}, [], [], 1, Counter())
    files = required(with_questions(T5), [job])
    assert [file.name for file in files[HUB]] == ["org/t5-base"]
    assert required(with_questions(), [job]) == {}


def test_other_splits_specs_are_as_they_were() -> None:
    before, after = registry().datasets["toy"], with_questions().datasets["toy"]
    for split in DATASET["splits"]:
        assert specs.canonical_json(before.for_split(split)) == specs.canonical_json(
            after.for_split(split)
        )
    assert before.for_corpus() == after.for_corpus()


def test_corpora_of_spans_are_read_in_training_and_have_to_be_there():
    toy = with_questions()
    spans = {"corpora": ["dev", "train"]}
    writer = MODEL.validate_python(
        {**WRITER, "spans": spans, "training": {**TRAINING, "steps": 5, "epochs": None}}
    )
    spanning = replace(toy, models=toy.models | {"writer": writer})
    models = Models(spanning, Paths("r"), all_available)
    corpus = "r/data/toy/corpus/manifest.json"
    assert models.spans(named(model="writer", seed="3")) == [corpus, corpus]
    assert models.spans(named(model="learner", seed="1")) == []
    elsewhere = writer.model_copy(
        update={"spans": writer.spans.model_copy(update={"corpora": ["other-field"]})}
    )
    lacking = replace(toy, models=toy.models | {"writer": elsewhere})
    why = why_unavailable(lacking, "learned", SplitId("toy", "dev"), all_available)
    assert why == "scale toy binds nothing to other-field"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"splits": {"train": {"synthetic": synthetic()}}}, "made with a generated-articles"),
        ({"own": {"train": "train", "tune": "synthetic"}}, "own.tune: 'synthetic' holds generated"),
        ({"splits": {"test": {"folds": ["batch1", "synthetic"]}}}, "folds: 'synthetic' is what a"),
    ],
)
def test_a_generators_questions_are_no_source_s(changes, says):
    entry = yaml.safe_load((ROOT / "config/datasets/generated-pubmed-smoke.yaml").read_text())
    splits = {**entry["splits"], **changes.pop("splits", {})}
    with pytest.raises(ValidationError) as caught:
        Dataset.model_validate({**entry, "splits": splits, **changes})
    assert says in str(caught.value)
