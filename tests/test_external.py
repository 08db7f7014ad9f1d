"""External runs: taken in as they are, or refused with one reason that reaches the metrics."""

import json
import re

import pytest

from corpora import make_corpus
from residuum import evaluate, external
from residuum.artefacts import trec
from residuum.cli.errors import NotRun

GOOD = "q1 Q0 d2 1 3.5 their\nq1 Q0 d1 2 3.5 their\nq2 Q0 d3 1 0.25 their\n"
SPEC = json.dumps({"kind": "external", "source": "them", "runs": {"role": "their.txt"}})


@pytest.fixture
def accept(tmp_path):
    """Return a function that takes in a run file with the given text."""
    make_corpus(tmp_path / "corpus", [("d1", "one"), ("d2", "two"), ("d3", "three")])
    trec.write_queries(tmp_path / "queries.tsv", [("q1", "a"), ("q2", "b")])
    trec.write_qrels(tmp_path / "qrels.trec", [("q1", "d1", 1), ("q2", "d3", 1)])

    def run(text, **options):
        (tmp_path / "their.txt").write_text(text)
        external.accept(
            run=tmp_path / "their.txt",
            queries=tmp_path / "queries.tsv",
            corpus=tmp_path / "corpus",
            spec=SPEC,
            tag="theirs",
            output=tmp_path / "out.trec.gz",
            **options,
        )
        return tmp_path / "out.trec.gz"

    return run


def test_a_good_run_keeps_its_own_order_of_ties(accept):
    result = trec.read_run(accept(GOOD))
    assert result["doc_id"].to_list() == ["d2", "d1", "d3"], "ranked as they ranked, not by id"
    assert result["score"].to_list() == [3.5, 3.5, 0.25]


def test_a_file_with_another_md5_than_published_is_not_run_and_says_where_to_get_it(accept, capsys):
    published = "60b725f10c9c85c70d97880dfe8191b3"  # of the two bytes "a\\n", by coreutils' md5sum
    path = accept("a\n", md5=published)
    assert "expected 6 columns" in capsys.readouterr().err, "the MD5 is right, the run is none"
    path = accept(GOOD, md5=published)
    with pytest.raises(NotRun) as caught:
        trec.read_run(path)
    says = r"their\.txt: its MD5 is [0-9a-f]{32}, the published run has 60b725f1\w+: .* them$"
    assert re.search(says, str(caught.value))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("d3", "d9"), "line 3: query q2, doc d9 is not in"),
        (GOOD.replace("q2 Q0 d3 1 0.25 their\n", ""), "no line for query q2 (1 of 2 queries"),
        (GOOD.replace("3.5", "2.5", 1), "line 2: scores must not rise from one rank to the next"),
        (GOOD.replace(" their", ""), "line 1: expected 6 columns (query_id, q0, doc_id, rank"),
        (GOOD.replace("q2", "q7"), "query q7 is not in the split"),
        (GOOD.replace("0.25", "nan"), "line 3: score must be finite"),
        ("", "the file is empty"),
    ],
)
def test_a_faulty_run_is_refused_and_its_metrics_say_why(accept, tmp_path, capsys, text, says):
    path = accept(text)
    assert says in capsys.readouterr().err
    with pytest.raises(NotRun) as caught:
        trec.read_run(path)
    assert says in str(caught.value)
    metrics = tmp_path / "metrics.tsv"
    evaluate.run(path, tmp_path / "qrels.trec", ["RR@10"], metrics)
    with pytest.raises(NotRun) as caught:
        trec.read_metrics(metrics)
    assert says in str(caught.value)
    manifest = json.loads((tmp_path / "metrics.tsv.manifest.json").read_text())
    assert says in manifest["artefact"]["not_run"]
