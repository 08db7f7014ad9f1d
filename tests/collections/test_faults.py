"""The first fault of a file is found with its line, for what a reader said or did not say."""

import gzip
from pathlib import Path

import pytest

from residuum.collections import faults
from residuum.collections.faults import MissingDocId, TooFewDocs


def result(path, error):
    message = faults.first([path], error)
    return message and message.removeprefix(str(path)).partition(". Delete it")[0]


DOC = "<DOC>\n<DOCNO> a </DOCNO>\n<TEXT>\nwords\n</TEXT>\n</DOC>\n"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("1\ta\n2 b\n", RuntimeError("expected 2 fields, got 1"),
         ", line 2: 2 columns, separated by tabs, are expected; 1 found: '2 b'"),
        ("1\ta\n2\tb\tc\n", RuntimeError("expected 2 fields, got 3"),
         ", line 2: 2 columns, separated by tabs, are expected; 3 found: '2\\tb\\tc'"),
        ("1 0 a 1\n\n1 0 1\n", RuntimeError("expected 4 columns, got 3"),
         ", line 3: 4 columns, separated by white space, are expected; 3 found: '1 0 1'"),
        ("1 0 a 1\n1 0 b x\n", ValueError("invalid literal for int() with base 10: 'x'"),
         ", line 2: the relevance must be a whole number: '1 0 b x'"),
        ("1\ta\n\tb\n", MissingDocId(), ", line 2: the line has no id: '\\tb'"),
        (DOC + DOC.replace("<DOCNO> a </DOCNO>\n", ""), MissingDocId(),
         ", line 7: the <DOC> that begins here has no DOCNO"),
        (DOC + DOC.replace(" a ", "  "), MissingDocId(),
         ", line 7: the <DOC> that begins here has no DOCNO"),
        (DOC + DOC[:30], TooFewDocs(), ", line 7: the <DOC> that begins here does not end"),
        (DOC.removesuffix("</DOC>\n") + DOC, TooFewDocs(),
         ", line 1: the <DOC> that begins here does not end"),
        ("<top>\n<num> Number: 1\n", AssertionError(),
         ", line 1: the <top> that begins here does not end"),
        ("1 0 a 1\n1 0 b", TooFewDocs(),
         ", line 2: the last line has no line end, as if it were cut short: '1 0 b'"),
        ("1\ta\n2\tb\n", TooFewDocs(), None),
        (DOC * 3, TooFewDocs(), None),
        ("1\ta\n2 b\n", OSError("no network"), None),
    ],
)  # fmt: skip
def test_the_first_bad_line_is_named(tmp_path, text, error, message):
    plain, packed = tmp_path / "docs.tsv", tmp_path / "docs.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert result(packed, error) == message
    packed.unlink()
    plain.write_text(text)
    assert result(plain, error) == message


def test_bytes_that_are_no_utf_8_are_named(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_bytes("1\tone\n2\té\n".encode("latin-1"))
    with pytest.raises(UnicodeDecodeError) as caught:
        path.read_text(encoding="utf-8")
    assert ", line 2: not UTF-8 (" in result(path, caught.value)


def test_damage_of_compressed_data_says_more_than_the_line_it_spoils(tmp_path):
    path = tmp_path / "docs.tsv.gz"
    text = "".join(f"{n}\tdoc {n * n}\n" for n in range(5000)) + "5000 no tab\n"
    path.write_bytes(gzip.compress(text.encode())[:-4])
    message = result(path, RuntimeError("expected 2 fields, got 1"))
    assert message.startswith(", line 5001: the compressed data is cut short or damaged")
    path.write_bytes(gzip.compress(text.encode())[:8000])
    assert "the compressed data is cut short or damaged" in result(path, OSError("anything"))


def test_a_plain_file_names_the_archives_that_it_may_come_from(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("IR_DATASETS_HOME", str(home))
    path = home / "marco" / "train" / "queries.tsv"
    path.parent.mkdir(parents=True)
    path.write_text("1 a\n")
    archive = home / "marco" / "queries.tar.gz"
    for name in (archive, home / "marco" / "docs.gz", home / "other.tar.gz", tmp_path / "x.tar.gz"):
        name.write_bytes(b"")
    message = faults.first([path], RuntimeError("expected 2 fields, got 1"))
    assert message.endswith(f" If it was unpacked from an archive, delete that too: {archive}.")


def test_the_file_opened_last_is_looked_at_first_and_a_missing_one_not_at_all(tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths[:2]:
        path.write_text("no tab\n")
    message = faults.first(paths, RuntimeError("expected 2 fields, got 1"))
    assert message.startswith(f"{paths[1]}, line 1: ")
    assert faults.first([], RuntimeError("expected 2 fields, got 1")) is None


def test_many_files_are_named_by_the_first_ones(tmp_path):
    paths = [tmp_path / str(number) for number in range(5)]
    assert faults.listed(paths[:2]) == f"{paths[0]}, {paths[1]}"
    assert faults.listed(paths + paths) == f"{paths[0]}, {paths[1]}, {paths[2]} and 2 others"


def test_files_read_below_the_folder_are_told_in_order(tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home, other):
        folder.mkdir()
        (folder / "a").write_text("a")
    with gzip.open(home / "b.gz", "wb") as handle:
        handle.write(b"b")
    with faults.opened_below(home) as seen:
        Path(home / "a").read_text()
        with gzip.open(home / "b.gz") as handle:
            handle.read()
        (other / "a").read_bytes()
        (home / "written").write_text("new")
        Path(home / "a").read_bytes()
        assert seen == [home / "a", home / "b.gz", home / "a"]
    Path(home / "b.gz").read_bytes()
    assert len(seen) == 3, "nothing is told after the end"


def test_watches_within_each_other_end_on_their_own(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with faults.opened_below(tmp_path) as outer:
        with faults.opened_below(tmp_path) as inner:
            (tmp_path / "a").read_text()
        (tmp_path / "b").read_text()
    assert inner == [tmp_path / "a"]
    assert outer == [tmp_path / "a", tmp_path / "b"]
