"""Negatives: never relevant, truly scored, from the pool asked for, the same for a seed."""

import json
import random
import weakref
from pathlib import Path

import polars as pl
import pytest

from corpora import make_corpus
from residuum import lexical, negatives
from residuum.artefacts import contracts, docpairs, streams, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.systems import LexicalSystem
from residuum.config.specs import derive
from residuum.lucene.anserini import Searcher

SYSTEM = {
    "kind": "lexical",
    "label": "BM25",
    "analysis": {"stemmer": "porter", "stopwords": "lucene"},
    "bm25": {"k1": 0.9, "b": 0.4},
    "k": 100,
}
RM3 = {"feedback_docs": 2, "feedback_terms": 3, "original_query_weight": 0.5}
HITS = {"kind": "hits", "system": "bm25", "top": 20}
DRAWN = {"scores": "bm25", "per_pair": 5, "seed": 1}
ERRORS = {"pools": {"errors": HITS}, **DRAWN}
ANYWHERE = {"pools": {"anywhere": {"kind": "corpus"}}, **DRAWN}
NONE: dict = {}


class Split:
    """A corpus, its index, queries and qrels on disk, and a way to mine them."""

    def __init__(self, folder: Path, docs, queries, qrels):
        self.folder = folder
        self.corpus = make_corpus(folder / "corpus", docs)
        self.index = folder / "index"
        lexical.index(self.corpus, json.dumps({"analysis": SYSTEM["analysis"]}), self.index)
        self.queries, self.texts = folder / "queries.tsv", dict(queries)
        trec.write_queries(self.queries, queries)
        self.write_qrels(qrels)

    def write_qrels(self, qrels) -> None:
        self.qrels = self.folder / "qrels.trec"
        trec.write_qrels(self.qrels, qrels)

    def mine(self, drawn: dict, output: Path, index: bool = True, runs=(), **more):
        system = more.pop("system", SYSTEM) if drawn else None
        answers = more.pop("answers", None)
        spec = json.dumps({"negatives": drawn, "system": system, **more})
        where = self.index if index else None
        made = (self.corpus, self.queries, self.qrels, spec, output, where, 2, list(runs))
        negatives.mine(*made, answers=answers)
        facts = json.loads(Path(f"{output}.manifest.json").read_text())["artefact"]
        return contracts.read_tuples(output), facts

    def search(self, k: int) -> dict[str, dict[str, float]]:
        system = command.parse_spec(LexicalSystem, json.dumps(SYSTEM))
        searcher = lexical.open_index(self.index, system)
        result: dict[str, dict[str, float]] = {query_id: {} for query_id in self.texts}
        ranked = trec.rank(pl.concat(searcher.search(self.texts.items(), k)), k)
        for query_id, doc_id, _, score in ranked.iter_rows():
            result[query_id][doc_id] = score
        return result


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """300 docs, 40 queries; each has a positive, a doc of grade 1 and one judged not relevant."""
    rng = random.Random(3)
    words = [f"w{chr(97 + i % 26)}{i}" for i in range(60)]
    docs = [(f"d{i}", " ".join(rng.choices(words, k=10))) for i in range(300)]
    queries = [(f"q{i}", " ".join(rng.choices(words, k=3))) for i in range(40)]
    qrels = [(f"q{i}", f"d{i * 7 + j}", 2 - j) for i in range(40) for j in range(3)]
    return Split(tmp_path_factory.mktemp("negatives"), docs, queries, qrels), qrels


@pytest.fixture
def split(made):
    split, qrels = made
    split.write_qrels(qrels)
    return split


def relevant(query_id: str) -> set[str]:
    number = int(query_id[1:])
    return {f"d{number * 7}", f"d{number * 7 + 1}"}


@pytest.mark.parametrize("drawn", [ERRORS, ANYWHERE])
def test_no_relevant_doc_is_a_negative(split, tmp_path, drawn):
    tuples, facts = split.mine(drawn, tmp_path / "t.jsonl.gz", positive_level=2)
    assert [t.query_id for t in tuples] == list(split.texts)
    for item in tuples:
        assert item.positive == f"d{int(item.query_id[1:]) * 7}"
        assert len(set(item.negatives)) == 5
        assert not relevant(item.query_id) & set(item.negatives)
    assert (facts["pairs"], facts["tuples"], facts["negatives"]) == (40, 40, 200)


def test_the_positive_level_says_which_pairs_are_made(split, tmp_path):
    tuples, _ = split.mine(ANYWHERE, tmp_path / "t.jsonl.gz", positive_level=1)
    assert [t.positive for t in tuples[:4]] == ["d0", "d1", "d7", "d8"]


def test_lexical_errors_come_from_the_pool(split, tmp_path):
    pools = split.search(HITS["top"])
    tuples, facts = split.mine(ERRORS, tmp_path / "t.jsonl.gz", positive_level=2)
    assert all(set(item.negatives) <= set(pools[item.query_id]) for item in tuples)
    assert facts["random_fallbacks"] == facts["fewer_than_per_pair"] == 0


@pytest.mark.parametrize("drawn", [ERRORS, ANYWHERE])
def test_scores_are_lucenes_and_zero_without_a_shared_term(split, tmp_path, drawn):
    everything = split.search(1000)
    tuples, facts = split.mine(drawn, tmp_path / "t.jsonl.gz", positive_level=2)
    for item in tuples:
        true = everything[item.query_id]
        expected = [true.get(d, 0.0) for d in (item.positive, *item.negatives)]
        assert [item.positive_score, *item.negative_scores] == pytest.approx(expected, abs=1e-6)
    gaps = [t.positive_score - s for t in tuples for s in t.negative_scores]
    spread = facts["score_difference"]
    assert spread["mean"] == pytest.approx(sum(gaps) / len(gaps), abs=1e-6)
    assert min(gaps) <= spread["p5"] <= spread["p50"] <= spread["p95"] <= max(gaps)


@pytest.mark.parametrize("drawn", [ERRORS, ANYWHERE])
def test_draws_depend_on_the_seed_and_not_on_the_order(split, tmp_path, drawn):
    first, _ = split.mine(drawn, tmp_path / "a.jsonl.gz", positive_level=2)
    split.mine(drawn, tmp_path / "b.jsonl.gz", positive_level=2)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    split.write_qrels(reversed(list(trec.read_qrels(split.qrels).iter_rows())))
    backwards, _ = split.mine(drawn, tmp_path / "c.jsonl.gz", positive_level=2)
    assert backwards == first[::-1]
    other, _ = split.mine({**drawn, "seed": 2}, tmp_path / "d.jsonl.gz", positive_level=2)
    assert other != backwards


def write_run(path: Path) -> str:
    """Write a run that ranks docs 290 and 291, a relevant one, then 280 for every query."""
    hits = [
        (f"q{i}", f"d{doc}", 1.0 - place / 10)
        for i in range(40)
        for place, doc in enumerate((290, 291, i * 7, 280))
    ]
    frame = pl.DataFrame(hits, schema=["query_id", "doc_id", "score"], orient="row")
    trec.write_run(path, trec.rank(frame), "dense")
    return f"dense={path}"


def test_pools_are_joined_and_each_system_gives_its_top_docs(split, tmp_path):
    run = write_run(tmp_path / "dense.trec.gz")
    pools = {"errors": {**HITS, "top": 3}, "mined": {"kind": "hits", "system": "dense", "top": 3}}
    requested = {**DRAWN, "pools": pools, "per_pair": 2}
    tuples, _ = split.mine(requested, tmp_path / "tuples.jsonl.gz", runs=[run])
    top = {query: [d for d in docs if d not in relevant(query)]
           for query, docs in split.search(3).items()}  # fmt: skip
    drawn = {(t.query_id, doc) for t in tuples for doc in t.negatives}
    assert all(doc in {*top[query], "d290", "d291"} for query, doc in drawn)
    assert {doc for _, doc in drawn} & {"d290", "d291"} == {"d290", "d291"}
    assert any(doc in top[query] for query, doc in drawn)
    with pytest.raises(ResiduumError, match="--run dense=PATH is missing"):
        split.mine(requested, tmp_path / "no.jsonl.gz", runs=[])
    with pytest.raises(ResiduumError, match="--run: no name 'other'; known: dense"):
        split.mine(
            requested, tmp_path / "no.jsonl.gz", runs=[run, f"other={tmp_path}/dense.trec.gz"]
        )


def test_a_pool_of_random_docs_joins_hits(split, tmp_path):
    """Of at most four hits and six other docs, nine are drawn: hits are among them, or repeats."""
    pools = {"errors": {**HITS, "top": 4}, "anywhere": {"kind": "corpus", "size": 6}}
    tuples, _ = split.mine({**DRAWN, "pools": pools, "per_pair": 9}, tmp_path / "t.jsonl.gz")
    top = split.search(4)
    others = [{*t.negatives} - {*top[t.query_id]} for t in tuples]
    assert {len(some) for some in others} <= {3, 4, 5, 6}
    assert len(set().union(*others)) > 150
    assert all({*t.negatives} & {*top[t.query_id]} for t in tuples if len({*t.negatives}) == 9)


def test_no_pools_need_no_index(split, tmp_path):
    tuples, facts = split.mine(NONE, tmp_path / "t.jsonl.gz", index=False, positive_level=2)
    assert tuples[0] == contracts.Tuple("q0", "d0", 0.0, [], [])
    assert len(tuples) == 40 and facts["score_difference"] is None


@pytest.mark.parametrize("drawn", [ERRORS, ANYWHERE, NONE])
def test_a_positive_outside_the_corpus_is_left_out_and_counted(split, tmp_path, drawn, capsys):
    split.write_qrels([("q0", "d0", 1), ("q1", "nowhere", 1), ("q2", "d14", 1)])
    tuples, facts = split.mine(drawn, tmp_path / "t.jsonl.gz")
    assert [t.query_id for t in tuples] == ["q0", "q2"]
    assert facts["pairs_not_in_corpus"] == 1
    assert "warning: 1 of 3 pairs" in capsys.readouterr().err


def test_a_judged_query_without_text_is_an_error(split, tmp_path):
    split.write_qrels([("q0", "d0", 1), ("stranger", "d1", 0)])
    with pytest.raises(ResiduumError, match=r"qrels\.trec: query stranger is not in .*queries"):
        split.mine(NONE, tmp_path / "t.jsonl.gz")
    assert not list(tmp_path.iterdir())


def test_random_docs_are_drawn_by_place_in_the_corpus(split, tmp_path):
    ids = [f"d{number}" for number in range(300)]
    tuples, _ = split.mine(ANYWHERE, tmp_path / "t.jsonl.gz", positive_level=2)
    for item in tuples:
        rng = random.Random(derive(1, item.query_id, item.positive))
        result = [d for d in rng.sample(ids, 5 + 2) if d not in relevant(item.query_id)]
        assert item.negatives == rng.sample(result, 5)


@pytest.mark.parametrize("drawn", [ERRORS, ANYWHERE, NONE])
def test_pairs_are_mined_some_at_a_time_without_a_trace_of_it(split, tmp_path, drawn, monkeypatch):
    split.mine(drawn, tmp_path / "whole.jsonl.gz")
    ahead, mined, write = [], [], contracts.write_tuples
    mine = negatives.Miner._mine

    def counted(self, pairs):
        mined.extend(pairs)
        return mine(self, pairs)

    def written(path, tuples):
        return write(path, (ahead.append(len(mined) - n) or t for n, t in enumerate(tuples)))

    monkeypatch.setattr(negatives, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(negatives.Miner, "_mine", counted)
    monkeypatch.setattr(contracts, "write_tuples", written)
    split.mine(drawn, tmp_path / "parts.jsonl.gz")
    assert len(ahead) == 80 and max(ahead) == 3
    assert (tmp_path / "parts.jsonl.gz").read_bytes() == (tmp_path / "whole.jsonl.gz").read_bytes()


def test_no_id_of_the_corpus_stays_in_memory_or_on_disk(split, tmp_path, monkeypatch):
    alive, most = weakref.WeakSet(), []

    class Id(str):
        """A text that can be told to be alive."""

    def read(folder):
        for number in range(300):
            alive.add(doc_id := Id(f"d{number}"))
            most.append(len(alive))
            yield doc_id, ""

    monkeypatch.setattr(contracts, "read_corpus", read)
    monkeypatch.setattr(streams, "TEXTS_AT_ONCE", 10)
    split.mine(ANYWHERE, tmp_path / "t.jsonl.gz", positive_level=2)
    assert len(most) == 300 and max(most) <= 40 + 2 * 10 + 1
    assert {path.name for path in tmp_path.iterdir()} == {
        "t.jsonl.gz",
        "t.jsonl.gz.manifest.json",
    }


def test_small_pools_are_stored_whole_and_empty_ones_fall_back_to_random_docs(tmp_path):
    docs = [("p", "red apple"), ("near", "green apple"), *((f"far{i}", "sky") for i in range(9))]
    queries = [("few", "apple"), ("none", "zebra")]
    split = Split(tmp_path, docs, queries, [("few", "p", 1), ("none", "p", 1)])
    (few, none), facts = split.mine(ERRORS, tmp_path / "t.jsonl.gz")
    assert few.negatives == ["near"], "none is stored twice"
    assert len(set(none.negatives)) == 5 and "p" not in none.negatives
    assert none.positive_score == 0.0 and none.negative_scores == [0.0] * 5
    assert (facts["random_fallbacks"], facts["fewer_than_per_pair"]) == (1, 1)


def test_a_corpus_of_relevant_docs_only_is_an_error(tmp_path):
    split = Split(tmp_path, [("p", "apple")], [("q", "apple")], [("q", "p", 1)])
    with pytest.raises(ResiduumError, match="every doc of the corpus is relevant"):
        split.mine(ANYWHERE, tmp_path / "t.jsonl.gz")


def test_what_cannot_be_mined_is_refused(split, tmp_path):
    output = tmp_path / "t.jsonl.gz"
    with pytest.raises(ResiduumError, match=r"negatives\.scores: give --index"):
        split.mine(ERRORS, output, index=False)
    with pytest.raises(ResiduumError, match="has rm3"):
        split.mine(ANYWHERE, output, system={**SYSTEM, "rm3": {"value": RM3}})
    with pytest.raises(ResiduumError, match="same_as"):
        split.mine({"same_as": "clear"}, output)


FRUIT = [
    ("p", "red apple"),
    ("yes", "green apple of Anne Smith"),
    ("also", "an apple: ANNE  SMITH's"),
    ("no", "an apple for Anne, said Smith"),
    ("pie", "apple pie"),
    *((f"far{i}", "sky") for i in range(30)),
]
WITHOUT = {**ERRORS, "without_answers": True}


def fruit(folder, answers, queries=(("q", "apple"), ("r", "apple"))):
    """Lay docs, queries with one positive each, and their answers."""
    split = Split(folder, FRUIT, list(queries), [(query_id, "p", 1) for query_id, _ in queries])
    path = folder / "answers.jsonl"
    contracts.write_answers(path, answers)
    return split, path


def test_docs_that_hold_an_answer_of_their_query_are_no_negatives(tmp_path):
    split, answers = fruit(tmp_path, {"q": ["Anne Smith"], "r": ["nobody", "pie"]})
    (q, r), facts = split.mine(WITHOUT, tmp_path / "t.jsonl.gz", answers=answers)
    assert (q.query_id, set(q.negatives)) == ("q", {"no", "pie"})
    assert (r.query_id, set(r.negatives)) == ("r", {"yes", "also", "no"})
    assert (facts["docs_with_an_answer"], facts["pairs_without_a_negative"]) == (3, 0)
    record = json.loads((tmp_path / "t.jsonl.gz.manifest.json").read_text())
    assert str(answers) in record["inputs"]
    (q, _), facts = split.mine(ERRORS, tmp_path / "u.jsonl.gz")
    assert {"yes", "also"} & set(q.negatives) and "docs_with_an_answer" not in facts


def test_every_pool_and_the_fallback_are_looked_through(tmp_path):
    split, answers = fruit(tmp_path, {"q": ["sky"], "r": ["apple"]})
    pools = {"errors": {**HITS, "top": 2}, "anywhere": {"kind": "corpus", "size": 34}}
    both = {**WITHOUT, "pools": pools, "per_pair": 3}
    (q, r), _ = split.mine(both, tmp_path / "t.jsonl.gz", answers=answers)
    assert set(q.negatives) <= {"yes", "also", "no", "pie"}
    assert all(doc.startswith("far") for doc in r.negatives)
    tuples, facts = split.mine(WITHOUT, tmp_path / "u.jsonl.gz", answers=answers)
    assert [t.query_id for t in tuples] == ["q", "r"] and facts["random_fallbacks"] == 1
    assert all(doc.startswith("far") for doc in tuples[1].negatives), "all hits hold apple"


def test_a_pair_whose_docs_all_hold_an_answer_is_left_out_and_counted(tmp_path, capsys):
    split, answers = fruit(tmp_path, {"q": ["sky", "apple"], "r": ["pie"]})
    tuples, facts = split.mine(WITHOUT, tmp_path / "t.jsonl.gz", answers=answers)
    assert [t.query_id for t in tuples] == ["r"]
    assert (facts["pairs"], facts["tuples"], facts["pairs_without_a_negative"]) == (2, 1, 1)
    assert "warning: 1 of 2 pairs are left out: each doc drawn for them" in capsys.readouterr().err


def test_a_split_without_answers_leaves_nothing_out_and_says_so_once(split, tmp_path, capsys):
    plain, _ = split.mine(ERRORS, tmp_path / "a.jsonl.gz")
    capsys.readouterr()
    tuples, facts = split.mine(WITHOUT, tmp_path / "b.jsonl.gz")
    assert tuples == plain
    assert facts["without_answers"] == "the training split has no answers"
    assert capsys.readouterr().err.count("no answers, so no negative is left out") == 1


@pytest.mark.parametrize("drawn", [ERRORS, ANYWHERE])
def test_answers_that_no_doc_holds_change_no_byte(split, tmp_path, drawn, monkeypatch):
    """The corpus is read once for its ids and once for them; the pools are searched once."""
    answers, read, search = tmp_path / "answers.jsonl", contracts.read_docs, Searcher.search
    contracts.write_answers(answers, {query_id: ["elsewhere"] for query_id in split.texts})
    reads, searched = [], []

    def searching(self, texts, k):
        listed = list(texts)
        searched.extend(query_id for query_id, _ in listed)
        return search(self, listed, k)

    monkeypatch.setattr(negatives, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(contracts, "read_docs", lambda *args: reads.append(args) or read(*args))
    monkeypatch.setattr(Searcher, "search", searching)
    split.mine(drawn, tmp_path / "a.jsonl.gz")
    plain, others = {*searched}, len(reads)
    searched.clear()
    split.mine({**drawn, "without_answers": True}, tmp_path / "b.jsonl.gz", answers=answers)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert sorted(searched) == sorted(plain) and len(reads) == 2 * others + 1


def test_a_training_query_without_answers_is_named(tmp_path):
    split, answers = fruit(tmp_path, {"q": ["Anne Smith"]})
    with pytest.raises(ResiduumError, match=r"answers\.jsonl: no answers of query r\."):
        split.mine(WITHOUT, tmp_path / "t.jsonl.gz", answers=answers)
    assert not (tmp_path / "t.jsonl.gz").exists()


BY_ANSWERS = {"by_answers": True}


def test_where_answers_alone_tell_positives_are_hits_that_hold_one(tmp_path):
    queries = [("q", "apple"), ("r", "apple"), ("s", "sky")]
    answers = {"q": ["Anne Smith"], "r": ["pie"], "s": ["nobody"]}
    split, path = fruit(tmp_path, answers, queries)
    trec.write_refusal(split.qrels, "no public judgements of its docs")
    tuples, facts = split.mine(ERRORS, tmp_path / "t.jsonl.gz", answers=path, **BY_ANSWERS)
    holding = {"q": {"yes", "also"}, "r": {"pie"}}
    assert {(t.query_id, t.positive) for t in tuples} == {
        (query, doc) for query, docs in holding.items() for doc in docs
    }
    hits = {doc for doc, text in FRUIT if "apple" in text.lower()}
    for made in tuples:
        assert {*made.negatives} <= hits - holding[made.query_id], "hits without an answer"
    assert facts["pairs"] == 3, "s has no hit that answers it"


def test_positives_by_answers_need_pools_with_hits_and_a_holder(tmp_path):
    split, path = fruit(tmp_path, {"q": ["nobody"], "r": ["nobody"]})
    with pytest.raises(ResiduumError, match="no hit of the pools' systems holds an answer"):
        split.mine(ERRORS, tmp_path / "t.jsonl.gz", answers=path, **BY_ANSWERS)
    with pytest.raises(ResiduumError, match=r"give negatives\.pools with hits, and scores"):
        split.mine(ANYWHERE, tmp_path / "t.jsonl.gz", answers=path, **BY_ANSWERS)
    with pytest.raises(ResiduumError, match="give --answers"):
        split.mine(ERRORS, tmp_path / "t.jsonl.gz", **BY_ANSWERS)


TRIPLES = {"triples": {"first": 6}, "scores": "bm25"}
OFFICIAL = [
    ("q1", "d7", "d100"),
    ("q0", "d0", "d200"),
    ("q1", "d7", "d8"),  # relevant to q1, of grade 1
    ("q1", "d9", "d100"),  # d9 is judged not relevant
    ("q0", "d0", "d2"),  # judged not relevant to q0
    ("q1", "d7", "d299"),
    ("q2", "d14", "d3"),  # behind the first six
]


def test_official_triples_become_tuples_of_one_negative_each_by_query(split, tmp_path):
    official = tmp_path / "docpairs.tsv.gz"
    docpairs.write(official, OFFICIAL)
    spec = json.dumps({"negatives": TRIPLES, "system": SYSTEM, "positive_level": 2})
    output = tmp_path / "t.jsonl.gz"
    args = (split.corpus, split.queries, split.qrels, spec, output, split.index, 2)
    negatives.mine(*args, official=official)
    tuples = contracts.read_tuples(output)
    kept = [("q0", "d0", "d200"), ("q0", "d0", "d2"), ("q1", "d7", "d100"), ("q1", "d7", "d299")]
    assert [(t.query_id, t.positive, *t.negatives) for t in tuples] == kept
    true = split.search(300)
    for item in tuples:
        expected = [true[item.query_id].get(d, 0.0) for d in (item.positive, *item.negatives)]
        assert [item.positive_score, *item.negative_scores] == pytest.approx(expected, abs=1e-6)
    facts = json.loads(Path(f"{output}.manifest.json").read_text())["artefact"]
    assert (facts["tuples"], facts["triples_left_out"]) == (4, 2)
    with pytest.raises(ResiduumError, match="give --docpairs"):
        negatives.mine(*args)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"triples": {}, "scores": "bm25", "per_pair": 2}, "give only scores beside them"),
        ({"triples": {}}, "give only scores beside them"),
        ({"triples": {}, **ERRORS}, "give only scores beside them"),
        ({"triples": {}, "same_as": "clear"}, "give nothing beside it"),
    ],
)
def test_triples_stand_beside_scores_alone(given, message):
    with pytest.raises(ValueError, match=message):
        Negatives.model_validate(given)
