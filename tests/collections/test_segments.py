"""Segments and containing passages: packed, drawn and changed as said, against plain Python."""

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from corpora import make_corpus
from residuum import data
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.collections import containing, segments
from residuum.collections.segments import Encoded

WORDS = [f"{a}{b}" for a in ("ba", "co", "di", "fu", "ge") for b in ("lon", "mar", "net", "pos")]
PIECES = ["[UNK]", *WORDS, *".,!?;", *"abcdefghijklmnopqrstuvwxyz"]
PIECES += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    pieces = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def sentence(drawn: random.Random) -> str:
    words = [drawn.choice(WORDS) for _ in range(drawn.randint(3, 14))]
    if drawn.random() < 0.3:
        words[1] += ","
    return " ".join(words).capitalize() + drawn.choice(".!?")


def texts(docs: int, seed: int = 3) -> list[tuple[str, dict[str, str]]]:
    drawn = random.Random(seed)
    bodies = [" ".join(sentence(drawn) for _ in range(drawn.randint(1, 9))) for _ in range(docs)]
    return [(f"d{n}", {"text": f"Title {body}", "body": body}) for n, body in enumerate(bodies)]


def collection(kind: str, **source) -> str:
    cut = {"kind": kind, "of": "pages", "field": "body", "tokenizer": "vocabulary", **source}
    pins = [{"name": "any", "docs": 1, "about": True}]
    return json.dumps({"source": cut, "editions": pins})


def export(folder: Path, vocabulary: Path, docs, spec: str) -> dict[str, str]:
    cut_from = make_corpus(folder / "of", docs)
    data.corpus("toy", spec, folder / "corpus", cut_from=cut_from, vocabulary=str(vocabulary))
    return dict(contracts.read_corpus(folder / "corpus"))


def bare(text: str) -> str:
    """Return a text without spaces: a long sentence may be cut before its stop."""
    return text.replace(" ", "")


def tokens(vocabulary: Path, text: str) -> list[str]:
    return Tokenizer.from_file(str(vocabulary / "tokenizer.json")).encode(text).tokens


@pytest.mark.parametrize("length", [6, 10, 25])
def test_sentences_are_packed_as_many_as_fit(tmp_path, vocabulary, length) -> None:
    docs = texts(40)
    made = export(tmp_path, vocabulary, docs, collection("segments", length=length))
    for doc_id, fields in docs:
        own = [made[f"{doc_id}-{n}"] for n in range(len(made)) if f"{doc_id}-{n}" in made]
        assert bare(" ".join(own)) == bare(fields["body"]), "nothing is lost or moved"
        sizes = [len(tokens(vocabulary, text)) for text in own]
        assert max(sizes) <= length
        for (text, size), (after, _) in pairwise(zip(own, sizes, strict=True)):
            whole = after.split(".")[0].split("!")[0].split("?")[0] + "."
            if text[-1] in ".!?" and len(tokens(vocabulary, whole)) <= length:
                assert size + len(tokens(vocabulary, whole)) > length, "it would have fitted"


def test_a_long_sentence_is_cut_between_words_and_a_long_word_anywhere(vocabulary) -> None:
    letters = "zq" * 4  # eight pieces
    made = Tokenizer.from_file(str(vocabulary / "tokenizer.json"))
    for text, length, spans in (
        ("balon comar dinet fupos gelon", 2, [(0, 2), (2, 4), (4, 5)]),
        (f"balon {letters} comar", 4, [(0, 1), (1, 5), (5, 9), (9, 10)]),
    ):
        doc = segments._encoded("d", text, made.encode(text))
        assert segments.segments(doc, length) == spans


def test_where_sentences_begin() -> None:
    text = 'One. "Two!" Three?\nFour 5.5 six.) Seven'
    starts = segments.sentences(text)
    assert [text[a:b] for a, b in pairwise([*starts, len(text)])] == [
        "One. ", '"Two!" ', "Three?\n", "Four 5.5 six.) ", "Seven",
    ]  # fmt: skip


def test_a_length_that_no_doc_reaches_is_refused(tmp_path, vocabulary) -> None:
    for kind, more in (("segments", {}), ("containing", RECIPE)):
        source = {**more, "length": 400, "lengths": [400]} if more else {"length": 400}
        with pytest.raises(ResiduumError, match=r"length: 400, but the longest .* lower it"):
            export(tmp_path / kind, vocabulary, texts(5), collection(kind, **source))


def test_a_field_that_docs_lack_is_named(tmp_path, vocabulary) -> None:
    spec = collection("segments", length=10, field="bodi")
    with pytest.raises(ResiduumError, match=r"doc d0 of .*: no field 'bodi'; known: body, text"):
        export(tmp_path, vocabulary, texts(3), spec)


RECIPE = {
    **{"lengths": [14, 30, 60], "docs": 420, "tokens": [4, 8], "changed": [1, 2], "seed": 1},
    **{"queries": {"train": 60, "tune": 10, "test": 20}, "distractors": 2},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory, vocabulary) -> dict[int, tuple[dict[str, str], list[dict]]]:
    """Return docs and queries at each length."""
    made = {}
    for length in RECIPE["lengths"]:
        folder = tmp_path_factory.mktemp(f"containing{length}")
        spec = collection("containing", length=length, **RECIPE)
        docs = export(folder, vocabulary, texts(300, seed=5), spec)
        lines = (folder / "corpus" / "queries.jsonl").read_text().splitlines()
        made[length] = docs, [json.loads(line) for line in lines]
    return made


def holds(doc: list[str], span: list[str]) -> bool:
    return any(doc[at : at + len(span)] == span for at in range(len(doc) - len(span) + 1))


def test_each_query_stands_in_exactly_one_doc_of_every_collection(made, vocabulary) -> None:
    keys = ("query_id", "split", "text")
    texts_of = [[tuple(row[key] for key in keys) for row in rows] for _, rows in made.values()]
    assert texts_of[0] == texts_of[1] == texts_of[2], "the same queries at every length"
    assert Counter(split for _, split, _ in texts_of[0]) == RECIPE["queries"]
    assert len({text for *_, text in texts_of[0]}) == 90
    for docs, rows in made.values():
        assert len(docs) == 420
        cut = {doc_id: tokens(vocabulary, text) for doc_id, text in docs.items()}
        for row in rows:
            span = tokens(vocabulary, row["text"])
            assert 4 <= len(span) <= 8
            assert [doc_id for doc_id, doc in cut.items() if holds(doc, span)] == [row["doc_id"]]


def test_a_distractor_differs_in_one_or_two_words_of_each_query_and_nowhere_else(
    made, vocabulary
) -> None:
    changes = []
    for docs, rows in made.values():
        held = {row["doc_id"]: [r for r in rows if r["doc_id"] == row["doc_id"]] for row in rows}
        copies = {doc_id for doc_id in docs if "-d" in doc_id}
        assert copies == {f"{doc_id}-d{n}" for doc_id in held for n in (1, 2)}
        for doc_id, own in held.items():
            original = tokens(vocabulary, docs[doc_id])
            for copy in (1, 2):
                changed = tokens(vocabulary, docs[f"{doc_id}-d{copy}"])
                assert len(changed) == len(original)
                pairs = enumerate(zip(original, changed, strict=True))
                other = {place for place, (a, b) in pairs if a != b}
                for row in own:
                    span = tokens(vocabulary, row["text"])
                    [at] = [n for n in range(len(original)) if original[n : n + len(span)] == span]
                    within = other & {*range(at, at + len(span))}
                    assert 1 <= len(within) <= 2
                    changes.append(len(within))
                    other -= within
                assert not other
    assert {*changes} == {1, 2}


def test_a_query_has_the_same_distractors_at_every_length(made, vocabulary) -> None:
    shortest, longest = made[14], made[60]
    for own, other in zip(shortest[1], longest[1], strict=True):
        for copy in (1, 2):
            near = tokens(vocabulary, shortest[0][f"{own['doc_id']}-d{copy}"])
            far = tokens(vocabulary, longest[0][f"{other['doc_id']}-d{copy}"])
            span = tokens(vocabulary, own["text"])
            at = next(
                n for n in range(len(near))
                if tokens(vocabulary, shortest[0][own["doc_id"]])[n : n + len(span)] == span
            )  # fmt: skip
            assert holds(far, near[at : at + len(span)])


def test_spans_are_counted_as_plain_python_counts_them() -> None:
    drawn = np.random.default_rng(2)
    ids = drawn.integers(0, 4, 400).astype(np.uint32)
    spans = [
        ids[start : start + length].copy() for start, length in ((0, 3), (50, 5), (9, 7), (0, 3))
    ]
    spans.append(np.full(4, 9, np.uint32))
    text = ids.tolist()
    expected = [sum(text[n : n + len(s)] == s.tolist() for n in range(len(text))) for s in spans]
    assert containing.Finder(spans).counts(ids).tolist() == expected
    assert expected[-1] == 0 and max(expected) > 1


def test_a_split_has_its_queries_and_the_doc_that_holds_each(tmp_path, vocabulary) -> None:
    spec = collection("containing", length=30, **RECIPE)
    export(tmp_path, vocabulary, texts(300, seed=5), spec)
    whole = json.loads(spec) | {"splits": {"tune": {}}}
    queries, qrels = tmp_path / "queries.tsv", tmp_path / "qrels.trec"
    data.split("toy", "tune", json.dumps(whole), queries, qrels, corpus=tmp_path / "corpus")
    rows = [
        json.loads(line) for line in (tmp_path / "corpus/queries.jsonl").read_text().splitlines()
    ]
    own = {row["query_id"]: row for row in rows if row["split"] == "tune"}
    assert trec.read_queries(queries) == {name: row["text"] for name, row in own.items()}
    judged = {(q, d, r) for q, d, r in trec.read_qrels(qrels).iter_rows()}
    assert judged == {(name, row["doc_id"], 1) for name, row in own.items()}


def test_a_recipe_that_texts_cannot_meet_says_what_they_can(tmp_path, vocabulary) -> None:
    for number, (changes, text) in enumerate((
        ({"queries": {"test": 5000}}, "queries: 5000 asked for, but .* Ask for fewer"),
        ({"docs": 100}, "docs: 100 asked for at length 30, but .* from .* to .* can be made"),
        ({"docs": 90000}, "docs: 90000 asked for"),
    )):  # fmt: skip
        spec = collection("containing", length=30, **{**RECIPE, **changes})
        with pytest.raises(ResiduumError, match=text):
            export(tmp_path / str(number), vocabulary, texts(300, seed=5), spec)


def test_questions_are_those_of_another_collections_split(tmp_path) -> None:
    other = tmp_path / "pages" / "dev"
    trec.write_queries(other / "queries.tsv", [("b", "who sang"), ("a", "who danced")])
    contracts.write_answers(other / "answers.jsonl", {"b": ["Ada"], "a": ["Bo", "Cy"]})
    taken = {"questions_of": "pages-dev"}
    spec = json.loads(collection("segments", length=9)) | {"splits": {"test": taken}}
    queries, qrels, answers = (tmp_path / name for name in ("q.tsv", "q.trec", "a.jsonl"))
    data.split("toy", "test", json.dumps(spec), queries, qrels, questions=other)
    data.answers("toy", "test", json.dumps(spec), answers, questions=other)
    assert trec.read_queries(queries) == {"b": "who sang", "a": "who danced"}
    assert contracts.read_answers(answers) == {"b": ["Ada"], "a": ["Bo", "Cy"]}
    assert "no public judgements" in qrels.read_text()


def test_a_slice_is_the_text_between_its_tokens() -> None:
    doc = Encoded(
        "d",
        "A, bc d.",
        [1, 2, 3, 4, 5],
        [(0, 1), (1, 2), (3, 5), (6, 7), (7, 8)],
        [True] * 5,
        [0, 5],
    )
    assert doc.slice((1, 3)) == ", bc"
    assert containing.replaced(doc, (0, 5), {2: "xyz", 3: "w"}) == "A, xyz w."
