"""Collections of all three sources: what is exported, what is pinned, what is refused."""

import ast
import gzip
import json
import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT
from contents import contents
from residuum import data
from residuum.artefacts import contracts, docpairs, files, trec
from residuum.cli.errors import NotRun, ResiduumError
from residuum.collections import irds, splits
from residuum.collections.records import Rows
from residuum.config.schema.datasets import Collection
from residuum.config.specs import canonical_json

DOCS = [("d1", "one"), ("007", "tab\tnewline\nemoji 🙂 " + "x" * 100_000), ("NA", "")]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Lay a collection of files into RESIDUUM_DATA and return its spec as a dict."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("RESIDUUM_DATA", str(home))
    lines = [json.dumps({"doc_id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in DOCS]
    (home / "docs.jsonl").write_text("".join(lines), newline="\n")
    (home / "q.tsv").write_text("q1\tfirst query\nq2\tsecond\nq3\tthird\n")
    (home / "qrels").write_text("q1 0 d1 1\nq2 0 007 2\nq3 0 d1 1\nq3 0 NA 0\n")
    return {
        "source": {"kind": "files", "corpus": "docs.jsonl"},
        "splits": {"test": {"queries": "q.tsv", "qrels": "qrels"}},
        "editions": [{"name": "first", "docs": 3}],
    }


def export(spec, output):
    data.corpus("mine", canonical_json(spec), output, page(output))
    return output


def page(output):
    """Write the dataset's YAML, whose access note belongs into messages."""
    path = output.parent / "mine.yaml"
    path.write_text("access: ask the librarian\n")
    return path


def export_split(spec, folder, name="test"):
    paths = (folder / name / "queries.tsv", folder / name / "qrels.trec")
    data.split("mine", name, canonical_json(spec), *paths)
    return trec.read_queries(paths[0]), trec.read_qrels(paths[1])


def test_hard_texts_survive_the_export(mine, tmp_path):
    corpus = export(mine, tmp_path / "corpus")
    assert list(contracts.read_corpus(corpus)) == DOCS
    assert contracts.corpus_manifest(corpus)["edition"] == "first"


def test_the_same_export_gives_the_same_bytes(mine, tmp_path):
    one, two = export(mine, tmp_path / "a"), export(mine, tmp_path / "b")
    names = sorted(p.name for p in one.iterdir())
    assert names == ["manifest.json", "part-00000.jsonl.gz"]
    assert contents(one) == contents(two)


def test_a_wrong_count_names_the_pin_and_leaves_nothing(mine, tmp_path):
    mine["editions"][0]["docs"] = 4
    with pytest.raises(ResiduumError, match=r"has 3 docs, but config/datasets/mine\.yaml"):
        export(mine, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_a_failed_export_keeps_the_one_before(mine, tmp_path):
    corpus = export(mine, tmp_path / "corpus")
    before = (corpus / "manifest.json").read_bytes()
    mine["editions"][0]["docs"] = 4
    with pytest.raises(ResiduumError):
        export(mine, corpus)
    assert (corpus / "manifest.json").read_bytes() == before


def test_duplicate_doc_id_is_refused(mine, tmp_path):
    path = tmp_path / "home" / "docs.jsonl"
    path.write_text(path.read_text() + '{"doc_id": "d1", "text": "again"}\n')
    with pytest.raises(ResiduumError, match="duplicate doc_id d1 in the corpus"):
        export(mine, tmp_path / "corpus")


def test_bad_lines_are_named(mine, tmp_path):
    path = tmp_path / "home" / "docs.jsonl"
    path.write_text('{"doc_id": "d1", "text": "fine"}\n{"doc_id": "d2", "body": "x"}\n')
    with pytest.raises(ResiduumError, match=r"docs\.jsonl, line 2: no field text; the doc has"):
        export(mine, tmp_path / "corpus")
    path.write_text('{"doc_id": "d1", "text": "fine"}\n{"doc_id": \n')
    with pytest.raises(ResiduumError, match=r"docs\.jsonl, line 2"):
        export(mine, tmp_path / "corpus")


def test_an_absent_file_says_where_it_was_looked_for_and_how_to_get_it(mine, tmp_path):
    mine["source"]["corpus"] = "absent.jsonl"
    with pytest.raises(ResiduumError, match=r"(?s)home/absent\.jsonl: no such.*ask the librarian"):
        export(mine, tmp_path / "corpus")


def test_tsv_corpus_and_named_fields(mine, tmp_path):
    (tmp_path / "home" / "docs.tsv").write_text("d1\tone\td\nd2\t\nd3\tthree\n")
    mine["source"]["corpus"] = "docs.tsv"
    corpus = export(mine, tmp_path / "corpus")
    assert list(contracts.read_corpus(corpus)) == [("d1", "one\td"), ("d2", ""), ("d3", "three")]
    lines = [json.dumps({"doc_id": str(i), "title": "T", "body": b}) for i, b in enumerate("ab")]
    (tmp_path / "home" / "f.jsonl").write_text("\n".join(lines))
    mine["source"] = {"kind": "files", "corpus": "f.jsonl", "text_fields": ["title", "body"]}
    mine["editions"][0]["docs"] = 2
    assert list(contracts.read_corpus(export(mine, tmp_path / "two"))) == [
        ("0", "T a"),
        ("1", "T b"),
    ]


def test_further_fields_are_kept_beside_the_text(mine, tmp_path):
    record = {"doc_id": "1", "title": "T", "abstract": "A", "body": ["first", "second"], "year": 9}
    (tmp_path / "home" / "f.jsonl").write_text(json.dumps(record))
    mine["source"] = {"kind": "files", "corpus": "f.jsonl", "text_fields": ["title", "abstract"]}
    mine["source"]["fields"] = ["body", "title"]
    mine["editions"][0]["docs"] = 1
    corpus = export(mine, tmp_path / "corpus")
    kept = {"title": "T", "abstract": "A", "body": "first second"}
    assert list(contracts.read_docs(corpus)) == [{"doc_id": "1", "text": "T A", **kept}]
    mine["source"] |= {"text_fields": ["title"], "fields": ["title"]}
    assert list(contracts.read_docs(export(mine, tmp_path / "one"))) == [
        {"doc_id": "1", "text": "T", "title": "T"}
    ]


def test_a_further_field_that_is_not_there_is_named(mine, tmp_path):
    mine["source"]["fields"] = ["body"]
    with pytest.raises(
        ResiduumError, match=r"docs\.jsonl, line 1: no field body; the doc has doc_id"
    ):
        export(mine, tmp_path / "corpus")
    (tmp_path / "home" / "docs.tsv").write_text("d1\tone\n")
    mine["source"]["corpus"] = "docs.tsv"
    with pytest.raises(
        ResiduumError, match=r"docs\.tsv, line 1: no field body; the doc has doc_id, text"
    ):
        export(mine, tmp_path / "corpus")
    mine["source"]["fields"] = ["text"]
    with pytest.raises(ResiduumError, match=r"text: every doc has that already"):
        export(mine, tmp_path / "corpus")


def test_generated_articles_have_fields_and_one_split(tmp_path):
    corpus = export(ARTICLES, tmp_path / "corpus")
    docs = list(contracts.read_docs(corpus))
    assert {tuple(doc) for doc in docs} == {("doc_id", "text", "title", "abstract", "body")}
    assert all(doc["text"] == f"{doc['title']} {doc['abstract']}" for doc in docs)
    queries, qrels = export_split(ARTICLES, tmp_path, "judged")
    assert len(queries) == 14
    assert {query_id for query_id, _, _ in qrels.rows()} == set(queries)
    with pytest.raises(ResiduumError, match="a generated-articles collection has judged"):
        export(ARTICLES | {"splits": {"train": {}}}, tmp_path / "other")


def test_a_round_that_a_recipe_does_not_have_is_named(tmp_path):
    both = ARTICLES | {"splits": {"judged": {}, "earlier": {}}}
    with pytest.raises(ResiduumError, match="this recipe makes no split earlier, but judged"):
        export_split(both, tmp_path, "earlier")


def test_split_and_its_pins(mine, tmp_path):
    queries, qrels = export_split(mine, tmp_path)
    assert queries == {"q1": "first query", "q2": "second", "q3": "third"}
    assert qrels.rows()[1] == ("q2", "007", 2)
    mine["editions"][0]["splits"] = {"test": {"queries": 3, "qrels": 5}}
    message = r"3 queries, 4 qrels \(0: 1, 1: 2, 2: 1\), but .* pins first: 3 queries, 5 qrels\. A"
    with pytest.raises(ResiduumError, match=message):
        export_split(mine, tmp_path)
    levels = {0: 1, 1: 2, 2: 1}
    mine["editions"][0]["splits"]["test"] = {"queries": 3, "qrels": 4, "relevance": levels}
    assert export_split(mine, tmp_path)[1].height == 4
    mine["editions"][0]["splits"]["test"]["relevance"] = {0: 1, 1: 3}
    with pytest.raises(ResiduumError, match=r"pins first: 3 queries, 4 qrels \(0: 1, 1: 3\)"):
        export_split(mine, tmp_path)


def test_pins_are_of_the_source_before_a_holdout_is_drawn(mine, tmp_path):
    mine["splits"]["tune"] = {"holdout": {"of": "test", "queries": 1, "seed": 1}}
    mine["editions"][0]["splits"] = {"test": {"queries": 3, "qrels": 4}}
    assert len(export_split(mine, tmp_path)[0]) == 2
    assert len(export_split(mine, tmp_path, "tune")[0]) == 1
    mine["editions"][0]["splits"] = {"test": {"queries": 2, "qrels": 3}}
    for name in ("test", "tune"):
        with pytest.raises(ResiduumError, match=r"mine/test: 3 queries, 4 qrels"):
            export_split(mine, tmp_path, name)
    mine["editions"][0]["splits"] = {"tune": {"queries": 2, "qrels": 2}}
    with pytest.raises(ResiduumError, match=r"mine/tune: 1 queries"):
        export_split(mine, tmp_path, "tune")


def test_a_holdout_takes_its_answers_with_it(monkeypatch):
    queries = [(f"q{n}", f"question {n}") for n in range(10)]
    qrels = [(query_id, "d", 1) for query_id, _ in queries]
    answers = {query_id: [f"a {query_id}"] for query_id, _ in queries}
    monkeypatch.setattr(irds, "split", lambda *_: Rows(queries, qrels, answers))
    collection = Collection.model_validate({
        "source": {"kind": "irds", "docs": "x", "text_fields": ["text"]},
        "splits": {"train": {"irds": "x", "answers_field": "answers"},
                   "tune": {"holdout": {"of": "train", "queries": 3, "seed": 1}}},
        "editions": [{"name": "any", "docs": 1}],
    })  # fmt: skip
    drawn = {query_id for query_id, _ in splits.load("x", collection, "tune").queries}
    train, tune = (splits.load("x", collection, name).answers for name in ("train", "tune"))
    assert (len(train), len(tune)) == (7, 3) and not set(train) & set(tune)
    assert set(tune) == drawn and all(tune[q] == [f"a {q}"] for q in tune)


def test_answers_are_all_and_hold_any_character(mine, tmp_path):
    rows = [f"question {n}\t['a{n}']\n" for n in range(10)]
    (tmp_path / "home" / "nq.csv").write_text("".join(rows))
    mine["splits"] = {"test": {"questions": "nq.csv"}}
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    data.answers("mine", "test", canonical_json(mine), whole)
    assert len(contracts.read_answers(whole)) == 10
    contracts.write_answers(part, {"q": ["one\u2028line", "two\x85lines"]})
    assert contracts.read_answers(part) == {"q": ["one\u2028line", "two\x85lines"]}


QUESTIONS = "who first?\t['Anne', \"O'Neill\"]\nhow many\t['3', 'three']\n"


def test_questions_in_dprs_form_bring_answers_and_no_judgements(mine, tmp_path):
    home = tmp_path / "home"
    (home / "nq.csv").write_text(QUESTIONS)
    mine["splits"]["test"] = {"questions": "nq.csv"}
    mine["editions"][0]["splits"] = {"test": {"queries": 2, "qrels": 0}}
    paths = [tmp_path / name for name in ("queries.tsv", "qrels.trec", "answers.jsonl")]
    data.split("mine", "test", canonical_json(mine), *paths[:2])
    assert trec.read_queries(paths[0]) == {"0": "who first?", "1": "how many"}
    with pytest.raises(NotRun, match="mine/test has no public judgements"):
        trec.read_qrels(paths[1])
    data.answers("mine", "test", canonical_json(mine), paths[2])
    assert contracts.read_answers(paths[2]) == {"0": ["Anne", "O'Neill"], "1": ["3", "three"]}
    (home / "nq.csv").write_text(QUESTIONS + '"a ""b"" c"\t"[""O\'Neill"", \'x\']"\n')
    mine["editions"][0]["splits"]["test"]["queries"] = 3
    data.answers("mine", "test", canonical_json(mine), paths[2])
    assert contracts.read_answers(paths[2])["2"] == ["O'Neill", "x"], (
        "csv quotes a column that has quotes"
    )
    data.split("mine", "test", canonical_json(mine), *paths[:2])
    assert trec.read_queries(paths[0])["2"] == 'a "b" c'
    (home / "nq.csv").write_text(QUESTIONS + "no tab ['x']\n")
    with pytest.raises(ResiduumError, match=r"nq\.csv, line 3: expected question TAB \['answer'"):
        data.answers("mine", "test", canonical_json(mine), paths[2])


def test_a_split_without_public_judgements_has_queries_only(mine, tmp_path):
    mine["splits"]["test"] = {"queries": "q.tsv", "unjudged": True}
    paths = [tmp_path / name for name in ("queries.tsv", "qrels.trec")]
    data.split("mine", "test", canonical_json(mine), *paths)
    assert len(trec.read_queries(paths[0])) == 3
    with pytest.raises(NotRun, match="no public judgements"):
        trec.read_qrels(paths[1])


def test_a_judged_query_without_a_text_is_refused(mine, tmp_path):
    with open(tmp_path / "home" / "qrels", "a") as handle:
        handle.write("q9 0 d1 1\n")
    with pytest.raises(ResiduumError, match="judge 1 queries that the queries file lacks: q9"):
        export_split(mine, tmp_path)


def test_a_holdout_takes_its_queries_from_the_other_split(mine, tmp_path):
    mine["splits"]["tune"] = {"holdout": {"of": "test", "queries": 2, "seed": 1}}
    tune, tune_qrels = export_split(mine, tmp_path, "tune")
    rest, rest_qrels = export_split(mine, tmp_path, "test")
    assert len(tune) == 2
    assert tune.keys() | rest.keys() == {"q1", "q2", "q3"}
    assert not tune.keys() & rest.keys()
    assert set(tune_qrels["query_id"]) == set(tune)
    assert set(rest_qrels["query_id"]) == set(rest)
    mine["splits"]["tune"]["holdout"]["queries"] = 4
    with pytest.raises(ResiduumError, match="4 queries required, but 'test' has 3"):
        export_split(mine, tmp_path, "tune")


def test_two_holdouts_of_one_split_share_no_rule_and_both_leave_it(mine, tmp_path):
    lines = [f"q{i}\tquery {i}\n" for i in range(40)]
    (tmp_path / "home" / "q.tsv").write_text("".join(lines))
    (tmp_path / "home" / "qrels").write_text("".join(f"q{i} 0 d1 1\n" for i in range(40)))
    for name in ("one", "two"):
        mine["splits"][name] = {"holdout": {"of": "test", "queries": 10, "seed": 1}}
    one, two, rest = (set(export_split(mine, tmp_path, n)[0]) for n in ("one", "two", "test"))
    assert one != two
    assert rest == {f"q{i}" for i in range(40)} - one - two


def test_ids_and_pairs_that_a_trec_file_cannot_hold_are_refused(mine, tmp_path):
    with open(tmp_path / "home" / "q.tsv", "a") as handle:
        handle.write("q 4\twith a space\n")
    with pytest.raises(ResiduumError, match="the id 'q 4' is empty or holds white space"):
        export_split(mine, tmp_path)


def test_half_a_character_names_its_doc(mine, tmp_path):
    (tmp_path / "home" / "docs.jsonl").write_text('{"doc_id": "d1", "text": "cut \\ud83d"}\n')
    with pytest.raises(
        ResiduumError, match=r"doc_id 'd1': its text or id cannot be written .*character 4"
    ):
        export(mine, tmp_path / "corpus")


def test_damaged_source_files_are_to_be_got_again_not_deleted(mine, tmp_path):
    path = tmp_path / "home" / "docs.jsonl.gz"
    files.write_gzip(path, [(tmp_path / "home" / "docs.jsonl").read_bytes()])
    path.write_bytes(path.read_bytes()[:-20])
    mine["source"]["corpus"] = "docs.jsonl.gz"
    with pytest.raises(ResiduumError, match=r"docs\.jsonl\.gz: .*cut short.*Get the file again"):
        export(mine, tmp_path / "corpus")
    (tmp_path / "home" / "docs.jsonl").write_bytes('{"doc_id": "d", "text": "é"}'.encode("latin-1"))
    mine["source"]["corpus"] = "docs.jsonl"
    with pytest.raises(ResiduumError, match=r"docs\.jsonl, line 1: not UTF-8"):
        export(mine, tmp_path / "corpus")


def test_the_manifest_names_the_source_files_and_their_hashes(mine, tmp_path):
    corpus = export(mine, tmp_path / "corpus")
    inputs = json.loads((corpus / "manifest.json").read_text())["inputs"]
    path = tmp_path / "home" / "docs.jsonl"
    assert inputs == {"RESIDUUM_DATA/docs.jsonl": files.sha256(path)}


def test_a_recipe_that_cannot_be_made_is_refused_with_what_is_possible(tmp_path):
    spec = json.loads(canonical_json(GENERATED))
    spec["source"]["judged"] = 5000
    with pytest.raises(ResiduumError, match="source: the generated collection cannot be made"):
        data.corpus("g", canonical_json(spec), tmp_path / "corpus")


GENERATED = {
    "source": {
        "kind": "generated", "seed": 1, "entities": 60, "passages": 400, "listings": 30,
        "stubs": 30, "train_pairs": 800, "train_share": 0.6, "tune": 40, "dev": 60, "judged": 20,
        "shift": 0.75,
    },
    "editions": [{"name": "seed 1", "docs": 460}],
}  # fmt: skip

ARTICLES = {
    "source": {
        "kind": "generated-articles", "seed": 1, "articles": 160, "reviews": 10, "notices": 10,
        "conditions": 3, "agents": 4, "judged": 14, "shift": 0.25,
    },
    "splits": {"judged": {}},
    "editions": [{"name": "seed 1", "docs": 180}],
}  # fmt: skip


def irds_collection(**source):
    source = {"docs": "nfcorpus", "text_fields": ["title", "abstract"]} | source
    return Collection.model_validate(
        {
            "access": "download it from the authors",
            "source": {"kind": "irds", **source},
            "splits": {"test": {"irds": "nfcorpus/test", "query_field": "title"}},
            "editions": [{"name": "any", "docs": 1}],
        }
    )


IRDS = """
import sys
from residuum.collections import irds
from residuum.cli.errors import ResiduumError
from residuum.config.schema.datasets import Collection
from residuum.config.specs import canonical_json
collection = Collection.model_validate_json(sys.argv[1])
try:
    print(list(irds.docs(collection)))
except ResiduumError as error:
    print("CLEAR:", error)
"""


def run_irds(home, collection):
    """ir_datasets reads its home at import, hence a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "workflow"),
        "IR_DATASETS_HOME": str(home),
        "IR_DATASETS_DL_TRIES": "1",
        "https_proxy": "http://127.0.0.1:9",  # nothing listens there: no network for this test
        "http_proxy": "http://127.0.0.1:9",
    }
    command = [sys.executable, "-c", IRDS, collection.model_dump_json()]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def test_ir_datasets_without_file_and_network_gives_one_clear_error(tmp_path):
    message = run_irds(tmp_path, irds_collection()).stdout
    assert message.startswith("CLEAR: ir_datasets could not provide nfcorpus")
    assert str(tmp_path) in message
    assert "Access: download it from the authors" in message


def test_ir_datasets_reads_what_lies_in_its_home(tmp_path):
    folder = tmp_path / "nfcorpus"
    folder.mkdir()
    (folder / "collection.tsv").write_text("MED-1\t\tA title\tAn abstract\nMED-2\t\tB\t\n")
    message = run_irds(tmp_path, irds_collection()).stdout
    assert "('MED-1', {'text': 'A title An abstract', 'title': 'A title'" in message
    assert "('MED-2', {'text': 'B'" in message
    one_field = irds_collection(text_fields=["title"], fields=["abstract"])
    message = run_irds(tmp_path, one_field).stdout
    assert "('MED-1', {'text': 'A title', 'abstract': 'An abstract'})" in message
    message = run_irds(tmp_path, irds_collection(fields=["body"])).stdout
    assert message.startswith("CLEAR: nfcorpus: no field body; the doc has doc_id")


def test_an_id_that_nobody_knows_is_told_from_a_fault_within_ir_datasets(tmp_path):
    message = run_irds(tmp_path, irds_collection(docs="nf-corpus")).stdout
    assert message.startswith("CLEAR: ir_datasets knows no id 'nf-corpus'. Fix source.docs")
    (tmp_path / "dpr-w100").mkdir(exist_ok=True)
    records = '[{"question": "q", "positive_ctxs": []}]'
    (tmp_path / "dpr-w100" / "nq-dev.json.gz").write_bytes(gzip.compress(records.encode()))
    made = irds_collection(sample={"docs": 1, "seed": 1, "keep": ["test"]}).model_dump()
    made["splits"]["test"] = {"irds": "dpr-w100/natural-questions/dev"}
    message = run_irds(tmp_path, Collection.model_validate(made)).stdout
    assert "knows no id" not in message and "KeyError: 'answers'" in message
    assert f"The last file read was {tmp_path / 'dpr-w100' / 'nq-dev.json.gz'}" in message


def test_quotes_of_a_csv_file_are_taken_from_the_fields_that_have_them(tmp_path):
    folder = tmp_path / "nfcorpus"
    folder.mkdir()
    title, abstract = '"""A"" or ""B"""', '"An ""abstract"""'
    (folder / "collection.tsv").write_text(f'1\t\t{title}\t{abstract}\n2\t\ta "b"\t\n')
    message = run_irds(tmp_path, irds_collection(quoted=["title"])).stdout
    first, second = (fields for _, fields in ast.literal_eval(message))
    assert (first["title"], first["abstract"]) == ('"A" or "B"', abstract)
    assert second["title"] == 'a "b"'
    (folder / "collection.tsv").write_text('1\t\t"never closed\t\n')
    message = run_irds(tmp_path, irds_collection(quoted=["title"])).stdout
    assert "doc 1, title: a quote is not closed, or not doubled" in message
    assert f"The last file read was {folder / 'collection.tsv'}" in message
    with pytest.raises(ValueError, match="quoted: body: in neither text_fields nor fields"):
        irds_collection(quoted=["body"])


NFCORPUS = "MED-1\t\tA\tone\nMED-2\t\tB\ttwo\nMED-3\t\tC\tthree\nMED-4\t\tD\tfour\n"


def nfcorpus(home, qrels=""):
    """Lay a tiny NFCorpus into ir_datasets' home, with one training query."""
    folder = home / "nfcorpus" / "train"
    folder.mkdir(parents=True)
    (home / "nfcorpus" / "collection.tsv").write_text(NFCORPUS)
    (folder / "queries.all.tsv").write_text("PLAIN-1\tall of it\n")
    (folder / "queries.titles.tsv").write_text("PLAIN-1\ta query\n")
    (folder / "qrels").write_text(qrels)


def sampled(docs, level=2):
    form = {"docs": docs, "seed": 1, "keep": ["train"], "level": level}
    made = irds_collection(sample=form).model_dump()
    made["splits"] = {"train": {"irds": "nfcorpus/train", "query_field": "title"}}
    return Collection.model_validate(made)


def test_a_sample_keeps_the_judged_docs_and_fills_up_in_the_collections_order(tmp_path):
    nfcorpus(tmp_path, "PLAIN-1\t0\tMED-4\t3\nPLAIN-1\t0\tMED-1\t1\n")
    message = run_irds(tmp_path, sampled(2)).stdout
    kept = re.findall(r"MED-\d", message)
    assert len(kept) == 2 and kept[-1] == "MED-4"
    assert run_irds(tmp_path, sampled(2)).stdout == message
    assert re.findall(r"MED-\d", run_irds(tmp_path, sampled(2, level=1)).stdout) == [
        "MED-1",
        "MED-4",
    ]
    assert re.findall(r"MED-\d", run_irds(tmp_path, sampled(3)).stdout) != kept
    message = run_irds(tmp_path, sampled(1, level=1)).stdout
    assert "sample: train judge 2 docs at level 1 and above, more than the 1 required" in message


def export_docpairs(spec, folder):
    export_split(spec, folder)
    output = folder / "docpairs.tsv.gz"
    queries = folder / "test" / "queries.tsv"
    data.docpairs("mine", "test", canonical_json(spec), queries, output, page(output))
    return output, json.loads((folder / "docpairs.tsv.gz.manifest.json").read_text())


def test_training_triples_are_those_of_the_splits_own_queries(mine, tmp_path):
    """q3 is held out; the pin counts the file whole."""
    (tmp_path / "home" / "triples.tsv").write_text("q3\td1\tNA\nq2\t007\td1\nq1\td1\tNA\n")
    mine["splits"]["test"]["docpairs"] = "triples.tsv"
    mine["splits"]["tune"] = {"holdout": {"of": "test", "queries": 1, "seed": 4}}
    mine["editions"][0]["splits"] = {"test": {"queries": 3, "qrels": 4, "docpairs": 3}}
    output, record = export_docpairs(mine, tmp_path)
    held_out = set(export_split(mine, tmp_path, "tune")[0])
    assert held_out == {"q3"}
    assert docpairs.read(output).rows() == [("q2", "007", "d1"), ("q1", "d1", "NA")]
    assert record["artefact"] == {"triples": 2, "of_other_queries": 1}
    assert any(name.endswith("triples.tsv") for name in record["inputs"])
    mine["editions"][0]["splits"]["test"]["docpairs"] = 4
    output.unlink()
    with pytest.raises(ResiduumError, match=r"3 training triples, but .*mine\.yaml pins 4"):
        export_docpairs(mine, tmp_path)
    assert not output.exists()


def test_a_line_that_is_no_triple_is_named(mine, tmp_path):
    (tmp_path / "home" / "triples.tsv").write_text("q2\t007\td1\nq1\td1\n")
    mine["splits"]["test"]["docpairs"] = "triples.tsv"
    with pytest.raises(
        ResiduumError, match=r"triples\.tsv, line 2: expected query_id TAB positive"
    ):
        export_docpairs(mine, tmp_path)


def test_a_source_without_triples_is_refused_with_the_key():
    split = {"irds": "x", "docpairs": "y", "holdout": {"of": "train", "queries": 1, "seed": 1}}
    spec = {
        "source": {"kind": "irds", "docs": "x", "text_fields": ["text"]},
        "splits": {"train": {"irds": "x"}, "tune": split},
        "editions": [{"name": "first", "docs": 3}],
    }
    with pytest.raises(ValueError, match=r"splits\.tune\.docpairs: training triples go with"):
        Collection.model_validate(spec)
