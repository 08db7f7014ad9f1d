"""Runs, qrels and queries of others: other encodings, other numbers, gzip that swells."""

import gzip
import random

import pytest
from typer.testing import CliRunner

from residuum.__main__ import app
from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError

LINES = {
    "run": "q1 Q0 d1 1 2.0 t\nq1 Q0 d\xe9 2 1.0 t\nq2 Q0 d1 1 1.0 t\n",
    "qrels": "q1 0 d1 1\nq1 0 d\xe9 1\nq2 0 d1 1\n",
}
READ = {"run": trec.read_run, "qrels": trec.read_qrels}


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize(("old", "new"), [("\n", "\r\n"), ("\n", "\n"), (" ", "\t"), ("t\n", "t")])
def test_what_is_not_utf_8_is_named_by_its_line(tmp_path, kind, old, new):
    text = LINES[kind].replace(old, new) if new != "t" else LINES[kind].rstrip("\n")
    path = tmp_path / "others.trec"
    path.write_bytes(text.encode("latin-1"))
    rule = (
        r"not UTF-8 \(invalid continuation byte at byte \d+ of the line\)\. Write the file in UTF-8"
    )
    with pytest.raises(ResiduumError, match=rf"others\.trec, line 2: {rule}"):
        READ[kind](path)
    path.write_bytes(text.encode())
    assert READ[kind](path)["doc_id"].to_list() == ["d1", "d\xe9", "d1"]


def test_a_file_in_utf_16_is_named(tmp_path):
    path = tmp_path / "others.trec"
    path.write_bytes(LINES["qrels"].encode("utf-16"))
    with pytest.raises(
        ResiduumError, match=r"others\.trec, line 1: not UTF-8 \(invalid start byte"
    ):
        trec.read_qrels(path)


@pytest.mark.parametrize("number", ["1_0", "\u0661", "0x1", "1,0", "x", "1.5"])
def test_a_grade_in_other_writing_is_no_number(tmp_path, number):
    (tmp_path / "q.trec").write_text(f"q1 0 d1 1\nq1 0 d2 {number}\n")
    with pytest.raises(ResiduumError, match=r"q\.trec, line 2: relevance must be a number, found"):
        trec.read_qrels(tmp_path / "q.trec")


def test_queries_that_are_not_utf_8_are_named_by_their_line(tmp_path):
    (tmp_path / "queries.tsv").write_bytes(b"\xef\xbb\xbfq1\tone\nq2\tcaf\xe9\n")
    with pytest.raises(ResiduumError, match=r"queries\.tsv, line 2: not UTF-8 \(invalid"):
        trec.read_queries(tmp_path / "queries.tsv")


def test_a_small_gzip_that_holds_gigabytes_is_refused_by_compare(tmp_path):
    line = b"q1 Q0 d1 1 2.0 t\n"
    (tmp_path / "run.trec.gz").write_bytes(gzip.compress(line + bytes(300_000_000), 9))
    for name in ("other.trec", "q.trec"):
        (tmp_path / name).write_text("q1 0 d1 1\n" if name == "q.trec" else line.decode())
    names = [str(tmp_path / name) for name in ("q.trec", "run.trec.gz", "other.trec")]
    done = CliRunner().invoke(app, ["compare", *names, "--measures", "RR@10"])
    assert isinstance(done.exception, ResiduumError)
    text = str(done.exception)
    assert (
        "run.trec.gz: its gzip data unpacks to more than 100 MB, at least 64 times the file's size"
        in text
    )


def test_a_run_of_the_same_docs_for_every_query_is_far_from_that():
    """The run that packs best, of the longest ids: a tenth of its lines is like any other."""
    docs = "".join(f" Q0 clueweb09-en0000-00-{i:05d} {i + 1} 0.0 tagtagtag\n" for i in range(1000))
    lines = "".join(
        f"query-number-{query:020d}{line}" for query in range(30) for line in docs.splitlines(True)
    ).encode()
    assert len(lines) / len(gzip.compress(lines, 9)) < files.MOST_RATIO / 2


@pytest.mark.parametrize("level", [1, 9])
def test_gzip_is_read_as_its_module_reads_it(tmp_path, level):
    path, texts = tmp_path / "x.gz", [b"one\n", b"", random.Random(1).randbytes(100_000)]
    members = [gzip.compress(text, level) for text in texts]
    for data in (members[0], b"".join(members), b"".join(members) + bytes(512), b""):
        path.write_bytes(data)
        assert files.read_bytes(path) == gzip.decompress(data)


@pytest.mark.parametrize("harm", ["cut", "checksum", "length", "behind", "header alone"])
def test_damaged_gzip_is_named(tmp_path, harm):
    data = gzip.compress(b"one two three\n" * 99)
    harmed = {
        "cut": data[:-9],
        "checksum": data[:-8] + bytes(4) + data[-4:],
        "length": data[:-4] + bytes(4),
        "behind": data + b"no member",
        "header alone": data[:10],
    }
    (tmp_path / "x.gz").write_bytes(harmed[harm])
    with pytest.raises(
        ResiduumError, match=r"x\.gz: the compressed data is cut short or damaged \("
    ):
        files.read_bytes(tmp_path / "x.gz")
