"""A residual split: what was judged before is in no list, and each list has its k docs.

Five docs hold `alpha` five times to once among equally many words, and have vectors 5 to 1: every
list is d5 d4 d3 d2 d1 for both queries. An earlier round judged d5 and d3 for q, and nothing for r.
"""

import json
from itertools import groupby

import numpy as np
import polars as pl
import pytest

from corpora import make_corpus, make_index, spec
from residuum import data, dense, evaluate, external, fusion, lexical, rm3
from residuum.artefacts import contracts, trec
from residuum.artefacts.residual import Residual
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import FusionSystem

DOCS = [(f"d{n}", " ".join(["alpha"] * n + ["other"] * (6 - n))) for n in (1, 2, 3, 4, 5)]
QUERIES = [("q", "alpha"), ("r", "alpha")]
LEFT = {"q": ["d4", "d2"], "r": ["d5", "d4"]}  # k 2, by hand
EARLIER = [("q", "d5", 2), ("q", "d3", 0), ("s", "d1", 1)]  # relevant or not; s is asked no more
GRID = {"feedback_docs": [2], "feedback_terms": [3], "original_query_weight": [0.9, 1.0]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("residual")
    trec.write_queries(folder / "queries.tsv", QUERIES)
    trec.write_qrels(folder / "earlier.trec", EARLIER[:2])
    trec.write_qrels(folder / "earliest.trec", EARLIER[2:])
    trec.write_qrels(folder / "qrels.trec", [("q", "d2", 1), ("r", "d4", 1)])
    make_index(folder, DOCS)
    return folder


@pytest.fixture(scope="module")
def earlier(folder):
    return [folder / "earlier.trec", folder / "earliest.trec"]


def lists(path):
    """Return the docs of each query of a run."""
    rows = trec.read_run(path).select(*trec.PAIR).iter_rows()
    return {q: [doc for _, doc in own] for q, own in groupby(rows, lambda row: row[0])}


def searched(folder, name, judged_before, **options):
    path = folder / f"{name}.trec.gz"
    args = folder / "index", folder / "queries.tsv", spec(k=2, **options), name, path
    lexical.search(*args, judged_before=judged_before)
    return path


def vectors(folder, of):
    """Write the docs' vectors in shards, and those of the queries of two splits."""
    for number in range(of):
        own = DOCS[len(DOCS) * number // of : len(DOCS) * (number + 1) // of]
        values = np.array([[float(doc_id[1:])] for doc_id, _ in own], dtype=np.float32)
        shard = folder / f"shard-{number}"
        contracts.write_vectors(shard, [doc_id for doc_id, _ in own], values)
        described(shard, shard={"number": number, "of": of})
    for split in ("round2", "other"):
        ids = [query_id for query_id, _ in QUERIES]
        contracts.write_vectors(folder / "queries" / split, ids, np.ones((2, 1), np.float32))
    described(folder / "queries", queries={"round2": 2, "other": 2})
    return [folder / f"shard-{number}" for number in range(of)]


def described(folder, **facts):
    record = {"artefact": {"weights": "0" * 64, **facts}}
    (folder / "manifest.json").write_text(json.dumps(record))


def gathered(folder, of, split, judged_before):
    """Search the shards for all splits and return the run of one."""
    entry = json.dumps({"kind": "dense", "model": "m", "k": 2})
    hits = []
    for shard in vectors(folder, of):
        hits.append(folder / f"hits-{shard.name}")
        named = [f"round2={path}" for path in judged_before]
        dense.search_shard(shard, folder / "queries", 2, hits[-1], 1, "cpu", named)
    path = folder / f"{split}.trec.gz"
    dense.gather(hits, [split], entry, "dense", path)
    return path


def test_a_lexical_list_goes_deeper_by_what_left_it(folder, earlier):
    assert lists(searched(folder, "whole", None)) == {q: ["d5", "d4"] for q in "qr"}
    path = searched(folder, "bm25", earlier)
    assert lists(path) == LEFT
    whole = trec.read_run(searched(folder, "deep", None)).filter(doc_id="d4")["score"]
    assert set(trec.read_run(path).filter(doc_id="d4")["score"]) == set(whole), "N and df stay"
    record = json.loads((folder / "bm25.trec.gz.manifest.json").read_text())
    assert [path for path in record["inputs"] if "earli" in path] == [str(p) for p in earlier]


def test_a_query_that_is_a_doc_leaves_its_list_alone(tmp_path):
    docs = [("q", "alpha alpha other"), ("d1", "alpha other other"), ("r", "alpha beta beta")]
    trec.write_queries(
        tmp_path / "queries.tsv", [("q", "alpha"), ("r", "beta alpha"), ("s", "alpha")]
    )
    make_index(tmp_path, docs)
    whole = lists(searched(tmp_path, "whole", None))
    assert whole == {"q": ["q", "d1"], "r": ["r", "q"], "s": ["q", "d1"]}
    removed = lists(searched(tmp_path, "removed", [tmp_path / "queries.tsv"]))
    assert removed == {"q": ["d1", "r"], "r": ["q", "d1"], "s": ["q", "d1"]}, "k 2, by hand"
    assert Residual([tmp_path / "queries.tsv"]).most == 1


def test_feedback_docs_may_have_been_judged_before_but_hits_may_not(folder, earlier):
    setting = {"feedback_docs": 2, "feedback_terms": 3, "original_query_weight": 0.9}
    fixed = searched(folder, "fixed", earlier, rm3={"value": setting})
    assert lists(fixed) == LEFT
    whole = searched(folder, "fixed-whole", None, rm3={"value": setting})
    scores = [
        trec.read_run(p).filter(query_id="q", doc_id="d4")["score"][0] for p in (fixed, whole)
    ]
    assert scores[0] == scores[1], "the same expanded query: d5 fed it back in both"
    tuned = {"grid": GRID, "folds": 2, "seed": 1, "measures": {"dev": "RR@2"}}
    args = folder / "index", folder / "queries.tsv", folder / "qrels.trec", spec(k=2, rm3=tuned)
    path, record = folder / "tuned.trec.gz", folder / "tuned.json"
    rm3.tune(*args, "RR@2", "tuned", path, record, judged_before=earlier)
    assert lists(path) == LEFT
    # Each query's relevant doc is second, behind d4 or d5: 1/2. Without the rule q's d2 is fourth.
    assert [t["means"] for t in json.loads(record.read_text())["tried"]] == [[0.5, 0.5]] * 2


@pytest.mark.parametrize("of", [1, 2, 5])
def test_a_dense_list_goes_deeper_in_every_shard_and_on_its_own_split_only(tmp_path, earlier, of):
    assert lists(gathered(tmp_path, of, "round2", earlier)) == LEFT
    assert lists(tmp_path / "round2.trec.gz") == LEFT
    dense.gather(
        [tmp_path / f"hits-shard-{n}" for n in range(of)], ["other"],
        json.dumps({"kind": "dense", "model": "m", "k": 2}), "dense", tmp_path / "o.trec.gz",
    )  # fmt: skip
    assert lists(tmp_path / "o.trec.gz") == {q: ["d5", "d4"] for q in "qr"}
    record = json.loads((tmp_path / "hits-shard-0" / "manifest.json").read_text())
    assert [path for path in record["inputs"] if "earli" in path] == [str(p) for p in earlier]


def test_fused_lists_and_true_scores_hold_what_their_parts_hold(folder, tmp_path, earlier):
    parts = {
        "l": searched(folder, "l", earlier),
        "d": gathered(tmp_path, 2, "round2", earlier),
    }
    args = folder / "index", folder / "queries.tsv", [parts["d"]], spec(k=2), "l"
    lexical.score(*args, tmp_path / "true.trec.gz")
    pairs = set(trec.read_run(tmp_path / "true.trec.gz").select(*trec.PAIR).iter_rows())
    assert not pairs & {row[:2] for row in EARLIER}
    entry = FusionSystem(
        kind="fusion",
        parts=["l", "d"],
        unretrieved={"l": "true_score", "d": "minimum"},
        interpolation={"weighted": "l", "value": 1.0},
        k=2,
    )
    runs = [f"{name}={path}" for name, path in parts.items()]
    scores = [f"l={tmp_path / 'true.trec.gz'}"]
    fusion.fuse(entry.model_dump_json(), runs, "f", tmp_path / "f.trec.gz", scores=scores)
    assert lists(tmp_path / "f.trec.gz") == LEFT


THEIRS = "".join(
    f"{query} Q0 d{doc} {rank} {doc}.5 theirs\n"
    for query in "qr"
    for rank, doc in enumerate((5, 4, 3, 2, 1), 1)
)


def test_an_external_run_loses_them_and_says_how_many(folder, tmp_path, earlier):
    (tmp_path / "theirs.txt").write_text(THEIRS)
    entry = json.dumps({"kind": "external", "source": "them", "runs": {"role": "theirs.txt"}})
    corpus = make_corpus(tmp_path / "corpus", DOCS)
    args = tmp_path / "theirs.txt", folder / "queries.tsv", corpus, entry, "theirs"
    path, metrics = tmp_path / "out.trec.gz", tmp_path / "metrics.tsv"
    external.accept(*args, path, earlier)
    assert trec.read_run(path).filter(query_id="q").rows() == [
        ("q", "d4", 1, 4.5), ("q", "d2", 2, 2.5), ("q", "d1", 3, 1.5),
    ]  # fmt: skip
    assert lists(path)["r"] == ["d5", "d4", "d3", "d2", "d1"]
    evaluate.run(path, folder / "qrels.trec", ["RR@10"], metrics)
    assert trec.read_metrics(metrics)["value"].to_list() == [0.5, 0.5], "d2 and d4 are second"
    for artefact in (path, metrics):
        record = json.loads((artefact.parent / f"{artefact.name}.manifest.json").read_text())
        assert record["artefact"]["judged_before"] == 2
    external.accept(*args, tmp_path / "plain.trec.gz")
    record = json.loads((tmp_path / "plain.trec.gz.manifest.json").read_text())
    assert "judged_before" not in record["artefact"]


def test_a_residual_split_judges_no_pair_again(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    trec.write_queries(tmp_path / "topics.tsv", QUERIES)
    trec.write_qrels(tmp_path / "second.trec", [("q", "d1", 1), ("q", "d3", 1)])
    trec.write_qrels(tmp_path / "first.trec", EARLIER[:2])
    split = {"queries": "topics.tsv", "qrels": "second.trec"}
    collection = json.dumps(
        {
            "source": {"kind": "files", "corpus": "docs.tsv"},
            "splits": {"round2": split},
            "editions": [{"name": "any", "docs": 5}],
        }
    )
    args = "mine", "round2", collection, tmp_path / "queries.tsv", tmp_path / "qrels.trec"
    with pytest.raises(ResiduumError, match=r"mine/round2: query q, doc d3 is judged in .*first"):
        data.split(*args, judged_before=[tmp_path / "first.trec"])
    assert not (tmp_path / "queries.tsv").exists()
    trec.write_qrels(tmp_path / "second.trec", [("q", "d1", 1)])
    data.split(*args, judged_before=[tmp_path / "first.trec"])
    record = json.loads((tmp_path / "queries.tsv.manifest.json").read_text())
    assert str(tmp_path / "first.trec") in record["inputs"]


def test_without_earlier_rounds_nothing_is_looked_at():
    hits = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    assert Residual(None).most == 0
    assert Residual([]).left(hits) is hits


def test_the_depth_is_that_of_the_query_with_most(earlier):
    assert Residual(earlier).most == 2


@pytest.mark.shared_data
def test_rounds_1_and_2_of_trec_covid_on_a_made_up_run(shared_data, tmp_path):
    """The run has all that round 1 judged, the relevant first, and then round 2's from the best.

    So every P@5 and nDCG@10 is 1 once round 1's docs are out, and P@5 is 0 for its topics before.
    """
    rounds = shared_data / "ir_datasets" / "cord19" / "trec-covid"
    first, second = (trec.read_qrels(rounds / name / "qrels") for name in ("round1", "round2"))
    best = [table.sort("query_id", -pl.col("relevance"), "doc_id") for table in (first, second)]
    both = pl.concat(best).sort("query_id", maintain_order=True)
    theirs = both.with_columns(rank=trec.POSITION, score=-trec.POSITION.cast(pl.Float64))
    trec.write_run(
        tmp_path / "theirs.trec.gz", theirs.select(*trec.PAIR, "rank", "score"), "made-up"
    )
    corpus = make_corpus(tmp_path / "corpus", [(d, "x") for d in theirs["doc_id"].unique().sort()])
    trec.write_queries(tmp_path / "queries.tsv", [(q, "x") for q in second["query_id"].unique()])
    values = {}
    for name, before in (("whole", None), ("left", [rounds / "round1" / "qrels"])):
        entry = json.dumps({"kind": "external", "source": "us", "runs": {"role": "theirs.trec.gz"}})
        args = tmp_path / "theirs.trec.gz", tmp_path / "queries.tsv", corpus, entry, "made-up"
        path, metrics = tmp_path / f"{name}.trec.gz", tmp_path / f"{name}.tsv"
        external.accept(*args, path, before)
        evaluate.run(path, rounds / "round2" / "qrels", ["P@5", "nDCG@10", "R@1000"], metrics)
        values[name] = {
            m: own["value"] for (m,), own in trec.read_metrics(metrics).group_by("measure")
        }
    run = trec.read_run(tmp_path / "left.trec.gz")
    assert run.height == 12037 and theirs.height == 12037 + 8691
    assert not set(run.select(*trec.PAIR).rows()) & set(first.select(*trec.PAIR).rows())
    assert all(set(column) == {1.0} for column in values["left"].values())
    assert sorted(values["whole"]["P@5"]) == [0.0] * 30 + [1.0] * 5, "5 topics are new"
    record = json.loads((tmp_path / "left.trec.gz.manifest.json").read_text())
    assert record["artefact"]["judged_before"] == 8691
