"""Options that do not fit, names too long, terminals of other encodings: told in a line."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from commands import call
from conftest import ROOT
from residuum.__main__ import app
from residuum.artefacts import trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.inspect import planning
from residuum.preload import server
from residuum.tuning.evaluation import evaluate


def refusal(*arguments):
    """Return the error of a command line, which is one of ours."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, ResiduumError), done.output
    return str(done.exception)


@pytest.mark.parametrize("verb", [["checklist"], ["export", "data/dev", "--output", "made"]])
@pytest.mark.parametrize("given", ["absent", "README.md", "tests"])
def test_a_folder_that_is_no_configuration_is_refused(results, monkeypatch, tmp_path, verb, given):
    monkeypatch.chdir(tmp_path)
    config = ROOT / given
    text = refusal(*verb, "--results", results, "--config", config)
    assert text.startswith(f"--config {config}: no folder {config}/datasets. Name the folder that")
    assert not (tmp_path / "made").exists()


def test_where_no_folder_is_named_none_need_be(results, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["checklist", "--results", str(results)])
    assert done.exit_code == 0 and "not recorded" in done.output


@pytest.mark.parametrize("name", ["", " ", "other"])
def test_an_original_run_that_is_none_is_named(tmp_path, name):
    for run in ("a", "b"):
        (tmp_path / run).write_text("q1 Q0 d1 1 2.0 t\n")
    trec.write_qrels(tmp_path / "q", [("q1", "d1", 1)])
    files = [tmp_path / each for each in ("q", "a", "b")]
    text = refusal("compare", *files, "--measures", "RR@10", "--original", name)
    assert text == f"--original: no run '{name}'; known: a, b."


def test_docs_of_a_dataset_that_no_page_uses_are_refused_before_anything_is_planned(monkeypatch):
    def plan(*_):
        raise AssertionError("planned")

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(planning, "dry_runs", plan)
    with pytest.raises(
        ResiduumError, match=r"docs of robust04: no planned job uses it; .* generated-mini"
    ):
        planning.plan("mini", ["clear"], None, None, ["robust04=1e9"])
    with pytest.raises(AssertionError, match="planned"):
        planning.plan("mini", ["clear"], None, None, ["generated-mini=1e9"])


def test_docs_of_a_dataset_whose_files_are_absent_are_refused_with_the_reason(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("RESIDUUM_DATA", str(ROOT / "tests"))
    monkeypatch.setattr(planning, "dry_runs", None)
    with pytest.raises(
        ResiduumError, match=r"docs of cacm: no planned job can use it: no such file: "
    ):
        planning.plan("mini", [], None, None, ["cacm=1e9"])


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("../models/under", r"no entry of .* without a base '\.\./models/under'; known: under"),
        ("a" * 300, r"no entry of .* without a base 'a{200}'; known: under"),
        ("/etc/passwd", "no entry of .* without a base '/etc/passwd'"),
        ("'a\\0b'", "no entry of .* without a base"),
        ("[under]", "no entry of .* without a base"),
        ("over", r"'over' has a base itself, 'under'; name one that has none"),
    ],
)
def test_a_base_that_is_none_names_the_file(tmp_path, base, message):
    (tmp_path / "under.yaml").write_text("k: 1\n")
    (tmp_path / "over.yaml").write_text("base: under\n")
    (tmp_path / "number.yaml").write_text("5\n")
    (tmp_path / "mine.yaml").write_text(f"base: {base}\n")
    with pytest.raises(ValueError, match=rf"mine\.yaml:1: base: {message}"):
        entries.parse(tmp_path / "mine.yaml", dict[str, object])


def test_a_long_chain_of_bases_is_told_at_once(tmp_path):
    (tmp_path / "m0.yaml").write_text("k: 1\n")
    for number in range(1, 1500):
        (tmp_path / f"m{number}.yaml").write_text(f"base: m{number - 1}\n")
    faults, start = [], time.monotonic()
    assert len(entries.load_folder(entries.Folder(tmp_path), dict[str, object], faults)) == 2
    assert len(faults) == 1498 and time.monotonic() - start < 5, "a bound on hanging"


def run(command, stdout=subprocess.PIPE, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    return subprocess.run(
        [sys.executable, *command],
        env={**kept, "PYTHONPATH": str(ROOT / "workflow"), **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_terminal_that_cannot_show_a_character_is_told_it(environment):
    done = run(["-X", "utf8=0", "-c", SAYS], **environment)
    assert (done.stdout, done.stderr) == (b"\\u2013 \\u03bb \\udcff\n", b"error: \\u2013\n")


def test_a_terminal_of_utf_8_shows_all_but_what_is_no_character():
    done = run(["-X", "utf8", "-c", SAYS])
    assert done.stdout.decode() == "\u2013 \u03bb \\udcff\n"


def test_an_output_that_was_exchanged_as_of_a_forked_job_is_written_to(tmp_path):
    exchanged = f"import os; os.dup2(2, 1){SAYS}"
    with open(tmp_path / "before", "w") as before:
        done = run(["-X", "utf8", "-c", exchanged], stdout=before)
    assert b"Traceback" not in done.stderr and b" \\udcff\n" in done.stderr
    assert (tmp_path / "before").read_bytes() == b""


SAYS = """
import typer
from residuum.cli import command
from residuum.cli.errors import ResiduumError
app = typer.Typer()
@app.command()
def say():
    print("\\u2013 \\u03bb \\udcff")
    raise ResiduumError("\\u2013")
command.main(app)
"""


def test_a_name_of_other_bytes_is_printed(tmp_path):
    for name in (b"a\xff", b"b"):
        (tmp_path / os.fsdecode(name)).write_text("q1 Q0 d1 1 2.0 t\n")
    trec.write_qrels(tmp_path / "q", [("q1", "d1", 1)])
    files = [os.fsencode(tmp_path) + name for name in (b"/q", b"/a\xff", b"/b")]
    done = run(["-m", "residuum", "compare", *files, "--measures", "RR@10"])
    assert done.returncode == 0, done.stderr
    assert b"| 1 a\\\\udcff |" in done.stdout  # a backslash of Markdown


@pytest.mark.parametrize("length", [30, 77, 78, 91, 120, 200])
def test_sockets_of_preloading_have_names_that_can_be(monkeypatch, length):
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        folder = f"{short}/{'t' * (length - len(short) - 1)}"
        os.mkdir(folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        made = tempfile.mkdtemp(prefix="residuum-", dir=server._place())
        try:
            for name in server.PACKAGES:
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(f"{made}/{name}-1024")
        finally:
            shutil.rmtree(made)
    assert made.startswith(folder) == (length <= 77)


class PanicException(BaseException):
    """Stands in for that of Polars, which is no Exception."""


def test_a_panic_of_a_library_in_rust_is_one_message(capsys):
    application = typer.Typer()

    @application.command()
    def panic() -> None:
        raise PanicException("index out of bounds")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", ["panic"])
        command.main(application)
    assert ended.value.code == 1
    expected = "error: a library could not go on with what it was given (index out of bounds)\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("memory", ["0", "-1", "nan", "x"])
def test_a_node_without_memory_is_refused_at_once(memory):
    done = CliRunner().invoke(app, ["plan", "--node-gb", memory])
    assert done.exit_code == 2
    assert "Invalid value for '--node-gb'" in done.output


@pytest.mark.parametrize("threads", ["0", "-2", "x"])
def test_threads_that_no_search_has_are_refused_at_once(threads):
    done = run(["-m", "residuum.lexical", "search", "--threads", threads])
    assert done.returncode == 2 and b"Invalid value for '--threads'" in done.stderr


def test_a_command_whose_errors_are_closed_says_nothing_and_ends_as_ever():
    words = [sys.executable, "-m", "residuum", "ledger", "--results", "no/such"]
    closed = f"exec 2>&-; {shlex.join(words)}; echo $?"
    done = subprocess.run(
        ["bash", "-c", closed], env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "1\n"


@pytest.mark.parametrize("words", [
    ["compare", "{files}/qrels", "{files}/a", "{files}/b", "--measures", "RR@10"],
    ["export", "data/dev", "--results", "{results}"], ["card", "clear", "--results", "{results}"],
], ids=lambda words: words[0])  # fmt: skip
def test_a_working_directory_that_was_deleted_is_named(results, tmp_path, words):
    trec.write_qrels(tmp_path / "qrels", [("q1", "d1", 1)])
    for name in ("a", "b"):
        (tmp_path / name).write_text("q1 Q0 d1 1 2.0 t\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    words = [word.format(results=results, files=tmp_path) for word in words]
    line = shlex.join([sys.executable, "-m", "residuum", *words, "--output", "x"])
    done = subprocess.run(
        ["bash", "-c", f"cd {gone}; rmdir {gone}; {line}"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "error: the working directory was deleted. Change to one that exists\n" in done.stderr


def test_a_measure_that_divides_by_nothing_says_so():
    qrels = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "relevance": [1]})
    ranked = pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "rank": [1], "score": [1.0]})
    with pytest.raises(ResiduumError, match=r"cannot compute Accuracy@1: .*divides by their count"):
        evaluate(ranked, qrels, ["Accuracy@1"])


@pytest.mark.parametrize("verb", ["docs", "candidates"])
def test_windows_that_are_no_json_are_told_before_anything_is_read(verb):
    line = f"{verb} --corpus . --model . --shard 1 --of 1 --batch-size 1 --output no --windows ["
    words = line.split() + ["--run", "."] * (verb == "candidates")
    with pytest.raises(ResiduumError, match=r"^--windows: \(top level\): Invalid JSON"):
        call("encode", *words)


@pytest.mark.parametrize("tag", ["", " ", "a b", "a\tb", "a\n", "\x1b[31m"])
def test_a_tag_that_no_column_holds_is_refused(tag):
    with pytest.raises(ResiduumError, match=r"^--tag .*: the tag is a column of the run\. Give"):
        call("fusion", "fuse", "--tag", tag, "--spec", "{}", "--run", "a=b", "--output", "x")


@pytest.mark.parametrize("text", ["bm25=", "bm25"])
def test_an_option_that_names_nothing_is_told(text):
    with pytest.raises(ResiduumError, match=rf"^--run {text}: nothing is named; write --run NAME"):
        command.named_paths("--run", [text], ["bm25"])


def test_what_a_stage_reads_is_a_file_that_can_be_read_twice(tmp_path):
    """Its manifest has the hash of each."""
    os.mkfifo(tmp_path / "pipe")
    words = ["run", "--run", tmp_path / "pipe", "--qrels", "/dev/null", "--measure", "RR@10"]
    with pytest.raises(ResiduumError, match=r"^--run .*/pipe: a pipe or a device$"):
        call("evaluate", *words, "--output", tmp_path / "m")


@pytest.mark.parametrize("count", ["0", "-3"])
def test_a_comparison_has_a_thread_or_more(count):
    done = CliRunner().invoke(
        app, ["compare", "q", "a", "b", "--measures", "RR@10", "--workers", count]
    )
    assert done.exit_code == 2 and "greater than or equal to 1" in done.output


@pytest.mark.parametrize("address", ["a/" * 2500, "a/b\nc/d/e", "a\x1b[31m/b/c/d"])
def test_an_address_that_is_none_is_one_short_line(results, address):
    text = refusal("explain", address, "--results", results)
    assert "no address, which has at most" in text and len(text) < 400
    assert "\n" not in text and "\x1b" not in text
