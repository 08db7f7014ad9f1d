"""Pins written into a YAML: the counts of files laid by hand, and nothing else of it changed."""

import textwrap

import pytest
from typer.testing import CliRunner

import layouts
from residuum.__main__ import app
from residuum.cli.errors import ResiduumError
from residuum.config import entries
from residuum.config.schema.datasets import Dataset
from residuum.inspect import datasets, pinning

YAML = """# what it is
source: {kind: beir, folder: mine}   # as it lies
splits:
  test: {}
  # drawn
  tune: {holdout: {of: test, queries: 1, seed: 1}}
"""
# Texts of 32, 9 and 45 bytes: the title, a space and the body, ü of two bytes.
PIN = """editions:
  - name: pinned
    docs: 3
    doc_bytes: 29
    splits:
      test: {queries: 2, qrels: 4, relevance: {0: 1, 1: 2, 2: 1}}
"""
OTHER = """editions:   # of others
    - name: theirs   # by hand
      docs: 9
      splits: {test: {queries: 1, qrels: 1}}

# what follows
disk_gb: 1
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    return layouts.pinned_by_hand(tmp_path, monkeypatch, YAML)


def pin(path, edition="pinned", force=False):
    return pinning.pin(path.parents[1], "mine", edition, force)


def test_counts_are_written_and_all_else_stays(mine):
    assert pin(mine) == f"{mine}: wrote\n{PIN}"
    assert mine.read_text() == YAML + PIN
    checked = [str(finding) for finding in datasets.check(mine.parents[1], "mine")]
    assert "ok     corpus: 3 docs, as pinned (pinned)" in checked
    assert "pinned already" in pin(mine) and mine.read_text() == YAML + PIN


def test_what_an_old_pin_lacks_is_named(mine):
    pin(mine)
    old = mine.read_text().replace("    doc_bytes: 29\n", "")
    mine.write_text(old)
    assert pin(mine).endswith("add what it lacks by hand: `doc_bytes: 29`")
    assert mine.read_text() == old


def test_half_a_pair_of_utf_16_in_a_text_is_counted(mine):
    corpus = mine.parents[2] / "home" / "mine" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("dogs bark", "dogs \\ud800"))
    assert "doc_bytes" in pin(mine)


def test_a_file_that_ends_within_a_line_gets_its_end(mine):
    mine.write_text(YAML.rstrip("\n"))
    pin(mine)
    assert mine.read_text() == YAML + PIN


def test_pins_stand_before_a_documents_end_or_where_their_key_is(mine):
    mine.write_text(f"---\n{YAML}...\n")
    pin(mine)
    assert mine.read_text() == f"---\n{YAML}{PIN}...\n"
    for bare in ("editions:\n", "editions:   # to come\n", "editions: null\n"):
        mine.write_text(bare + YAML)
        pin(mine)
        assert mine.read_text() == PIN + YAML


def test_the_mark_and_the_line_ends_of_a_file_stay(mine):
    mine.write_bytes(b"\xef\xbb\xbf" + YAML.replace("\n", "\r\n").encode())
    pin(mine)
    made = mine.read_bytes()
    assert made == b"\xef\xbb\xbf" + (YAML + PIN).replace("\n", "\r\n").encode()


def test_another_edition_is_added_below_those_that_are(mine):
    mine.write_text(YAML + OTHER)
    pin(mine)
    added = "".join(f"  {line}\n" for line in PIN.splitlines()[1:])
    assert mine.read_text() == YAML + OTHER.replace("\n\n", f"\n{added}\n", 1)
    assert [e.name for e in entries.parse(mine, Dataset).editions] == ["theirs", "pinned"]


def test_a_pin_of_other_counts_stays_unless_it_is_forced(mine):
    mine.write_text(YAML + OTHER.replace("theirs", "pinned"))
    with pytest.raises(ResiduumError, match="its edition 'pinned' pins other counts") as error:
        pin(mine)
    assert "docs: 3" in str(error.value)
    assert mine.read_text() == YAML + OTHER.replace("theirs", "pinned")
    pin(mine, force=True)
    assert mine.read_text() == YAML + PIN + "\n# what follows\ndisk_gb: 1\n"


def test_what_another_edition_pins_is_not_written_twice(mine):
    text = YAML + PIN.replace("pinned", "theirs").replace(", relevance: {0: 1, 1: 2, 2: 1}", "")
    mine.write_text(text)
    assert "its edition 'theirs' pins these counts already; nothing" in pin(mine)
    assert mine.read_text() == text


def test_editions_in_brackets_are_written_anew(mine):
    mine.write_text("editions: [{name: theirs, docs: 9}]\n" + YAML)
    pin(mine)
    made = entries.parse(mine, Dataset).editions
    assert [(e.name, e.docs) for e in made] == [("theirs", 9), ("pinned", 3)]
    assert mine.read_text().endswith(YAML)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{source: {kind: beir, folder: mine}, splits: {test: {}}}", "one mapping in braces"),
        (
            "source: {kind: beir, folder: absent}\nsplits: {test: {}}",
            r"corpus\.jsonl: no such file",
        ),
        (
            "source: {kind: segments, of: wikipedia-test, tokenizer: bert, length: 9}\n"
            "splits: {test: {questions_of: wikipedia-test}}",
            "a run cuts it from the docs that play wikipedia-test",
        ),
    ],
)
def test_what_cannot_be_pinned_stays_as_it_is(mine, text, message):
    mine.write_text(text)
    with pytest.raises(ResiduumError, match=message):
        pin(mine)
    assert mine.read_text() == text
    assert [path.name for path in mine.parent.iterdir()] == ["mine.yaml"]


SEVERAL = """# two collections
entries:
  first: {base: mine}   # short

  # of mine
  mine:
INSIDE
  # of last
  last:
    base: mine
"""


@pytest.mark.parametrize("name", ["mine.yaml", "some.yaml"])
@pytest.mark.parametrize("other", ["", OTHER])
def test_an_entry_among_several_is_pinned_and_the_others_stay(mine, name, other):
    entry = YAML + other
    path = mine.with_name(name)
    mine.unlink()
    path.write_text(SEVERAL.replace("INSIDE\n", textwrap.indent(entry, "    ")))
    assert pin(path).startswith(f"{path}: wrote\n")
    added = "".join(f"  {line}\n" for line in PIN.splitlines()[1:])
    made = YAML + (OTHER.replace("\n\n", f"\n{added}\n", 1) if other else PIN)
    assert path.read_text() == SEVERAL.replace("INSIDE\n", textwrap.indent(made, "    "))
    assert entries.parse(mine, Dataset).editions[-1].docs == 3
    assert "pinned already" in pin(path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (" {source: {kind: beir, folder: mine}, splits: {test: {}}}", "mine: one mapping in"),
        ("\n    source: {kind: beir, folder: mine}\n  # drawn\n    splits: {test: {}}",
         "mine: a comment stands left of its keys; indent it as they are, then pin"),
    ],
)  # fmt: skip
def test_an_entry_among_several_that_cannot_be_edited_stays(mine, entry, message):
    text = f"entries:\n  mine:{entry}\n"
    mine.write_text(text)
    with pytest.raises(ResiduumError, match=message):
        pin(mine)
    assert mine.read_text() == text


def test_triples_are_counted(mine, tmp_path):
    (tmp_path / "home" / "triples.tsv").write_text("01\t007\tNA\n01\t007\td3\n")
    mine.write_text(YAML.replace("test: {}", "test: {docpairs: triples.tsv}"))
    pin(mine)
    assert entries.parse(mine, Dataset).editions[0].splits["test"].docpairs == 2


def test_the_command(mine):
    command = ["datasets", "pin", "mine", "--config", str(mine.parents[1]), "--name", "of 2026"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert mine.read_text() == YAML + PIN.replace("pinned", "of 2026")


def test_judgements_of_docs_that_the_corpus_lacks_are_counted(mine):
    """One of the four, of one of the two queries, is of a doc that is gone."""
    mine.write_text(YAML.partition("  # drawn")[0])
    [test] = [str(f) for f in datasets.check(mine.parents[1], "mine") if f.what == "split test"]
    assert test.startswith("ok ") and "1 of 4 judgements are of docs that the corpus lacks" in test
    corpus = mine.parents[2] / "home" / "mine" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().rstrip() + '\n{"_id": "gone", "text": "back"}\n')
    [test] = [str(f) for f in datasets.check(mine.parents[1], "mine") if f.what == "split test"]
    assert test.startswith("ok ") and "lacks" not in test


def test_an_id_that_stands_twice_is_seen_before_a_run(mine):
    corpus = mine.parents[2] / "home" / "mine" / "corpus.jsonl"
    first = corpus.read_text().splitlines()[0]
    corpus.write_text(f"{corpus.read_text().rstrip()}\n{first}\n")
    checked = [str(finding) for finding in datasets.check(mine.parents[1], "mine")]
    assert (
        "FAULT  corpus: 4 docs; nothing is pinned; 1 repeat an id, which no run accepts" in checked
    )
    with pytest.raises(ResiduumError, match="1 docs of the corpus repeat an id"):
        pin(mine)
