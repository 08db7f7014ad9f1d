"""Groups of queries by hand: lengths of relevant docs, halves of a measure, ties by a hash."""

import hashlib
import json

import polars as pl
import pytest

from residuum import groups
from residuum.artefacts import contracts, files, groupings, manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config.specs import canonical_json

# Words of docs; q1 has the mean of 30 and 51, q5's only relevant doc is not in the corpus.
WORDS = {"d1": 39, "d2": 40, "d3": 30, "d4": 51, "d5": 300}
QRELS = [("q1", "d3", 1), ("q1", "d4", 2), ("q2", "d1", 1), ("q3", "d2", 1), ("q3", "d5", 0),
         ("q4", "d5", 0), ("q5", "gone", 1), ("q6", "d3", 1)]  # fmt: skip


def lengths(folder, width=40):
    with files.whole_directory(folder / "corpus") as corpus:
        docs = ((doc, {"text": "word " * n}) for doc, n in WORDS.items())
        facts = {"docs": len(WORDS), "shards": contracts.write_corpus(corpus, docs)}
        manifest.write(corpus, facts, {}, [], "residuum.data")
    trec.write_qrels(folder / "qrels.trec", QRELS)
    spec = canonical_json({"kind": "lengths", "width": width})
    groups.lengths(spec, folder / "qrels.trec", folder / "corpus", folder / "lengths.tsv")
    return groupings.read(folder / "lengths.tsv")


def test_lengths_by_hand(tmp_path, capsys):
    made = lengths(tmp_path)
    assert made.members == {
        "0-40": ["q2", "q6"], "40-80": ["q1", "q3"], "no relevant doc": ["q4", "q5"]
    }  # fmt: skip
    assert made.values == {"q2": 39, "q6": 30, "q1": 40.5, "q3": 40}
    kept = json.loads((tmp_path / "lengths.tsv.manifest.json").read_text())["artefact"]
    sizes = {"0-40": 2, "40-80": 2, "no relevant doc": 2}
    assert kept == {"queries": 6, "groups": sizes, "cuts": []}
    assert sum(sizes.values()) == len({query for query, _, _ in QRELS})
    assert capsys.readouterr().out == "2 0-40, 2 40-80, 2 no relevant doc.\n"


def test_the_width_is_the_specs(tmp_path):
    assert [*lengths(tmp_path, 10).members] == ["30-40", "40-50", "no relevant doc"]


def halves(folder, *runs):
    paths = []
    for number, values in enumerate(runs, start=1):
        rows = [(query, "RR@10", value) for query, value in values.items()]
        paths.append(folder / f"bm25.seed{number}.tsv")
        trec.write_metrics(paths[-1], pl.DataFrame(rows, schema=trec.METRICS, orient="row"))
    spec = canonical_json({"kind": "halves", "system": "bm25", "measure": "RR@10"})
    groups.halves(spec, paths, folder / "halves.tsv")
    return groupings.read(folder / "halves.tsv")


def test_the_lower_half_of_500_with_ties_by_hash(tmp_path, capsys):
    """313 queries have 0, as BM25's RR@10 has on a collection of ours: 250 of them are hard."""
    values = {f"q{i:03d}": 0.0 if i < 313 else 1 / (1 + i % 3) for i in range(500)}
    made = halves(tmp_path, values)
    zeros = [query for query, value in values.items() if value == 0]
    zeros.sort(key=lambda query: hashlib.sha256(query.encode()).hexdigest())
    assert made.members["hard"] == sorted(zeros[:250])
    assert len(made.members["easy"]) == 250 and {*zeros[250:]} <= {*made.members["easy"]}
    text = "313 queries have the value 0 at their bound: by a hash of their ids, "
    text += "250 are hard and 63 easy."
    assert capsys.readouterr().out == f"250 hard, 250 easy. {text}\n"
    kept = json.loads((tmp_path / "halves.tsv.manifest.json").read_text())["artefact"]
    assert kept["cuts"] == [text]


def test_without_ties_at_the_bound_nothing_is_cut_and_seeds_count_by_their_mean(tmp_path):
    made = halves(tmp_path, {"a": 0.0, "b": 1.0, "c": 0.5}, {"a": 1.0, "b": 1.0, "c": 0.0})
    assert made.members == {"hard": ["c"], "easy": ["a", "b"]}, "0.25 below 0.5 and 1"
    assert list(made.cuts()) == []


def test_a_measure_that_the_metrics_lack_is_refused(tmp_path):
    rows = pl.DataFrame([("q", "AP", 0.5)], schema=trec.METRICS, orient="row")
    trec.write_metrics(tmp_path / "bm25.tsv", rows)
    spec = canonical_json({"kind": "halves", "system": "bm25", "measure": "RR@10"})
    with pytest.raises(ResiduumError, match=r"bm25\.tsv: no values of RR@10"):
        groups.halves(spec, [tmp_path / "bm25.tsv"], tmp_path / "halves.tsv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group\tquery_id\n", "line 1: expected group, query_id, value, found"),
        ("group\tquery_id\tvalue\nhard\tq1\n", "line 2: expected group, query_id, value, found"),
        ("group\tquery_id\tvalue\nhard\tq1\tx\n", "line 2: value must be a number, found 'x'"),
        ("group\tquery_id\tvalue\na\tq1\t1\nb\tq1\t2\n", "line 3: duplicate query_id q1"),
        ("", "line 1: expected group, query_id, value, found ''"),
    ],
)
def test_faulty_groups_are_refused(tmp_path, text, message):
    (tmp_path / "g.tsv").write_text(text)
    with pytest.raises(ResiduumError, match=message):
        groupings.read(tmp_path / "g.tsv")


def fold(folder, name, *queries):
    path = folder / name / "queries.tsv"
    trec.write_queries(path, [(query, f"text of {query}") for query in queries])
    return path


def test_folds_are_groups_of_the_judged_queries_in_their_order(tmp_path):
    trec.write_qrels(tmp_path / "qrels.trec", [(f"q{n}", "d", 1) for n in (1, 2, 3, 4)])
    paths = [fold(tmp_path, "late", "q3", "q2", "q9"), fold(tmp_path, "early", "q4", "q1")]
    groups.folds('{"kind": "folds"}', tmp_path / "qrels.trec", paths, tmp_path / "folds.tsv")
    made = groupings.read(tmp_path / "folds.tsv")
    assert [*made.members.items()] == [("late", ["q2", "q3"]), ("early", ["q1", "q4"])]
    assert made.values == {}


def test_folds_that_do_not_divide_the_queries_are_refused(tmp_path):
    trec.write_qrels(tmp_path / "qrels.trec", [(f"q{n}", "d", 1) for n in (1, 2, 3)])
    spec, qrels, output = '{"kind": "folds"}', tmp_path / "qrels.trec", tmp_path / "folds.tsv"
    one, two = fold(tmp_path, "one", "q1"), fold(tmp_path, "two", "q1", "q2", "q3")
    with pytest.raises(ResiduumError, match=r"query q2 is in none of the folds one \(2 such"):
        groups.folds(spec, qrels, [one], output)
    with pytest.raises(ResiduumError, match="duplicate query_id q1"):
        groups.folds(spec, qrels, [one, two], output)
