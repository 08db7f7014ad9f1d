"""Lists equal those of Anserini's own IndexCollection and SearchCollection, place by place.

Collections with empty docs, docs of stop words alone, duplicates and ties; CACM where it lies.
"""

import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from corpora import RM3, form, make_corpus, make_weights, system
from residuum import lexical
from residuum.artefacts import indexes, trec
from residuum.config.schema.settings import Rm3
from residuum.lucene import exhaustive, jvm

K, QUERIES = 1000, 40
BM25 = ["-bm25", "-bm25.k1", "0.9", "-bm25.b", "0.4", "-hits", K]
PLACE = ["query_id", "rank", "doc_id"]
ZIPF = [1 / rank for rank in range(1, 1001)]  # of a word by its rank
BLANK = ["", " \n\t\x01"]  # what Java's trim leaves nothing of
STOPPED = ["the of and", ". \u3000", "\xa0"]  # docs without terms, which Anserini indexes

Texts = list[tuple[str, str]]


class Collection(NamedTuple):
    """Docs and queries by their ids; what takes the place of tf, or fields and boosts, if any."""

    docs: Texts
    queries: Texts
    weights: Sequence[tuple[str, dict[str, int]]] = ()
    fields: Mapping[str, dict[str, str]] = {}
    boosts: Mapping[str, float] = {}

    def for_anserini(self) -> list[dict]:
        """Return the docs in Anserini's form, as they are."""
        if self.weights:
            return [{"id": i, "vector": own} for i, own in self.weights]
        return [{"id": i, "contents": text, **self.fields.get(i, {})} for i, text in self.docs]

    def index(self, folder: Path) -> Path:
        """Index with residuum, once."""
        if not (folder / "index").exists():
            docs = [(i, {"text": text, **self.fields.get(i, {})}) for i, text in self.docs]
            corpus = make_corpus(folder / "corpus", docs)
            weights = make_weights(folder / "weights", self.weights) if self.weights else None
            lexical.index(corpus, form(fields=sorted(self.boosts)), folder / "index", weights)
        return folder / "index"


def drawn(seed: int, docs: int, most: int = 60) -> tuple[Texts, Texts]:
    """Draw docs and queries from words by Zipf's law, so that some are in a tenth of the docs."""
    rng = random.Random(seed)
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{n}" for n in range(len(ZIPF))]

    def text(length: int) -> str:
        return " ".join(rng.choices(words, ZIPF, k=length))

    texts = [(f"d{n}", text(rng.randint(5, most))) for n in range(docs)]
    return texts, [(f"q{n}", text(rng.randint(1, 6))) for n in range(QUERIES)]


def with_empties() -> Collection:
    """As Cranfield: 1,400 docs, two of them empty."""
    docs, queries = drawn(1, 1400)
    for place, blank in zip((470, 994), BLANK, strict=True):
        docs[place] = (docs[place][0], blank)
    return Collection(docs, queries)


def with_ties() -> Collection:
    """Every doc five times, under ids out of order, and a hundred blank ones."""
    docs, queries = drawn(2, 200, most=8)
    copies = [(f"{doc_id}-{n}", text) for n in (4, 1, 3, 0, 2) for doc_id, text in docs]
    return Collection([*copies, *((f"e{n}", BLANK[n % 2]) for n in range(100))], queries)


def with_stop_words() -> Collection:
    """Docs without a term: blank ones, and such as are of stop words alone."""
    docs, queries = drawn(3, 400)
    odd = [*BLANK, *STOPPED]
    return Collection([*docs, *((f"s{n}", odd[n % len(odd)]) for n in range(60))], queries)


def with_weights() -> Collection:
    """Predicted term frequencies, some docs without any."""
    docs, queries = drawn(4, 500)
    rng = random.Random(4)
    weights = [{w: rng.randint(1, 90) for w in dict.fromkeys(text.split())} for _, text in docs]
    weights[7::25] = [{} for _ in weights[7::25]]
    return Collection(docs, queries, [(i, own) for (i, _), own in zip(docs, weights, strict=True)])


def with_fields() -> Collection:
    """Titles and bodies, some docs without one of them and some without both."""
    docs, queries = drawn(5, 400)
    fields = {i: {"title": text[:20], "body": text[20:]} for i, text in docs}
    for number, own in enumerate(fields.values()):
        own |= {"title": BLANK[1]} if number % 5 == 0 else {}
        own |= {"body": BLANK[0]} if number % 7 == 0 else {}
    docs = [(i, " ".join(fields[i].values())) for i, _ in docs]
    return Collection(docs, queries, fields=fields, boosts={"title": 1.5, "body": 2.0})


def anserinis(collection: Collection, folder: Path, rm3: bool) -> pl.DataFrame:
    """Index and search with Anserini alone; return the places of its run."""
    index, run, fields = folder / "theirs", folder / "theirs.trec", collection.boosts
    if not index.exists():
        (folder / "json").mkdir()
        lines = (json.dumps(doc) + "\n" for doc in collection.for_anserini())
        (folder / "json" / "docs.jsonl").write_text("".join(lines))
        kind = "JsonVectorCollection" if collection.weights else "JsonCollection"
        options = ["-collection", kind, "-input", folder / "json", "-index", index]
        options += ["-fields", *fields] if fields else ["-storeDocvectors"]
        run_java("index.IndexCollection", *options, "-threads", 1)
    options = ["-index", index, "-topics", folder / "queries.tsv", "-topicReader", "TsvString"]
    options += ["-fields", *(f"{name}={boost}" for name, boost in fields.items())] if fields else []
    options += ["-output", run, "-threads", 1, *BM25, *(["-rm3"] if rm3 else [])]
    run_java("search.SearchCollection", *options)
    return trec.read_any_run(run)[0].sort(PLACE)


def run_java(program: str, *options: object) -> None:
    """Run one of Anserini's programs in this process."""
    jvm.java(f"io.anserini.{program}").main(list(map(str, options)))


def printed(scores: Iterable[float]) -> Iterator[float]:
    """Round falling scores to four decimals and set tied ones apart, as Anserini prints them.

    Source: ScoreTiesAdjusterReranker, which lowers the n-th of a row of ties by n millionths.
    """
    last, ties = np.float32(np.inf), 0
    for score in scores:
        rounded = np.float32(math.floor(score * 1e4 + 0.5) / 1e4)
        ties = 0 if last - rounded > np.float32(1e-4) else ties + 1
        last = rounded - np.float32(1e-6) * np.float32(ties)
        yield float(last)


def ours(collection: Collection, folder: Path, rm3: bool) -> pl.DataFrame:
    """Search with residuum; return each place with its doc and the score as Anserini prints it."""
    used = system(term_weights="deepct" if collection.weights else None, boosts=collection.boosts)
    searcher = lexical.open_index(collection.index(folder), used)
    setting = Rm3(**RM3["value"]) if rm3 else None
    hits = pl.concat(searcher.search(collection.queries, K, setting))
    hits = hits.sort("query_id", "score", "doc_id", descending=[False, True, False])
    lists = hits.group_by("query_id", maintain_order=True).agg("doc_id", "score")
    adjusted = [list(printed(own)) for own in lists["score"]]
    places = lists.with_columns(score=pl.Series(adjusted)).explode("doc_id", "score")
    return places.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id")).sort(PLACE)


def compare(collection: Collection, folder: Path, rm3: bool) -> None:
    """Search with both; every place must hold the same doc with the same score."""
    folder.mkdir(exist_ok=True)
    trec.write_queries(folder / "queries.tsv", collection.queries)
    one, other = ours(collection, folder, rm3), anserinis(collection, folder, rm3)
    assert one.select(PLACE).equals(other.select(PLACE))
    far = (one["score"] - other["score"]).abs().max()
    print(f"{folder.name}, {'RM3' if rm3 else 'BM25'}: {one.height} places, at most {far:.1e} off")
    assert far <= 1e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("anserini")


MADE = {with_empties: 2, with_ties: 100, with_stop_words: 24, with_weights: 20, with_fields: 12}
RM3_TOO = [made for made in MADE if made != with_fields]  # RM3 does not go with fields


@pytest.mark.parametrize(
    ("made", "rm3"), [*((made, False) for made in MADE), *((made, True) for made in RM3_TOO)]
)
def test_every_place_of_a_list_is_anserinis(folder, made, rm3):
    own = folder / made.__name__
    compare(made(), own, rm3)
    record = lexical.index_record(own / "index")
    assert record["left_out"] == len(indexes.read_left_out(own / "index")) == MADE[made]
    assert record["docs"] == record["documents"] + MADE[made]


@pytest.mark.shared_data
@pytest.mark.parametrize("rm3", [False, True])
def test_every_place_of_a_list_of_cacm_is_anserinis(shared_data, folder, rm3):
    source = shared_data / "cacm"
    docs = map(json.loads, (source / "docs.jsonl").read_text().splitlines())
    queries = list(trec.read_queries(source / "queries.tsv").items())
    compare(Collection([(d["doc_id"], d["text"]) for d in docs], queries), folder / "cacm", rm3)


@pytest.mark.parametrize("made", [made for made in MADE if made != with_fields])
@pytest.mark.parametrize("k", [1, 7, K])
def test_scoring_all_docs_of_a_small_index_gives_the_hits_of_lucenes_search(
    folder, made, k, monkeypatch
):
    collection, own = made(), folder / made.__name__
    own.mkdir(exist_ok=True)
    used = system(term_weights="deepct" if collection.weights else None)
    repeated = [(f"{i}-again", f"{text} {text.split(' ')[0]}") for i, text in collection.queries]
    queries = [*collection.queries, *repeated, ("none", "qqqqq"), ("", " ")]
    lists = []
    for most in (exhaustive.MOST_DOCS, 0):
        monkeypatch.setattr(exhaustive, "MOST_DOCS", most)
        searcher = lexical.open_index(collection.index(own), used)
        assert (searcher._exhaustive is None) == (most == 0)
        lists.append(pl.concat(searcher.search(queries, k)).sort("query_id", "doc_id"))
    assert lists[0].equals(lists[1])
    assert lists[0]["query_id"].n_unique() > QUERIES
