"""Why a foreign run differs: each cause is made here, and must be the one that is named."""

import json
import random
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from commands import call
from corpora import make_corpus
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import Reads
from residuum.inspect import foreign
from residuum.inspect.foreign import Cause, RunPair, average_overlap, verdict
from tiny_models import make_backbone

STEMS = ["run", "walk", "jump", "sing", "cook", "paint", "climb", "swim", "read", "drive"]
FORMS = ["", "s", "ing", "ed"]
COMMON = ["the", "of", "and", "to", "in"]
BASE = {"kind": "lexical", "analysis": {"language": "en", "stemmer": "porter",
        "stopwords": "lucene"}, "bm25": {"k1": 0.9, "b": 0.4}, "k": 50, "boosts": {},
        "joined": [], "rm3": None, "term_weights": None}  # fmt: skip


def of(rows):
    """Return a run of lines (query_id, doc_id, score), ranked by score, then doc id."""
    return trec.rank(pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row"))


def judgements(rows):
    return pl.DataFrame(rows, ["query_id", "doc_id", "relevance"], orient="row")


def test_overlap_is_the_mean_share_at_depths():
    first, second = list("abcdefghij"), list("bacdefghix")
    assert average_overlap(list("abc"), list("acb"), range(1, 4)) < 1, "an order within is seen"
    assert average_overlap(first, second, [1, 2, 5, 10]) == pytest.approx((0 + 1 + 1 + 0.9) / 4)
    assert average_overlap([], [], [1, 10]) == 1 and average_overlap(["a"], [], [1]) == 0
    assert average_overlap(["a", "b"], ["a"], [1, 2]) == pytest.approx((1 + 0.5) / 2)


@pytest.fixture
def lists():
    """Return a run of 30 queries of 40 docs, some of equal scores, and judgements."""
    draw = random.Random(2)
    rows, judged = [], []
    for number in range(30):
        docs = draw.sample(range(200), 40)
        rows += [
            (f"q{number}", f"d{doc}", float(40 - place // 3)) for place, doc in enumerate(docs)
        ]
        judged += [(f"q{number}", f"d{doc}", 1 + doc % 2) for doc in draw.sample(docs, 5)]
    return of(rows), judgements(judged)


def pair_of(ours, theirs, judged, measure="nDCG@10"):
    return RunPair(ours, theirs, judged, measure, sorted(judged["query_id"].unique()))


def named(pair, causes):
    """Return the cause that is named, and the whole verdict."""
    start = pair.tested("", pair.ours)
    text = verdict(causes, start)
    return text.partition(": explains" if ": explains" in text else ":")[0], text


class Empty:
    """Ours without anything behind it but texts."""

    def __init__(self, texts):
        self.texts, self.docs = texts, len(texts)


def cheap(pair, texts=None):
    names = {*pair.ours["doc_id"]} | {*pair.theirs["doc_id"]}
    held = Empty(texts if texts is not None else dict.fromkeys(names, "text"))
    return [*foreign.orders(pair), *foreign.rounded(pair), *foreign.lacking(pair),
            *foreign.removed(pair, held)]  # fmt: skip


def test_another_order_of_equal_scores_is_named(lists):
    ours, judged = lists
    theirs = ours.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
    pair = pair_of(ours, theirs.with_columns(rank=trec.POSITION), judged)
    cause, text = named(pair, cheap(pair))
    assert cause.startswith("equal scores by doc id, from the last") and "100%" in text


def test_scores_of_fewer_decimals_are_named(lists):
    ours, judged = lists
    random_ = np.random.default_rng(1)
    fine = ours.with_columns(score=pl.col("score") + pl.Series(random_.random(ours.height)))
    fine = trec.rank(fine.drop("rank"))
    coarse = fine.with_columns(pl.col("score").round(0)).sort(
        ["query_id", "score", "doc_id"], descending=[False, True, True]
    )
    pair = pair_of(fine, coarse.with_columns(rank=trec.POSITION), judged)
    cause, text = named(pair, cheap(pair))
    assert cause == "scores of 0 decimals, ties by doc id from the last" and "100%" in text


def test_queries_and_ranks_that_are_lacking_are_named(lists):
    ours, judged = lists
    gone = pair_of(ours, ours.filter(~pl.col("query_id").is_in(["q1", "q2", "q3"])), judged)
    assert named(gone, cheap(gone))[0] == "3 queries without a list"
    short = pair_of(ours, trec.cut(ours, 15), judged, "R@100")
    cause, text = named(short, cheap(short))
    assert cause == "lists that end at rank 15" and "100%" in text
    near = pair_of(ours, trec.cut(ours, 15), judged)
    start = near.tested("", near.ours)
    assert start.overlap == 1 and start.value == near.value(near.theirs), "it does not look so far"


def test_docs_that_are_left_out_are_named(lists):
    ours, judged = lists
    kept = judged.select(trec.PAIR)
    alone = ours.join(kept, on=trec.PAIR, how="semi").sort("query_id", "rank")
    pair = pair_of(ours, alone.with_columns(rank=trec.POSITION), judged)
    assert named(pair, cheap(pair))[0] == "judged docs alone"
    texts = {name: " " * (name < "d3") or "text" for name in ours["doc_id"]}
    empty = [name for name, text in texts.items() if not text.strip()]
    less = ours.filter(~pl.col("doc_id").is_in(empty)).sort("query_id", "rank")
    pair = pair_of(ours, less.with_columns(rank=trec.POSITION), judged)
    assert named(pair, cheap(pair, texts))[0] == f"{len(empty)} empty docs left out"
    own = ours.with_columns(
        doc_id=pl.when(pl.col("rank") == 1).then("query_id").otherwise("doc_id")
    )
    less = own.filter(pl.col("query_id") != pl.col("doc_id")).sort("query_id", "rank")
    pair = pair_of(own, less.with_columns(rank=trec.POSITION), judged)
    assert named(pair, cheap(pair))[0] == "the doc with a query's own id left out"


def test_docs_of_another_collection_are_named(lists):
    ours, judged = lists
    added = ours.with_columns(
        doc_id=pl.when(pl.col("rank") == 2).then(pl.lit("new")).otherwise("doc_id")
    )
    pair = pair_of(ours, added, judged)
    texts = dict.fromkeys(ours["doc_id"], "text")
    names = [one.name for one in cheap(pair, texts)]
    assert "1 docs that our collection lacks" in names


def test_a_verdict_says_how_much_is_explained():
    start = Cause("", 0.3, 0.5, False)
    causes = [
        Cause("a", 0.4, 0.8, False),
        Cause("b", 0.4, 0.8, True),
        Cause("c", 0.1, 0.2, False),
    ]
    text = verdict(causes, start)
    assert text == (
        "a (as well as b): explains 60% of what the lists do not share; something else differs, too"
    )
    text = verdict(causes[2:], start)
    assert text == "none of those tested"
    text = verdict([Cause("d", 0.1, 0.55, False)], start)
    assert text == "none of those tested: the best, d, explains 10%"
    assert verdict([], start) == "none of those tested"


def test_a_reported_number_is_matched_by_ways_of_measuring(lists):
    ours, judged = lists
    graded = pair_of(ours, ours, judged, "RR@10")
    value = graded._replace(measure="RR(rel=2)@10").value(ours)
    text = foreign._reported(graded, round(value, 3))
    assert "relevance from 2" in text
    text = foreign._reported(graded, 0.0123)
    assert "no way of measuring that was tried: as here" in text


# A collection whose words have forms, searched by Lucene.


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Return a corpus, its queries, and `search(spec)`, which gives the run of a lexical system."""
    folder, draw = tmp_path_factory.mktemp("foreign"), random.Random(7)
    docs = []
    for number in range(300):
        words = [draw.choice(STEMS) + draw.choice(FORMS) for _ in range(draw.randint(5, 60))]
        words += draw.choices(COMMON, k=draw.randint(0, 40))
        draw.shuffle(words)
        docs.append((f"d{number:03}", " ".join(words)))
    corpus = make_corpus(folder / "corpus", docs)
    queries = folder / "queries.tsv"
    texts = [f"the {draw.choice(STEMS)}ing of {draw.choice(STEMS)}s and {draw.choice(STEMS)}ed"
             for _ in range(25)]  # fmt: skip
    trec.write_queries(queries, [(f"q{number}", text) for number, text in enumerate(texts)])

    def search(name, **changes):
        spec = {**BASE, **changes}
        form = {key: spec[key] for key in ("analysis", "joined")} | {"fields": []}
        index = folder / f"index-{name}"
        call("lexical", "index", "--corpus", corpus, "--spec", json.dumps(form), "--output", index)
        run = folder / f"{name}.trec.gz"
        call("lexical", "search", "--index", index, "--queries", queries, "--spec",
             json.dumps(spec), "--tag", name, "--output", run)  # fmt: skip
        return trec.read_run(run)

    return corpus, queries, search


def test_settings_of_a_lexical_search_are_named(searched):
    """No stemming, another k1 and b, and pair, by searches anew."""
    corpus, queries, search = searched
    ours = search("ours")
    draw = random.Random(1)
    judged = judgements(
        [(f"q{n}", f"d{draw.randrange(300):03}", 1) for n in range(25) for _ in "abc"]
    )
    judged = judged.unique(trec.PAIR)
    held = SimpleNamespace(
        corpus=corpus, queries=queries, bodies={}, texts=dict(contracts.read_corpus(corpus)),
        made=SimpleNamespace(spec=BASE, environment={}),
    )  # fmt: skip
    unstemmed = {**BASE["analysis"], "stemmer": "none"}
    pair = pair_of(ours, search("theirs", analysis=unstemmed, bm25={"k1": 1.2, "b": 0.75}), judged)
    first = [*foreign.remade(pair, held, BASE)]
    cause, text = named(pair, first)
    assert cause == "stemmer none" and "something else differs, too" in text
    assert len(first) == 4 + 4 + 1, "two stemmers, stopwords, both none, four of BM25, RM3"
    best = max(first, key=lambda one: one.overlap)
    second = [*foreign.remade(pair, held, best.spec, best.name)]
    cause, text = named(pair, [*first, *second])
    assert cause == "stemmer none and k1 1.2, b 0.75 (Lucene's and Elasticsearch's)"
    assert "explains 100%" in text
    assert all(one.spec["analysis"] == unstemmed for one in second)


@pytest.mark.parametrize(
    ("changes", "command", "why"),
    [
        ({"term_weights": "deepct"}, "", "its terms are weighed by a model"),
        ({"analysis": {"wordpieces": "bert"}}, "", "not those of Lucene's analysis"),
        ({"rm3": {"value": None, "grid": {}}}, "", "its RM3 was tuned"),
        ({}, "x search --judged-before q", "docs that were judged before are taken out"),
    ],
)
def test_a_search_that_cannot_be_made_anew_is_told(changes, command, why):
    held = SimpleNamespace(made=SimpleNamespace(environment={"command": command}))
    with pytest.raises(ResiduumError, match=why):
        [*foreign.remade(None, held, {**BASE, **changes})]


def test_large_collections_are_not_looked_through(lists):
    ours, judged = lists
    held = SimpleNamespace(docs=foreign.CHEAP_DOCS + 1)
    with pytest.raises(ResiduumError, match="250,001 docs are looked through and indexed only up"):
        [*foreign.removed(pair_of(ours, ours, judged), held)]


# An encoder, by sentence-transformers as the foreign tool.


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("encoder"), random.Random(5)
    words = [f"word{n}" for n in range(40)]
    docs = [
        (f"d{n:03}", " ".join(draw.choices(words, k=draw.randint(90, 180)))) for n in range(120)
    ]
    corpus = make_corpus(folder / "corpus", docs)
    queries = {f"q{n:02}": " ".join(draw.choices(words, k=3)) for n in range(20)}
    trec.write_queries(folder / "queries.tsv", queries.items())
    start = make_backbone(folder / "start", corpus, max_length=256)
    model = SentenceTransformer(modules=[Transformer(str(start)), Pooling(16), Normalize()])
    model.max_seq_length = 200
    model.save(str(folder / "model"))
    call("release", "encoder", "--start", folder / "model", "--spec", Reads().model_dump_json(),
         "--output", folder / "checkpoint")  # fmt: skip
    held = SimpleNamespace(checkpoint=folder / "checkpoint", queries=folder / "queries.tsv",
                           texts=dict(docs), bodies={})  # fmt: skip
    return held, model, queries, dict(docs)


def ranked(model, queries, docs, prompt="", length=200):
    """Return the run of sentence-transformers, of 60 docs for each query."""
    model.max_seq_length = length
    scores = (
        model.encode([prompt + text for text in queries.values()])
        @ model.encode([*docs.values()]).T
    )
    return of([
        (query, doc, float(score))
        for query, row in zip(queries, scores, strict=True)
        for doc, score in sorted(zip(docs, row, strict=True), key=lambda one: -one[1])[:60]
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("how", "expected"),
    [({"length": 64}, "docs of 64 tokens"), ({"prompt": "query: "}, "prompts 'query: ' and ''")],
)
def test_settings_of_an_encoder_are_named(encoder, how, expected):
    held, model, queries, docs = encoder
    judged = judgements([(query, f"d{n:03}", 1) for query in queries for n in range(0, 120, 11)])
    pair = pair_of(ranked(model, queries, docs), ranked(model, queries, docs, **how), judged)
    causes, remark = foreign.encoded(pair, held)
    cause, text = named(pair, causes)
    assert cause == expected, text
    assert "tested on 20 queries, by the first 20 docs of both runs" in remark


def test_an_encoder_whose_first_docs_are_the_same_is_not_tried(encoder):
    held, model, queries, docs = encoder
    run = ranked(model, queries, docs)
    judged = judgements([(query, "d001", 1) for query in queries])
    with pytest.raises(ResiduumError, match="the first 20 docs are the same"):
        foreign.encoded(pair_of(run, trec.cut(run, 30), judged, "R@1000"), held)


def test_an_encoder_that_does_not_give_our_run_is_not_tried(encoder):
    """As one whose docs are read in passages: its order of texts is not that of the run."""
    held, model, queries, docs = encoder
    judged = judgements([(query, "d001", 1) for query in queries])
    other = ranked(model, queries, docs, prompt="another ")
    pair = pair_of(other, ranked(model, queries, docs, length=64), judged)
    with pytest.raises(ResiduumError, match="its order of our docs is not that of our run"):
        foreign.encoded(pair, held)
