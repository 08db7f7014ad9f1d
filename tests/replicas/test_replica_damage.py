"""Each damage is where it says, and what ir_datasets makes of it: an error, or nothing at all."""

import shutil
from gzip import decompress

import pytest

from replicas import cord19, damage, dpr_w100, msmarco_document, msmarco_passage, reading
from replicas import disks45 as newswire

PASSAGE, DOCUMENT, DPR = "msmarco-passage", "msmarco-document", "dpr-w100"
NOCR, ROBUST = "disks45/nocr", "disks45/nocr/trec-robust-2004"
DEV = f"{DPR}/natural-questions/dev"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    msmarco_passage.write(home)
    msmarco_document.write(home)
    dpr_w100.write(home, home / "data")
    cord19.write(home)
    return home


@pytest.fixture
def home(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "home")


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    home = tmp_path_factory.mktemp("disks")
    newswire.write(home)
    return home


def failed(home, name, **expected):
    """Return the number of docs before ir_datasets failed, and what it said."""
    result = reading.read(home, [name], **expected)["docs"][name]
    return len(result["rows"]), result.get("error", "nothing")


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        (PASSAGE, "collectionandqueries.tar.gz", "ReadError: unexpected end of data"),
        (DOCUMENT, "collection.tsv.gz", "EOFError: Compressed file ended before the end"),
        (DPR, "docs.tsv.gz", "EOFError: Compressed file ended before the end"),
        (cord19.ROUND, "2020-05-01/metadata.csv", "nothing"),
    ],
)
def test_half_a_download(home, name, file, message):
    broken = damage.half(home / name.partition("/")[0] / file)
    assert broken.file.is_file() and broken.line is None
    docs, error = failed(home, name)
    assert error.startswith(message)
    assert 0 <= docs < (224 if name == cord19.ROUND else 600)


def test_a_wrong_hash_is_not_looked_at(home):
    before = (home / DOCUMENT / "collection.tsv.gz").read_bytes()
    path = damage.flipped(home / DOCUMENT / "collection.tsv.gz").file
    changed = [i for i, (a, b) in enumerate(zip(before, path.read_bytes(), strict=True)) if a != b]
    assert len(changed) == 16
    docs, error = failed(home, DOCUMENT)
    assert docs > 100, "docs are handed out before the fault is met"
    assert error.startswith(("BadGzipFile: CRC check failed", "error: Error -3"))
    train = home / PASSAGE / "train" / "qrels"
    train.write_text(train.read_text().replace("\t1\n", "\t0\n", 5))
    outcome = reading.read(home, splits=[f"{PASSAGE}/train"])
    assert [level for *_, level in reading.qrels(outcome, f"{PASSAGE}/train")][:6] == [0] * 5 + [1]


def test_a_passage_without_a_tab(home):
    broken = damage.passage_without_tab(home)
    assert (broken.member, broken.line) == ("collection.tsv", 100)
    assert failed(home, PASSAGE) == (99, "RuntimeError: expected 2 fields, got 1")


def test_a_passage_of_two_columns(home):
    broken = damage.passage_of_two_columns(home)
    line = decompress(broken.file.read_bytes()).split(b"\n")[broken.line - 1]
    assert line.startswith(b"99\t") and line.count(b"\t") == 1
    assert failed(home, DPR) == (98, "RuntimeError: expected 3 fields, got 2")


def test_a_doc_without_docno_goes_unnoticed(home):
    broken = damage.doc_without_docno(home)
    lines = decompress(broken.file.read_bytes()).split(b"\n")
    assert lines[broken.line - 1 : broken.line + 1] == [b"<DOC>", b"<TEXT>"]
    rows = reading.read(home, [DOCUMENT])["docs"][DOCUMENT]["rows"]
    assert len(rows) == 600 and [i for i, row in enumerate(rows) if row["doc_id"] is None] == [9]


def test_questions_that_end_within_the_json(home):
    broken = damage.questions_cut_short(home)
    assert decompress(broken.file.read_bytes()).count(b"\n") == broken.line - 1
    result = reading.read(home, splits=[DEV])["queries"][DEV]
    assert result["rows"] == []
    assert result["error"].startswith("IncompleteJSONError: parse error: premature EOF")


def test_a_judgement_of_three_columns(home):
    path = home / PASSAGE / "trec-dl-2019" / "qrels"
    assert damage.judgement_of_three_columns(path).line == 100
    split = f"{PASSAGE}/trec-dl-2019/judged"
    result = reading.read(home, splits=[split])["qrels"][split]
    assert (len(result["rows"]), result["error"]) == (
        99,
        "RuntimeError: expected 4 columns, got 3",
    )


def test_a_row_that_ends_early_loses_its_abstract_silently(home):
    broken = damage.row_cut_short(home)
    line = broken.file.read_bytes().split(b"\n")[broken.line - 1]
    assert line.endswith(b",A title") and line.count(b",") == 3
    rows = reading.read(home, [cord19.ROUND])["docs"][cord19.ROUND]["rows"]
    assert len(rows) == 224
    assert [row["doc_id"] for row in rows if row["abstract"] is None] == [line[:8].decode()]


def test_a_quote_that_nothing_closes_swallows_rows_silently(home):
    broken = damage.row_with_open_quote(home)
    line = broken.file.read_bytes().split(b"\n")[broken.line - 1]
    assert line.count(b'"') % 2 == 1
    result = reading.read(home, [cord19.ROUND])["docs"][cord19.ROUND]
    assert "error" not in result and len(result["rows"]) < 224


def test_a_parse_that_is_no_json(tmp_path):
    cord19.write(tmp_path, layout="parses")
    broken = damage.parse_without_json(tmp_path, layout="parses")
    assert broken.member.startswith("2020-05-01/document_parses.tar.gz/document_parses/pmc_json/")
    outcome = reading.read(tmp_path, releases=[(cord19.DATE, cord19.RELEASE)])
    error = outcome["docs"][cord19.DATE]["error"]
    assert error == "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"


def test_a_parse_of_the_official_layout_that_is_no_json(home):
    broken = damage.parse_without_json(home)
    packed, name = broken.member.split(".tar.gz/")
    assert packed == "2020-05-01/comm_use_subset"
    inner = damage._member(broken.file.read_bytes(), f"{packed}.tar.gz")
    assert damage._member(inner, name) == b"<!DOCTYPE html>\n"


def test_a_test_question_without_answers(home):
    broken = damage.question_without_answers(home / "data")
    lines = broken.file.read_text(encoding="utf-8").splitlines()
    assert [n for n, line in enumerate(lines, 1) if "\t" not in line] == [broken.line]


def test_absent_disks(disks, tmp_path):
    (tmp_path / "disks45").mkdir()
    shutil.copytree(disks / "disks45" / "corpus" / "FT", tmp_path / "disks45" / "corpus" / "FT")
    broken = damage.without_newswire(tmp_path)
    assert failed(tmp_path, NOCR) == (0, f"FileNotFoundError: {broken.file}")


def test_one_file_less_is_said_after_the_last_doc(disks, tmp_path):
    home = shutil.copytree(disks, tmp_path / "home")
    damage.without_one_file(home)
    docs, error = failed(home, NOCR)
    assert docs == 2499
    assert error.startswith("RuntimeError: found 2294 files of the expected 2295")


def test_an_article_without_docno_goes_unnoticed(disks, tmp_path):
    home = shutil.copytree(disks, tmp_path / "home")
    broken = damage.article_without_docno(home)
    assert broken.file.read_text().splitlines()[:2] == ["<DOC>", "<DOCID> 1 </DOCID>"]
    rows = reading.read(home, [NOCR])["docs"][NOCR]["rows"]
    assert len(rows) == 2500 and sum(row["doc_id"] == "" for row in rows) == 1
