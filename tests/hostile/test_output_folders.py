"""A stage's `--output` never takes the place of a folder that residuum did not make."""

import importlib
import json
import re

import pytest

from conftest import ROOT
from residuum.cli import command
from residuum.cli.errors import ResiduumError

RULES = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
FOLDERS = sorted(
    found.groups()
    for rule in RULES.split("\nrule ")
    if "options.output_folder" in rule
    and (found := re.search(r"residuum\.(\w+) ([\w-]+)", rule[rule.index("shell:") :]))
    and found[1] != "report"  # which keeps a list of its own files: test_report_folder.py
)


def called(stage, verb, output):
    """Call a verb with `--output` alone: what it may replace is asked before what is missing."""
    application = importlib.import_module(f"residuum.{stage}").app
    application([verb, "--output", str(output)], standalone_mode=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(command.JOB, raising=False)
    made = tmp_path / "of-mine"
    (made / "deep").mkdir(parents=True)
    (made / "deep" / "thesis.tex").write_text("years")
    return made


def test_every_rule_that_makes_a_folder_is_asked():
    assert len(FOLDERS) >= 14
    assert {"data", "dense", "encode", "lexical", "train"} <= {stage for stage, _ in FOLDERS}


@pytest.mark.parametrize(("stage", "verb"), FOLDERS)
@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_others_is_refused_before_any_work(folder, stage, verb, linked):
    output = folder.with_name("link") if linked else folder
    if linked:
        output.symlink_to(folder)
    with pytest.raises(ResiduumError, match=rf"--output {output}: a folder that holds files, and"):
        called(stage, verb, output)
    assert [p.name for p in folder.rglob("*")] == ["deep", "thesis.tex"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"artefact": 1, "spec": 2}', "[" * 10_000])
def test_a_manifest_of_another_program_is_none_of_ours(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ResiduumError, match=r"no manifest\.json of residuum"):
        called("lexical", "index", folder)


def test_what_residuum_made_and_what_snakemake_runs_is_replaced(folder, monkeypatch):
    missing = "Missing parameter"  # the next fault: the folder was taken
    with pytest.raises(Exception, match=missing):
        called("lexical", "index", folder.with_name("new"))
    (folder / "manifest.json").write_text(json.dumps({"artefact": {}, "spec": {}, "inputs": {}}))
    with pytest.raises(Exception, match=missing):
        called("lexical", "index", folder)
    (folder / "manifest.json").unlink()
    monkeypatch.setenv(command.JOB, "1")
    with pytest.raises(Exception, match=missing):
        called("lexical", "index", folder)
