"""Files of others, damaged or made to harm: one clear message or the right value, never a crash."""

import gzip
import json
import math
import os
import random
import threading
from pathlib import Path

import polars as pl
import pytest

from commands import call
from corpora import make_weights
from residuum import evaluate as evaluating
from residuum import lexical
from residuum.artefacts import contracts, files, shards, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError, printable
from residuum.collections import files as own_files
from residuum.config.schema.datasets import Collection
from residuum.tuning.evaluation import evaluate

RUN = pl.DataFrame(
    {"query_id": ["q1", "q2"], "doc_id": ["d1", "d3"], "rank": [1, 1], "score": [2.0, 2.0]}
)


def qrels(tmp_path, text):
    (tmp_path / "q.trec").write_bytes(text.encode())
    return trec.read_qrels(tmp_path / "q.trec")


@pytest.mark.parametrize(
    ("text", "measure", "q1", "q2"),
    [
        ("q1 0 d1 1\nq2 0 d3 -2\n", "nDCG@10", 1, 0),  # a spam grade alone
        ("q1 0 d1 -1\nq2 0 d3 -2\n", "nDCG@10", 0, 0),
        ("q1 0 d1 1\nq1 0 d2 -2\nq2 0 d3 1\n", "nDCG@10", 1, 1),  # DCG 1 of 1
        ("q1 0 d2 3\nq1 0 d1 -2\nq2 0 d3 1\n", "AP@10", 0, 1),
        ("q1 0 d1 10000\nq2 0 d3 2\nq2 0 d4 3\n", "nDCG@10", 1, 2 / (3 + 2 / math.log2(3))),
        ("\ufeffq1 0 d1 1\nq2 0 d3 0\n", "RR@10", 1, 0),  # a byte order mark
    ],
)
def test_grades_give_the_value_by_hand(tmp_path, text, measure, q1, q2):
    values = evaluate(RUN, qrels(tmp_path, text), [measure]).sort("query_id")["value"].to_list()
    assert values == pytest.approx([q1, q2], abs=1e-6)


@pytest.mark.parametrize("grade", ["99999999999", "2147483648", "10001", "-10001"])
def test_a_grade_that_no_evaluator_can_hold_is_refused(tmp_path, grade):
    with pytest.raises(ResiduumError, match=rf"q\.trec, line 2: relevance must .* {grade}$"):
        qrels(tmp_path, f"q1 0 d1 1\nq2 0 d3 {grade}\n")


def collection(tmp_path, monkeypatch, name, data):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    (tmp_path / name).write_bytes(data)
    source = {"kind": "files", "corpus": name, "text_fields": ["text"], "fields": []}
    splits = {"dev": {"queries": "queries.tsv", "qrels": "q.trec"}}
    return Collection.model_validate(
        {"access": "x", "editions": [{"name": "x", "docs": 2}], "source": source, "splits": splits}
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"doc_id": null, "text": "a"}', "doc_id must be text, .* found null"),
        ('{"doc_id": true, "text": "a"}', "doc_id must be text, .* found true"),
        ('{"doc_id": 7, "text": "a"}', "doc_id must be text, .* found 7"),
        ('{"doc_id": "1", "text": true}', "a field must hold text, found True"),
        ('{"doc_id": "1", "text": {"a": 1}}', "a field must hold text, found {'a': 1}"),
        ('{"doc_id": "1", "text": "a", "text": "b"}', "key text is given twice"),
        ('{"doc_id": "1"}', "no field text"),
        ("[1, 2]", "expected a JSON object"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(tmp_path, monkeypatch, line, message):
    data = f'{{"doc_id": "0", "text": "good"}}\n{line}\n'.encode()
    with pytest.raises(ResiduumError, match=rf"docs\.jsonl, line 2: {message}"):
        list(own_files.docs(collection(tmp_path, monkeypatch, "docs.jsonl", data)))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("docs.tsv", "\ufeff1\tone\n2\ttwo\n"),
        ("docs.jsonl", '\ufeff{"doc_id": "1", "text": "one"}\n{"doc_id": "2", "text": "two"}\n'),
    ],
)
def test_a_byte_order_mark_is_no_part_of_an_id(tmp_path, monkeypatch, name, data):
    docs = own_files.docs(collection(tmp_path, monkeypatch, name, data.encode()))
    assert [(doc_id, fields["text"]) for doc_id, fields in docs] == [("1", "one"), ("2", "two")]


def test_a_list_of_texts_is_one_and_none_is_empty(tmp_path, monkeypatch):
    data = b'{"doc_id": "1", "text": ["one", null, "two"]}\n{"doc_id": "2", "text": null}\n'
    docs = own_files.docs(collection(tmp_path, monkeypatch, "docs.jsonl", data))
    assert [fields["text"] for _, fields in docs] == ["one two", ""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("\ufeffq1\tone\n", {"q1": "one"}), ("q1\tone\r\n", {"q1": "one\r"})],
)
def test_queries_with_foreign_marks(tmp_path, text, expected):
    (tmp_path / "queries.tsv").write_bytes(text.encode())
    assert trec.read_queries(tmp_path / "queries.tsv") == expected


def test_a_query_line_of_three_columns_is_refused(tmp_path):
    (tmp_path / "queries.tsv").write_text("q1\tone\nq2\ttwo\tthree\n")
    with pytest.raises(ResiduumError, match=r"line 2: expected query_id TAB text, found 'q2"):
        trec.read_queries(tmp_path / "queries.tsv")


def test_half_a_character_in_an_id_is_named(tmp_path):
    with pytest.raises(ResiduumError, match=r"doc_id 'a\\ud800': its text or id cannot"):
        contracts.write_corpus(tmp_path / "corpus", [("a\ud800", {"text": "one"})])


def test_a_long_line_of_another_file_is_cut(tmp_path):
    noise = random.Random(1).randbytes(50_000)
    unspaced = bytes(byte for byte in noise if byte > 0x20)  # without white space: one column
    (tmp_path / "run.trec").write_bytes(unspaced + b"\n")
    with pytest.raises(ResiduumError, match="line 1: not UTF-8") as error:
        trec.read_any_run(tmp_path / "run.trec")
    assert len(str(error.value)) < 2_000


def test_gzip_under_another_name_is_said(tmp_path):
    (tmp_path / "run.trec").write_bytes(gzip.compress(b"q1 Q0 d1 1 2 x\n"))
    with pytest.raises(ResiduumError, match=r"run\.trec: gzip data in a file that is not named"):
        trec.read_any_run(tmp_path / "run.trec")


def test_a_link_keeps_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "out.tsv").write_text("old")
    (tmp_path / "link.tsv").symlink_to(tmp_path / "real" / "out.tsv")
    files.write_text(tmp_path / "link.tsv", "new")
    assert (tmp_path / "link.tsv").is_symlink()
    assert (tmp_path / "real" / "out.tsv").read_text() == "new"


@pytest.mark.parametrize("kind", ["folder", "device", "pipe"])
def test_what_no_file_replaces_stays(tmp_path, kind):
    path = tmp_path / "out"
    if kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/null")
    else:
        path.symlink_to(f"/proc/self/fd/{os.pipe()[1]}")  # as /dev/stdout is before a `|`
    with pytest.raises(ResiduumError, match="out: a folder or a device"):
        files.write_text(path, "text")
    assert path.exists() and not list(tmp_path.glob(".*"))


def test_a_file_in_a_folders_place_is_named(tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(ResiduumError, match=r"out\.tsv: .*file is a file, and no folder"):
        files.write_text(tmp_path / "file" / "out.tsv", "text")


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (ResiduumError("q\x1b[31mred\x07"), "error: q\\x1b[31mred\\x07\n"),
        (ResiduumError("two\nlines, Zürich"), "error: two\nlines, Zürich\n"),
        (ResiduumError("x y " * 5_000), f"error: {'x y ' * 2_500} ...\n"),
        (ResiduumError("x" * 20_000), f"error: {'x' * 300} ...\n"),
        (PermissionError(13, "Permission denied", "/a/b"), "error: /a/b: Permission denied.\n"),
        (OSError("We couldn't connect to the hub."), "error: We couldn't connect to the hub.\n"),
        (
            OSError(28, "No space left on device"),
            "error: writing: No space left on device. Make room, then run the same command "
            "again: what is finished stays, training resumes.\n",
        ),
    ],
)
def test_a_message_is_one_line_for_people(capsys, error, printed):
    def application():
        raise error

    with pytest.raises(SystemExit):
        command.main(application)
    assert capsys.readouterr().err == printed


def test_a_value_without_end_is_cut_where_it_is_shown():
    said = printable(
        f"/data/run.trec, line 1: rank must be a number, found '{'[' * 5000}'. Mend it."
    )
    assert len(said) < 400 and said.endswith("[[[ ... Mend it.")
    long = "/" + "a" * 500
    assert printable(f"{long}: no such file") == f"{long}: no such file"


@pytest.mark.parametrize(
    ("name", "read", "lines"),
    [
        ("run.trec", trec.read_run, ["q1 Q0 d1 1 2.0 t", "q2 Q0 d1 1 2.0 t"]),
        ("q.trec", trec.read_qrels, ["q1 0 d1 1", "q2 0 d1 1"]),
        ("queries.tsv", trec.read_queries, ["q1\tone", "q2\ttwo"]),
    ],
)
def test_a_byte_order_mark_within_a_file_is_named(tmp_path, name, read, lines):
    """As of two files of Windows that were joined: the second one's first id would be another."""
    path = tmp_path / name
    path.write_bytes(f"\ufeff{lines[0]}\n\ufeff{lines[1]}\n".encode())
    with pytest.raises(ResiduumError, match=rf"{name}, line 2: a byte order mark within"):
        read(path)
    path.write_bytes(f"\ufeff{lines[0]}\n{lines[1]}\n".encode())
    assert len(read(path)) == 2


def test_tsv_with_a_mark_or_a_header_is_named(tmp_path, monkeypatch):
    for text, message in (
        ("1\ta\n\ufeff2\tb\n", r"line 2: a byte order mark within"),
        ("doc_id\ttext\n1\ta\n", r"line 1: a header, 'doc_id\\ttext'"),
    ):
        with pytest.raises(ResiduumError, match=message):
            list(own_files.docs(collection(tmp_path, monkeypatch, "docs.tsv", text.encode())))


def test_metrics_replace_none_of_the_files_that_they_are_of(tmp_path):
    run, judged = tmp_path / "run.trec", tmp_path / "q.trec"
    run.write_text("q1 Q0 d1 1 2.0 t\n")
    judged.write_text("q1 0 d1 1\n")
    for output in (run, judged):
        with pytest.raises(ResiduumError, match="is one of the files that are read"):
            words = ["run", "--run", run, "--qrels", judged, "--measure", "RR@10"]
            call("evaluate", *words, "--output", output)
    evaluating.run(run, judged, ["RR@10", "RR@10"], tmp_path / "m.tsv")
    assert trec.read_metrics(tmp_path / "m.tsv").height == 1
    assert run.read_text() == "q1 Q0 d1 1 2.0 t\n" and judged.read_text() == "q1 0 d1 1\n"


def test_a_run_is_gzipped_if_it_is_named_so(tmp_path):
    for name, start in (("r.trec.gz", b"\x1f\x8b"), ("r.trec", b"q1 Q0 d1 1 2.0 t\n")):
        trec.write_run(tmp_path / name, RUN, "t")
        assert (tmp_path / name).read_bytes().startswith(start)
        assert trec.read_run(tmp_path / name).equals(RUN)


def test_tuples_under_another_name_than_gzip_are_refused(tmp_path):
    with pytest.raises(
        ResiduumError, match=r"t\.jsonl: gzip data is written: name it t\.jsonl\.gz"
    ):
        contracts.write_tuples(tmp_path / "t.jsonl", [])
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("query_id", ["a b", " a", "a ", "a\u00a0b", "\u2028"])
def test_queries_whose_ids_hold_white_space_are_refused(tmp_path, query_id):
    (tmp_path / "q.tsv").write_text(f"q1\tone\n{query_id}\ttwo\n")
    with pytest.raises(ResiduumError, match=r"q\.tsv, line 2: the id .* holds white space"):
        trec.read_queries(tmp_path / "q.tsv")


def test_text_that_is_named_gz_is_told(tmp_path):
    (tmp_path / "q.trec.gz").write_text("q1 0 d1 1\n")
    with pytest.raises(ResiduumError, match=r"q\.trec\.gz: named \.gz, and holds no gzip data"):
        trec.read_qrels(tmp_path / "q.trec.gz")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_file(device):
    with pytest.raises(ResiduumError, match=rf"^{device}: a device, and no file"):
        files.read_bytes(Path(device))


def test_a_pipe_is_read_once(tmp_path):
    """As of <(zcat run.gz), which a shell makes for `compare`."""
    os.mkfifo(tmp_path / "pipe")
    text = "q1 Q0 d1 1 2.0 t\nq2 Q0 d3 1 2.0 t\n"
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(text,))
    writer.start()
    assert trec.read_run(tmp_path / "pipe").equals(RUN)
    writer.join()


def test_runs_of_two_splits_are_not_joined(tmp_path):
    runs = {tmp_path / name: {f"{name}{i}" for i in range(3)} for name in "ab"}
    with pytest.raises(ResiduumError, match=r"a: none of its 3 queries, such as a0, is in .*/b\. "):
        trec.refuse_apart(runs)
    trec.refuse_apart({tmp_path / "a": {"1", "2"}, tmp_path / "b": {"2"}, tmp_path / "c": {"1"}})
    trec.refuse_apart({tmp_path / "a": {"1"}})
    trec.refuse_apart({tmp_path / "a": {"1"}, tmp_path / "b": {"1"}, tmp_path / "c": set()})


@pytest.mark.parametrize("stage", ["fusion", "rrf"])
def test_fusing_runs_of_two_splits_writes_nothing(tmp_path, stage):
    for name in ("a", "b"):
        trec.write_run(
            tmp_path / f"{name}.gz", RUN.with_columns(query_id=name + RUN["query_id"]), name
        )
    spec = {"kind": stage, "label": "x", "parts": ["a", "b"], "k": 10}
    more = {"interpolation": {"weighted": "a", "value": 0.5}, "unretrieved": "minimum"}
    spec |= more if stage == "fusion" else {"rank_constant": 60}
    words = ["fuse", "--spec", json.dumps(spec), "--tag", "t", "--output", tmp_path / "o.gz"]
    words += [w for name in "ab" for w in ("--run", f"{name}={tmp_path / name}.gz")]
    with pytest.raises(ResiduumError, match=r"a\.gz: none of its 2 queries, such as aq1, is in"):
        call(stage, *words)
    assert not (tmp_path / "o.gz").exists()


def test_a_failed_output_leaves_no_folder_that_was_made_for_it(tmp_path):
    for make in (files.whole, files.whole_directory, files.new_directory):
        with pytest.raises(RuntimeError), make(tmp_path / "a" / "b" / "c"):
            raise RuntimeError
        assert not [*tmp_path.iterdir()]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mine").touch()
    with pytest.raises(RuntimeError), files.whole(tmp_path / "a" / "b" / "c"):
        raise RuntimeError
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["mine"]
    files.write_text(tmp_path / "x" / "y", "one\n")
    assert (tmp_path / "x" / "y").read_text() == "one\n"


def test_what_is_in_the_way_of_writing_is_told_by_the_outputs_name(tmp_path):
    lock = tmp_path / ".y.part.lock"
    lock.mkdir()
    with pytest.raises(ResiduumError, match=rf"^{tmp_path}/y: cannot be written: {lock} is a fol"):
        files.write_text(tmp_path / "y", "one\n")
    (tmp_path / "f").touch()
    with pytest.raises(ResiduumError, match=rf"^{tmp_path}/f/y: {tmp_path}/f is a file, and no"):
        files.write_text(tmp_path / "f" / "y", "one\n")
    with pytest.raises(ResiduumError, match=r"^/proc/x: cannot be written"):
        files.write_text(Path("/proc/x"), "one\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "it has no manifest.json"),
        ("{}", "manifest.json: no manifest of residuum: it has no artefact"),
        ("[]", "manifest.json: no manifest of residuum: it has no artefact"),
        ('{"artefact": 3}', "manifest.json: no manifest of residuum: it has no artefact"),
        ('{"artefact": {"seed": 1}}', r"its manifest.json has no (docs|weights)"),
        ("{", "cut short or damaged"),
        ("[" * 100_000, "cut short or damaged"),
    ],
)
def test_a_folder_of_another_kind_is_named(tmp_path, text, fault):
    """As a model's folder where a corpus, an index or vectors belong."""
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    readers = [contracts.corpus_manifest, lexical.index_record, lambda at: shards.facts_of([at])]
    for read, what in zip(readers, ("a corpus folder", "an index", "a folder of vec"), strict=True):
        with pytest.raises(ResiduumError, match=rf"(not {what}.*)?{fault}") as error:
            read(tmp_path)
        assert str(error.value).startswith(str(tmp_path))


def test_queries_are_no_shard_of_docs(tmp_path):
    (tmp_path / "manifest.json").write_text('{"artefact": {"weights": "x", "queries": {}}}')
    with pytest.raises(ResiduumError, match=rf"^{tmp_path}: not a shard of encoded docs"):
        shards.check([tmp_path], shards.facts_of([tmp_path]))


def test_term_weights_are_no_corpus(tmp_path):
    folder = make_weights(tmp_path / "weights", [("d1", {"river": 2})])
    with pytest.raises(ResiduumError, match="not a corpus folder: its docs have no text"):
        list(contracts.read_corpus(folder))
