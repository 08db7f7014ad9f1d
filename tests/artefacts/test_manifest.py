"""Manifests: the command stands apart from what the artefact is, and is ready to paste."""

import hashlib
import json
import os
import shlex
import subprocess
import sys

from conftest import ROOT
from residuum.artefacts import manifest
from residuum.code import closure

KINDS = ["dual-encoder", "cross-encoder"]
RUN = "q1 Q0 d1 1 2.0 x\n"


def evaluate(folder, name):
    """Run the stage `evaluate` as a command, with a path that the shell would take apart."""
    folder.mkdir(exist_ok=True)
    (folder / "a run.trec").write_text(RUN)
    (folder / "qrels.trec").write_text("q1 0 d1 1\n")
    words = ["-m", "residuum.evaluate", "run", "--run", "a run.trec", "--qrels", "qrels.trec"]
    words += ["--measure", "RR@10", "--output", name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True)
    return json.loads((folder / f"{name}.manifest.json").read_text()), ["python", *words]


def test_a_command_is_recorded_quoted_and_apart_from_what_was_made(tmp_path):
    first, words = evaluate(tmp_path, "one.tsv")
    second, _ = evaluate(tmp_path, "two.tsv")
    assert shlex.split(first["environment"].pop("command")) == words
    assert "--run 'a run.trec'" in second["environment"].pop("command")
    paths = [record["environment"].pop("path") for record in (first, second)]
    assert paths == ["one.tsv.manifest.json", "two.tsv.manifest.json"]
    owned = [record.pop("files") for record in (first, second)]
    (one, own), (two, same) = (*owned[0].items(), *owned[1].items())
    assert (one, two, own) == ("one.tsv", "two.tsv", same)
    data = (tmp_path / "one.tsv").read_bytes()
    assert own == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert first == second, "nothing else depends on the command line"
    verb, sha256 = {"module": "residuum.evaluate", "verb": "run"}, closure.sha256
    reached = sha256("residuum.evaluate", "run", frozenset(["RR"]))
    assert first["code"] == {**verb, "kinds": ["RR"], "sha256": reached}
    assert manifest.same_code(first["code"])
    assert not manifest.same_code({**first["code"], "sha256": "0" * 64})
    assert not manifest.same_code({**first["code"], "verb": "no-such-verb"})


def test_what_was_looked_up_ahead_for_all_jobs_of_a_stage_says_the_same(monkeypatch):
    """Walks over one library differ in what they follow, and share what they read."""
    code, shared = closure.closure, []

    def walk(stage, verb=None, kinds=None, _=None):
        return code(stage, verb, kinds, shared[0] if shared else closure.Library(closure.PACKAGE))

    def made():
        closure.sha256.cache_clear()
        record = manifest.made_by("residuum.fusion", {})
        both = [closure.sha256("residuum.train", "train", frozenset([kind])) for kind in KINDS]
        return record, both

    monkeypatch.setattr(closure, "closure", walk)
    alone = made()
    assert len({*alone[1]}) == 2
    shared.append(closure.Library(closure.PACKAGE))
    for stage in ("residuum.train", "residuum.fusion"):
        manifest.look_ahead(stage)
    assert shared[0].modules and made() == alone
    closure.sha256.cache_clear()


def test_a_kind_that_neither_arguments_nor_spec_name_is_refused():
    code = (
        "import sys; from residuum.artefacts import manifest; from residuum.code import tables;"
        "sys.modules['__main__'].__spec__ = type('Spec', (), {'name': 'residuum.evaluate'});"
        "table = tables.OpenTable({'a': 'json:dumps', 'b': 'json:loads'});"
        "table['a']; print(manifest.made_by('residuum.evaluate', {})['kinds']);"
        "table['b']; spec = {'head': {'kind': 'b'}};"
        "print(manifest.made_by('residuum.evaluate', spec)['kinds']);"
        "manifest.made_by('residuum.evaluate', {})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "--spec", '{"kind": "a"}'],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "['a']\n['a', 'b']\n"
    assert "residuum.evaluate run used kinds that no argument names: b" in done.stderr


def test_the_same_command_gives_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        evaluate(tmp_path / folder, "one.tsv")
    name = "one.tsv.manifest.json"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_command_names_the_users_files_as_a_shell_reads_them(tmp_path):
    home, output = tmp_path / "my files", tmp_path / "made"
    output.mkdir()
    typed = [str(home / "a run.txt"), "--spec", '{"a": 1}', str(output), "my files/b"]
    code = (
        "import sys; from residuum.artefacts import manifest; "
        "sys.modules['__main__'].__spec__ = sys.modules['residuum.artefacts.manifest'].__spec__; "
        "print(manifest.command_line())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "RESIDUUM_DATA": str(home)}
    options = {"env": environment, "capture_output": True, "text": True, "check": True}
    command = subprocess.run([sys.executable, "-c", code, *typed], **options).stdout
    assert str(home) not in command
    [shown] = command.splitlines()
    read = f"printf '%s\\n' {shown.removeprefix('python -m residuum.artefacts.manifest ')}"
    assert subprocess.run(["sh", "-c", read], **options).stdout.splitlines() == typed


def test_a_function_that_is_called_has_no_command(tmp_path):
    manifest.write(tmp_path, {}, {}, [], "residuum.ledger")
    record = json.loads((tmp_path / "manifest.json").read_text())
    assert record["environment"]["command"] is None
    whole = {"module": "residuum.ledger", "verb": None, "kinds": None}
    assert record["code"] == {**whole, "sha256": closure.sha256("residuum.ledger")}
