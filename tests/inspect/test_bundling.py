"""A bundle: the same bytes twice, every page made again from it, and what is wrong named."""

import gzip
import hashlib
import io
import json
import shutil
import tarfile

import pytest
from typer.testing import CliRunner

from bundles import contents, faults, pack
from residuum.__main__ import app
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling
from residuum.wiring.paths import Template
from results_fixture import change, seal

METRIC = "results/metrics/data/dev/base.tsv"


def tampered(archive, path, name, old, new, indexed=False):
    """Change a file of an archive, and what its index says of it if asked to."""
    members = contents(archive)
    assert old in members[name]
    members[name] = members[name].replace(old, new, 1)
    if indexed:
        index = json.loads(members["bundle.json"])
        index["files"][name] = hashlib.sha256(members[name]).hexdigest()
        members["bundle.json"] = json.dumps(index).encode()
    return pack(path, members)


def test_the_same_results_give_the_same_bytes(results, archive, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    for path in copy.rglob("*"):
        path.touch()
    bundling.write(copy, tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as packed:
        names = [member.name for member in packed]
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in packed} == {(0, 0, 0, "", "")}
    assert names == ["bundle.json", *sorted(names[1:])]
    assert archive.read_bytes()[3:8] == bytes(5), "gzip holds neither name nor clock"


def test_it_holds_what_pages_are_made_from_and_no_texts_runs_or_models(archive):
    names = set(contents(archive))
    assert METRIC in names and "environment/requirements.lock" in names
    assert "results/index/data/en/manifest.json" in names
    assert "results/rerank/data/dev/toy.depths.tsv" in names
    assert not [n for n in names if n.endswith((".trec.gz", "queries.tsv", "part-00000.jsonl.gz"))]
    index = json.loads(contents(archive)["bundle.json"])
    assert index["results"] == "toy" and "polars" in index["written"]["packages"]
    assert set(index["files"]) == names - {"bundle.json"}


def test_every_page_is_made_again_and_the_rest_is_carried(archive):
    *pages, total = map(str, bundling.verify(archive))
    assert pages == [
        "ok     toy-table3: carried, checked by hash: a bundle lacks what it is made from",
        "ok     toy-claims: made again, same bytes",
        "ok     toy-figure1: made again, same bytes; drawings carried, checked by hash",
        "ok     toy-table1: made again, same bytes",
        "ok     toy-table2: made again, same bytes, from the counts in its manifest",
        "ok     ledger: made again, same bytes",
    ]
    assert total == "ok     bundle: 5 pages made again byte for byte, 1 carried; no fault"


def test_a_page_of_a_kind_that_cannot_be_made_again_is_carried(results, tmp_path, monkeypatch):
    shared = Template("shared/{page}.tsv")
    kept = [*bundling.KEPT, shared.beside(".*")]
    monkeypatch.setattr(bundling, "KEPT", kept)
    monkeypatch.setattr(bundling, "PAGES", [*bundling.PAGES, shared])
    copy = shutil.copytree(results, tmp_path / "toy")
    shutil.copytree(copy / "cases", copy / "shared")
    bundling.write(copy, tmp_path / "t.tar.gz")
    assert "results/shared/toy-table3.tsv" in contents(tmp_path / "t.tar.gz")
    total = bundling.verify(tmp_path / "t.tar.gz")[-1]
    assert total.message == "5 pages made again byte for byte, 2 carried; no fault"


def test_a_changed_metric_fails_and_names_the_file_and_the_pages(archive, tmp_path):
    path = tampered(archive, tmp_path / "t.tar.gz", METRIC, b"0.333333", b"0.933333")
    result = faults(path)
    assert next(iter(result)) == METRIC
    assert result[METRIC].startswith("was changed after the bundle was written")
    assert result["toy-table1"].startswith(
        "cannot be made again: metrics/data/dev/base.tsv: not the file that was made: found sha256"
    )
    assert set(result) == {METRIC, "toy-table1", "toy-claims"}
    done = CliRunner().invoke(app, ["bundle", "verify", str(path)])
    assert done.exit_code == 1 and "FAULT  toy-table1: cannot be" in done.output
    assert done.output.endswith("3 pages made again byte for byte, 1 carried; 3 faults\n")


def test_a_metric_changed_together_with_its_hashes_is_found_by_the_pages(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    metric = copy / "metrics/data/dev/base.tsv"
    before = files.sha256(metric)
    change(metric, "0.333333", "0.933333")
    seal(metric)
    for place in copy.rglob("*manifest.json"):
        place.write_text(place.read_text().replace(before, files.sha256(metric)))
    bundling.write(copy, tmp_path / "t.tar.gz")
    result = faults(tmp_path / "t.tar.gz")
    assert set(result) == {"toy-table1", "toy-claims", "ledger"}
    assert result["toy-table1"].startswith("differs: significance/toy-table1.tsv, line 2: '")
    assert "in the bundle, '" in result["toy-table1"] and "made again" in result["toy-table1"]
    assert result["ledger"].startswith("differs: ledger.tsv, line ")


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("results/tables/toy-table1.md", "toy-table1"),
        ("results/tables/toy-table2.tex", "toy-table2"),
        ("results/figures/toy-figure1.md", "toy-figure1"),
        ("results/ledger.md", "ledger"),
    ],
)
def test_an_edited_page_is_named_with_its_line(archive, tmp_path, name, page):
    old = b"Ledger" if page == "ledger" else b"Toy"
    path = tampered(archive, tmp_path / "t.tar.gz", name, old, b"Toy!", indexed=True)
    result = faults(path)
    assert set(result) == {page, name}
    assert result[name].startswith("found ") and "where the manifest of " in result[name]
    assert f"differs: {name.removeprefix('results/')}, line " in result[page]


def test_a_missing_metric_and_a_changed_case_are_named(archive, tmp_path):
    members = contents(archive)
    del members[METRIC]
    members["results/cases/toy-table3.tsv"] += b"q1\td1\n"
    result = faults(pack(tmp_path / "t.tar.gz", members))
    assert result[METRIC] == "is missing"
    assert result["results/cases/toy-table3.tsv"].startswith("was changed")
    assert result["toy-table1"].startswith("cannot be made again: ")
    assert "base.tsv: no such file" in result["toy-table1"]


def test_pages_of_other_code_say_so(archive, tmp_path):
    members = contents(archive)
    name = "results/tables/toy-table1.tsv.manifest.json"
    record = json.loads(members[name])
    members[name] = json.dumps({**record, "code": {**record["code"], "sha256": "0" * 64}}).encode()
    members["results/tables/toy-table1.md"] += b"more\n"
    result = faults(pack(tmp_path / "t.tar.gz", members))
    assert result["toy-table1"].endswith(
        "(made by other code of residuum.pages.table.make than is installed)"
    )


def test_characteristics_without_their_counts_cannot_be_made_again(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / "tables" / "toy-table2.tsv.manifest.json"
    change(path, '"counts"', '"cells"')
    bundling.write(copy, tmp_path / "t.tar.gz")
    result = faults(tmp_path / "t.tar.gz")
    assert set(result) == {"toy-table2"}
    assert result["toy-table2"].startswith("cannot be made again: KeyError: 'counts'")


@pytest.mark.parametrize(
    "name",
    ["../outside", "/etc/outside", "results/../../outside", "elsewhere/x", "results//x",
     "results\\..\\x"],
)  # fmt: skip
def test_a_member_that_leaves_the_bundle_is_refused(archive, tmp_path, name):
    path = tmp_path / "t.tar.gz"
    pack(path, {**contents(archive), name: b"x"})
    with pytest.raises(ResiduumError, match="which no bundle does"):
        bundling.unpack(path, tmp_path / "deep" / "folder")
    assert not list(tmp_path.rglob("outside"))


def test_a_link_is_refused(tmp_path):
    path = tmp_path / "t.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("results/link")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc"
        packed.addfile(member)
    with pytest.raises(ResiduumError, match="holds 'results/link', which no bundle does"):
        bundling.unpack(path, tmp_path / "folder")


def test_a_file_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "t.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for _ in range(2):
            packed.addfile(tarfile.TarInfo("results/x"), io.BytesIO())
    with pytest.raises(ResiduumError, match="holds 'results/x' twice"):
        bundling.unpack(path, tmp_path / "folder")


def test_damaged_and_foreign_files_are_one_clear_error(archive, tmp_path):
    path = tmp_path / "t.tar.gz"
    cases = [
        (archive.read_bytes()[:2000], "damaged, or not a bundle"),
        (b"not an archive", "damaged, or not a bundle"),
        (gzip.compress(b"not a tar" * 100), "damaged, or not a bundle"),
    ]
    for data, says in cases:
        path.write_bytes(data)
        with pytest.raises(ResiduumError, match=says):
            bundling.verify(path)
    for members, says in [
        ({"results/x": b""}, r"not a bundle of residuum, it lacks bundle\.json"),
        ({"bundle.json": b"[]"}, r"bundle\.json cannot be read"),
        (
            {"bundle.json": b'{"format": 9, "files": {}}'},
            r"read by residuum .*: format: .*equal to 4 \(found 9\)",
        ),
    ]:
        with pytest.raises(ResiduumError, match=says):
            bundling.verify(pack(path, members))
    with pytest.raises(ResiduumError, match="no such file"):
        bundling.verify(tmp_path / "nowhere.tar.gz")


def test_unfinished_results_make_no_bundle(tmp_path):
    with pytest.raises(ResiduumError, match="its pages are not finished; name a results folder"):
        bundling.write(tmp_path, tmp_path / "t.tar.gz")
    assert not list(tmp_path.iterdir())


def test_the_commands_say_what_was_written_and_verified(results, tmp_path):
    path = tmp_path / "t.tar.gz"
    run = CliRunner().invoke
    printed = run(app, ["bundle", "write", "--results", str(results), "--output", str(path)]).output
    assert printed.split()[-1] == files.sha256(path)
    done = run(app, ["bundle", "verify", str(path)])
    assert done.exit_code == 0 and "5 pages made again byte for byte" in done.output


BARE = "tables/toy-table1.tsv"


@pytest.mark.parametrize(
    "page", [BARE, "figures/toy-figure1.tsv", "cases/toy-table3.tsv", "ledger.tsv"]
)
def test_a_page_without_a_manifest_makes_no_bundle(results, tmp_path, page):
    copy = shutil.copytree(results, tmp_path / "toy")
    (copy / f"{page}.manifest.json").unlink()
    with pytest.raises(ResiduumError, match=rf"no manifest beside {page}, so .* run snakemake"):
        bundling.write(copy, tmp_path / "t.tar.gz")
    assert not (tmp_path / "t.tar.gz").exists()


@pytest.mark.parametrize(
    ("page", "name"),
    [
        (BARE, "toy-table1"),
        ("figures/toy-figure1.tsv", "toy-figure1"),
        ("cases/toy-table3.tsv", "toy-table3"),
        ("ledger.tsv", "ledger"),
    ],
)
def test_a_page_without_a_manifest_fails_and_is_named(archive, tmp_path, page, name):
    members = contents(archive)
    del members[f"results/{page}.manifest.json"]
    result = faults(pack(tmp_path / "t.tar.gz", members))
    assert result[name] == f"no manifest of {page}: it cannot be made again"
    assert result[f"results/{page}.manifest.json"] == "is missing"
    options = {"ledger"} if page == BARE else set()
    assert set(result) - {name, f"results/{page}.manifest.json"} == options
    if options:
        assert result["ledger"].startswith(f"cannot be made again: {page}: no manifest")


@pytest.mark.parametrize("text", [b"{", b"{}", b"\xff", b'{"artefact": 1}'])
def test_a_manifest_that_cannot_be_read_is_one_fault_among_the_others(archive, tmp_path, text):
    members = contents(archive)
    name = f"results/{BARE}.manifest.json"
    members[name] = text
    members["results/cases/toy-table3.tsv"] += b"q1\td1\n"
    checks = bundling.verify(pack(tmp_path / "t.tar.gz", members))
    bad = [f"{check.what}: {check.message}" for check in checks if not check.good]
    assert bad[0].startswith("results/cases/toy-table3.tsv: was changed")
    assert bad[1].startswith(f"{name}: was changed")
    assert bad[2].startswith(f"{name}: not a manifest of residuum")
    assert f"toy-table1: no manifest of {BARE}: it cannot be made again" in bad
    assert not [text for text in bad if "residuum-bundle-" in text]
    assert "toy-figure1" in {check.what for check in checks if check.good}


def test_a_bundle_without_any_manifest_is_told_page_by_page(archive, tmp_path):
    members = {n: d for n, d in contents(archive).items() if not n.endswith("manifest.json")}
    result = faults(pack(tmp_path / "t.tar.gz", members))
    pages = {"toy-table1", "toy-table2", "toy-figure1", "toy-table3", "toy-claims", "ledger"}
    assert {page for page, text in result.items() if text.startswith("no manifest of")} == pages


def test_a_page_that_is_missing_is_named_inside_the_bundle(archive, tmp_path):
    members = contents(archive)
    del members["results/tables/toy-table2.md"]
    result = faults(pack(tmp_path / "t.tar.gz", members))
    assert "'tables/toy-table2.md'" in result["toy-table2"]
    assert "residuum-bundle-" not in result["toy-table2"]


def test_another_folder_name_gives_other_bytes_as_its_docstring_says(results, archive, tmp_path):
    bundling.write(shutil.copytree(results, tmp_path / "other"), tmp_path / "t.tar.gz")
    assert (tmp_path / "t.tar.gz").read_bytes() != archive.read_bytes()
    assert "folder's name, the commit and the packages" in " ".join(bundling.__doc__.split())
