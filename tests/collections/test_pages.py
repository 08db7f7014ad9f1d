"""Generated pages: sections, answers, judgements of pages, refusals; the same on every machine."""

import hashlib
import json
import re
from collections import Counter

import pytest

from corpora import digests_of_other_processes
from residuum.collections import places
from residuum.collections.pages import generate, people, words
from residuum.collections.worlds import Generated
from residuum.config.schema.datasets import Collection, Dataset
from residuum.config.schema.generated import GeneratedPages, GeneratedSource

SMOKE = {
    **{"kind": "generated-pages", "seed": 1, "entities": 40, "passages": 320, "train_pairs": 190},
    **{"train_share": 0.6, "tune": 20, "dev": 40, "judged": 10, "shift": 0.75},
}
PERSON = re.compile(rf"(?:{'|'.join(words.given)}) (?:{'|'.join(words.family)})\b")


def make(**changes: object) -> Generated:
    return generate(GeneratedPages.model_validate(SMOKE | changes))


@pytest.fixture(scope="module")
def made() -> Generated:
    return make()


def of_passages() -> Generated:
    """Return the collection of passages that has the same sections, a doc each."""
    shared = {key: value for key, value in SMOKE.items() if key != "kind"}
    recipe = GeneratedSource(kind="generated", listings=0, stubs=0, **shared)
    return places.generate(recipe)


def test_same_seed_gives_same_bytes_in_any_process_and_on_any_machine(made: Generated) -> None:
    listed = json.dumps([made.docs, made.queries, made.qrels, made.answers])
    own = hashlib.sha256(listed.encode()).hexdigest()
    form = "[c.docs, c.queries, c.qrels, c.answers]"
    assert digests_of_other_processes("pages", SMOKE, form) == {own}
    assert own == "ded8810da2f270c97e77fb1d73c84d263318f50d19a9bbbb8ac163eaecf72a88"


def test_a_page_has_all_sections_of_a_place_and_each_its_own_person(made: Generated) -> None:
    assert len(made.docs) == len({fields["title"] for _, fields in made.docs}) == 40
    named = [PERSON.findall(fields["body"]) for _, fields in made.docs]
    assert Counter(map(len, named)) == {8: 40}
    assert len({person for persons in named for person in persons}) == 320
    for _, fields in made.docs:
        assert fields["text"] == f"{fields['title']} {fields['body']}"
        assert fields["body"].count(fields["title"]) >= 8  # each section describes the place
    sections = {fields["text"] for _, fields in of_passages().docs}
    assert sum(text in fields["body"] for text in sections for _, fields in made.docs) == 320


def test_a_query_asks_for_one_section_whose_person_answers_it(made: Generated) -> None:
    plain = of_passages()
    texts = {doc_id: fields["text"] for doc_id, fields in plain.docs}
    pages = {doc_id: fields["body"] for doc_id, fields in made.docs}
    for split in ("train", "tune", "dev"):
        asked, judged = dict(plain.queries[split]), dict(q[:2] for q in plain.qrels[split])
        assert len(made.queries[split]) == len(made.qrels[split]) == len(asked)
        for (query_id, text), (of, page, grade) in zip(
            made.queries[split], made.qrels[split], strict=True
        ):
            assert query_id == of and grade == 1
            assert asked[query_id] in text and text != asked[query_id]
            section = texts[judged[query_id]]
            assert section in pages[page]
            [person] = made.answers[split][query_id]
            rest = pages[page].split(section)[1]
            assert PERSON.search(rest)[0] == person  # the next one that is named
            assert [person in body for body in pages.values()].count(True) == 1
    assert len({person for [person] in made.answers["dev"].values()}) == 40


def test_a_page_is_as_relevant_as_its_best_section(made: Generated) -> None:
    plain = of_passages()
    texts = {doc_id: fields["text"] for doc_id, fields in plain.docs}
    assert made.queries["judged"] == plain.queries["judged"]
    best: dict[tuple[str, str], int] = {}
    for query, doc, grade in plain.qrels["judged"]:
        [page] = [page for page, fields in made.docs if texts[doc] in fields["body"]]
        best[query, page] = max(best.get((query, page), 0), grade)
    assert {(query, page): grade for query, page, grade in made.qrels["judged"]} == best
    assert Counter(best.values()) == {0: 129, 3: 10}  # one page answers; none of 40 is alike
    assert "judged" not in made.answers


def test_another_seed_gives_other_pages_and_people(made: Generated) -> None:
    other = make(seed=2)
    assert {f["title"] for _, f in other.docs} != {f["title"] for _, f in made.docs}
    assert other.answers["dev"]["dev-00001"] != made.answers["dev"]["dev-00001"]


def test_more_sections_than_people_are_refused() -> None:
    assert len(people()) == len({*people()}) == 3600
    with pytest.raises(ValueError, match="passages: 3601 requested, but 3600 people can be named"):
        make(entities=100, passages=3601)
    with pytest.raises(ValueError, match="queries requested, 128 passages lie outside the train"):
        make(dev=200)


def test_answers_are_asked_for_by_their_name() -> None:
    base = {"source": SMOKE, "editions": [{"name": "seed 1", "docs": 40}]}
    with pytest.raises(ValueError, match="dev has the answers_field person"):
        Collection.model_validate(base | {"splits": {"dev": {"answers_field": "place"}}})
    with pytest.raises(ValueError, match="a generated-pages collection has train, tune, dev, j"):
        Collection.model_validate(base | {"splits": {"test": {}}})
    readers = {"title": "t", "description": "d", "licence": "l", "citation": "c", "access": "a"}
    windows = {"length": 60, "stride": 30, "head": ["abstract"], "body": "body", "expected": 2}
    with pytest.raises(ValueError, match="docs keep no field abstract; kept: title, body"):
        Dataset.model_validate({**base, **readers, "splits": {"dev": {}}, "windows": windows})
