"""The generated collection keeps what its page promises: bytes, splits and grades."""

import hashlib
import json
import re
from collections import Counter
from types import SimpleNamespace

import pytest

from corpora import digests_of_other_processes
from residuum.collections import places
from residuum.collections.places import generate
from residuum.collections.worlds import Generated, Stream

SMOKE = {
    "seed": 1,
    "entities": 60,
    "passages": 400,
    "listings": 30,
    "stubs": 30,
    "train_pairs": 800,
    "train_share": 0.6,
    "tune": 40,
    "dev": 60,
    "judged": 20,
    "questions": 0,
    "topics": 0,
    "shift": 0.75,
    "question_pairs": 0,
    "question_tune": 0,
}
MINI = SMOKE | {
    "entities": 1000,
    "passages": 7200,
    "listings": 500,
    "stubs": 500,
    "train_pairs": 10000,
    "tune": 150,
    "dev": 500,
    "judged": 100,
}
ATTRIBUTES = places.words.attributes
HELD_OUT = ("tune", "dev", "judged")
ATTRIBUTE_OF_FORM = {form: number for number, a in enumerate(ATTRIBUTES) for form in a.forms}
FORM = re.compile("|".join(rf"\b{re.escape(form)}\b" for form in ATTRIBUTE_OF_FORM))


def make(scale=None, **changes) -> Generated:
    return generate(SimpleNamespace(**((scale or SMOKE) | changes)))


def texts_of(collection: Generated) -> dict[str, str]:
    """doc_id -> text, the only field."""
    assert all(list(fields) == ["text"] for _, fields in collection.docs)
    return {doc_id: fields["text"] for doc_id, fields in collection.docs}


def digest(collection: Generated) -> str:
    texts = list(texts_of(collection).items())
    listed = json.dumps([texts, collection.queries, collection.qrels])
    return hashlib.sha256(listed.encode()).hexdigest()


def answers(collection: Generated, split: str) -> dict[str, str]:
    """query_id -> the doc that answers it."""
    best = 3 if split == "judged" else 1
    return {query: doc for query, doc, grade in collection.qrels[split] if grade == best}


def pair(text: str, query: str) -> tuple[int, str]:
    """The (attribute, entity) that a passage states: the queried attribute, the described name."""
    attribute = ATTRIBUTE_OF_FORM[FORM.search(query).group()]
    described = re.search(r"([A-Z]\w+ [A-Z]\w+)(?:, an? | is an? )", text)
    return attribute, described.group(1)


def pairs(collection: Generated, split: str) -> set[tuple[int, str]]:
    texts, queries = texts_of(collection), dict(collection.queries[split])
    return {pair(texts[doc], queries[q]) for q, doc in answers(collection, split).items()}


@pytest.fixture(scope="module", params=[SMOKE, MINI], ids=["smoke", "mini"])
def scale(request):
    return request.param


@pytest.fixture(scope="module")
def collection(scale):
    return make(scale)


def test_same_seed_gives_same_bytes_in_any_process():
    printed = digests_of_other_processes(
        "places", SMOKE, "[[(i, doc['text']) for i, doc in c.docs], c.queries, c.qrels]"
    )
    assert printed == {digest(make())}


def test_bytes_are_those_of_every_other_machine():
    assert digest(make()) == "cf3f7ee1b94ddbc0a962693fbab60f403bcdc5ae391009a5b600e416cd01a3f6"
    assert digest(make(MINI)) == "9c4bbf6645ac551281978c38eb1740e15742445d3188184b793d2a35c6c6aa59"


def test_different_seed_gives_different_texts():
    one, other = make(), make(seed=2)
    assert texts_of(one).keys() == texts_of(other).keys()
    assert not {*texts_of(one).values()} & {*texts_of(other).values()}


def test_more_train_pairs_leave_the_rest_alone():
    one, other = make(), make(train_pairs=900)
    assert one.docs == other.docs
    for split in HELD_OUT:
        assert one.queries[split] == other.queries[split]
        assert one.qrels[split] == other.qrels[split]


def test_counts_are_those_of_the_recipe(collection, scale):
    assert len(collection.docs) == scale["passages"] + scale["listings"] + scale["stubs"]
    assert list(collection.queries) == list(collection.qrels) == ["train", *HELD_OUT]
    sizes = {split: len(queries) for split, queries in collection.queries.items()}
    assert sizes == {"train": scale["train_pairs"], **{split: scale[split] for split in HELD_OUT}}


def test_ids_and_query_texts_are_unique(collection):
    queries = [query for split in collection.queries.values() for query in split]
    assert len({doc_id for doc_id, _ in collection.docs}) == len(collection.docs)
    assert len({query_id for query_id, _ in queries}) == len(queries)
    assert len({text for _, text in queries}) == len(queries)
    assert collection.docs[0][0] == "d000001"
    assert collection.queries["train"][0][0] == "train-00001"


def test_texts_are_one_line_of_plain_words(collection):
    texts = [*texts_of(collection).values()]
    texts += [text for queries in collection.queries.values() for _, text in queries]
    odd = [text for text in texts if not re.fullmatch(r"[A-Za-z][A-Za-z ,.:?-]*", text)]
    assert not odd
    assert not [text for text in texts if "  " in text or " ," in text]
    mean = sum(len(text.split()) for text in texts_of(collection).values()) / len(collection.docs)
    assert 37 < mean < 43


def test_articles_fit_the_next_word(collection):
    wrong = re.compile(r"\b(?:a (?!uni)[aeiou]|an (?![aeiou])|an uni)")
    assert not [text for text in texts_of(collection).values() if wrong.search(text)]


def test_every_judged_doc_and_query_exists_once(collection):
    doc_ids = {doc_id for doc_id, _ in collection.docs}
    for split, qrels in collection.qrels.items():
        assert {doc for _, doc, _ in qrels} <= doc_ids
        assert {query for query, _, _ in qrels} == {query for query, _ in collection.queries[split]}
        assert len({(query, doc) for query, doc, _ in qrels}) == len(qrels)


@pytest.mark.parametrize("split", ["train", "tune", "dev"])
def test_one_relevant_doc_per_query(collection, split):
    assert {grade for *_, grade in collection.qrels[split]} == {1}
    assert len(collection.qrels[split]) == len(collection.queries[split])


def test_train_positives_lie_within_the_train_share(collection, scale):
    positives = set(answers(collection, "train").values())
    assert len(positives) == round(scale["train_share"] * scale["passages"])


def test_no_held_out_positive_is_a_positive_of_another_split(collection):
    positives = [set(answers(collection, split).values()) for split in collection.queries]
    assert sum(map(len, positives)) == len(set.union(*positives))


def test_no_pair_of_attribute_and_entity_is_shared_by_two_splits(collection):
    result = [pairs(collection, split) for split in collection.queries]
    assert sum(map(len, result)) == len(set.union(*result))


def test_no_pair_is_stated_twice(collection):
    for split in HELD_OUT:
        assert len(pairs(collection, split)) == len(collection.queries[split])


def test_judged_grades_cover_the_scale_for_every_query(collection):
    grades = {query: Counter() for query, _ in collection.queries["judged"]}
    for query, _, grade in collection.qrels["judged"]:
        grades[query][grade] += 1
    for counts in grades.values():
        assert set(counts) == {0, 1, 2, 3}
        assert counts[3] == 1
        assert counts[1] + counts[2] + counts[3] >= 3


def test_grades_follow_the_written_rules(collection):
    texts, queries = texts_of(collection), dict(collection.queries["judged"])
    best = answers(collection, "judged")
    for query, doc, grade in collection.qrels["judged"]:
        attribute, name = pair(texts[best[query]], queries[query])
        forms = ATTRIBUTES[attribute].forms
        if grade == 3:
            assert name in texts[doc]
            assert any(form in texts[doc] for form in forms)
        if grade == 2:
            family = ATTRIBUTES[attribute].family
            kin = [a for a in ATTRIBUTES if a.family == family]
            assert name in texts[doc]
            assert any(form in texts[doc] for a in kin for form in a.forms)
        if grade == 1:
            assert name in texts[doc] or any(form in texts[doc] for form in forms)


def test_entity_names_are_unique():
    names = places.place_names()
    assert len({name.lower() for name in names}) == len(names)
    firsts, seconds = zip(*(name.split() for name in names), strict=True)
    assert not set(firsts) & set(seconds)


def test_forms_of_a_concept_share_no_word():
    words = places.words
    concepts = [a.forms for a in words.attributes]
    concepts += [*words.types, *words.modifiers, *words.features]
    for forms in concepts:
        words = [word for form in forms for word in re.findall("[a-z]+", form)]
        assert len(words) == len(set(words)), forms


def test_concepts_of_one_kind_have_equally_many_forms():
    words = places.words
    assert {len(attribute.forms) for attribute in words.attributes} == {4}
    assert {len(forms) for forms in [*words.types, *words.modifiers, *words.features]} == {3}


def test_a_form_belongs_to_one_attribute():
    assert len(ATTRIBUTES) == 40
    assert len(ATTRIBUTE_OF_FORM) == 160


@pytest.mark.parametrize(("shift", "low", "high"), [(0.0, 0, 0), (0.75, 0.72, 0.79), (1.0, 1, 1)])
def test_share_of_queries_without_the_attribute_form_of_their_positive(shift, low, high):
    collection = make(MINI, shift=shift, train_pairs=4000)
    texts = texts_of(collection)
    unmatched = [
        FORM.search(text).group() not in texts[doc]
        for split in ("train", "dev")
        for text, doc in zip(
            [text for _, text in collection.queries[split]],
            [doc for _, doc, _ in collection.qrels[split]],
            strict=True,
        )
    ]
    # 4,500 draws: three standard errors are 0.019
    assert low <= sum(unmatched) / len(unmatched) <= high


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dev": 200}, r"dev.*260 queries requested, 160 passages.*lower"),
        (
            {"passages": 2401},
            r"passages: 2401 requested.*give 2400; lower passages or raise entities",
        ),
        ({"entities": 3}, r"entities: 3 requested, 6 to \d+ possible"),
        ({"train_share": 0.0}, r"train_pairs: 800 requested.*raise train_share"),
        ({"passages": 60, "tune": 1, "dev": 1, "judged": 5}, r"judged: 5 .* 0 passages.*lower"),
        ({"shift": 0.0, "train_pairs": 90000}, r"train_pairs: 90000 requested.*no new wording"),
        (
            {"passages": 0, "tune": 0, "dev": 0, "judged": 0, "train_pairs": 0},
            r"stubs: 30 requested",
        ),
    ],
)
def test_asking_for_too_much_says_what_is_possible(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_all_faults_come_in_one_message():
    with pytest.raises(ValueError, match=r"(?s)entities: 3.*passages: 400.*dev"):
        make(entities=3, dev=1000)


@pytest.mark.parametrize("count", [0, 1, 6, 12, 99])
def test_a_few_of_many_are_drawn_as_from_a_shuffled_copy_of_all(count):
    drawn = Stream(3, "docs").sample(range(100), count)
    pool, random = list(range(100)), Stream(3, "docs").random
    for place in range(count):
        other = place + int(random() * (100 - place))
        pool[place], pool[other] = pool[other], pool[place]
    assert drawn == pool[:count]
    assert Stream(3, "docs").sample("ab", 6) == Stream(3, "docs").shuffled("ab")


def test_a_listing_takes_no_longer_in_a_larger_world():
    class Places(list):
        looked_at = 0

        def __getitem__(self, number):
            self.looked_at += 1
            return super().__getitem__(number)

        def __iter__(self):
            raise AssertionError("all places were copied")

    many = Places(range(100_000))
    assert len(set(Stream(1, "docs").sample(many, places.LISTED))) == many.looked_at == 6
