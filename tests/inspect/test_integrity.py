"""Damage after a run: explain, bundle write and bundle verify name the file, whatever its time."""

import hashlib
import json
import os
import re
import shutil

import pytest
from typer.testing import CliRunner

from bundles import contents, faults, pack
from residuum.__main__ import app
from residuum.artefacts import files, manifest
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, differing, explaining, integrity, provenance
from results_fixture import edit

CELL = "toy/table1/base/rr"
RUN, METRIC = "runs/data/dev/base.trec.gz", "metrics/data/dev/base.tsv"
BEHIND = {  # what the cell was made from, and how it is damaged
    RUN: lambda data: data[:-20],
    "data/data/dev/qrels.trec": lambda data: data.partition(b"\n")[2],
    "data/data/dev/queries.tsv": lambda data: data.replace(b"text", b"tixt", 1),
    "data/data/corpus/part-00000.jsonl.gz": lambda data: data[:-8],
    "index/data/en/manifest.json": lambda data: data.replace(b"40", b"41", 1),
}
READ = {  # what explain reads itself: it stops there, as every reader does
    METRIC: lambda data: data.replace(b"0.333333", b"0.933333", 1),
    "tables/toy-table1.tsv": lambda data: data.replace(b"0.3333", b"0.9333", 1),
    "significance/toy-table1.tsv": lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
    "ledger.tsv": lambda data: data[: data.rindex(b"\n", 0, -1) + 1],
}


def damaged(results, tmp_path, name, harm, old_time):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / name
    state, data = path.stat(), path.read_bytes()
    assert harm(data) != data
    path.write_bytes(harm(data))
    if old_time:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    return copy


@pytest.mark.parametrize("old_time", [True, False])
@pytest.mark.parametrize("name", BEHIND)
def test_a_source_that_changed_is_named(results, tmp_path, name, old_time):
    copy = damaged(results, tmp_path, name, BEHIND[name], old_time)
    block = explaining.explain(copy, CELL).partition("Changed since it was made")[2]
    block = " ".join(block.partition("\n\n")[0].split())
    assert f" {name}: found " in block and "where the manifest of " in block
    against = " ".join(differing.compared(results, copy, CELL).split())
    assert f"changed {copy}: {name}: found " in against
    assert f"changed {results}" not in against
    with pytest.raises(
        ResiduumError, match=rf"no longer what .* made from: {name}: found"
    ) as error:
        bundling.write(copy, tmp_path / "t.tar.gz")
    assert str(error.value).count("where the manifest of ") == 1, "each file once"
    assert not (tmp_path / "t.tar.gz").exists()


@pytest.mark.parametrize("old_time", [True, False])
@pytest.mark.parametrize("name", READ)
def test_a_page_or_metric_that_changed_is_refused(results, tmp_path, name, old_time):
    copy = damaged(results, tmp_path, name, READ[name], old_time)
    with pytest.raises(ResiduumError, match=rf"^{copy / name}: not the file that was made"):
        explaining.explain(copy, CELL)
    with pytest.raises(ResiduumError, match=rf"made from: .*{name}: found"):
        bundling.write(copy, tmp_path / "t.tar.gz")


def test_an_undamaged_cell_says_nothing_of_it(results):
    assert "Changed" not in explaining.explain(results, CELL)
    assert "changed" not in differing.compared(results, results, CELL)


def test_a_source_that_was_made_anew_is_not_the_one_that_made_the_cell(results, tmp_path):
    copy = damaged(results, tmp_path, RUN, BEHIND[RUN], False)
    place = copy / f"{RUN}.manifest.json"
    edit(place, files={"base.trec.gz": manifest.described(copy / RUN).model_dump()})
    before, after = (files.sha256(folder / RUN)[:12] for folder in (results, copy))
    message = f"{RUN}: found {after}, where the manifest of {METRIC} records {before}"
    assert message in " ".join(explaining.explain(copy, CELL).split())


def test_the_hash_of_a_folder_follows_from_its_manifest_where_the_files_are_gone(tmp_path):
    model = tmp_path / "models" / "clear" / "seed1"
    for name in ("model.safetensors", "b/c.json", "b.json"):
        files.write_text(model / name, name)
    manifest.write(model, {}, {}, [], "residuum.train")
    whole = files.sha256_of(model)
    run = tmp_path / "runs" / "a.trec.gz"
    files.write_text(run, "a")
    manifest.write(run, {}, {}, [model], "residuum.dense")
    changes = integrity.Changes(tmp_path, graph := provenance.read(tmp_path))
    assert changes.among(graph.values()) == []
    shutil.rmtree(model / "b")
    (model / "model.safetensors").unlink()
    assert integrity.Changes(tmp_path, graph).among(graph.values()) == []
    (model / "b.json").write_text("other")
    [change] = integrity.Changes(tmp_path, graph).among(graph.values())
    assert change.path == "models/clear/seed1/b.json", "and not its folder too"
    (model / "b.json").write_text("b.json")
    (model / "more.json").write_text("of no manifest")
    [change] = integrity.Changes(tmp_path, graph).among(graph.values())
    assert (change.path, change.by) == ("models/clear/seed1", "runs/a.trec.gz")
    assert whole != files.sha256_of(model)


def test_large_files_are_compared_by_size_unless_deep(results, tmp_path, monkeypatch):
    copy = shutil.copytree(results, tmp_path / "toy")
    data = (copy / RUN).read_bytes()
    monkeypatch.setattr(integrity, "LARGE", len(data) - 1)
    (copy / RUN).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    graph = provenance.read(copy)
    quick, deep = (integrity.Changes(copy, graph, whole) for whole in (False, True))
    assert RUN not in {change.path for change in quick.among(graph.values())}
    assert RUN in quick.skipped and not deep.skipped
    assert RUN in {change.path for change in deep.among(graph.values())}
    (copy / RUN).write_bytes(data[:-1])
    monkeypatch.setattr(integrity, "LARGE", 0)
    sizes = f"found {len(data) - 1} bytes, where the manifest of {RUN} records {len(data)} bytes"
    changed = integrity.Changes(copy, graph).among(graph.values())
    assert sizes in " ".join(map(str, changed)).replace(",", "").replace(
        "bytes where", "bytes, where"
    )


def test_the_commands_take_deep_and_say_what_they_skipped(results, tmp_path, monkeypatch):
    monkeypatch.setattr(integrity, "LARGE", 10)
    monkeypatch.setattr(explaining, "LARGE", 10)
    call = ["explain", CELL, "--results", str(results)]
    plain, deep = (CliRunner().invoke(app, [*call, *more]) for more in ([], ["--deep"]))
    assert re.search(r"\d+ files above 0 MB compared by size; --deep hashes them too", plain.output)
    assert "Changed" not in plain.output + deep.output, "a file of the recorded size is no change"
    assert "compared by size" not in deep.output and deep.exit_code == 0
    against = " ".join(differing.compared(results, results, CELL).split())
    assert "compared by size" in against and "changed" not in against


TABLE = "results/tables/toy-table1.tsv.manifest.json"
METRICS = "results/metrics/data/dev/ablation.tsv"


def rewritten(archive, path, name, change):
    """Change a file of an archive together with its hash in the index."""
    members = contents(archive)
    members[name] = change(members[name])
    index = json.loads(members["bundle.json"])
    index["files"][name] = hashlib.sha256(members[name]).hexdigest()
    return pack(path, {**members, "bundle.json": json.dumps(index).encode()})


def with_hashes(digest):
    def change(data):
        record = json.loads(data)
        return json.dumps({**record, "inputs": dict.fromkeys(record["inputs"], digest)}).encode()

    return change


def test_recorded_hashes_of_nothing_are_faults(archive, tmp_path):
    result = faults(rewritten(archive, tmp_path / "t.tar.gz", TABLE, with_hashes("0" * 64)))
    assert f"results/{METRIC}" in result and "results/significance/toy-table1.tsv" in result
    message = result[f"results/{METRIC}"]
    assert message.endswith("where the manifest of tables/toy-table1.tsv records 000000000000")
    for digest in ("", "0" * 63, None):
        result = faults(rewritten(archive, tmp_path / "t.tar.gz", TABLE, with_hashes(digest)))
        assert result[TABLE].startswith("not a manifest of residuum")


def test_the_hash_of_a_run_that_a_bundle_lacks_is_that_of_its_own_manifest(archive, tmp_path):
    name = f"results/{METRIC}.manifest.json"
    result = faults(rewritten(archive, tmp_path / "t.tar.gz", name, with_hashes("0" * 64)))
    assert {f"results/{RUN}", "results/data/data/dev/qrels.trec"} <= {*result}


@pytest.mark.parametrize("digest", [None, "", "0", "g" * 64])
def test_code_without_a_hash_is_a_fault(archive, tmp_path, digest):
    def change(data):
        record = json.loads(data)
        return json.dumps({**record, "code": {**record["code"], "sha256": digest}}).encode()

    result = faults(rewritten(archive, tmp_path / "t.tar.gz", TABLE, change))
    assert result[TABLE].startswith("not a manifest of residuum: code.sha256: ")


@pytest.mark.parametrize("value", [b"NaN", b"inf", b"5.0"])
def test_a_metric_that_no_page_shows_is_found_by_its_hash(results, tmp_path, value):
    copy = shutil.copytree(results, tmp_path / "toy")
    unseen = copy / "metrics/data/dev/unseen.tsv"
    shutil.copy(copy / METRIC, unseen)
    manifest.write(unseen, {"queries": 12}, {}, [], "residuum.evaluate")
    bundling.write(copy, tmp_path / "t.tar.gz")
    name = "results/metrics/data/dev/unseen.tsv"
    number = re.search(rb"0\.3+", unseen.read_bytes())[0]
    path = rewritten(tmp_path / "t.tar.gz", tmp_path / "u.tar.gz", name,
                     lambda data: data.replace(number, value, 1))  # fmt: skip
    result = faults(path)
    assert set(result) == {name} and result[name].startswith("found ")
