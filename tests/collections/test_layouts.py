"""People's own collections as they lie: each layout gives the same bytes of the same data."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

import layouts
from layouts import LAYOUTS
from residuum import data
from residuum.artefacts import contracts, manifest
from residuum.artefacts.files import sha256_of
from residuum.cli.errors import ResiduumError
from residuum.collections import files, hub
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import canonical_json

QUERIES = "01\tcats\nnull\tdogs of the town\n"
QRELS = "01 0 007 2\n01 0 NA 0\nnull 0 d3 1\nnull 0 gone 1\n"
CORPUS = [
    {"doc_id": "007", "text": "Cats cats sit on mats in Zürich", "title": "Cats",
     "body": "cats sit on mats in Zürich"},
    {"doc_id": "NA", "text": "dogs bark", "title": "", "body": "dogs bark"},
    {"doc_id": "d3", "text": "Cats and dogs cats and dogs of the town sleep",
     "title": "Cats and dogs", "body": "cats and dogs of the town sleep"},
]  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def exported(source, split, output):
    """Export corpus and split of a dataset as the data stage does."""
    dataset = Dataset.model_validate({"source": source, "splits": {"test": split}})
    data.corpus("mine", canonical_json(dataset.for_corpus()), output / "corpus")
    paths = output / "queries.tsv", output / "qrels.trec"
    data.split("mine", "test", canonical_json(dataset.for_split("test")), *paths)
    return output


def test_each_layout_gives_the_same_bytes(tmp_path, monkeypatch):
    shards = set()
    for name, layout in LAYOUTS.items():
        monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / name))
        made = exported(*layout(tmp_path / name), tmp_path / name / "made")
        assert list(contracts.read_docs(made / "corpus")) == CORPUS, name
        assert (made / "queries.tsv").read_text() == QUERIES, name
        assert (made / "qrels.trec").read_text() == QRELS, name
        shards.add((made / "corpus" / "part-00000.jsonl.gz").read_bytes())
    assert len(shards) == 1


def names_of_sources(made):
    """Return the names and hashes of what the corpus and the split in a folder were made from."""
    paths = made / "corpus" / "manifest.json", manifest.beside(made / "queries.tsv")
    return [json.loads(path.read_text())["inputs"] for path in paths]


def test_manifests_of_two_machines_name_the_users_files_alike(tmp_path, monkeypatch):
    named = []
    for machine in "ab":
        home = tmp_path / machine
        monkeypatch.setenv("RESIDUUM_DATA", str(home))
        source, split = layouts.beir(home)
        slashed = {**source, "folder": f"./{source['folder']}/"}
        for number, spelled in enumerate((source, slashed)):
            named.append(names_of_sources(exported(spelled, split, home / f"made-{number}")))
    corpus, queries = named[0]
    assert corpus == {"RESIDUUM_DATA/mine/corpus.jsonl": sha256_of(home / "mine/corpus.jsonl")}
    assert {Path(name).parts[0] for name in queries} == {"RESIDUUM_DATA"}
    assert named == named[:1] * 4


def test_a_full_path_in_an_entry_is_shown_only_outside_the_users_folder(
    home, tmp_path, monkeypatch
):
    source, split = layouts.beir(home)
    full = {**source, "folder": str(home / "mine")}
    corpus, queries = names_of_sources(exported(full, split, tmp_path / "made"))
    assert list(corpus) == ["RESIDUUM_DATA/mine/corpus.jsonl"]
    assert "RESIDUUM_DATA/mine/queries.jsonl" in queries
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "another"))
    corpus, queries = names_of_sources(exported(full, split, tmp_path / "made again"))
    assert list(corpus) == [str(home / "mine" / "corpus.jsonl")]
    assert str(home / "mine" / "queries.jsonl") in queries


def test_a_file_may_be_gzipped(home, tmp_path):
    made = exported(*layouts.beir(home, packed=True), tmp_path / "made")
    assert list(contracts.read_docs(made / "corpus")) == CORPUS
    inputs = json.loads((made / "corpus" / "manifest.json").read_text())["inputs"]
    assert list(inputs) == ["RESIDUUM_DATA/mine/corpus.jsonl.gz"]


def corpus_of(home, source):
    entry = {"source": {"kind": "files", "corpus": "mine", **source}}
    split = {"queries": "q.tsv", "unjudged": True}
    dataset = Dataset.model_validate({**entry, "splits": {"test": split}})
    return [(i, doc["text"]) for i, doc in files.docs(dataset)]


@pytest.mark.parametrize("write", ["write_ipc_stream", "write_ipc"])
def test_what_datasets_saves_is_read(home, write):
    """Shards as `save_to_disk` has them, a stream each, beside its own JSON; or Arrow's files."""
    (home / "mine").mkdir(parents=True)
    for part in (0, 1):
        frame = pl.DataFrame({"_id": [f"0{part}"], "text": ["a" * (part + 1)]})
        getattr(frame, write)(home / "mine" / f"data-0000{part}-of-00002.arrow")
    for name in ("state.json", "dataset_info.json", "README.md"):
        (home / "mine" / name).write_text("{}")
    assert corpus_of(home, {}) == [("00", "a"), ("01", "aa")]


def test_of_a_folder_files_of_known_endings_are_read_or_those_that_are_named(home):
    (home / "mine" / "part").mkdir(parents=True)
    packed = gzip.compress(b'{"id": "1", "text": "a"}')
    (home / "mine" / "part" / "a.NDJSON.gz").write_bytes(packed)
    (home / "mine" / "b.TSV").write_text("2\tb\n")
    (home / "mine" / "README.md").write_text("# Mine\n")
    assert corpus_of(home, {}) == [("2", "b"), ("1", "a")]
    assert corpus_of(home, {"below": "**/*.gz"}) == [("1", "a")]
    with pytest.raises(
        ResiduumError, match=r"README\.md, line 1: expected doc_id TAB text.*\.arrow"
    ):
        corpus_of(home, {"below": "*"})
    (home / "mine" / "b.TSV").rename(home / "mine" / "c.txt")
    (home / "mine" / "part" / "a.NDJSON.gz").unlink()
    with pytest.raises(ResiduumError, match=r"no \* that ends in \.jsonl, .*`below: '\*\*/\*'`"):
        corpus_of(home, {})


def test_files_of_docs_are_inputs_and_other_folders_are_read_whole(home, tmp_path):
    source, split = layouts.trec(home)
    (home / "mine" / "docs" / "readme.dtd").write_text("<!ELEMENT DOC>")
    (home / "mine" / "qrels").mkdir()
    (home / "mine" / "qrels.txt").rename(home / "mine" / "qrels" / "one.txt")
    source |= {"below": "**/[!r]*"}
    made = exported(source, {**split, "qrels": "mine/qrels"}, tmp_path / "made")
    assert list(contracts.read_docs(made / "corpus")) == CORPUS
    inputs = json.loads((made / "corpus" / "manifest.json").read_text())["inputs"]
    assert [*inputs] == [f"RESIDUUM_DATA/mine/docs/{name}" for name in ("a/one.gz", "two")]
    inputs = json.loads(manifest.beside(made / "queries.tsv").read_text())["inputs"]
    assert "RESIDUUM_DATA/mine/qrels/one.txt" in inputs


@pytest.mark.parametrize("below", ["/etc/*", "../*", "a/../../*", ""])
def test_a_glob_stays_below_its_folder(below):
    with pytest.raises(ValueError, match="not a pattern of paths below the folder"):
        corpus_of(None, {"below": below})


def test_a_split_by_ms_marcos_own_names(home, tmp_path):
    source, split = layouts.msmarco(home)
    for key in ("queries", "qrels"):
        (home / "mine" / f"{key}.test.tsv").rename(home / "mine" / f"{key}.dev.small.tsv")
    dataset = Dataset.model_validate({"source": source, "splits": {"dev-small": split}})
    assert dataset.source_files("dev-small") == [
        "mine/queries.dev.small.tsv",
        "mine/qrels.dev.small.tsv",
    ]
    (home / "mine" / "queries.dev-small.tsv").write_text("")
    assert "mine/queries.dev-small.tsv" in dataset.source_files("dev-small")


def test_an_unpinned_corpus_says_how_it_is_pinned(home, tmp_path, capsys):
    made = exported(*layouts.beir(home), tmp_path / "made")
    facts = json.loads((made / "corpus" / "manifest.json").read_text())["artefact"]
    assert (facts["docs"], facts["edition"]) == (3, None)
    assert "mine: 3 docs, and nothing is pinned" in capsys.readouterr().err


def test_an_unjudged_split_of_a_folder_has_all_queries(home, tmp_path):
    source, _ = layouts.beir(home)
    made = exported(source, {"unjudged": True}, tmp_path / "made")
    assert (made / "queries.tsv").read_text() == "9\ta query of another split\n" + QUERIES
    assert (made / "qrels.trec").read_text().startswith("# not run: ")


def test_further_fields_of_a_folder_are_kept(home, tmp_path):
    source, split = layouts.jsonl(home)
    docs = home / "mine" / "docs.jsonl"
    docs.write_text('{"doc_id": "d3", "title": "T", "text": "B", "url": "u"}\n')
    made = exported({**source, "fields": ["url"]}, split, tmp_path / "made")
    (doc,) = contracts.read_docs(made / "corpus")
    assert doc == {"doc_id": "d3", "text": "T B", "title": "T", "body": "B", "url": "u"}


@pytest.mark.parametrize(
    ("field", "texts"),
    [
        ("title", ["cats", "dogs of the town"]),
        ("description", ["What of cats?", "What of dogs of the town?"]),
        ("narrative", ["All.", "All."]),
    ],
)
def test_a_field_of_topics(home, field, texts):
    source, split = layouts.trec(home)
    dataset = Dataset.model_validate(
        {"source": source, "splits": {"test": {**split, "query_field": field}}}
    )
    assert [text for _, text in files.split(dataset, "test").queries] == texts


def test_topics_in_xml(home):
    source, split = layouts.trec(home)
    (home / "mine" / "topics.xml").write_text(
        '<topics><topic number="01"><query>corona</query><question>what of it?</question></topic>'
        "<topic><num>2</num><query>virus</query><question>why?</question></topic></topics>"
    )
    split |= {"queries": "mine/topics.xml", "query_field": "question"}
    dataset = Dataset.model_validate({"source": source, "splits": {"test": split}})
    assert files.split(dataset, "test").queries == [("01", "what of it?"), ("2", "why?")]


@pytest.mark.parametrize("kind", ["files", "msmarco", "trec", "beir"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "\ufeff1\tcats\r\n\r\n2\tdogs and cats\r\n"),
        ("q.jsonl", '{"_id": "1", "text": "cats"}\n{"query_id": "2", "text": "dogs and cats"}\n'),
        ("q.csv", "query_id,text\n1,cats\n2,dogs and cats\n"),
        ("topics.401-450", "\n<top>\n<num> Number: 1 \n<title> cats\n\n</top>\n"
         "  <TOP>\n  <num> 2\n  <title> dogs\n  and cats\n  <desc> x\n  </TOP>\n"),
        ("one.txt", "<top><num>1</num><title>cats</title><desc>a</desc></top>\n<top> <num>2</num>"
         "<title>dogs and cats</title> </top>\n"),
        ("t.XML", '<topics><topic number="1">cats</topic><topic number="2">dogs and cats</topic>'
         "</topics>"),
        ("t", '<?xml version="1.0"?>\n<t><topic id="1"><title>cats</title></topic>'
         '<topic><num>2</num><title>dogs and cats</title></topic></t>'),
    ],
)  # fmt: skip
def test_queries_are_read_by_what_they_are(home, kind, name, text):
    """Whatever the docs are, and all of them but BEIR's, which splits share."""
    (home / "mine").mkdir(parents=True)
    (home / "mine" / name).write_bytes(text.encode())
    (home / "mine" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td\t1\n")
    where = {"files": "corpus", "trec": "docs"}.get(kind, "folder")
    split = {"queries": f"mine/{name}", "qrels": "mine/qrels.tsv"}
    every, judged = [("1", "cats"), ("2", "dogs and cats")], [("1", "cats")]
    for only, queries in (
        (None, judged if kind == "beir" else every),
        (True, judged),
        (False, every),
    ):
        entry = {"source": {"kind": kind, where: "mine"}, "splits": {"test": split}}
        split = {**split, "judged_only": only}
        dataset = Dataset.model_validate({**entry, "splits": {"test": split}})
        rows = files.split(dataset, "test")
        assert [(i, " ".join(t.split())) for i, t in rows.queries] == queries


def test_an_export_says_how_many_queries_are_left_out(home, tmp_path, capsys):
    exported(*layouts.beir(home), tmp_path / "made")
    warning = "split test: 1 of 3 queries have no judgement and are left out (judged_only)"
    assert warning in capsys.readouterr().err


def test_which_queries_count_is_said_of_files_alone():
    source = {"kind": "irds", "docs": "d", "text_fields": ["text"]}
    split = {"irds": "d/test", "judged_only": True}
    with pytest.raises(ValueError, match="judged_only: goes with sources of files, not with irds"):
        Dataset.model_validate({"source": source, "splits": {"test": split}})


def test_docs_of_trec_are_those_of_ir_datasets(home):
    """Its reader of TREC's disks (parser `sax`) on the same file; a header field stays out."""
    text = (
        "<DOC>\n<DOCNO> FT911-1 </DOCNO>\n<PROFILE>_AN-BE1A</PROFILE>\n<DATE>910514\n</DATE>\n"
        "<HEADLINE>\nFT  14 MAY 91 / A &amp; B\n</HEADLINE>\n<TEXT>\nOne  two.\n\n  a <b>x</b>\n"
        "</TEXT>\n<PUB>The FT\n</PUB>\n</DOC>\n"
    )
    (home / "mine").mkdir(parents=True)
    path = home / "mine" / "ft911_1"
    path.write_text(text)
    source = {"kind": "trec", "docs": "mine"}
    split = {"queries": "q", "qrels": "r"}
    dataset = Dataset.model_validate({"source": source, "splits": {"test": split}})
    code = """
import sys
from pathlib import Path
from ir_datasets.formats import TrecDocs
class File:
    def path(self, force=True): return Path(sys.argv[1])
    def stream(self): return open(sys.argv[1], "rb")
print([(d.doc_id, d.title, d.body) for d in TrecDocs(File(), parser="sax").docs_iter()])
"""
    environment = {**os.environ, "IR_DATASETS_HOME": str(home / "irds")}
    command = [sys.executable, "-c", code, str(path)]
    theirs = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ours = [(i, doc["title"], doc["body"]) for i, doc in files.docs(dataset)]
    assert repr(ours) == theirs.stdout.strip()
    assert ours == [("FT911-1", "FT 14 MAY 91 / A & B", "910514\nOne two.\na x")]


def test_what_compress_packed(home):
    (home / "mine").mkdir(parents=True)
    # `printf '<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>a</TEXT>\n</DOC>\n' | compress`: LZW of 16 bits
    (home / "mine" / "one.Z").write_bytes(COMPRESSED)
    dataset = Dataset.model_validate(
        {
            "source": {"kind": "trec", "docs": "mine"},
            "splits": {"t": {"queries": "q", "qrels": "r"}},
        }
    )
    assert [(i, doc["text"]) for i, doc in files.docs(dataset)] == [("1", "a")]


def lzw(text):
    """Pack bytes as Unix compress does, with codes of nine bits alone: fewer than 256 are made."""
    codes, table, prefix = [], {bytes([n]): n for n in range(256)}, b""
    for byte in text:
        if prefix + bytes([byte]) in table:
            prefix += bytes([byte])
            continue
        codes.append(table[prefix])
        table[prefix + bytes([byte])] = len(table) + 1  # 256 clears the table
        prefix = bytes([byte])
    codes.append(table[prefix])
    bits = sum(code << 9 * place for place, code in enumerate(codes))
    return b"\x1f\x9d\x90" + bits.to_bytes(-(-9 * len(codes) // 8), "little")


COMPRESSED = lzw(b"<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>a</TEXT>\n</DOC>\n")


def test_files_of_the_hub(home, tmp_path, monkeypatch):
    """From its cache, laid out by hand: a commit's files need no network."""
    commit = "a" * 40
    cached = tmp_path / "hub" / "datasets--me--mine"
    layouts.beir(cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    source = {"kind": "beir", "folder": f"hf://datasets/me/mine@{commit}/mine"}
    made = exported(source, {}, tmp_path / "made")
    assert list(contracts.read_docs(made / "corpus")) == CORPUS
    assert (made / "qrels.trec").read_text() == QRELS
    folder = f"hf://datasets/me/mine@{commit}/mine"
    hashes = {"corpus": f"{folder}/corpus.jsonl", "queries.tsv": f"{folder}/queries.jsonl"}
    for artefact, name in hashes.items():
        path = made / artefact
        beside = path / "manifest.json" if path.is_dir() else manifest.beside(path)
        digest = sha256_of(cached / "snapshots" / commit / "mine" / name.rpartition("/")[2])
        assert json.loads(beside.read_text())["inputs"][name] == digest
    layouts.parquet(cached / "snapshots" / commit / "tables")
    address = f"hf://datasets/me/mine@{commit}/tables/mine"
    source = {"kind": "files", "corpus": f"{address}/corpus", "text_fields": ["title", "text"]}
    names = {"queries": f"{address}/queries.parquet", "qrels": f"{address}/qrels.parquet"}
    made = exported(source, names, tmp_path / "tables")
    assert list(contracts.read_docs(made / "corpus")) == CORPUS
    assert (made / "queries.tsv").read_text() == QUERIES
    inputs = json.loads((made / "corpus" / "manifest.json").read_text())["inputs"]
    parts = [f"{address}/corpus/corpus-0000{n}-of-00002.parquet" for n in (0, 1)]
    assert list(inputs) == parts
    other = f"hf://datasets/me/other@{commit}/x"
    with pytest.raises(ResiduumError, match=f"{other}: the Hugging Face hub"):
        hub.obtained(other)


AT = f"@{'0a' * 20}"


@pytest.mark.parametrize(
    "path",
    ["/docs", "@main/docs", "@0228b52/docs", f"{AT}/", f"{AT}//docs", f"{AT}/a/../docs",
     f"{AT}/./docs", f"{AT}/..", f"{AT}/a//docs", f"{AT}/docs/"],
)  # fmt: skip
def test_an_address_of_the_hub_names_a_commit_and_stays_below_it(path):
    address = f"hf://datasets/me/mine{path}"
    source = {"kind": "files", "corpus": address}
    split = {"queries": "q", "qrels": "r"}
    wrong = "not hf://datasets/ORGANISATION/NAME@COMMIT/PATH: a commit has 40 digits"
    with pytest.raises(ValueError, match=wrong):
        Dataset.model_validate({"source": source, "splits": {"test": split}})
    for key in ("queries", "qrels", "docpairs", "questions"):
        source = {"kind": "files", "corpus": f"hf://datasets/me/mine{AT}/..a/b..c"}
        with pytest.raises(ValueError, match=wrong):
            Dataset.model_validate({"source": source, "splits": {"test": {**split, key: address}}})


def completed(**splits):
    entry = {"source": {"kind": "beir", "folder": "mine"}, "splits": splits}
    dataset = Dataset.model_validate(entry)
    measured = {name: split.measures for name, split in dataset.splits.items()}
    return dataset.own.train, dataset.own.tune, measured


BOTH = ["nDCG@10", "R@100"]


def test_splits_by_their_usual_names_train_and_tune():
    assert completed(test={}) == completed(test=None) == (None, None, {"test": BOTH})
    of_three = {"train": [], "dev": BOTH, "test": BOTH}
    assert completed(train={}, dev={}, test={}) == ("train", "dev", of_three)
    held_out = {"holdout": {"of": "train", "queries": 5, "seed": 1}}
    assert completed(train={}, dev={}, tune=held_out)[:2] == ("train", "tune")
    assert completed(test={"measures": ["RR@10"]}, more={"unjudged": True})[2] == {
        "test": ["RR@10"],
        "more": [],
    }


@pytest.mark.parametrize(
    "entry",
    [
        {"source": {"kind": ["beir"]}, "splits": {"test": {}}},
        {"source": {"kind": "beir", "folder": "m"}, "splits": {"test": [1]}},
        {"source": {"kind": "beir", "folder": "m"}, "splits": ["test"]},
        {"source": {"kind": "beir", "folder": "m"}, "splits": {"test": {}}, "own": 7},
        ["source"],
        None,
    ],
)
def test_what_is_no_dataset_is_a_fault_and_no_crash(entry):
    with pytest.raises(ValidationError):
        Dataset.model_validate(entry)


def test_what_is_said_of_training_and_tuning_stays():
    entry = {"source": {"kind": "beir", "folder": "m"}, "splits": {"train": {}, "dev": {}}}
    dataset = Dataset.model_validate({**entry, "own": {"train": "dev"}})
    assert (dataset.own.train, dataset.own.tune) == ("dev", None)
    assert dataset.splits["train"].measures == BOTH
