"""A published bundle as an RO-Crate: what the profiles ask for, and what it says of a run."""

import hashlib
import json
import re
import shutil
from datetime import date

import pytest
from rocrate.rocrate import ROCrate
from typer.testing import CliRunner

from bundles import contents, faults, pack
from residuum.__main__ import app
from residuum.artefacts import manifest
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling, publishing
from residuum.inspect.bundling import METADATA

ADA = publishing.Published(by="Ada Example", licence="CC-BY-4.0", day=date(2026, 11, 28))


@pytest.fixture(scope="module")
def crate(results, tmp_path_factory):
    """Return a published bundle."""
    path = tmp_path_factory.mktemp("crate") / "toy.tar.gz"
    bundling.write(results, path, published=ADA)
    return path


@pytest.fixture(scope="module")
def described(crate):
    """Return the entities of the crate's JSON by id."""
    entities = json.loads(contents(crate)[METADATA])["@graph"]
    by_id = {entity["@id"]: entity for entity in entities}
    assert len(by_id) == len(entities), "an id stands once"
    return by_id


def references(value):
    """Yield the ids to which a value of JSON-LD refers."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            assert set(one) == {"@id"}, "entities lie flat beside each other"
            yield one["@id"]


def test_every_file_is_described_with_its_hash_and_size(crate, described):
    members = contents(crate)
    held = set(references(described["./"]["hasPart"]))
    assert held == set(members) - {METADATA, "bundle.json"}
    for name in held:
        stated = described[name]["sha256"], described[name]["contentSize"]
        assert stated == (hashlib.sha256(members[name]).hexdigest(), str(len(members[name])))
    forms = {name.rpartition(".")[2]: described[name]["encodingFormat"] for name in held}
    assert forms["tsv"] == "text/tab-separated-values" and forms["md"] == "text/markdown"


def test_no_reference_leads_nowhere(described):
    web = re.compile(r"https?://")  # of a licence's or a specification's page
    for entity in described.values():
        for key, value in entity.items():
            for name in references(value):
                assert name in described or web.match(name), (entity["@id"], key)


def test_it_has_what_the_profiles_demand(described):
    """Check the MUSTs of Workflow RO-Crate 1.0, Process and Workflow Run Crate 0.5."""
    root, main = described["./"], described["environment/Snakefile"]
    assert described[METADATA]["conformsTo"][0] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert {described[name]["@type"] for name in references(root["conformsTo"])} == {"CreativeWork"}
    assert set(references(root["conformsTo"])) == {
        "https://w3id.org/ro/wfrun/process/0.5",
        "https://w3id.org/ro/wfrun/workflow/0.5",
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
    }
    assert root["datePublished"] == "2026-11-28"
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert root["mainEntity"] == {"@id": "environment/Snakefile"}
    assert main["@type"] == ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    assert described[main["programmingLanguage"]["@id"]]["@type"] == "ComputerLanguage"
    parameter = described[main["input"]["@id"]]
    assert parameter["@type"] == "FormalParameter" and parameter["additionalType"] == "Text"
    value = described[parameter["workExample"]["@id"]]
    assert (value["@type"], value["value"]) == ("PropertyValue", "toy")
    actions = {e["@id"]: e for e in described.values() if e["@type"] == "CreateAction"}
    assert set(references(root["mentions"])) == set(actions)
    tools = {described[action["instrument"]["@id"]]["@id"] for action in actions.values()}
    assert "environment/Snakefile" in tools, "the workflow's own run"
    assert {described[a["agent"]["@id"]]["name"] for a in actions.values()} == {"Ada Example"}


def test_the_run_has_scale_and_collection_and_gives_all_pages(described):
    run = described["#run"]
    assert set(references(run["object"])) == {"#scale", "#collection-data"}
    assert "licence: not recorded" in described["#collection-data"]["description"]
    made = {name for name in references(run["result"]) if name.endswith((".tsv", ".md", ".tex"))}
    assert {
        *("results/ledger.tsv", "results/ledger.md", "results/cases/toy-table3.tsv"),
        *(f"results/tables/toy-table1.{form}" for form in ("tsv", "md", "tex")),
    } <= made


def test_a_pages_job_has_its_command_stage_and_inputs(crate, described):
    job = described["#toy-table1"]
    record = json.loads(contents(crate)["results/tables/toy-table1.tsv.manifest.json"])
    assert job["instrument"] == {"@id": "#residuum.pages.table.make"}
    inputs = {f"results/{name.partition('/toy/')[2]}" for name in record["inputs"]}
    assert set(references(job["object"])) == inputs & set(contents(crate))
    assert "results/significance/toy-table1.tsv" in set(references(job["object"]))
    assert job["description"] == "not recorded", "functions made it, not a command"


def test_a_reader_of_crates_reads_it(crate, tmp_path):
    bundling.unpack(crate, tmp_path / "crate")
    read = ROCrate(tmp_path / "crate")
    assert read.mainEntity.id == "environment/Snakefile"
    assert read.root_dataset["author"]["name"] == "Ada Example"
    assert (
        read.get("results/ledger.tsv")["sha256"]
        == hashlib.sha256((tmp_path / "crate/results/ledger.tsv").read_bytes()).hexdigest()
    )


def test_the_same_results_publisher_and_day_give_the_same_bytes(results, crate, tmp_path):
    bundling.write(shutil.copytree(results, tmp_path / "toy"), tmp_path / "a", published=ADA)
    assert (tmp_path / "a").read_bytes() == crate.read_bytes()
    later = ADA.model_copy(update={"day": date(2026, 11, 29)})
    bundling.write(results, tmp_path / "b", published=later)
    assert (tmp_path / "b").read_bytes() != crate.read_bytes()


def test_the_command_writes_the_same_bytes_for_a_given_day(results, crate, tmp_path):
    words = ["bundle", "write", "--results", str(results), "--output", str(tmp_path / "c.tar.gz")]
    words += ["--by", ADA.by, "--licence", ADA.licence, "--day", ADA.day.isoformat()]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0 and (tmp_path / "c.tar.gz").read_bytes() == crate.read_bytes()


def test_verifying_checks_the_crates_metadata_too(crate, tmp_path):
    assert not faults(crate)
    changed = {**contents(crate)}
    changed[METADATA] = changed[METADATA].replace(b"Ada Example", b"Eve Example")
    assert set(faults(pack(tmp_path / "t.tar.gz", changed))) == {METADATA}


def test_a_bundle_that_nobody_publishes_is_no_crate(archive):
    assert METADATA not in contents(archive)
    assert json.loads(contents(archive)["bundle.json"])["published"] is None


def test_a_licence_may_be_an_address(results, tmp_path):
    own = ADA.model_copy(update={"licence": "https://example.org/terms"})
    bundling.write(results, tmp_path / "t.tar.gz", published=own)
    entities = json.loads(contents(tmp_path / "t.tar.gz")[METADATA])["@graph"]
    root = next(entity for entity in entities if entity["@id"] == "./")
    assert root["license"] == {"@id": "https://example.org/terms"}


@pytest.mark.parametrize(
    ("by", "licence", "day", "says"),
    [
        ("Ada", None, None, "names its publisher and its licence: --by 'Ada Example' --licence"),
        (None, "MIT", None, "names its publisher and its licence"),
        (None, None, ADA.day, "names its publisher and its licence"),
        ("  ", "MIT", None, "--by '  ': not a name of 1 to 200 characters in one line"),
        ("A" * 201, "MIT", None, "not a name of 1 to 200 characters"),
        ("Ada\x1b[31m", "MIT", None, "not a name of 1 to 200 characters in one line"),
        ("Ada", "free for all", None, "--licence 'free for all': neither a short name of spdx"),
        ("Ada", "MIT\n", None, "neither a short name of spdx"),
    ],
)
def test_what_is_no_statement_is_refused(by, licence, day, says):
    with pytest.raises(ResiduumError, match=re.escape(says)):
        publishing.published(by, licence, day)


def test_a_statement_is_read_without_needless_blanks():
    assert publishing.published(" Ada  Example ", "CC-BY-4.0", ADA.day) == ADA
    assert publishing.published(None, None, None) is None


def test_a_foreign_statement_is_checked_too(crate, tmp_path):
    members = contents(crate)
    index = json.loads(members["bundle.json"])
    index["published"]["by"] = ""
    members["bundle.json"] = json.dumps(index).encode()
    with pytest.raises(ResiduumError, match=r"bundle\.json cannot be read by .*published\.by: "):
        bundling.verify(pack(tmp_path / "t.tar.gz", members))


def test_texts_of_collections_do_not_depend_on_the_working_directory(
    results, crate, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    bundling.write(results, tmp_path / "t.tar.gz", published=ADA)
    assert (tmp_path / "t.tar.gz").read_bytes() == crate.read_bytes()


def test_the_workflow_is_of_the_checkout_and_the_run_of_the_results(results, tmp_path, monkeypatch):
    made_by = manifest.environment()["git_commit"]
    monkeypatch.setattr(manifest, "_git_commit", lambda: "f" * 40)
    bundling.write(results, tmp_path / "t.tar.gz", published=ADA)
    entities = json.loads(contents(tmp_path / "t.tar.gz")[METADATA])["@graph"]
    by_id = {entity["@id"]: entity for entity in entities}
    assert by_id["environment/Snakefile"]["version"].endswith(f", commit {'f' * 40}")
    assert by_id["#run"]["description"].endswith(f", commit {made_by}")


def test_a_crate_needs_the_workflow(results, tmp_path, monkeypatch):
    monkeypatch.setattr(bundling, "ROOT", tmp_path)
    with pytest.raises(ResiduumError, match="a published bundle has the workflow"):
        bundling.write(results, tmp_path / "t.tar.gz", published=ADA)
    assert not list(tmp_path.iterdir())
