"""A stage's `--output` never takes the place of a folder that residuum did not make."""

import json
import re

import pytest

from commands import call
from conftest import ROOT
from residuum.cli import command
from residuum.cli.errors import ResiduumError

RULES = [
    rule
    for path in sorted((ROOT / "rules").glob("*.smk"))
    for rule in re.split(r"^rule ", path.read_text(), flags=re.M)[1:]
]
# Stage and verb of each rule that makes a folder. `report` keeps a list of its own files, of which
# test_report_folder.py asks.
FOLDERS = sorted(
    command
    for rule in RULES
    if "options.output_folder" in rule
    for command in re.findall(r"python -m residuum\.([\w.]+) ([\w-]+)", rule)
    if command[0] != "report"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(command.JOB, raising=False)
    others = tmp_path / "of-mine"
    (others / "deep").mkdir(parents=True)
    (others / "deep" / "thesis.tex").write_text("years")
    return others


def test_every_rule_that_makes_a_folder_is_asked():
    made_by = [rule.partition("_")[0] for rule in RULES if "options.output_folder" in rule]
    assert len(FOLDERS) == len([stage for stage in made_by if stage != "report"]) >= 14
    assert {"data", "dense", "encode", "lexical", "train"} <= {stage for stage, _ in FOLDERS}


@pytest.mark.parametrize(("stage", "verb"), FOLDERS)
@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_others_is_refused_before_any_work(folder, stage, verb, linked):
    """Given `--output` alone: what it may replace is asked before what is missing."""
    output = folder.with_name("link") if linked else folder
    if linked:
        output.symlink_to(folder)
    with pytest.raises(ResiduumError, match=rf"--output {output}: a folder that holds files, and"):
        call(stage, verb, "--output", output)
    assert [p.name for p in folder.rglob("*")] == ["deep", "thesis.tex"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"artefact": 1, "spec": 2}', "[" * 10_000])
def test_a_manifest_of_another_program_is_none_of_ours(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ResiduumError, match=r"no manifest\.json of residuum"):
        call("lexical", "index", "--output", folder)


def test_what_residuum_made_and_what_snakemake_runs_is_replaced(folder, monkeypatch):
    missing = "Missing parameter"  # the next fault: the folder was taken
    with pytest.raises(Exception, match=missing):
        call("lexical", "index", "--output", folder.with_name("new"))
    (folder / "manifest.json").write_text(json.dumps({"artefact": {}, "spec": {}, "inputs": {}}))
    with pytest.raises(Exception, match=missing):
        call("lexical", "index", "--output", folder)
    (folder / "manifest.json").unlink()
    monkeypatch.setenv(command.JOB, "1")
    with pytest.raises(Exception, match=missing):
        call("lexical", "index", "--output", folder)
