"""Folders of others in BEIR's, TREC's and tables' forms, damaged: one error that says where."""

import gzip
import json

import polars as pl
import pytest

import layouts
from residuum import data
from residuum.cli.errors import ResiduumError
from residuum.collections import bioasq, files, sgml, splits
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json


def deep(levels):
    return "[" * levels + "0" + "]" * levels


LONG = '{"_id": "7", "title": "t", "text": "' + "x" * 500 + '"}\n'


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Lay out a collection, replace one file of it, and return what reads corpus and split."""
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))

    def laid(layout, name, content, **more):
        source, split = layouts.LAYOUTS[layout](tmp_path)
        path = tmp_path / "mine" / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        entry = {"source": {**source, **more}, "splits": {"test": split}}
        dataset = Dataset.model_validate(entry)

        def go():
            docs = list(files.docs(dataset))
            return docs, splits.load("mine", dataset, "test")

        return go

    return laid


@pytest.mark.parametrize(
    ("layout", "name", "content", "message"),
    [
        ("beir", "corpus.jsonl", '{"_id": "1", "text": "on', r"corpus\.jsonl, line 1: not JSON "),
        ("beir", "corpus.jsonl", '{"_id": 7, "text": "a"}', r"line 1: doc_id must be text, .*foun"),
        ("beir", "corpus.jsonl", '{"_id": "a b", "text": "a"}', r"line 1: the id 'a b' is emp"),
        ("csv", "qrels.csv", "query_id,docno,label\n01,,1\n", r"csv, line 2: the id '' is emp"),
        ("beir", "corpus.jsonl", '{"text": "a"}', r"line 1: no field doc_id; the record has title"),
        ("beir", "corpus.jsonl", '{"_id": "1"}', r"line 1: no field text; the doc has title, _id"),
        ("beir", "corpus.jsonl", b'{"_id": "\xff"}', r"corpus\.jsonl, line 1: not UTF-8"),
        ("beir", "queries.jsonl", '{"_id": "1", "query": "a"}', r"line 1: no text in a field text"),
        ("beir", "queries.jsonl", '{"_id": "01", "text": "a"}', "judge 1 queries that the .*: nul"),
        ("beir", "qrels/test.tsv", "01\t007\t1\n", r"line 1: expected the header query-id TAB cor"),
        ("beir", "qrels/test.tsv", "query-id\tcorpus-id\tscore\n01\t007\n", r"line 2: expected qu"),
        ("beir", "qrels/test.tsv", "query-id\tcorpus-id\tscore\n01\td\t0.5\n", r"line 2: relevanc"),
        ("beir", "qrels/test.tsv", "", r"test\.tsv: the file is empty"),
        ("msmarco", "collection.tsv", "1 one two\n", r"line 1: expected doc_id TAB title TAB text"),
        ("csv", "docs.csv", 'docno,title,text\n"1,a', r"docs\.csv, line 2: not CSV .*Double a"),
        ("csv", "docs.csv", "docno,text\n1,a,b,c\n", r"docs\.csv, line 2: 4 columns, where the"),
        ("csv", "docs.csv", "docno,title,text\n\n1,a\n", r"line 3: 2 columns, where the head"),
        ("csv", "docs.csv", "docno,text,docno\n1,a,2\n", r"line 1: the header has 'docno' twice"),
        ("csv", "docs.csv", "docno,text\r1,a\r2,b\r", r"docs\.csv, line 1: not CSV .*CR alone"),
        ("csv", "docs.csv", "", r"docs\.csv: not CSV with a header: the file is empty"),
        ("csv", "docs.csv", b"docno,title,text\n1,a,\xff\n", r"docs\.csv, line 2: not UTF-8 \("),
        ("csv", "qrels.csv", "query_id,docno,label\n01,d,1_0\n", r"2: relevance must be a whole n"),
        ("csv", "qrels.csv", "query_id,docno,label\n01,d,\u0661\n", r"2: relevance must be a"),
        ("beir", "qrels/test.tsv", "query-id\tcorpus-id\tscore\n01\td\t1_0\n", r"2: relevance mu"),
        ("beir", "qrels/test.tsv", "score\tcorpus-id\tscore\n1\td\t1\n", r"1: the header has 'sco"),
        ("beir", "corpus.jsonl", '{"_id": "1", "text": NaN}', r"line 1: a field must hold text, f"),
        ("beir", "corpus.jsonl", '{"_id": "1"}\r{"_id": "2"}\r', r"line 1: not JSON .*CR alone"),
        ("beir", "corpus.jsonl", f'{{"_id": "1", "text": {deep(900)}}}', r"line 1: nested too dee"),
        ("beir", "corpus.jsonl", f'{{"_id": {deep(900)}}}', r"line 1: nested too deep"),
        ("beir", "queries.jsonl", f'{{"_id": "1", "text": {deep(60)}}}', r"line 1: nested too dee"),
        ("jsonl", "queries.tsv", "01\tone\rnull\ttwo\r", r"line 1: expected query_id TAB t"),
        ("csv", "qrels.csv", "query_id,docno,label\n01,d,x\n", r"qrels\.csv, line 2: relevance "),
        ("csv", "qrels.csv", "query_id,docno,label\n01,d,10001\n", r"2: relevance must lie betwee"),
        ("beir", "qrels/test.tsv", "query-id\tcorpus-id\tscore\n01\td\t-1e9\n", r"2: relevance mu"),
        ("beir", "corpus.jsonl", '{"_id": "1", "text": ' + "[" * 99_999, r"line 1: nested too dee"),
        ("parquet", "queries.parquet", b"PAR1 no such", r"queries\.parquet: cannot be read as Par"),
        ("trec", "docs/two", "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>", r"two, line 1: <DOC> without </DO"),
        ("trec", "docs/two", "<DOC>\n<TEXT>a</TEXT>\n</DOC>\n", r"two, line 1: a doc without <DOC"),
        ("trec", "docs/two", "x\n<DOC>\n<DOC>\n</DOC>\n", r"two, line 3: <DOC> within the doc of "),
        ("trec", "docs/two", "a\n</DOC>\n", r"two, line 2: </DOC> closes no doc"),
        ("trec", "docs/two", "plain text", r"two: no <DOC> in it"),
        ("trec", "docs/two", b"<DOC>\n\xe9", r"two, line 2: not UTF-8 .*say `encoding: latin-1`"),
        ("trec", "docs/two.Z", b"\x1f\x9d", r"two\.Z: the compressed data is cut short or damaged"),
        ("trec", "topics.txt", "<top>\n<num> 1\n<title> a\n", r"topics\.txt, line 1: <top> withou"),
        ("trec", "topics.txt", "<top>\n<num> 1\n<top>\n", r"topics\.txt, line 1: <top> without </"),
        ("trec", "topics.txt", "<top>\n<num> 1\n<desc> a\n</top>\n", r"line 1: a topic without ti"),
        ("trec", "topics.txt", "<top>\n<title> a\n</top>\n", r"a topic without query_id <num>; it"),
        ("trec", "topics.txt", "one two\n", r"topics\.txt, line 1: expected query_id TAB text"),
        ("trec", "topics.txt", "1\tone\n", "qrels judge 2 queries that the queries file lacks"),
        ("beir", "queries.jsonl", '{"_id": "1", "text": "a\\ud83d"}', r"1: query '1' has half a"),
        ("beir", "queries.jsonl", '{"_id": "a b", "text": "a"}', r"jsonl, line 1: the id 'a b' is"),
        ("beir", "queries.jsonl", '{"_id": "1", "text": "a"}\n' * 2, r"2: duplicate query_id 1"),
        ("trec", "qrels.txt", "01 007 1\n", r"qrels\.txt, line 1: expected 4 columns"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_named(read, layout, name, content, message):
    with pytest.raises(ResiduumError, match=message) as error:
        read(layout, name, content)()
    assert len(str(error.value)) < 700


DOC = "<DOC>\n<DOCNO>1</DOCNO>\n{}</DOC>\n"
TOPICS = {
    "tags": ("<top>\n<num> 1\n<title> a\n<title> b\n</top>\n", r"line 4: a second <title> in one"),
    "numbers": ("<top>\n<num> 1\n<num> 2\n<title> a\n</top>\n", r"line 3: a second <num> in one"),
    "XML": (
        "<topics><topic number='1'><title>a</title><title>b</title></topic></topics>",
        r"topic 1: a second <title> in one",
    ),
    "an encoding": ("<?xml version='1.0' encoding='odd'?><t/>", r"line 1: its XML declares an enc"),
    "another encoding": ("<?xml version='1.0' encoding='utf-16'?><t/>", r"line 1: (the|its) XML "),
}


@pytest.mark.parametrize("what", TOPICS)
def test_topics_that_can_be_read_in_two_ways_are_named(read, what):
    content, message = TOPICS[what]
    with pytest.raises(ResiduumError, match=message):
        read("trec", "topics.txt", content)()


def test_a_doc_with_two_ids_is_named(read):
    with pytest.raises(ResiduumError, match=r"two, line 1: a doc with a second <DOCNO>, where"):
        read("trec", "docs/two", DOC.format("<DOCNO>2</DOCNO>\n"))()


def of_files(corpus, **split):
    entry = {"source": {"kind": "files", "corpus": corpus}, "splits": {"t": split}}
    return Dataset.model_validate(entry)


def test_a_tsv_with_ends_of_cr_alone_is_not_one_doc(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    entry = of_files("docs.tsv", queries="q", unjudged=True)
    (tmp_path / "docs.tsv").write_bytes(b"1\ta\ttab, and\ra break\n")
    assert [*files.docs(entry)] == [("1", {"text": "a\ttab, and\ra break"})]
    (tmp_path / "docs.tsv").write_bytes(b"1\tone two\r2\tthree\r3\tfour\r")
    with pytest.raises(ResiduumError, match=r"docs\.tsv, line 1: several docs in one line\. .*CR"):
        [*files.docs(entry)]


def of_parquet(tmp_path, column, values):
    frame = pl.DataFrame({"_id": ["1", "2"], "title": ["", ""], "text": ["a", "b"]})
    frame = frame.with_columns(pl.Series(column, values))
    frame.write_parquet(tmp_path / "docs.parquet")
    return [*files.docs(of_files("docs.parquet", queries="q", unjudged=True))]


@pytest.mark.parametrize(
    ("column", "values", "made"),
    [
        ("text", ["h\xe9llo".encode(), b"two"], [("1", "h\xe9llo"), ("2", "two")]),
        ("text", [[b"one", b"and"], [b"two"]], [("1", "one and"), ("2", "two")]),
        ("text", [None, "b"], [("1", ""), ("2", "b")]),
        ("text", [[None, "a"], []], [("1", "a"), ("2", "")]),
        ("text", [7, 8], [("1", "7"), ("2", "8")]),
        ("_id", [b"007", b"8"], [("007", "a"), ("8", "b")]),
    ],
)
def test_what_is_text_in_parquet(tmp_path, monkeypatch, column, values, made):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    docs = of_parquet(tmp_path, column, values)
    assert [(doc_id, doc["text"]) for doc_id, doc in docs] == made


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "text",
            [b"one", b"caf\xe9"],
            "row 2: bytes that are not UTF-8 .*Write the column as text",
        ),
        ("text", [1.5, float("nan")], "row 2: a field must hold text, found nan"),
        ("text", [float("-inf"), 1.0], "row 1: a field must hold text, found -inf"),
        ("text", [True, False], "row 1: a field must hold text, found True"),
        ("_id", [None, "2"], "row 1: doc_id must be text, .* found null"),
        ("_id", [1.0, 2.0], "row 1: doc_id must be text, .* found 1.0"),
    ],
)
def test_what_is_no_text_in_parquet_is_named(tmp_path, monkeypatch, column, values, message):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    with pytest.raises(ResiduumError, match=rf"docs\.parquet, {message}"):
        of_parquet(tmp_path, column, values)


def test_bytes_of_arrow_are_text(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    pl.DataFrame({"id": [b"1"], "text": [b"one"]}).write_ipc(tmp_path / "docs.arrow")
    entry = of_files("docs.arrow", queries="q", unjudged=True)
    assert [*files.docs(entry)] == [("1", {"text": "one"})]


def test_csv_as_people_write_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    text = '\ufeffid,text,\r\n1,"a ""b"",\r\nc",\r\n\r\n2,\u2028x \'y,z\r\n3,,' + "w" * 200_000
    (tmp_path / "docs.csv").write_bytes(text.encode())
    entry = of_files("docs.csv", queries="q", unjudged=True)
    made = {doc_id: doc["text"] for doc_id, doc in files.docs(entry)}
    assert made == {"1": 'a "b",\r\nc', "2": "\u2028x 'y", "3": ""}


@pytest.mark.parametrize("answers", ["[b'x']", "[None]", "['a', 1.5]", "'abc'", "{'a': 1}", "[]"])
def test_answers_that_are_no_texts_are_named(tmp_path, monkeypatch, answers):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    (tmp_path / "q.tsv").write_text(f"who?\t{answers}\n")
    entry = of_files("docs.csv", questions="q.tsv", relevant_by="answers")
    with pytest.raises(ResiduumError, match=r"q\.tsv, line 1: expected question TAB \['answer'"):
        files.questions(entry, "t")


def test_a_truncated_gzip_is_named(read, tmp_path):
    whole = gzip.compress((LONG * 200).encode())
    go = read("beir", "corpus.jsonl.gz", whole[:-20])
    (tmp_path / "mine" / "corpus.jsonl").unlink()
    with pytest.raises(ResiduumError, match=r"corpus\.jsonl\.gz: the compressed data is cut short"):
        go()


def spec(source):
    entry = Dataset.model_validate({"source": source, "splits": {"test": {}}})
    return canonical_json(entry.for_corpus())


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_corpus_is_refused_though_nothing_is_pinned(tmp_path, monkeypatch, content):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    source, _ = layouts.beir(tmp_path)
    (tmp_path / "mine" / "corpus.jsonl").write_text(content)
    with pytest.raises(ResiduumError, match=r"mine: the corpus has no docs\. Are its files empty"):
        data.corpus("mine", spec(source), tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_an_id_given_twice_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    source, _ = layouts.beir(tmp_path)
    with open(tmp_path / "mine" / "corpus.jsonl", "a") as handle:
        handle.write('{"_id": "007", "text": "again"}\n')
    with pytest.raises(ResiduumError, match=r"duplicate doc_id 007 .*\(docs number 1 and 4\)"):
        data.corpus("mine", spec(source), tmp_path / "made")


def test_qrels_of_another_corpus_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    source, split = layouts.trec(tmp_path)
    (tmp_path / "mine" / "qrels.txt").write_text("01 0 other 1\n")
    entry = Dataset.model_validate({"source": source, "splits": {"test": split}})
    with pytest.raises(ResiduumError, match=r"none of the 1 judged docs, such as other, is in"):
        data.load_split("mine", "test", entry)


def test_queries_none_of_which_is_judged_are_named(read):
    with pytest.raises(ResiduumError, match="2 queries that the queries file lacks: 01, null"):
        read("beir", "queries.jsonl", '{"_id": "9", "text": "of another split"}\n')()


def test_a_split_without_queries_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    (tmp_path / "queries.csv").write_text("query_id,text\n")
    split = {"queries": "queries.csv", "unjudged": True}
    entry = {"source": {"kind": "files", "corpus": "c.csv"}, "splits": {"test": split}}
    with pytest.raises(ResiduumError, match="mine/test: the split has no queries"):
        splits.load("mine", Dataset.model_validate(entry), "test")


def test_ids_with_spaces_are_refused(read):
    header = "query-id\tcorpus-id\tscore\n"
    with pytest.raises(ResiduumError, match="the id 'a doc' is empty or holds white space"):
        read("beir", "qrels/test.tsv", f"{header}01\ta doc\t1\n")()


def test_a_query_that_is_given_twice_is_refused(read):
    twice = '{"_id": "01", "text": "a"}\n' * 2 + '{"_id": "null", "text": "b"}\n'
    with pytest.raises(ResiduumError, match="duplicate query_id 01"):
        read("beir", "queries.jsonl", twice)()


def test_marks_and_line_ends_of_others_are_no_part_of_a_text(read):
    lines = '\ufeff{"_id": "1", "title": "A", "text": "b"}\r\n\r\n{"_id": "2", "text": "c"}\r\n'
    docs, _ = read("beir", "corpus.jsonl", lines)()
    assert [(i, doc["text"]) for i, doc in docs] == [("1", "A b"), ("2", "c")]


def test_marks_and_line_ends_of_others_in_tsv(read):
    docs, _ = read("msmarco", "collection.tsv", "\ufeff1\tA\tb\r\n2\tC\td\r\n")()
    assert [(i, doc["text"]) for i, doc in docs] == [("1", "A b"), ("2", "C d")]


def test_latin_1_is_read_where_the_source_says_so(read):
    doc = "<DOC>\r\n<DOCNO>1</DOCNO>\r\n<TEXT>\r\ncaf\xe9\r\n</TEXT>\r\n</DOC>\r\n".encode(
        "latin-1"
    )
    docs, _ = read("trec", "docs/a/one", doc, encoding="latin-1")()
    assert ("1", "caf\xe9") in [(i, doc["text"]) for i, doc in docs]


def test_an_encoding_that_does_not_exist_is_named(read):
    with pytest.raises(ResiduumError, match=r"source\.encoding: klingon: Python has no such"):
        read("trec", "docs/two", "", encoding="klingon")()


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_columns_of_what_has_names_are_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    (tmp_path / f"docs.{ending}").write_text("")
    source = {"kind": "files", "corpus": f"docs.{ending}", "columns": ["doc_id", "text"]}
    entry = {"source": source, "splits": {"t": {"unjudged": True, "queries": "q"}}}
    with pytest.raises(ResiduumError, match="its columns have names; `columns` in the source"):
        list(files.docs(Dataset.model_validate(entry)))


@pytest.mark.parametrize("source", [{"kind": "beir", "folder": "m"}, {"kind": "trec", "docs": "d"}])
def test_columns_of_layouts_without_tsv_are_a_fault(source):
    split = {"queries": "q", "qrels": "r"}
    with pytest.raises(
        ValueError, match=f"columns: only TSV needs it; docs of kind {source['kind']} name"
    ):
        Dataset.model_validate(
            {"source": {**source, "columns": ["doc_id", "text"]}, "splits": {"test": split}}
        )


def test_an_empty_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    (tmp_path / "docs").mkdir()
    entry = {
        "source": {"kind": "trec", "docs": "docs"},
        "splits": {"t": {"unjudged": True, "queries": "q"}},
    }
    with pytest.raises(ResiduumError, match=r"docs: no \* in it\. Relative paths start at"):
        list(files.docs(Dataset.model_validate(entry)))


def test_columns_of_which_none_is_the_id_are_a_fault():
    source = {"kind": "files", "corpus": "c.tsv", "columns": ["url", "text"]}
    with pytest.raises(ValueError, match="columns: none of url, text is the doc_id"):
        Dataset.model_validate({"source": source, "splits": {"t": {"queries": "q", "qrels": "r"}}})


def test_columns_of_one_name_are_a_fault():
    source = {"kind": "files", "corpus": "c.tsv", "columns": ["doc_id", "text", "text"]}
    with pytest.raises(ValueError, match="columns: 'text' is given twice; which column is meant"):
        Dataset.model_validate({"source": source, "splits": {"t": {"queries": "q", "qrels": "r"}}})


def test_truncated_sgml_is_named(read):
    with pytest.raises(ResiduumError, match=r"one\.gz: the compressed data is cut short"):
        read("trec", "docs/a/one.gz", gzip.compress(LONG.encode())[:-9])()


def test_truncated_topics_in_xml_are_named(tmp_path):
    """The first line can be read, so that the damage is met by the parser of XML."""
    path = tmp_path / "topics.xml.gz"
    topics = "".join(f"<topic id='{n}'><title>cats {n * n}</title></topic>\n" for n in range(5000))
    path.write_bytes(gzip.compress(f"<topics>\n{topics}</topics>".encode())[:-20])
    with pytest.raises(ResiduumError, match=r"topics\.xml\.gz: the compressed data is cut short"):
        list(sgml.topics(path, "title", "utf-8"))


def test_documents_of_a_bioasq_question_that_are_no_list_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    question = {"id": "1", "body": "why?", "documents": 3}
    (tmp_path / "b.json").write_text(json.dumps({"questions": [question]}))
    source = {"kind": "bioasq", "articles": "a.json"}
    dataset = Dataset.model_validate({"source": source, "splits": {"t": {"bioasq": ["b.json"]}}})
    with pytest.raises(ResiduumError, match=r"b\.json, question 1: documents is no list"):
        bioasq.split(dataset, "t")
