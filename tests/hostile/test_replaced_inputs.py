"""What a command writes takes the place of nothing that it reads, and has a name of its own."""

import errno
import importlib
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from commands import call
from conftest import ROOT
from residuum.artefacts import files, manifest
from residuum.cli import command, outputs
from residuum.cli.errors import ResiduumError

PACKAGE = ROOT / "workflow" / "residuum"
RULES = [
    rule
    for path in sorted((ROOT / "rules").glob("*.smk"))
    for rule in re.split(r"^rule ", path.read_text(), flags=re.M)[1:]
]
# The command of each rule: its stage's module, which may lie in a folder, and its verb.
COMMANDS = [re.search(r"python -m residuum\.([\w.]+) ([\w-]+)", rule).groups() for rule in RULES]
STAGES = [
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.stem != "__main__" and "app = command.app" in path.read_text()
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with inputs, in which the command runs: what is read is there, or too late.

    None of it can be read as what it should be: a command that began would say so.
    """
    monkeypatch.delenv(command.JOB, raising=False)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("q.tsv", "q.trec", "a.trec", "b.trec"):
        Path(name).write_text("mine")
    for artefact in ("corpus", "index", "model"):
        Path(artefact).mkdir()
        record = {"artefact": {}, "spec": {}, "inputs": {}}
        Path(artefact, "manifest.json").write_text(json.dumps(record))
    os.link("q.tsv", "hard.tsv")
    Path("link.tsv").symlink_to("q.tsv")
    return here


FUSION = json.dumps(
    {
        "kind": "fusion",
        "label": "x",
        "parts": ["a", "b"],
        "interpolation": {"weighted": "a", "value": 0.5},
        "k": 10,
    }
)
SEARCH = "search --index index --queries q.tsv --spec {} --tag t --output"
ENCODE = "docs --corpus corpus --model model --shard 0 --of 1 --batch-size 1 --output"
CASES = [
    ("lexical", f"{SEARCH} q.tsv", "is one of the files that are read"),
    ("lexical", f"{SEARCH} ./../here/q.tsv", "is one of the files that are read"),
    ("lexical", f"{SEARCH} link.tsv", "is one of the files that are read"),
    ("lexical", f"{SEARCH} hard.tsv", "is one of the files that are read"),
    ("lexical", f"{SEARCH} index/manifest.json", "lies in index, which is read"),
    ("lexical", f"{SEARCH} index/new.trec.gz", "lies in index, which is read"),
    ("lexical", "index --corpus corpus --spec {} --output corpus", "is one of the files that"),
    ("lexical", "index --corpus corpus --spec {} --vocabulary model --output model", "is one of"),
    ("encode", f"{ENCODE} corpus", "is one of the files that are read"),
    ("encode", f"{ENCODE} model", "is one of the files that are read"),
    ("encode", "queries --split dev=q.tsv --model model --batch-size 1 --output model", "is one"),
    (
        "fusion",
        f"fuse --spec '{FUSION}' --run a=a.trec --run b=b.trec --tag t --output b.trec",
        "is one of the files that are read",
    ),
    (
        "rerank",
        "score --run a.trec --depth 5 --queries q.tsv --corpus corpus --model model "
        "--spec '{\"batch_size\": 1}' --store work --output a.trec",
        "is one of the files that are read",
    ),
    (
        "rerank",
        "cut --run a.trec --scores b.trec --name n --spec {} --tag t --output x --record ./x",
        "--record x: is --output too; name two files",
    ),
    (
        "data",
        "split --dataset d --name n --spec {} --queries new.tsv --qrels new.tsv",
        "--qrels new.tsv: is --queries too; name two files",
    ),
    ("__main__", "compare q.trec a.trec,b.trec --measures RR@10 --output b.trec", "is one of the"),
]


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize(("stage", "line", "message"), CASES)
def test_an_output_that_is_an_input_is_refused_before_any_work(folder, stage, line, message):
    before = contents(folder)
    with pytest.raises(ResiduumError, match=re.escape(message)):
        call(stage, *shlex.split(line))
    assert contents(folder) == before


def test_a_folder_that_would_be_replaced_with_an_input_in_it_is_refused(folder):
    (folder / "corpus" / "queries.tsv").write_text("mine")
    words = "queries --split dev=corpus/queries.tsv --model model --batch-size 1 --output corpus"
    with pytest.raises(ResiduumError, match=r"--output corpus: holds corpus/queries\.tsv, which"):
        call("encode", *words.split())
    assert (folder / "corpus" / "queries.tsv").read_text() == "mine"


TRAIN = "train --tuples around/t --corpus corpus --queries q.tsv --start model --spec [ --seed 1"


@pytest.mark.parametrize(("stage", "line", "next_fault"), [
    ("train", f"{TRAIN} --work around --output new", "^--spec: .*Invalid JSON"),
    ("report", "write --results around/toy --output around", "^around: exists and holds no report"),
    ("lexical", SEARCH.replace("q.tsv", "around/t") + " around/run.trec", "^--spec: "),
])  # fmt: skip
def test_a_folder_that_is_not_replaced_whole_may_hold_what_is_read(folder, stage, line, next_fault):
    Path("around/toy").mkdir(parents=True)
    Path("around/t").write_text("mine")
    with pytest.raises(ResiduumError, match=next_fault) as fault:
        call(stage, *shlex.split(line))
    assert not re.search("is read|are read", str(fault.value))
    assert Path("around/t").read_text() == "mine"


def test_each_stage_has_a_rule_whose_outputs_are_looked_at():
    called_by_rules = {stage for stage, _ in COMMANDS}
    assert called_by_rules < {*STAGES} and {"lexical", "pages.table.make"} <= called_by_rules
    assert {*STAGES} - called_by_rules == {"config.loading"}, "it writes the schemas"


@pytest.mark.parametrize(
    ("rule", "stage", "verb"),
    [(rule, *command) for rule, command in zip(RULES, COMMANDS, strict=True)],
    ids=[rule.partition(":")[0] for rule in RULES],
)
def test_every_output_of_a_rule_is_declared_as_one(rule, stage, verb):
    """A rule's `{output...}`, and folders that its params name, are written: others are read."""
    verbs = importlib.import_module(f"residuum.{stage}").app.registered_commands
    [callback] = [v.callback for v in verbs if (v.name or v.callback.__name__) == verb]
    line = "".join(re.findall(r'"(.*)"', rule[rule.index("shell:") :]))
    written = re.findall(r"--([\w-]+) \{(?:output[.\w]*|params\.(?:folder|work|store))\}", line)
    hints = command.get_type_hints(callback, include_extras=True)
    values = {name: Path(name) for name in hints if name != "return"}
    writes, _ = command._parted(hints, values)
    assert {output.option.removeprefix("--") for output in writes} == {*written}


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_is_no_output(folder, name):
    with pytest.raises(ResiduumError, match=rf"^--output {name}: a stream\. An output gets its"):
        call("lexical", *shlex.split(f"{SEARCH} {name}"))


@pytest.mark.parametrize("name", ["", ".", "..", "/", "../../here/..", "{here}", "../to-here"])
def test_the_working_directory_keeps_its_place(folder, name):
    (folder.parent / "to-here").symlink_to(folder)
    for stage, words in OUTPUTS.items():
        with pytest.raises(
            ResiduumError, match=r"^--output .*: the working directory, or a folder"
        ):
            call(stage, *shlex.split(words), name.format(here=folder))


OUTPUTS = {
    "lexical": SEARCH,
    "encode": ENCODE,
    "__main__": "export x/y --output",
    "report": "write --results model --output",
}


def test_a_link_to_itself_is_named(folder):
    Path("loop").symlink_to("loop")
    for stage, words in OUTPUTS.items():
        with pytest.raises(
            ResiduumError, match=r"^--output loop: a link that leads back to itself"
        ):
            call(stage, *shlex.split(words), "loop")


@pytest.mark.parametrize("name", ["x" * 300, "x" * (outputs.MOST_NAME + 1), "é" * 120])
def test_a_name_that_is_too_long_for_a_file_and_its_manifest_is_told(folder, name):
    with pytest.raises(
        ResiduumError, match=rf"^--output {name[0]}{{20}}\.\.\.: a name of \d+ bytes"
    ):
        call("lexical", *shlex.split(f"{SEARCH} {name}"))


@pytest.mark.parametrize("letter", ["x", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_the_longest_name_is_written_with_its_manifest_and_no_longer_one_could_be(tmp_path, letter):
    """The bound is on bytes. A byte more, and the file system refuses the manifest's lock."""
    size = len(letter.encode())
    longest = letter * (outputs.MOST_NAME // size)
    path = outputs.writable("--output", tmp_path / longest)
    files.write_text(path, "one\n")
    manifest.write(path, {}, {}, [], "residuum.lexical")
    assert len(list(tmp_path.iterdir())) == 2
    longer = tmp_path / f"{longest}{'x' * (outputs.MOST_NAME - size * len(longest))}x"
    with pytest.raises(ResiduumError, match=f"a name of {outputs.MOST_NAME + 1} bytes"):
        outputs.writable("--output", longer)
    files.write_text(longer, "one\n")
    with pytest.raises(ResiduumError, match=os.strerror(errno.ENAMETOOLONG)):
        manifest.write(longer, {}, {}, [], "residuum.lexical")
