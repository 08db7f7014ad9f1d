"""Questions and topics of the generated places: what they ask, and that nothing else moved."""

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
import yaml

from conftest import ROOT
from residuum import data
from residuum.artefacts import contracts, trec
from residuum.collections.places import generate
from residuum.config import entries, faults, loading
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json

WORDS = yaml.safe_load((ROOT / "workflow/residuum/collections/words/places.yaml").read_text())
FORMS = {form: a["forms"] for a in WORDS["attributes"] for form in a["forms"]}
FORM = re.compile("|".join(rf"\b{re.escape(form)}\b" for form in FORMS))
DESCRIBED = re.compile(r"([A-Z]\w+ [A-Z]\w+)(?:, an? | is an? )")  # of a passage
PRESENT = ["train", "tune", "dev", "judged"]
FOLDS = [f"fold{number}" for number in range(1, 6)]
SIZES = {"smoke": (15, 10), "mini": (200, 60)}
PINNED = {
    "smoke": "e31f3f9ab3edec9db2c908a058a3f911e9c284696b5a44757cf4194954b95871",
    "mini": "c1a357a614b135e32d9b575a5dea2de2cced1fc688992a7ce117a90f63ecdc55",
}


@pytest.fixture(scope="module", params=SIZES)
def scale(request):
    return request.param


@pytest.fixture(scope="module")
def dataset(scale):
    return entries.parse(ROOT / f"config/datasets/generated-{scale}.yaml", Dataset)


@pytest.fixture(scope="module")
def made(dataset):
    return generate(dataset.source)


def without(source, **sizes):
    return source.model_copy(update={"questions": 0, "topics": 0, **sizes})


def texts_of(made):
    return {doc_id: fields["text"] for doc_id, fields in made.docs}


def best(made, split):
    """query_id -> the passage that it is asked about."""
    highest = 3 if split in ("judged", "topics", *FOLDS) else 1
    return {query: doc for query, doc, grade in made.qrels[split] if grade == highest}


def test_docs_and_the_splits_there_were_keep_their_bytes(made, dataset):
    """tests/collections/test_places.py has the sha256 of what is made without the later ones."""
    before = generate(without(dataset.source))
    assert list(before.queries) == list(before.qrels) == PRESENT
    assert before.docs == made.docs
    for split in PRESENT:
        assert before.queries[split] == made.queries[split]
        assert before.qrels[split] == made.qrels[split]


def test_what_decides_docs_and_present_splits_names_no_later_size(dataset):
    later = {"questions", "topics"}
    assert not later & dataset.for_corpus()["source"].keys()
    for split in [*PRESENT, "dev-adverse"]:
        assert not later & dataset.for_split(split)["source"].keys()
    for split in [*later, *FOLDS]:
        assert later <= dataset.for_split(split)["source"].keys()


def test_the_later_splits_have_these_bytes_on_every_machine(made, scale):
    later = [made.queries["questions"], made.queries["topics"], dict(made.answers)]
    later += [made.qrels["questions"], made.qrels["topics"]]
    digest = hashlib.sha256(json.dumps(later).encode()).hexdigest()
    assert digest == PINNED[scale]


def test_each_of_the_two_is_the_same_without_the_other(made, dataset):
    for split in ("questions", "topics"):
        size = getattr(dataset.source, split)
        alone = generate(without(dataset.source, **{split: size}))
        assert alone.queries[split] == made.queries[split]
        assert alone.qrels[split] == made.qrels[split]


def test_sizes_are_those_of_the_recipe_and_of_the_pins(made, dataset, scale):
    assert (len(made.queries["questions"]), len(made.queries["topics"])) == SIZES[scale]
    assert list(made.queries) == [*PRESENT, "questions", "topics", *FOLDS]
    for split, queries in made.queries.items():
        pin = dataset.editions[0].splits[split]
        assert (pin.queries, pin.qrels) == (len(queries), len(made.qrels[split]))


def test_what_they_ask_about_is_held_out_and_asked_about_once(made):
    passages = [set(best(made, split).values()) for split in [*PRESENT, "questions", "topics"]]
    assert sum(map(len, passages)) == len(set.union(*passages))
    for split in ("questions", "topics"):
        assert len(best(made, split)) == len(made.queries[split]) == len(set(best(made, split)))
    texts = [text for split in [*PRESENT, "questions", "topics"] for _, text in made.queries[split]]
    assert len(texts) == len(set(texts))


def test_a_question_describes_a_place_and_never_names_it(made):
    texts, target = texts_of(made), best(made, "questions")
    assert {grade for *_, grade in made.qrels["questions"]} == {1}
    for query_id, query in made.queries["questions"]:
        [answer] = made.answers["questions"][query_id]
        passage = texts[target[query_id]]
        assert DESCRIBED.search(passage)[1] == answer
        assert not {*answer.lower().split()} & {*re.findall(r"[a-z]+", query)}
        requested = FORMS[FORM.search(query)[0]]
        stated = [form for form in FORM.findall(passage) if form in requested]
        assert stated, "the passage states what is asked about"
        for concepts in ("types", "features"):
            forms = [forms for forms in WORDS[concepts] if any(form in query for form in forms)]
            assert any(form in passage for own in forms for form in own)


def test_several_docs_hold_an_answer(made):
    texts, answers = list(texts_of(made).values()), made.answers["questions"]
    assert answers.keys() == dict(made.queries["questions"]).keys()
    holding = [sum(answer in text for text in texts) for [answer] in answers.values()]
    assert min(holding) > 1
    assert 13 < sum(holding) / len(holding) < 18


def test_a_topic_is_an_attribute_and_a_name(made):
    texts, target = texts_of(made), best(made, "topics")
    for query_id, query in made.queries["topics"]:
        name = DESCRIBED.search(texts[target[query_id]])[1]
        form = query.removesuffix(f" {name.lower()}")
        assert any(other in texts[target[query_id]] for other in FORMS[form])


def test_topics_are_graded_as_judged_is(made):
    texts, queries, target = texts_of(made), dict(made.queries["topics"]), best(made, "topics")
    grades = {query_id: Counter() for query_id in queries}
    for query_id, doc, grade in made.qrels["topics"]:
        grades[query_id][grade] += 1
        name = DESCRIBED.search(texts[target[query_id]])[1]
        forms = FORMS[queries[query_id].removesuffix(f" {name.lower()}")]
        states = any(form in texts[doc] for form in forms)
        if grade == 3:
            assert doc == target[query_id] and states
        if grade == 2:
            assert DESCRIBED.search(texts[doc])[1] == name
        if grade == 1:
            assert name in texts[doc] or states
    for counts in grades.values():
        assert counts[3] == 1 and counts[2] and counts[1] and 0 < counts[0] <= 20


def test_folds_divide_the_topics_evenly(made, dataset):
    dealt = [query for fold in FOLDS for query in made.queries[fold]]
    assert sorted(dealt) == sorted(made.queries["topics"])
    assert {len(made.queries[fold]) for fold in FOLDS} == {len(made.queries["topics"]) // 5}
    for fold in FOLDS:
        ids = dict(made.queries[fold])
        assert made.qrels[fold] == [row for row in made.qrels["topics"] if row[0] in ids]
    assert dataset.splits["topics"].folds == FOLDS
    assert not dataset.splits["judged"].folds


def test_answers_are_exported_as_those_of_any_split(made, dataset, tmp_path):
    output = tmp_path / "answers.jsonl"
    data.answers("x", "questions", canonical_json(dataset.for_split("questions")), output)
    assert contracts.read_answers(output) == made.answers["questions"]


def test_each_doc_that_holds_the_name_is_relevant_and_the_target_is_one(tmp_path):
    dataset = entries.parse(ROOT / "config/datasets/generated-smoke.yaml", Dataset)
    made, spec = generate(dataset.source), canonical_json(dataset.for_split("questions"))
    data.corpus("x", canonical_json(dataset.for_corpus()), tmp_path / "corpus")
    queries, qrels = tmp_path / "queries.tsv", tmp_path / "qrels.trec"
    data.split("x", "questions", spec, queries, qrels, corpus=tmp_path / "corpus")
    texts, answers = texts_of(made), made.answers["questions"]
    holding = {(q, doc, 1) for q, [name] in answers.items() for doc in texts if name in texts[doc]}
    assert set(trec.read_qrels(qrels).iter_rows()) == holding
    assert holding > {*made.qrels["questions"]}


def test_only_questions_have_the_field_place(dataset):
    record = dataset.model_dump(mode="json", exclude_none=True)
    for split, field in (("dev", "place"), ("questions", "name")):
        splits = record["splits"] | {split: {"answers_field": field}}
        with pytest.raises(ValueError, match=f"splits.{split}: irds and answers_field go with"):
            Dataset.model_validate(record | {"splits": splits})


@pytest.mark.parametrize(("split", "fits"), [("questions", True), ("dev", False)])
def test_measures_by_answers_go_with_questions_alone(split, fits):
    base = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    registry = loading.load(ROOT / "config", {**base, "scale": "smoke"})
    own = registry.datasets["generated-smoke"]
    entry = own.splits[split].model_copy(update={"measures": ["AnswerAccuracy@10"]})
    measured = own.model_copy(update={"splits": {**own.splits, split: entry}})
    texts = faults.between(replace(registry, datasets={"generated-smoke": measured}))
    assert bool([text for text in texts if "has no answers" in text]) != fits


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"questions": 41},
            r"topics \+ question_tune: 161 queries requested, 160 passages lie outside",
        ),
        ({"topics": 4}, "topics: 4 requested, too few for 5 folds; give none, or 5 at least"),
        ({"questions": 5, "topics": 35}, r"topics: 35 queries.*docs of all grades; lower topics"),
    ],
)
def test_asking_for_too_much_says_what_is_possible(sizes, message):
    smoke = entries.parse(ROOT / "config/datasets/generated-smoke.yaml", Dataset)
    with pytest.raises(ValueError, match=message):
        generate(without(smoke.source, **sizes))


def test_questions_to_train_on_are_of_the_train_share_and_leave_all_else_alone(made, dataset):
    source = dataset.source.model_copy(update={"question_pairs": 300, "question_tune": 15})
    more = generate(source)
    assert more.docs == made.docs
    for split in made.queries:
        assert (more.queries[split], more.qrels[split]) == (made.queries[split], made.qrels[split])
    asked = {split: set(best(more, split).values()) for split in more.queries}
    held_out = set.union(*(asked[split] for split in ("tune", "dev", "judged", "questions")))
    assert len(more.queries["questions-train"]) == 300
    assert not asked["questions-train"] & (held_out | asked["topics"] | asked["questions-tune"])
    assert len(asked["questions-tune"]) == 15 and not asked["questions-tune"] & held_out
    texts = [text for split in PRESENT for _, text in made.queries[split]]
    texts += [
        t for s in ("questions", "questions-train", "questions-tune") for _, t in more.queries[s]
    ]
    assert len({*texts}) == len(texts), "no wording stands twice"
    docs = texts_of(more)
    for split in ("questions-train", "questions-tune"):
        assert more.answers[split].keys() == dict(more.queries[split]).keys()
        for query_id, [name] in more.answers[split].items():
            assert name in docs[best(more, split)[query_id]]
            assert name.lower() not in dict(more.queries[split])[query_id]
