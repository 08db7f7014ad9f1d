"""The graph that manifests make: what descends from what, and where two graphs differ."""

import json
import re
import shutil

import pytest

from residuum.cli.errors import ResiduumError
from residuum.inspect import differing, provenance
from results_fixture import build, edit

METRICS = "metrics/data/dev/{}.tsv"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return build(tmp_path_factory.mktemp("here") / "results" / "toy", pages=False)


@pytest.fixture
def copy(results, tmp_path):
    return shutil.copytree(results, tmp_path / "elsewhere")


def kin(results, run="base"):
    return provenance.ancestors(provenance.read(results), [METRICS.format(run)])


def test_a_cell_descends_from_its_run_index_topics_qrels_and_corpus_sources_first(results):
    assert [artefact.path for artefact in kin(results)] == [
        "data/data/corpus",
        "index/data/en",
        "data/data/dev",
        "runs/data/dev/base.trec.gz",
        "metrics/data/dev/base.tsv",
    ]
    last = kin(results)[-1]
    assert last.parents == ("runs/data/dev/base.trec.gz", "data/data/dev")
    assert list(last.manifest.inputs) == ["runs/data/dev/base.trec.gz", "data/data/dev/qrels.trec"]


def test_paths_are_below_the_folder_wherever_it_lies_now(results, copy):
    assert [a.path for a in kin(copy, "ours.seed1")] == [a.path for a in kin(results, "ours.seed1")]
    assert differing.differences(kin(results), kin(copy)) == []


def test_a_file_from_outside_is_a_source_without_a_manifest(copy):
    path = copy / "runs" / "data" / "dev" / "base.trec.gz.manifest.json"
    inputs = json.loads(path.read_text())["inputs"]
    edit(path, inputs={**inputs, "/far/away/run.txt": "0" * 64})
    result = {artefact.path: artefact for artefact in kin(copy)}
    assert result["/far/away/run.txt"].manifest is None


def without(results, *names):
    for name in names:
        (results / name).unlink()
    return results


def test_what_should_have_a_manifest_is_told_from_a_file_from_outside(copy):
    manifests = ("metrics/data/dev/ours.seed2.tsv", "runs/data/dev/base.trec.gz")
    without(copy, *(f"{name}.manifest.json" for name in manifests), manifests[1])
    without(copy, "data/data/dev/queries.tsv.manifest.json", "index/data/en/manifest.json")
    path = copy / "runs" / "data" / "dev" / "ours.seed1.trec.gz.manifest.json"
    inputs = json.loads(path.read_text())["inputs"]
    edit(path, inputs={**inputs, "/far/away/run.txt": "0" * 64})
    lacking = {a.path: a.lacks for a in provenance.read(copy).values() if a.manifest is None}
    assert lacking == {
        "runs/data/dev/base.trec.gz": "neither file nor manifest",
        "data/data/dev": "no manifest",
    }
    assert {a.path: a.lacks for a in kin(copy, "ours.seed1") if a.manifest is None} == {
        **lacking,
        "/far/away/run.txt": "",
    }


def test_a_file_known_by_its_manifest_is_its_artefact(copy):
    path = copy / "metrics" / "data" / "dev" / "base.tsv.manifest.json"
    inputs = json.loads(path.read_text())["inputs"]
    run = next(name for name in inputs if name.endswith("base.trec.gz"))
    other = run.replace("base.trec.gz", "ours.seed1.trec.gz.manifest.json")
    edit(path, inputs={**inputs, other: "0" * 64})
    paths = [artefact.path for artefact in kin(copy)]
    assert "runs/data/dev/ours.seed1.trec.gz" in paths and len(paths) == 5 + 1


@pytest.mark.parametrize("lacks", ["here", "there"])
def test_a_missing_manifest_is_a_difference_of_its_own(results, copy, lacks):
    without(copy, "runs/data/dev/base.trec.gz.manifest.json")
    full, half = kin(results), kin(copy)
    local, available = (half, full) if lacks == "here" else (full, half)
    result = differing.differences(local, available)
    values = ("no manifest", "a manifest") if lacks == "here" else ("a manifest", "no manifest")
    path = "runs/data/dev/base.trec.gz"
    assert result[0] == differing.Difference(path, "manifest", path, *values)
    assert differing.changes(local, available) == []


def test_a_provenance_goes_on_past_a_missing_manifest_as_the_other_folder_says(results, copy):
    without(copy, "metrics/data/dev/base.tsv.manifest.json")
    whole, lacking = provenance.read(results), provenance.read(copy)
    kin_of = [a.path for a in provenance.ancestors(lacking, [METRICS.format("base")], whole)]
    assert kin_of == [a.path for a in kin(results)]
    past = provenance.ancestors(whole, [METRICS.format("base")], lacking)
    assert past == kin(results)


def test_hidden_and_unfinished_folders_hold_no_artefacts(copy):
    for folder in ("work/models", "index/data/.de.part"):
        (copy / folder).mkdir(parents=True)
        shutil.copy(copy / "index/data/en/manifest.json", copy / folder / "manifest.json")
    assert not [path for path in provenance.read(copy) if "part" in path or "work" in path]


def test_what_is_no_manifest_is_named(copy, tmp_path):
    path = copy / "index" / "data" / "en" / "manifest.json"
    path.write_text("{}")
    with pytest.raises(ResiduumError, match=r"en/manifest\.json: not a manifest of residuum"):
        provenance.read(copy)
    path.write_text("{")
    with pytest.raises(
        ResiduumError, match=r"en/manifest\.json: not a .*Invalid JSON.*; delete it"
    ):
        provenance.read(copy)
    graph, unreadable = provenance.readable(copy)
    assert "runs/data/dev/base.trec.gz" in graph and graph["index/data/en"].manifest is None
    assert list(unreadable) == ["index/data/en/manifest.json"]
    assert unreadable["index/data/en/manifest.json"].startswith("not a manifest")
    path.write_text('{"artefact": {}, "spec": {}, "inputs": {}, "code": {}, "environment": {}}')
    with pytest.raises(ResiduumError, match=r"en/manifest\.json: not a manifest of residuum"):
        provenance.read(copy)
    with pytest.raises(ResiduumError, match=r"no manifests; is it a results folder"):
        provenance.read(tmp_path / "nothing")


def test_a_parameter_is_the_first_difference_and_its_results_come_after(results, tmp_path):
    other = build(tmp_path / "other", k1=1.2, pages=False)
    result = differing.differences(kin(results), kin(other))
    assert result[0] == differing.Difference(
        "runs/data/dev/base.trec.gz", "parameter", "bm25.k1", 0.9, 1.2
    )
    assert [(d.path, d.key) for d in result[1:]] == [
        ("runs/data/dev/base.trec.gz", "sha256 of runs/data/dev/base.trec.gz"),
        ("metrics/data/dev/base.tsv", "means.RR@10"),
        ("metrics/data/dev/base.tsv", "sha256 of metrics/data/dev/base.tsv"),
    ]


def test_sources_come_before_what_is_made_of_them(results, tmp_path):
    other = build(tmp_path / "other", k1=1.2, terms=41, pages=False)
    result = differing.differences(kin(results), kin(other))
    assert result[0] == differing.Difference("index/data/en", "data", "unique_terms", 40, 41)
    assert ("bm25.k1", 1.2) in [(d.key, d.other) for d in result]


def test_other_topics_differ_by_their_hash(results, copy):
    path = copy / "runs" / "data" / "dev" / "base.trec.gz.manifest.json"
    inputs = json.loads(path.read_text())["inputs"]
    topics = next(name for name in inputs if name.endswith("queries.tsv"))
    edit(path, inputs={**inputs, topics: "0" * 64})
    result = differing.differences(kin(results), kin(copy))
    assert [(d.path, d.kind, d.key) for d in result] == [
        ("data/data/dev", "data", "sha256 of data/data/dev/queries.tsv")
    ]


def test_a_shard_with_another_hash_is_found_inside_its_list(results, copy):
    path = copy / "data" / "data" / "corpus" / "manifest.json"
    facts = json.loads(path.read_text())["artefact"]
    edit(path, artefact={**facts, "shards": [{**facts["shards"][0], "sha256": "0" * 64}]})
    assert differing.differences(kin(results), kin(copy))[0].key == "shards.0.sha256"


def test_what_only_one_folder_has_is_told_last(results):
    result = differing.differences(kin(results), kin(results)[1:])
    assert result == [differing.Difference("data/data/corpus", "absent", "", "made", "not made")]


def test_code_and_versions_are_apart_from_what_was_made(results, copy):
    path = copy / "index" / "data" / "en" / "manifest.json"
    made = json.loads(path.read_text())
    packages = {**made["environment"]["packages"], "numpy": "1.0"}
    environment = {**made["environment"], "packages": packages, "command": "another"}
    edit(path, environment=environment, code={**made["code"], "sha256": "0" * 64})
    assert differing.differences(kin(results), kin(copy)) == []
    code, numpy = differing.changes(kin(results), kin(copy))
    assert re.fullmatch(r"code of residuum\.lexical [0-9a-f]{12} against 0{12}", code)
    assert numpy == f"numpy {made['environment']['packages']['numpy']} against 1.0"
