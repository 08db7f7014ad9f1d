"""What others made: runs taken in or refused with a reason; a corpus's term weights, vectors."""

import gzip
import json
import re

import numpy as np
import pytest

from corpora import make_corpus
from residuum import dense, evaluate, external
from residuum.artefacts import contracts, files, manifest, released, trec
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


def test_a_manifest_names_a_run_of_others_alike_on_every_machine(accept, tmp_path, monkeypatch):
    for folder, name in (
        (tmp_path, "RESIDUUM_DATA/their.txt"),
        (tmp_path / "another", str(tmp_path / "their.txt")),
    ):
        monkeypatch.setenv("RESIDUUM_DATA", str(folder))
        inputs = json.loads(manifest.beside(accept(GOOD)).read_text())["inputs"]
        assert name in inputs
        assert str(tmp_path / "queries.tsv") in inputs, "the split's queries are a result"


def test_lists_are_written_in_the_order_of_their_query_ids(accept):
    first, second, third = GOOD.splitlines(keepends=True)
    assert accept(third + first + second).read_bytes() == accept(GOOD).read_bytes()


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


def test_manifests_name_weights_of_others_alike_on_every_machine(weigh, tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    inputs = json.loads((weigh(OFFICIAL, TSV, least=0.5) / "manifest.json").read_text())["inputs"]
    given = {f"RESIDUUM_DATA/docs{number:02d}.json" for number in range(2)}
    assert {*inputs} == {*given, str(tmp_path / "corpus" / "manifest.json")}


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


DOCS = ["d1", "d2", "d3", "d4", "d5"]
ROWS = {"d3": [3, 4], "d1": [0, 0], "d5": [0, 1], "d2": [1, 0], "d4": [-5, 12]}  # another order
QUERIES = {"q2": [0, 2], "q1": [4, 3]}


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """Return a function that takes in vectors of five docs in two shards, and of two queries."""
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    make_corpus(tmp_path / "corpus", [(doc_id, f"text of {doc_id}") for doc_id in DOCS])
    trec.write_queries(tmp_path / "queries.tsv", [("q1", "a"), ("q2", "b")])
    save(tmp_path / "docs.npz", ROWS)
    save(tmp_path / "queries.npz", QUERIES)

    def take(similarity="dot", docs=("docs.npz",), queries=("queries.npz",), **more):
        spec = {"docs": docs, "similarity": similarity}
        for shard in range(2):
            external.vectors(
                tmp_path / "corpus", shard, 2, json.dumps(spec), tmp_path / f"shard-{shard}"
            )
        spec = {**spec, "queries": {"dev": queries}, "source": "them", **more}
        split = [f"dev={tmp_path / 'queries.tsv'}"]
        external.queries(split, json.dumps(spec), tmp_path / "encoded")
        return [tmp_path / "shard-0", tmp_path / "shard-1", tmp_path / "encoded"]

    return take


def save(path, rows):
    np.savez(path, ids=np.array([*rows]), vectors=np.array([*rows.values()], np.float32))


def facts(folder):
    """Return what a manifest says of its folder."""
    return json.loads((folder / "manifest.json").read_text())["artefact"]


def found(folders):
    """Return the three best docs of each query, with their scores, by search and gather."""
    *shards, encoded = folders
    hits = [shard.with_name(f"hits-{shard.name}") for shard in shards]
    for shard, output in zip(shards, hits, strict=True):
        dense.search_shard(shard, encoded, 3, output)
    system = json.dumps({"kind": "dense", "model": "theirs", "k": 3})
    run = encoded.with_name("run.trec.gz")
    dense.gather(hits, ["dev"], system, "theirs", run)
    return trec.read_run(run).select("query_id", "doc_id", "score").rows()


def test_vectors_are_taken_in_as_encode_writes_its_own(taken):
    one, two, encoded = taken()
    ids, vectors = contracts.read_vectors(one)
    assert (ids, vectors.tolist()) == (["d1", "d2"], [[0, 0], [1, 0]])
    ids, vectors = contracts.read_vectors(two)
    assert (ids, vectors.tolist()) == (["d3", "d4", "d5"], [[3, 4], [-5, 12], [0, 1]])
    ids, vectors = contracts.read_vectors(encoded / "dev")
    assert (ids, vectors.tolist()) == (["q1", "q2"], [[4, 3], [0, 2]])
    made = [facts(folder) for folder in (one, two, encoded)]
    assert made[1]["shard"] == {"number": 1, "of": 2, "docs": 3}
    assert made[2]["queries"] == {"dev": 2}
    assert len({record["weights"] for record in made}) == 1, "search compares what belongs together"


def test_manifests_name_vectors_of_others_alike_on_every_machine(taken, tmp_path):
    shard, _, encoded = taken()
    inputs = [
        json.loads((made / "manifest.json").read_text())["inputs"] for made in (shard, encoded)
    ]
    assert inputs[0]["RESIDUUM_DATA/docs.npz"] == files.sha256(tmp_path / "docs.npz")
    assert {"RESIDUUM_DATA/docs.npz", "RESIDUUM_DATA/queries.npz"} < {*inputs[1]}


def test_a_cosine_makes_every_length_one(taken):
    one, two, encoded = taken("cosine")
    rows = [contracts.read_vectors(folder)[1] for folder in (one, two, encoded / "dev")]
    np.testing.assert_allclose(rows[0], [[0, 0], [1, 0]], atol=1e-7)
    np.testing.assert_allclose(rows[1], [[0.6, 0.8], [-5 / 13, 12 / 13], [0, 1]], atol=1e-7)
    np.testing.assert_allclose(rows[2], [[0.8, 0.6], [0, 1]], atol=1e-7)


def test_a_cosine_leaves_vectors_of_length_one_as_they_are(taken, tmp_path):
    """Scaled in float32, as encoders do; scaled once more, some would change."""
    drawn = np.random.default_rng(1).normal(size=(len(DOCS), 300)).astype(np.float32)
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    save(tmp_path / "docs.npz", dict(zip(DOCS, unit, strict=True)))
    save(tmp_path / "queries.npz", {name: unit[0] for name in QUERIES})
    one, two, _ = taken("cosine")
    made = np.concatenate([contracts.read_vectors(folder)[1] for folder in (one, two)])
    assert made.tobytes() == unit.tobytes()


def test_other_vectors_have_another_weight(taken, tmp_path):
    weights = {facts(folder)["weights"] for folder in taken()}
    save(tmp_path / "docs.npz", {**ROWS, "d4": [1, 1]})
    assert not weights & {facts(folder)["weights"] for folder in taken()}


def test_a_doc_of_several_vectors_scores_by_its_best(taken, tmp_path):
    """Products with q1 = (4, 3): d1 0 and, by its second vector, 30; d2 4; d3 24; d4 16; d5 3."""
    save(tmp_path / "more.npz", {"d1": [6, 2]})
    folders = taken(docs=("docs.npz", "more.npz"))
    assert contracts.read_vectors(folders[0])[0] == ["d1", "d1", "d2"]
    assert facts(folders[0])["vectors"] == 3
    assert found(folders)[:3] == [("q1", "d1", 30), ("q1", "d3", 24), ("q1", "d4", 16)]


def test_term_weights_of_lines_are_sparse_vectors(taken, tmp_path):
    """Products with q1 = {x: 2, z: 1}: d1 2 * 3 + 0.5, d3 2; d2 shares no term with q1."""
    weights = {"d1": {"z": 0.5, "x": 3}, "d2": {"y": 1}, "d3": {"x": 1, "y": 0}, "d4": {}, "d5": {}}
    of_queries = {"q1": {"x": 2, "z": 1}, "q2": {"y": 1, "new": 9}}
    for name, terms in (("docs.jsonl", weights), ("queries.jsonl", of_queries)):
        lines = (json.dumps({"id": i, "terms": vector}) + "\n" for i, vector in terms.items())
        (tmp_path / name).write_text("".join(lines))
    folders = taken(docs=["docs.jsonl"], queries=["queries.jsonl"])
    assert (folders[0] / "terms.txt").read_text().split() == ["x", "y", "z"]
    assert found(folders) == [("q1", "d1", 6.5), ("q1", "d3", 2), ("q2", "d2", 1)]


def without(rows, *names):
    return {name: row for name, row in rows.items() if name not in names}


FAULTS = {
    "lacking": (
        {"docs": without(ROWS, "d2", "d3")},
        r"docs\.npz: no vector for doc d2 \(1 of the 2 .* Give every file",
    ),
    "unknown": (
        {"docs": {**ROWS, "d9": [1, 1]}},
        r"docs\.npz, vector 6: doc d9 is not in .*corpus",
    ),
    "no query": ({"queries": without(QUERIES, "q2")}, "no vector for query q2 "),
    "other query": (
        {"queries": {**QUERIES, "q9": [1, 1]}},
        r"queries\.npz, vector 3: query q9 is not in .*queries.tsv .*write others: true",
    ),
    "widths": (
        {"queries": {"q1": [1], "q2": [1]}},
        "its vectors have 1 dimensions, and those of the docs in .*docs.npz have 2 dimensions",
    ),
    "infinite": (
        {"docs": {**ROWS, "d2": [np.inf, 1]}},
        r"the vector of d2 is not finite \(1 such\)\. Mend it in .*docs\.npz",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_vectors_are_refused_with_their_file(fault, taken, tmp_path):
    files, message = FAULTS[fault]
    for name, rows in files.items():
        save(tmp_path / f"{name}.npz", rows)
    with pytest.raises(ResiduumError, match=message):
        taken()


def test_a_query_has_one_vector_and_files_may_hold_others(taken, tmp_path):
    save(tmp_path / "more.npz", {"q2": [1, 1], "q9": [2, 2]})
    with pytest.raises(ResiduumError, match=r"queries\.npz, vector 1: query q2 has two vectors"):
        taken(queries=("queries.npz", "more.npz"), others=True)
    save(tmp_path / "more.npz", {"q9": [2, 2]})
    *_, encoded = taken(queries=("queries.npz", "more.npz"), others=True)
    assert contracts.read_vectors(encoded / "dev")[0] == ["q1", "q2"]


def test_files_of_different_widths_are_refused(taken, tmp_path):
    save(tmp_path / "more.npz", {"d1": [1, 2, 3]})
    text = r"more\.npz: its vectors have 3 dimensions, and those of .*docs\.npz have 2 dimensions"
    with pytest.raises(ResiduumError, match=text):
        taken(docs=("docs.npz", "more.npz"))
