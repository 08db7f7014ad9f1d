"""Adverse splits: what is shared with a relevant doc is reworded, and nothing else."""

import json
import re
from dataclasses import replace

import pytest
import yaml

import wordnets
from conftest import ROOT
from plan_fixture import DATASET, named
from plan_fixture import registry as toy
from residuum import data
from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.collections import irds, splits
from residuum.collections.records import Rows
from residuum.config import entries
from residuum.config.registry import SplitId
from residuum.config.schema.datasets import Collection, Dataset
from residuum.config.specs import canonical_json
from residuum.wiring import sizes
from residuum.wiring.estimates import Estimates

ADVERSE = {"of": "test", "synonyms": {"kind": "wordnet", "folder": "wordnet/dict"}}
DOCS = {
    "d1": "Repair your CAR with an auto shop.",
    "d2": "The doctor has an exercise for Paris",
    "d3": "Do it fast, do it big: a fix",
    "d4": "physician",
    "d5": "A car. An automobile and a workout",
}
QUERIES = {
    "repair": "How to Repair a car?",
    "other": "how to repair a physician",
    "names": "an EXERCISE, for paris",
    "doctor": "Doctor doctor, doctors",
    "stops": "what do I do fast",
    "sense": "the fix",
    "pair": "car in front of car",
    "none": "big fast car",
}
QRELS = """\
repair 0 d1 1
other 0 d1 1
names 0 d2 2
doctor 0 d2 1
doctor 0 d4 0
stops 0 d3 1
sense 0 d3 1
pair 0 d1 1
pair 0 d5 1
none 0 d3 0
"""
REWORDED = {  # by hand, from the synsets of wordnets.py
    "repair": "How to mend a automobile?",  # d1 holds "auto", the first of its synonyms
    "other": "how to mend a physician",  # d1 has no physician
    "names": "an physical exertion, for french capital",
    "doctor": "physician physician, doctors",  # d4 is judged as not relevant
    "stops": "what do I do quickly",  # "do" has a synonym and is a stop word
    "sense": "the injection",  # nouns come before verbs
    "pair": "railcar in front of railcar",  # "auto" is in d1, "automobile" in d5
    "none": "big fast car",
}


def words(text):
    return re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", text.lower())


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Lay a collection and a WordNet into RESIDUUM_DATA and return the collection as a dict."""
    home = tmp_path / "home"
    wordnets.write(home / "wordnet" / "dict")
    monkeypatch.setenv("RESIDUUM_DATA", str(home))
    docs = [json.dumps({"doc_id": i, "text": text}) + "\n" for i, text in DOCS.items()]
    (home / "docs.jsonl").write_text("".join(docs))
    (home / "q.tsv").write_text("".join(f"{i}\t{text}\n" for i, text in QUERIES.items()))
    (home / "qrels").write_text(QRELS)
    return {
        "source": {"kind": "files", "corpus": "docs.jsonl"},
        "splits": {"test": {"queries": "q.tsv", "qrels": "qrels"}, "hard": {"adverse": ADVERSE}},
        "editions": [{"name": "first", "docs": 5}],
    }


def export(spec, folder, name="hard"):
    paths = (folder / name / "queries.tsv", folder / name / "qrels.trec")
    data.split("mine", name, canonical_json(spec), *paths)
    return trec.read_queries(paths[0]), paths[1].read_bytes()


def test_what_a_relevant_doc_holds_gives_way_to_the_first_synonym_that_none_holds(mine, tmp_path):
    queries, qrels = export(mine, tmp_path)
    assert queries == REWORDED
    assert qrels == export(mine, tmp_path, "test")[1]
    assert export(mine, tmp_path, "test")[0] == QUERIES


def test_the_manifest_counts_what_was_reworded(mine, tmp_path):
    """By hand: repair, car; repair; exercise, paris; doctor twice; fast; fix; car twice."""
    export(mine, tmp_path)
    export(mine, tmp_path, "test")
    paths = {name: manifest.beside(tmp_path / name / "queries.tsv") for name in ("hard", "test")}
    facts = {name: json.loads(path.read_text())["artefact"] for name, path in paths.items()}
    assert facts["hard"]["reworded"] == {"queries": 7, "words": 11}
    assert "reworded" not in facts["test"]


def test_each_change_is_of_a_shared_word_to_a_synonym_that_is_not_shared(mine, tmp_path):
    """Check 13 of RoC's adverse split, word by word, from the synsets as they were written."""
    reworded, _ = export(mine, tmp_path)
    synsets = [
        [re.sub(r"\(.*", "", lemma).replace("_", " ").lower() for lemma in synset]
        for part in wordnets.SYNSETS.values()
        for synset in part
    ]
    relevant = [line.split() for line in QRELS.splitlines()]
    for query_id, query in QUERIES.items():
        held = {w for q, _, d, r in relevant if q == query_id and r != "0" for w in words(DOCS[d])}
        rest = reworded[query_id]
        for word, gap in re.findall(r"(\w+)(\W*)", query):
            synonyms = {s for synset in synsets if word.lower() in synset for s in synset}
            free = {s for s in synonyms if not {*s.split()} & held}
            allowed = free if word.lower() in held and free and len(word) > 2 else {word}
            taken = [s for s in allowed if rest.startswith(s + gap)]
            assert len(taken) == 1, (query_id, word, rest)
            rest = rest.removeprefix(taken[0] + gap)
        assert not rest
        shared = held & {*words(query)}
        assert (held & {*words(reworded[query_id])} < shared) == (reworded[query_id] != query)


@pytest.mark.parametrize("scale", ["smoke", "mini"])
def test_dev_adverse_takes_other_forms_where_query_and_target_share_one(scale):
    """An implementation of its own, word by word over the lexicon's file."""
    dataset = entries.parse(ROOT / f"config/datasets/generated-{scale}.yaml", Dataset)
    texts = {i: words(doc["text"]) for i, doc in data.DOCS["generated"](dataset)}
    before, after = (data.load_split(scale, name, dataset) for name in ("dev", "dev-adverse"))
    assert splits.load(scale, dataset, "dev") == before, "its own bytes stay"
    assert [i for i, _ in after.queries] == [i for i, _ in before.queries]
    assert after.qrels == before.qrels
    file = ROOT / "workflow/residuum/collections/words/places.yaml"
    lexicon = yaml.safe_load(file.read_text())
    concepts = [a["forms"] for a in lexicon["attributes"]]
    concepts += [*lexicon["types"], *lexicon["modifiers"], *lexicon["features"]]
    forms = {tuple(words(form)): concept for concept in concepts for form in concept}
    target = {query_id: texts[doc_id] for query_id, doc_id, _ in before.qrels}
    changed = 0
    for (query_id, old), (_, new) in zip(before.queries, after.queries, strict=True):
        doc, position, expected = target[query_id], 0, []
        runs = {tuple(doc[i : i + n]) for i in range(len(doc)) for n in (1, 2)}
        listed = words(old)
        while position < len(listed):
            own = next((f for n in (2, 1) if (f := tuple(listed[position : position + n])) in forms
                        and f in runs), None)  # fmt: skip
            if own is None:
                expected.append(listed[position])
                position += 1
                continue
            others = [words(form) for form in forms[own] if tuple(words(form)) != own]
            expected += next(other for other in others if not {*other} & {*doc})
            position += len(own)
        assert words(new) == expected, query_id
        marks = [re.sub(r"[a-z-]+", "", text).strip() for text in (old, new)]
        assert marks[0].replace(" ", "") == marks[1].replace(" ", "")
        fewer = {*words(new)} & {*doc} < {*words(old)} & {*doc}
        assert fewer == (new != old)
        changed += fewer
    assert changed > len(before.queries) / 3


def test_an_adverse_split_of_a_holdout_is_of_its_queries_and_carries_answers(monkeypatch):
    rows = Rows([(f"q{n}", "x") for n in range(9)], [(f"q{n}", "d", 1) for n in range(9)],
                {f"q{n}": ["a"] for n in range(9)})  # fmt: skip
    monkeypatch.setattr(irds, "split", lambda *_: rows)
    collection = Collection.model_validate({
        "source": {"kind": "irds", "docs": "x", "text_fields": ["text"]},
        "splits": {"train": {"irds": "x", "answers_field": "answers"},
                   "tune": {"holdout": {"of": "train", "queries": 3, "seed": 1}},
                   "hard": {"adverse": ADVERSE | {"of": "tune"}}},
        "editions": [{"name": "any", "docs": 1}],
    })  # fmt: skip
    assert splits.load("x", collection, "hard") == splits.load("x", collection, "tune")
    assert collection.judged("hard")


def test_the_answers_of_an_adverse_split_are_its_origins():
    dataset = entries.parse(ROOT / "config/datasets/generated-smoke.yaml", Dataset)
    record = dataset.model_dump(mode="json", exclude_none=True)
    hard = {"adverse": {"of": "questions", "synonyms": {"kind": "forms"}}}
    more = Dataset.model_validate(record | {"splits": record["splits"] | {"hard": hard}})
    spec = Collection.model_validate(more.for_split("hard"))
    rows = splits.load("x", spec, "hard")
    assert rows.answers and rows == splits.load("x", dataset, "questions")


def test_a_folder_that_is_absent_or_lacks_files_is_told_once(mine, tmp_path):
    folder = tmp_path / "home" / "wordnet" / "dict"
    (folder / "data.verb").unlink()
    (folder / "index.adv").unlink()
    with pytest.raises(
        ResiduumError, match=r"dict: no data\.verb, index\.adv in this.*dict"
    ) as one:
        export(mine, tmp_path)
    assert str(one.value).count(str(folder)) == 1
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(ResiduumError, match=r"dict: no index\.noun, data\.noun, index\.verb, "):
        export(mine, tmp_path)
    folder.rmdir()
    with pytest.raises(
        ResiduumError, match=r"wordnet/dict: no such folder\. Get WordNet 3\.x"
    ) as no:
        export(mine, tmp_path)
    assert str(no.value).count(str(folder)) == 1


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("data.noun", lambda w: b"", r"data\.noun: damaged.*\(it is empty\)"),
        ("data.noun", lambda w: w[:-5], r"data\.noun: damaged.*it ends within a line"),
        ("data.noun", lambda w: w[:120] + b"\n", r"data\.noun, byte \d{8}: damaged.*no synset"),
        ("data.verb", lambda w: w.replace(b"\n", b"\r\n"), r"data\.verb, byte \d+: damaged"),
        ("data.verb", lambda w: w.replace(b" v 03 ", b" v ff "), r"data\.verb, byte 000000"),
        ("data.verb", lambda w: w.replace(b" v 03 ", b" v xx "), r"data\.verb, byte 000000"),
        ("index.adj", lambda w: w[:-9] + b"\n", r"index\.adj, line 4: damaged.*large a 1"),
        ("index.adj", lambda w: w + b"nonsense\n", r"index\.adj, line 5: damaged.*nonsense"),
    ],
)
def test_damaged_files_are_told_by_place(mine, tmp_path, name, change, message):
    path = tmp_path / "home" / "wordnet" / "dict" / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ResiduumError, match=message):
        export(mine, tmp_path)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({"adverse": ADVERSE | {"of": "tset"}}, "hard.adverse.of: no split 'tset'.*test"),
        ({"adverse": ADVERSE | {"of": "other"}}, "hard.adverse.of: 'other' is adverse too"),
        ({"adverse": ADVERSE | {"of": "hard"}}, "hard.adverse.of: 'hard' is adverse too"),
        ({"adverse": ADVERSE | {"of": "open"}}, "hard.adverse.of: 'open' has no published"),
        ({"adverse": ADVERSE, "qrels": "x"}, "are those of 'test'; leave out qrels"),
        ({"adverse": {"of": "test", "synonyms": {"kind": "forms"}}}, "forms go with source gener"),
        (
            {"holdout": {"of": "other", "queries": 1, "seed": 1}},
            "holdout.of: 'other' is adv",
        ),
    ],
)
def test_what_an_adverse_split_cannot_be_is_refused(mine, split, message):
    mine["splits"] |= {"other": {"adverse": ADVERSE}, "hard": split}
    mine["splits"]["open"] = {"queries": "q.tsv", "unjudged": True}
    with pytest.raises(ValueError, match=message):
        Collection.model_validate(mine)


def test_its_files_are_the_origins_the_corpus_and_the_synonyms(mine):
    collection = Collection.model_validate(mine)
    wordnet = {f"wordnet/dict/{f}.{p}" for f in ("index", "data") for p in wordnets.SYNSETS}
    assert {*collection.source_files("hard")} == {"q.tsv", "qrels", "docs.jsonl", *wordnet}
    assert collection.source_files("test") == ["q.tsv", "qrels"]


def test_an_absent_wordnet_keeps_its_split_from_running_and_no_other(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    dataset = entries.parse(ROOT / "config/datasets/msmarco-passage.yaml", Dataset)
    assert dataset.missing("dev-adverse", tmp_path, tmp_path) == [tmp_path / "wordnet" / "dict"]
    assert not dataset.missing("dev", tmp_path, tmp_path)
    wordnets.write(tmp_path / "wordnet" / "dict")
    assert not dataset.missing("dev-adverse", tmp_path, tmp_path)
    (tmp_path / "wordnet" / "dict" / "data.adj").unlink()
    [absent] = dataset.missing("dev-adverse", tmp_path, tmp_path)
    assert absent.name == "data.adj"


def test_it_has_as_many_queries_as_its_origin_and_leaves_other_specs_alone():
    hard = {"adverse": {**ADVERSE, "of": "dev"}}
    more = Dataset.model_validate(DATASET | {"splits": DATASET["splits"] | {"hard": hard}})
    plain, registry = Dataset.model_validate(DATASET), replace(toy(), datasets={"toy": more})
    assert sizes.queries(registry, SplitId("toy", "hard")) == 20
    plain_s, adverse_s = (
        Estimates(registry).split(named(dataset="toy", split=split)).core_s
        for split in ("dev", "hard")
    )
    assert (plain_s, adverse_s) == pytest.approx((0, 1e6 / 20e6)), "a corpus of 1,000 kB is read"
    for split in plain.splits:
        assert more.for_split(split) == plain.for_split(split)
    assert more.for_corpus() == plain.for_corpus()
    assert more.for_split("hard")["splits"].keys() == {"dev", "hard"}
