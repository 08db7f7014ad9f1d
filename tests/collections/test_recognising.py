"""Recognised folders: each layout gives the records of an entry that is written by hand."""

import gzip
import json

import polars as pl
import pytest

import layouts
from layouts import LAYOUTS
from residuum import data
from residuum.cli.errors import ResiduumError
from residuum.collections.recognising import recognised
from residuum.config.schema.datasets import Dataset


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    return tmp_path


def read(source, splits):
    """Return the docs of a dataset's entry, and the queries and judgements of each split."""
    dataset = Dataset.model_validate({"source": source, "splits": splits})
    docs = [(name, fields["text"]) for name, fields in data.DOCS[source["kind"]](dataset)]
    rows = {split: data.load_split("mine", split, dataset) for split in splits}
    return docs, {split: (row.queries, [*row.qrels]) for split, row in rows.items()}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_as_its_entry_by_hand(home, name):
    source, split = LAYOUTS[name](home)
    made = recognised(home / "mine", "mine")
    assert [*made.splits] == ["test"] and not made.unread
    assert read(made.source, made.splits) == read(source, {"test": split})


def test_packed_files_are_recognised(home):
    source, split = layouts.beir(home, packed=True)
    made = recognised(home / "mine", "mine")
    assert (made.source, made.splits) == (source, {"test": split})


def write(folder, **texts):
    for name, lines in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))


def lay(folder, *names):
    """Write files of a collection of two docs by their names; return the folder."""
    texts = {"docs": ["d1\tone", "d2\ttwo"], "queries": ["q1\tone", "q2\ttwo"]}
    texts["qrels"] = ["q1 0 d1 1", "q2 0 d2 1"]
    for name in names:
        use = next(use for use in ("qrels", "queries", "docs") if use in name)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in texts[use]))
    return folder


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["queries.tsv", "qrels.txt"], {"test": ("queries.tsv", "qrels.txt")}),
        (["queries.dev.tsv", "qrels.dev.txt"], {"dev": ("queries.dev.tsv", "qrels.dev.txt")}),
        (["queries-2019.tsv", "2019qrels/qrels.txt"], None),
        (["cacm.queries", "cacm.qrels"], {"test": ("cacm.queries", "cacm.qrels")}),
        (
            ["train/queries.tsv", "train/qrels.tsv", "test/queries.tsv", "test/qrels.tsv"],
            {
                "test": ("test/queries.tsv", "test/qrels.tsv"),
                "train": ("train/queries.tsv", "train/qrels.tsv"),
            },
        ),
    ],
)
def test_names_say_which_queries_are_judged(home, names, expected):
    lay(home / "mine", "docs.tsv", *names)
    expected = expected or {"test": tuple(names)}
    made = recognised(home / "mine", "mine")
    files = {split: (f"mine/{queries}", f"mine/{qrels}")
             for split, (queries, qrels) in expected.items()}  # fmt: skip
    assert {s: (e["queries"], e["qrels"]) for s, e in made.splits.items()} == files
    docs, rows = read(made.source, made.splits)
    assert docs == [("d1", "one"), ("d2", "two")] and len(rows[next(iter(expected))][0]) == 2


def test_queries_that_splits_share_are_those_that_each_judges(home):
    lay(home / "mine", "docs.tsv", "queries.tsv")
    write(home / "mine", **{"qrels.dev.txt": ["q1 0 d1 1"], "qrels.test.txt": ["q2 0 d2 1"]})
    made = recognised(home / "mine", "mine")
    _, rows = read(made.source, made.splits)
    assert rows["dev"][0] == [("q1", "one")] and rows["test"][0] == [("q2", "two")]


def test_docs_of_four_columns_are_ms_marcos_documents(home):
    write(
        home / "mine",
        **{
            "collection.tsv": ["D1\thttp://a\tTitle\tbody"],
            "queries.dev.small.tsv": ["1\tbody"],
            "qrels.dev.small.tsv": ["1 0 D1 1"],
        },
    )
    made = recognised(home / "mine", "mine")
    docs, rows = read(made.source, made.splits)
    assert docs == [("D1", "http://a Title body")] and [*rows] == ["dev-small"]


def test_older_sgml_is_latin_1(home):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    doc = "<DOC>\n<DOCNO>d1</DOCNO>\n<TEXT>caf\xe9</TEXT>\n</DOC>\n"
    (folder / "disk").mkdir()
    (folder / "disk" / "one").write_bytes(doc.encode("latin-1"))
    (folder / "disk" / "two.gz").write_bytes(gzip.compress(doc.replace("d1", "d2").encode("l1")))
    made = recognised(folder, "mine")
    assert made.source == {"kind": "trec", "docs": "mine/disk", "encoding": "latin-1"}
    assert [text.strip() for _, text in read(made.source, made.splits)[0]] == ["café", "café"]


def test_other_names_of_columns_are_known(home):
    folder = lay(home / "mine", "qrels.txt")
    (folder / "docs.jsonl").write_text(json.dumps({"pid": "d1", "contents": "one"}) + "\n")
    queries = pl.DataFrame({"qid": ["q1", "q2"], "question": ["one", "two"]})
    queries.write_parquet(folder / "questions.parquet")
    (folder / "README.md").write_text("what it is")
    (folder / "theirs.run").write_text("q1 Q0 d1 1 2.5 theirs\n")
    made = recognised(folder, "mine")
    assert made.unread == ["README.md", "theirs.run"]
    docs, rows = read(made.source, made.splits)
    assert docs == [("d1", "one")] and rows["test"][0] == [("q1", "one"), ("q2", "two")]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["docs.tsv", "queries.tsv"], "no qrels in it (found docs.tsv, queries.tsv)"),
        (["queries.tsv", "qrels.txt"], "no docs in it (found qrels.txt, queries.tsv)"),
        (["a.docs.tsv", "b.docs.tsv", "queries.tsv", "qrels.txt"],
         "2 files may hold docs: a.docs.tsv, b.docs.tsv. Put docs alone into a folder"),
        (["docs.tsv", "queries.a.tsv", "queries.b.tsv", "qrels.txt"],
         "whose queries it judges is not told; there are queries.a.tsv, queries.b.tsv"),
    ],
)  # fmt: skip
def test_a_folder_that_tells_too_little_is_refused(home, names, message):
    with pytest.raises(ResiduumError) as caught:
        recognised(lay(home / "mine", *names), "mine")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"doc_id": "d1", "words": "one"}, "none of its fields is known as the text: doc_id, wor"),
        ({"nr": "d1", "text": "one"}, "none of its columns is known as the doc_id: nr, text"),
    ],
)
def test_unknown_columns_are_named(home, record, message):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    (folder / "docs.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(ResiduumError) as caught:
        recognised(folder, "mine")
    assert message in str(caught.value) and "docs.jsonl, line 1" in str(caught.value)


def test_a_tsv_without_tabs_is_refused(home):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    (folder / "docs.tsv").write_text("no tab\n")
    with pytest.raises(ResiduumError, match="a line without a tab"):
        recognised(folder, "mine")


def test_a_header_is_no_record(home):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    (folder / "docs.tsv").write_text("doc_id\ttitle\ttext\nd1\tOne\tone\n")
    made = recognised(folder, "mine")
    with pytest.raises(ResiduumError, match="line 1: a header"):
        read(made.source, made.splits)


def test_fields_that_the_first_doc_lacks_count(home):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    docs = [{"doc_id": "d1", "text": "one"}, {"doc_id": "d2", "title": "Two", "text": "two"}]
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    assert recognised(folder, "mine").source["text_fields"] == ["title", "text"]


def test_readme_files_among_docs_of_sgml_are_not_read(home):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    doc = "<DOC>\n<DOCNO>d1</DOCNO>\n<TEXT>one</TEXT>\n</DOC>\n"
    (folder / "docs").mkdir()
    (folder / "docs" / "one.sgml").write_text(doc)
    (folder / "docs" / "two.sgml").write_text(doc.replace("d1", "d2"))
    (folder / "docs" / "readme.txt").write_text("what it is")
    made = recognised(folder, "mine")
    assert made.source["below"] == "**/*.sgml" and made.unread == ["docs/readme.txt"]
    assert [name for name, _ in read(made.source, made.splits)[0]] == ["d1", "d2"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("docs.json", "files of this form are not read. Mend it: if it has one object a line"),
        ("docs.zip", "files of this form are not read. Mend it: unpack it"),
        ("docs/one.txt", "a folder of docs, whose files end in .txt; known are .jsonl"),
    ],
)
def test_a_form_that_nothing_reads_is_named(home, name, message):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    for path in {folder / name, folder / name.replace("one", "two")}:
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    with pytest.raises(ResiduumError) as caught:
        recognised(folder, "mine")
    assert message in str(caught.value)


def test_other_files_of_known_layouts_are_named(home):
    layouts.beir(home)
    (home / "mine" / "theirs.run").write_text("")
    assert recognised(home / "mine", "mine").unread == ["theirs.run"]


@pytest.mark.parametrize(("name", "other"), [("Test A", "test-a"), ("dev.small", "dev-small")])
def test_a_name_that_is_no_split_is_refused(home, name, other):
    layouts.beir(home)
    (home / "mine" / "qrels" / f"{name}.tsv").write_text("")
    with pytest.raises(ResiduumError, match=rf"rename it, as {other}\.tsv"):
        recognised(home / "mine", "mine")


def test_damaged_data_is_named_by_its_reader(home):
    folder = lay(home / "mine", "queries.tsv", "qrels.txt")
    (folder / "docs.tsv.gz").write_bytes(gzip.compress(b"d1\tone\n" * 999, mtime=0)[:20])
    with pytest.raises(ResiduumError, match=r"docs\.tsv\.gz: .*cut short"):
        recognised(folder, "mine")
