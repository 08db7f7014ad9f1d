"""Results of others: paths in manifests, edited pages, manifests that go in a circle, long ones."""

import json
import shutil
import time
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from bundles import contents, faults, pack, rewritten
from residuum.__main__ import app
from residuum.artefacts import contracts, files, manifest
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, checkpoints, provenance
from residuum.site import writing
from results_fixture import edit, seal

TABLE, RUN = "tables/toy-table1.tsv", "runs/data/dev/base.trec.gz"


@pytest.fixture
def copy(results, tmp_path):
    return shutil.copytree(results, tmp_path / "results" / "toy")


def specs(copy, change):
    """Change the spec of each page's manifest."""
    for place in copy.rglob("*.manifest.json"):
        made = json.loads(place.read_text())
        if "scale" in made["spec"]:
            edit(place, spec={**made["spec"], **change})


@pytest.mark.parametrize("scale", ["../../victim", "/{}/victim", "a/b", ".", "Toy"])
def test_a_scale_that_is_a_path_writes_nothing(copy, tmp_path, scale):
    victim = tmp_path / "victim"
    victim.mkdir()
    specs(copy, {"scale": scale.format(tmp_path)})
    with pytest.raises(ResiduumError, match=r"manifest\.json") as error:
        writing.write([copy], tmp_path / "a" / "site")
    assert "make it again" in str(error.value)
    assert not [*victim.iterdir()] and not (tmp_path / "a" / "site").exists()


def test_a_page_whose_manifest_lacks_what_it_shows_is_named(copy, tmp_path):
    place = manifest.beside(copy / "cases" / "toy-table3.tsv")
    (copy / "cases" / "toy-table3.md").write_text("## A\n")
    edit(place, spec={"id": "toy-table3", "entry": {"kind": "cases"}})
    why = r"toy-table3\.tsv\.manifest\.json: spec: entry\.title: missing key"
    with pytest.raises(ResiduumError, match=why):
        writing.write([copy], tmp_path / "site")


@pytest.mark.parametrize("name", ["/etc/hosts", "../../x.jsonl.gz"])
def test_a_shard_outside_its_corpus_is_not_read(copy, name):
    corpus = copy / "data" / "data" / "corpus"
    made = json.loads((corpus / "manifest.json").read_text())
    made["artefact"]["shards"][0]["name"] = name
    (corpus / "manifest.json").write_text(json.dumps(made))
    with pytest.raises(ResiduumError, match=f"'{name}'.* leads out of the folder"):
        list(contracts.read_corpus(corpus))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tables/toy-table1.md", b"## 0.999\n"),
        ("claims/toy-claims.md", b"all holds\n"),
        ("figures/toy-figure1.png", b"\x89PNG"),
        ("figures/toy-figure1.pdf", b"%PDF"),
    ],
)
def test_an_edited_page_is_no_page_of_the_report(copy, tmp_path, name, data):
    (copy / name).write_bytes(data)
    with pytest.raises(ResiduumError, match=f"{name}: not the file that was made"):
        writing.write([copy], tmp_path / "site")


def test_edited_data_is_not_compared(copy, results, tmp_path):
    other = shutil.copytree(results, tmp_path / "other" / "toy")
    (other / "cases" / "toy-table3.md").write_text("## A\n")
    with (other / "cases" / "toy-table3.tsv").open("a") as lines:
        lines.write("q\td\n")
    with pytest.raises(ResiduumError, match=r"toy-table3\.tsv"):
        writing.write([copy], tmp_path / "site", other)


def test_a_page_that_is_not_utf8_is_one_message(copy, tmp_path):
    page = copy / "tables" / "toy-table1.md"
    page.write_bytes(b"## caf\xe9\n")
    seal(page)
    done = CliRunner().invoke(
        app, ["report", "--results", str(copy), "--output", str(tmp_path / "site")]
    )
    assert isinstance(done.exception, ResiduumError)
    assert f"{page}, line 1: not UTF-8" in str(done.exception)


def in_a_circle(copy):
    """Have the manifests of a run and of a table name each other."""
    for path, other in ((RUN, TABLE), (TABLE, RUN)):
        place = manifest.beside(copy / path)
        made = json.loads(place.read_text())
        prefix = made["environment"]["path"].removesuffix(f"{path}.manifest.json")
        edit(place, inputs={**made["inputs"], f"{prefix}{other}": "0" * 64})


def test_manifests_in_a_circle_are_one_message(copy, tmp_path, archive):
    in_a_circle(copy)
    what = r"manifests say that .* was made from itself: .* -> "
    with pytest.raises(ResiduumError, match=what):
        writing.write([copy], tmp_path / "site")
    with pytest.raises(ResiduumError, match=what):
        bundling.write(copy, tmp_path / "circle.tar.gz")
    members = contents(archive)
    for path in (RUN, TABLE):
        name = f"{path}.manifest.json"
        members[f"results/{name}"] = (copy / name).read_bytes()
    pack(tmp_path / "members.tar.gz", members)
    harmed = rewritten(tmp_path / "members.tar.gz", tmp_path / "harmed.tar.gz", lambda data: data)
    with pytest.raises(ResiduumError, match=what):
        bundling.verify(harmed)


def test_a_long_chain_of_manifests_is_followed(tmp_path):
    graph = provenance.Graph()
    names = [f"a{number}" for number in range(5_000)]
    for name, parent in zip(names, [*names[1:], "end"], strict=True):
        graph[name] = provenance.Artefact(name, parents=(parent,))
    assert [one.path for one in provenance.ancestors(graph, names[:1])] == ["end", *names[::-1]]


def test_an_archive_of_nothing_is_no_bundle_without_fault(tmp_path):
    index = json.dumps({"format": bundling.FORMAT, "files": {}}).encode()
    [(what, why)] = faults(pack(tmp_path / "empty.tar.gz", {"bundle.json": index})).items()
    assert what == "results/ledger.tsv" and why.startswith("is missing")


@pytest.mark.parametrize(
    ("page", "key"),
    [
        (TABLE, "rows"),
        ("claims/toy-claims.tsv", "claims"),
        ("figures/toy-figure1.tsv", "series"),
        ("tables/toy-table2.tsv", "rows"),
    ],
)
def test_parts_that_a_page_repeats_thousands_of_times_are_refused_at_once(
    archive, tmp_path, page, key
):
    members = contents(archive)
    name = f"results/{page}.manifest.json"
    made = json.loads(members[name])
    made["spec"]["entry"][key] *= 5_000
    pack(tmp_path / "members.tar.gz", {**members, name: json.dumps(made).encode()})
    harmed = rewritten(tmp_path / "members.tar.gz", tmp_path / "harmed.tar.gz", lambda data: data)
    started = time.monotonic()
    by_part = faults(harmed)
    assert time.monotonic() - started < 20
    stem = page.partition("/")[2].removesuffix(".tsv")
    assert f"{key}: '" in by_part[stem] and "is given twice" in by_part[stem]


def test_the_name_of_a_part_must_stay(tmp_path):
    assert files.within(tmp_path, "a/b") == tmp_path / "a" / "b"
    for name in ("/a", "../a", "a/../../b"):
        with pytest.raises(ResiduumError, match="leads out of the folder"):
            files.within(tmp_path, name)


@pytest.mark.parametrize("path", ["manifest.json", "", "/", "x/y"])
def test_a_manifest_of_another_place_is_one_message(copy, path):
    place = next(copy.rglob("*/*/manifest.json"))
    held = json.loads(place.read_text())
    held["environment"]["path"] = path
    place.write_text(json.dumps(held))
    with pytest.raises(ResiduumError, match=r"environment\.path is no path of .*manifest\.json"):
        provenance.read(copy)


@pytest.mark.parametrize("verb", [["ledger"], ["checklist"], ["report", "--output", "made"]])
def test_a_ledger_without_its_manifest_is_not_shown(copy, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    manifest.beside(copy / "ledger.tsv").unlink()
    done = CliRunner().invoke(app, [*verb, "--results", str(copy)])
    assert isinstance(done.exception, ResiduumError) and "manifest" in str(done.exception)


def test_metrics_without_their_manifest_are_not_shown(copy, tmp_path):
    metrics = sorted(copy.glob("metrics/**/*.tsv"))
    assert metrics
    for path in metrics:
        manifest.beside(path).unlink(missing_ok=True)
    with pytest.raises(ResiduumError, match="no manifest"):
        writing.write([copy], tmp_path / "made")


def test_a_bundle_is_written_over_none_of_its_results(copy):
    for name in ("ledger.tsv", "new.tar.gz"):
        with pytest.raises(ResiduumError, match="among the results that are packed"):
            bundling.write(copy, copy / name)


def naming(spec, where, value):
    """Return a page's spec in which one key, named with dots, has another value."""
    made = json.loads(json.dumps(spec))
    *above, last = where.split(".")
    part = made
    for key in above:
        part = part[int(key) if key.isdigit() else key]
    part[last] = value
    return made


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("columns.0.change_from", "nobody"),
        ("rows.0.below", "nobody"),
        ("baselines", ["nobody"]),
        ("reported", {"nobody": {"a": "0.5"}}),
    ],
)
def test_a_page_that_names_a_row_which_it_lacks_is_named(copy, tmp_path, where, value):
    place = manifest.beside(copy / TABLE)
    spec = json.loads(place.read_text())["spec"]
    edit(place, spec={**spec, "entry": naming(spec["entry"], where, value)})
    words = ["report", "--output", str(tmp_path / "site"), "--results", str(copy)]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, ResiduumError), done.exception
    assert f"{TABLE}.manifest.json: made by another version" in str(done.exception)


@pytest.mark.parametrize("spec", [{"a": {}}, {}, {"model": {"kind": 3}}])
def test_a_model_whose_manifest_names_no_kind_is_named(tmp_path, spec):
    made = SimpleNamespace(spec=spec)
    checkpoint = checkpoints.Checkpoint(tmp_path, {}, "models/clear/seed1", made)
    with pytest.raises(ResiduumError, match=r"models/clear/seed1: its manifest names no kind of"):
        str(checkpoint.kind)
