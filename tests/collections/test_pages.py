"""Generated pages: sections, answers, judgements of pages, refusals; the same on every machine."""

import hashlib
import json
import re
from collections import Counter
from itertools import combinations

import pytest

from conftest import ROOT
from corpora import digests_of_other_processes
from residuum.collections import places
from residuum.collections.pages import generate, people, words
from residuum.collections.worlds import Generated
from residuum.config import entries
from residuum.config.schema.datasets import Collection, Dataset
from residuum.config.schema.generated import GeneratedPages, GeneratedSource

SMOKE = {
    **{"kind": "generated-pages", "seed": 1, "entities": 40, "passages": 320, "train_pairs": 190},
    **{"subjects": 4, "turns": 2},
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
    alone = {"kind", "subjects", "turns"}
    shared = {key: value for key, value in SMOKE.items() if key not in alone}
    recipe = GeneratedSource(kind="generated", listings=0, stubs=0, **shared)
    return places.generate(recipe)


def test_same_seed_gives_same_bytes_in_any_process_and_on_any_machine(made: Generated) -> None:
    listed = json.dumps([made.docs, made.queries, made.qrels, made.answers])
    own = hashlib.sha256(listed.encode()).hexdigest()
    form = "[c.docs, c.queries, c.qrels, c.answers]"
    assert digests_of_other_processes("pages", SMOKE, form) == {own}
    assert own == "3c1768beb220e5b6cd9ff3fe4791701729eb155c25b1ac29c7d8c519ca40ff08"


def test_a_page_has_eight_sections_and_each_its_own_person(made: Generated) -> None:
    assert len(made.docs) == 40
    named = [PERSON.findall(fields["body"]) for _, fields in made.docs]
    assert Counter(map(len, named)) == {8: 40}
    assert len({person for persons in named for person in persons}) == 320
    for _, fields in made.docs:
        assert fields["text"] == f"{fields['title']} {fields['body']}"
    sections = {fields["text"] for _, fields in of_passages().docs}
    assert sum(text in fields["body"] for text in sections for _, fields in made.docs) == 320


def subjects(made: Generated) -> dict[str, list[str]]:
    """Return the subject of each section of each page, in order: the place that a credit names."""
    credits = [re.escape(credit) for credit in words.credits]
    fields = {"person": PERSON.pattern, "attribute": ".+?", "place": r"(?P<place>\w+ \w+)"}
    patterns = []
    for number, credit in enumerate(credits):
        for name, pattern in fields.items():
            credit = credit.replace(rf"\{{{name}\}}", pattern.replace("<place>", f"<p{number}>"))
        patterns.append(f"(?:{credit})")
    found = re.compile("|".join(patterns))
    return {
        doc_id: [next(filter(None, match.groups())) for match in found.finditer(fields["body"])]
        for doc_id, fields in made.docs
    }


def test_parts_of_a_page_differ_in_subject(made: Generated) -> None:
    """A page has four subjects in turns, and each place pages with other places, as often."""
    named = subjects(made)
    for doc_id, fields in made.docs:
        order = named[doc_id]
        assert len(order) == 8 and len({*order}) == 4
        assert order[:4] == order[4:], "in turns, so that neighbours differ"
        assert fields["title"] == order[0]
    pages = Counter(place for order in named.values() for place in {*order})
    assert len(pages) == 40 and {*pages.values()} == {4}
    together = Counter(
        frozenset(pair) for order in named.values() for pair in combinations({*order}, 2)
    )
    assert len(together) > 150, "of 240 pairs on pages: rounds group the places anew"


def test_three_of_four_queries_ask_for_another_subject_than_the_first() -> None:
    """By design: a page has four subjects, and a query asks for any of its sections."""
    dataset = entries.parse(ROOT / "config/datasets/generated-pages-mini.yaml", Dataset)
    assert isinstance(dataset.source, GeneratedPages)
    made = generate(dataset.source)
    named, bodies = subjects(made), {doc_id: fields["body"] for doc_id, fields in made.docs}
    others = {}
    for split, answers in made.answers.items():
        asked = []
        for query_id, page, _ in made.qrels[split]:
            [person] = answers[query_id]
            section = PERSON.findall(bodies[page]).index(person)
            asked.append(named[page][section] != named[page][0])
        others[split] = sum(asked) / len(asked)
    assert others == pytest.approx({"train": 0.75, "tune": 0.75, "dev": 0.75}, abs=0.1)


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
    assert Counter(best.values()) == {0: 110, 1: 18, 2: 12, 3: 10}  # other pages share the place
    assert "judged" not in made.answers


def test_another_seed_gives_other_pages_and_people(made: Generated) -> None:
    other = make(seed=2)
    assert {f["title"] for _, f in other.docs} != {f["title"] for _, f in made.docs}
    assert other.answers["dev"]["dev-00001"] != made.answers["dev"]["dev-00001"]


def test_more_sections_than_people_are_refused() -> None:
    assert len(people()) == len({*people()}) == 3600
    with pytest.raises(ValueError, match="passages: 3601 requested, but 3600 people can be named"):
        make(entities=100, passages=3601)
    with pytest.raises(ValueError, match="subjects: 4 places a page and 3 turns requested"):
        make(turns=3)
    with pytest.raises(ValueError, match="give entities that subjects divides"):
        make(subjects=3)
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
