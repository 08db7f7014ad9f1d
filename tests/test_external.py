"""What others made: runs taken in or refused with one reason; term weights in a corpus's order."""

import gzip
import json
import re

import pytest

from corpora import make_corpus
from residuum import evaluate, external
from residuum.artefacts import contracts, released, trec
from residuum.cli.errors import NotRun, ResiduumError

GOOD = "q1 Q0 d2 1 3.5 their\nq1 Q0 d1 2 3.5 their\nq2 Q0 d3 1 0.25 their\n"
SPEC = json.dumps({"kind": "external", "source": "them", "runs": {"role": "their.txt"}})


@pytest.fixture
def accept(tmp_path):
    """Return a function that takes in a run file with the given text."""
    make_corpus(tmp_path / "corpus", [("d1", "one"), ("d2", "two"), ("d3", "three")])
    trec.write_queries(tmp_path / "queries.tsv", [("q1", "a"), ("q2", "b")])
    trec.write_qrels(tmp_path / "qrels.trec", [("q1", "d1", 1), ("q2", "d3", 1)])

    def run(text, spec=SPEC, **options):
        (tmp_path / "their.txt").write_text(text)
        external.accept(
            run=tmp_path / "their.txt",
            queries=tmp_path / "queries.tsv",
            corpus=tmp_path / "corpus",
            spec=spec,
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


def test_lists_of_other_queries_are_left_out_where_the_system_says_so(accept):
    spec = json.dumps({**json.loads(SPEC), "others": True})
    more = f"q0 Q0 d9 1 9 their\n{GOOD}q3 Q0 d1 1 1 their\n"
    assert accept(more, spec).read_bytes() == accept(GOOD).read_bytes()
    with pytest.raises(NotRun, match="query q0 is not in the split"):
        trec.read_run(accept(more))
    with pytest.raises(NotRun, match="none of the split's queries is in it"):
        trec.read_run(accept("q0 Q0 d9 1 9 their\n", spec))
    with pytest.raises(NotRun, match=r"their\.txt, line 3: query q1, doc d8 is not in"):
        trec.read_run(accept(more.replace("q1 Q0 d1", "q1 Q0 d8"), spec))
    with pytest.raises(NotRun, match="no line for query q2"):
        trec.read_run(accept(more.replace("q2 ", "q9 "), spec))


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


# As bert_term_sample_to_json.py of AdeDZY/DeepCT writes json and tsv: a word as often as its
# weight says, docs in any order, none without a word.
OFFICIAL = '{"id": "3", "contents": "lives lives lives lost"}\n{"id": "007", "contents": "the"}\n'
TSV = "2\tatomic atomic na\u00efve\n"
VECTOR = {"id": "1", "contents": "", "vector": {"success": 12, "minds": 1}}


@pytest.fixture
def weigh(tmp_path):
    """Return a function that takes in files with given texts, as the weights of five docs."""
    corpus = make_corpus(tmp_path / "corpus", [(i, "text") for i in ("1", "2", "3", "007", "9")])

    def run(*texts, least=0.8):
        paths = [tmp_path / f"docs{number:02d}.json" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        spec = {"kind": "released-weights", "source": "them", "dataset": "toy", "path": "deepct"}
        external.weights(paths, corpus, json.dumps({**spec, "least": least}), tmp_path / "tfs")
        return tmp_path / "tfs"

    return run


def test_released_weights_take_the_order_of_the_corpus(weigh, capsys):
    folder = weigh(OFFICIAL, TSV + json.dumps(VECTOR) + "\n")
    assert [(doc["doc_id"], doc["weights"]) for doc in contracts.read_docs(folder)] == [
        ("1", {"success": 12, "minds": 1}),
        ("2", {"atomic": 2, "na\u00efve": 1}),
        ("3", {"lives": 3, "lost": 1}),
        ("007", {"the": 1}),
        ("9", {}),
    ]
    assert (
        "1 of 5 docs have no line in the weights: 9; they have no word" in capsys.readouterr().err
    )
    artefact = json.loads((folder / "manifest.json").read_text())["artefact"]
    assert artefact["docs"] == 5
    assert artefact["words_per_doc"] == 7 / 5 and artefact["tf_per_doc"] == 21 / 5
    assert artefact["docs_without_a_word"] == artefact["docs_without_a_line"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "part-00000.jsonl.gz",
    ]


def test_half_of_the_released_files_is_refused_with_the_docs_that_lack(weigh, tmp_path):
    with pytest.raises(ResiduumError, match=r"3 of 5 docs have no line in the weights: 1, 2, 9\."):
        weigh(OFFICIAL)
    assert not (tmp_path / "tfs").exists()
    with pytest.raises(ResiduumError, match=r"1 of 5 docs .*: 9.* lower `least`, which is 1"):
        weigh(OFFICIAL, TSV, json.dumps(VECTOR), least=1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OFFICIAL + "8\tword\n", r"docs00\.json: doc 8 is not in .*corpus \(1 such docs\)"),
        (OFFICIAL + "3\tlives\n", r"docs00\.json: doc 3 has two lines"),
        ("3 lives lives\n", r"docs00\.json, line 1: .*; a line is \{\"id\""),
        ("1\ta\tb\n", "line 1: .*; a line is"),
        (OFFICIAL + '{"id": "2"}\n', r"line 3: KeyError\('contents'\)"),
        ('{"id": 2, "contents": "a"}\n', "line 1: TypeError"),
        ('{"id": "2", "vector": {"a": 1.5}}\n', "line 1: .*the weight 1.5 of 'a'"),
        ('{"id": "2", "vector": {"a": 0}}\n', "line 1: .*the weight 0 of 'a'"),
        ('{"id": "2", "vector": {"a": true}}\n', "line 1: .*the weight True of 'a'"),
        ('{"id": "2", "contents": "\\ud800"}\n', "line 1: UnicodeEncodeError"),
        ("[CLS] 0.0\tthe -0.0023\tpresence 0.0160\n", "line 1: ValueError"),
        ("[]\n", "line 1: .*; a line is"),
    ],
)
def test_faulty_released_weights_are_refused_where_they_are_at_fault(weigh, tmp_path, text, says):
    with pytest.raises(ResiduumError, match=says):
        weigh(text, least=0.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "docs00.json"]


def test_released_weights_may_be_gzipped(tmp_path):
    path = tmp_path / "docs.json.gz"
    path.write_bytes(gzip.compress(OFFICIAL.encode()))
    assert dict(released.read(path)) == {"3": {"lives": 3, "lost": 1}, "007": {"the": 1}}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ResiduumError, match="cut short or damaged"):
        list(released.read(path))
