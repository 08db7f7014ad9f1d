"""Readers of files of others, with files whose truth is known: what they hold, or that they lie.

Usage: `READERS["run"]`: `good` draws files and what is read of them, `spoiled` files that must be
refused, `read(folder)` is the product's reader.
"""

import csv
import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import polars as pl
import yaml
from hypothesis import strategies as st

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.collections import files as own_files
from residuum.collections import pubmed
from residuum.config import entries
from residuum.config.schema.datasets import Collection
from residuum.inspect import bundling, provenance
from residuum.inspect import reproductions as log

Files = dict[str, bytes]


class Case(NamedTuple):
    """Files, and the value that a reader gives for these files."""

    files: Files
    truth: object


class Reader(NamedTuple):
    """How some files are read, which are good, and which must be refused."""

    read: Callable[[Path], object]
    good: st.SearchStrategy[Case]
    spoiled: st.SearchStrategy[Files]
    refusal: type[Exception] = ResiduumError


LETTERS = "abcXYZ019-_.:/éß漢😀"
# Marks of Unicode that end a line elsewhere, and those that mean something in a form.
ODD = " \u2028\u0085\x0b\x1c\"'\\,;<>&%#{}[]:-=|@`~!?*"
ids = st.text(LETTERS, min_size=1, max_size=6)
texts = st.text(LETTERS + ODD, max_size=20)
numbers = st.integers(-20, 20)


def bytes_of(lines: list[str], end: str = "\n") -> bytes:
    return "".join(line + end for line in lines).encode()


@st.composite
def some_but_one(draw: st.DrawFn, lines: list[str], bad: Callable[[str], str]) -> list[str]:
    """Draw lines of which one is made bad."""
    number = draw(st.integers(0, len(lines) - 1))
    return [*lines[:number], bad(lines[number]), *lines[number + 1 :]]


@st.composite
def one_bad_line(
    draw: st.DrawFn,
    name: str,
    lines: st.SearchStrategy[list[str]],
    bad: Sequence[Callable[[str], str]],
) -> Files:
    """Draw a file of lines of which one is made bad in one of some ways."""
    return {name: bytes_of(draw(some_but_one(draw(lines), draw(st.sampled_from(bad)))))}


def tabbed(rows: list[tuple[str, str]]) -> list[str]:
    return [f"{key}\t{text}" for key, text in rows]


# Runs and judgements of TREC.


@st.composite
def run_rows(draw: st.DrawFn) -> list[tuple[str, str, int, float]]:
    rows = []
    for query in draw(st.lists(ids, min_size=1, max_size=3, unique=True)):
        docs = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
        scores = sorted(draw(st.lists(numbers, min_size=len(docs), max_size=len(docs))))[::-1]
        rows += [
            (query, doc, n + 1, s / 4) for n, (doc, s) in enumerate(zip(docs, scores, strict=True))
        ]
    return rows


def run_lines(rows: list[tuple[str, str, int, float]]) -> list[str]:
    return [f"{query} Q0 {doc} {rank} {score} tag" for query, doc, rank, score in rows]


BAD_RUN: list[Callable[[str], str]] = [
    lambda line: line.rpartition(" ")[0],
    lambda line: f"{line} more",
    lambda line: " ".join([*line.split(" ")[:3], "one", "1.0", "tag"]),
    lambda line: " ".join([*line.split(" ")[:4], "nan", "tag"]),
    lambda line: " ".join([*line.split(" ")[:4], "1_0", "tag"]),
    lambda line: " ".join([*line.split(" ")[:4], "high", "tag"]),
    lambda line: f"{line}\n{line}",
]


bad_runs = one_bad_line("run.trec", run_rows().map(run_lines), BAD_RUN)


def read_run(folder: Path) -> object:
    return trec.read_run(folder / "run.trec").select("query_id", "doc_id", "rank", "score").rows()


def read_any_run(folder: Path) -> object:
    return trec.read_any_run(folder / "run.trec.gz")[0].height


runs = run_rows().map(lambda rows: Case({"run.trec": bytes_of(run_lines(rows))}, rows))
packed_runs = run_rows().map(
    lambda rows: Case({"run.trec.gz": gzip.compress(bytes_of(run_lines(rows)))}, len(rows))
)
bad_packed_runs = st.one_of(
    bad_runs.map(lambda files: {"run.trec.gz": gzip.compress(files["run.trec"])}),
    packed_runs.map(lambda case: {"run.trec.gz": case.files["run.trec.gz"][:-9]}),
)


@st.composite
def grades(draw: st.DrawFn) -> list[tuple[str, str, int]]:
    pairs = draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=6, unique=True))
    return [(*pair, draw(numbers)) for pair in pairs]


BAD_QRELS: list[Callable[[str], str]] = [
    lambda line: line.rpartition(" ")[0],
    lambda line: f"{line} 1",
    lambda line: f"{line.rpartition(' ')[0]} yes",
    lambda line: f"{line.rpartition(' ')[0]} 1.5",
    lambda line: f"{line.rpartition(' ')[0]} 1_0",
    lambda line: f"{line.rpartition(' ')[0]} 99999999999999999999",
    lambda line: f"{line}\n{line}",
]


def qrels_lines(rows: list[tuple[str, str, int]]) -> list[str]:
    return [f"{query} 0 {doc} {grade}" for query, doc, grade in rows]


bad_qrels = one_bad_line("q.trec", grades().map(qrels_lines), BAD_QRELS)


# Docs and queries of one's own files.


def collection(source: dict[str, Any], splits: dict[str, Any]) -> Collection:
    return Collection.model_validate(
        {
            "access": "x",
            "editions": [{"name": "x", "docs": 2}],
            "source": source,
            "splits": splits,
        }
    )


def docs_of(name: str) -> Callable[[Path], object]:
    made = collection(
        {"kind": "files", "corpus": name, "text_fields": ["text"], "fields": []},
        {"dev": {"queries": "queries.tsv", "qrels": "q.trec"}},
    )
    return lambda folder: [(key, fields["text"]) for key, fields in own_files.docs(made)]


doc_rows = st.lists(st.tuples(ids, texts), min_size=1, max_size=4, unique_by=lambda row: row[0])


def json_lines(rows: list[tuple[str, str]], ascii_only: bool = True) -> list[str]:
    return [json.dumps({"doc_id": k, "text": t}, ensure_ascii=ascii_only) for k, t in rows]


jsonl = st.tuples(doc_rows, st.booleans()).map(
    lambda both: Case({"docs.jsonl": bytes_of(json_lines(*both))}, both[0])
)
BAD_JSON: list[Callable[[str], str]] = [
    lambda line: line[:-1],
    lambda line: line + "]",
    lambda line: f"[{line}]",
    lambda line: '{"text": "a"}',
    lambda line: '{"doc_id": "a"}',
    lambda line: '{"doc_id": 7, "text": "a"}',
    lambda line: '{"doc_id": "a", "text": {"b": 1}}',
    lambda line: '{"doc_id": "a", "text": NaN}',
    lambda line: '{"doc_id": "a", "doc_id": "b", "text": "c"}',
    lambda line: '{"doc_id": "a", "text": ' + "[" * 2000 + "]" * 2000 + "}",
]


bad_jsonl = one_bad_line("docs.jsonl", doc_rows.map(json_lines), BAD_JSON)


def csv_of(rows: list[tuple[str, ...]], header: tuple[str, ...] = ("doc_id", "text")) -> bytes:
    handle = io.StringIO()
    csv.writer(handle, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([header, *rows])
    return handle.getvalue().encode()


csvs = doc_rows.map(lambda rows: Case({"docs.csv": csv_of(rows)}, rows))


@st.composite
def bad_csv(draw: st.DrawFn) -> Files:
    rows, kind = draw(doc_rows), draw(st.integers(0, 3))
    data = csv_of(rows)
    if kind == 0:
        data = csv_of(rows, ("doc_id", "doc_id"))
    elif kind == 1:
        data = csv_of(rows, ("doc_id", "body"))
    elif kind == 2:
        data += b'"alone"\n'
    else:
        data += b'"a","b","c"\n'
    return {"docs.csv": data}


tsvs = doc_rows.map(lambda rows: Case({"docs.tsv": bytes_of(tabbed(rows))}, rows))
BAD_TSV: list[Callable[[str], str]] = [lambda line: line.replace("\t", " ")]


bad_tsv = one_bad_line("docs.tsv", doc_rows.map(tabbed), BAD_TSV)


def parquet_of(**columns: Any) -> bytes:
    handle = io.BytesIO()
    pl.DataFrame(columns).write_parquet(handle, compression="uncompressed")
    return handle.getvalue()


parquets = doc_rows.map(
    lambda rows: Case(
        {"docs.parquet": parquet_of(doc_id=[r[0] for r in rows], text=[r[1] for r in rows])}, rows
    )
)


@st.composite
def bad_parquet(draw: st.DrawFn) -> Files:
    rows, kind = draw(doc_rows), draw(st.integers(0, 3))
    keys = [row[0] for row in rows]
    columns: list[dict[str, Any]] = [
        {"doc_id": keys},
        {"doc_id": keys, "text": [True] * len(keys)},
        {"doc_id": [None] * len(keys), "text": keys},
        {"doc_id": keys, "text": [b"\xff\xfe"] * len(keys)},
    ]
    return {"docs.parquet": parquet_of(**columns[kind])}


query_rows = st.lists(
    st.tuples(ids, st.text(LETTERS + ODD, min_size=1, max_size=20)),
    min_size=1,
    max_size=4,
    unique_by=lambda row: row[0],
)
queries = query_rows.map(lambda rows: Case({"queries.tsv": bytes_of(tabbed(rows))}, dict(rows)))
BAD_QUERY: list[Callable[[str], str]] = [
    lambda line: line.replace("\t", " "),
    lambda line: f"{line}\tmore",
    lambda line: f"{line}\n{line}",
]


bad_queries = one_bad_line("queries.tsv", query_rows.map(tabbed), BAD_QUERY)


# DPR's questions with their answers.

DPR = collection({"kind": "files", "corpus": "docs.tsv"}, {"test": {"questions": "nq.qa.csv"}})
question_rows = st.lists(
    st.tuples(
        st.text(LETTERS + "?! ", min_size=1, max_size=20).map(str.strip).filter(bool),
        st.lists(texts.filter(bool), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=3,
)


def question_lines(rows: list[tuple[str, list[str]]]) -> list[str]:
    handle = io.StringIO()
    held = [(question, repr(answers)) for question, answers in rows]
    csv.writer(handle, delimiter="\t", lineterminator="\n").writerows(held)
    return handle.getvalue().removesuffix("\n").split("\n")


questions = question_rows.map(
    lambda rows: Case(
        {"nq.qa.csv": bytes_of(question_lines(rows))},
        (
            [(str(n), question) for n, (question, _) in enumerate(rows)],
            {str(n): answers for n, (_, answers) in enumerate(rows)},
        ),
    )
)
BAD_QUESTION: list[Callable[[str], str]] = [
    lambda line: line.partition("\t")[0],
    lambda line: f"{line.partition(chr(9))[0]}\t[]",
    lambda line: f"{line.partition(chr(9))[0]}\t['a'",
    lambda line: f"{line.partition(chr(9))[0]}\t[b'a']",
    lambda line: f"{line.partition(chr(9))[0]}\t__import__('os')",
    lambda line: f"{line.partition(chr(9))[0]}\t{'[' * 5000}",
]


bad_questions = one_bad_line("nq.qa.csv", question_rows.map(question_lines), BAD_QUESTION)


def read_questions(folder: Path) -> object:
    rows = own_files.questions(DPR, "test")
    return rows.queries, rows.answers


# BEIR's layout.

BEIR = collection({"kind": "beir", "folder": "mine"}, {"test": {}})


@st.composite
def beir(draw: st.DrawFn) -> Case:
    rows = draw(doc_rows)
    query_texts = draw(query_rows)
    judged = {query: draw(numbers) for query, _ in query_texts}
    files = {
        "mine/corpus.jsonl": bytes_of(
            [json.dumps({"_id": key, "title": "", "text": text}) for key, text in rows]
        ),
        "mine/queries.jsonl": bytes_of([json.dumps({"_id": k, "text": t}) for k, t in query_texts]),
        "mine/qrels/test.tsv": bytes_of(
            [
                "query-id\tcorpus-id\tscore",
                *(f"{query}\t{rows[0][0]}\t{grade}" for query, grade in judged.items()),
            ]
        ),
    }
    qrels = [(query, rows[0][0], grade) for query, grade in judged.items()]
    return Case(files, (rows, query_texts, qrels))


def read_beir(folder: Path) -> object:
    docs = [(key, fields["text"]) for key, fields in own_files.docs(BEIR)]
    split = own_files.split(BEIR, "test")
    return docs, split.queries, split.qrels


BAD_JUDGEMENTS: list[Callable[[str], str]] = [
    lambda line: line.rpartition("\t")[0],
    lambda line: f"{line}\t1",
    lambda line: f"{line.rpartition(chr(9))[0]}\t1_0",
    lambda line: f"{line.rpartition(chr(9))[0]}\tgood",
    lambda line: f"{line.rpartition(chr(9))[0]}\t0.5",
]


@st.composite
def bad_beir(draw: st.DrawFn) -> Files:
    files = dict(draw(beir()).files)
    name = draw(st.sampled_from(sorted(files)))
    lines = files[name].decode().split("\n")[:-1]
    if name.endswith(".tsv"):
        header, *rest = lines
        kept = draw(some_but_one(rest, draw(st.sampled_from(BAD_JUDGEMENTS))))
        lines = [header, *kept] if draw(st.booleans()) else rest
        bad = lines
    else:
        bad = draw(some_but_one(lines, lambda line: draw(st.sampled_from([line[:-1], "[]", "7"]))))
    return {**files, name: bytes_of(bad)}


# TREC's markup, and PubMed's.

plain = st.text("abc XYZ01éß漢", max_size=20).map(lambda text: " ".join(text.split()))
SGML = collection({"kind": "trec", "docs": "docs"}, {"dev": {"queries": "t", "qrels": "q"}})


def sgml_doc(key: str, text: str) -> str:
    return f"<DOC>\n<DOCNO> {key} </DOCNO>\n<TEXT>\n{escape(text)}\n</TEXT>\n</DOC>\n"


sgml_rows = st.lists(
    st.tuples(st.text("abcXYZ019-", min_size=1, max_size=6), plain),
    min_size=1,
    max_size=3,
    unique_by=lambda row: row[0],
)
sgmls = sgml_rows.map(
    lambda rows: Case({"docs/a": "".join(sgml_doc(*row) for row in rows).encode()}, rows)
)


def read_sgml(folder: Path) -> object:
    return [(key, " ".join(fields["text"].split())) for key, fields in own_files.docs(SGML)]


@st.composite
def bad_sgml(draw: st.DrawFn) -> Files:
    made = "".join(sgml_doc(*row) for row in draw(sgml_rows))
    slips = [
        lambda text: text.replace("</DOC>\n", "", 1),
        lambda text: text.replace("<DOC>\n", "", 1),
        lambda text: text.replace("<DOCNO>", "", 1),
        lambda text: text.rpartition("</DOC>")[0],
        lambda text: text.replace("DOC>", "DOK>"),
    ]
    return {"docs/a": draw(st.sampled_from(slips))(made).encode()}


def pubmed_xml(rows: list[tuple[int, str, str]]) -> bytes:
    records = "".join(
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{pmid}</PMID><Article>'
        f"<ArticleTitle>{escape(title)}</ArticleTitle><Abstract><AbstractText>{escape(text)}"
        "</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>\n"
        for pmid, title, text in rows
    )
    return f'<?xml version="1.0"?>\n<PubmedArticleSet>{records}</PubmedArticleSet>\n'.encode()


pubmed_rows = st.lists(
    st.tuples(st.integers(1, 99_999_999), plain, plain),
    min_size=1,
    max_size=3,
    unique_by=lambda row: row[0],
)
pubmeds = pubmed_rows.map(
    lambda rows: Case({"a.xml.gz": gzip.compress(pubmed_xml(rows), mtime=0)}, rows)
)


def read_pubmed(folder: Path) -> object:
    records, _ = pubmed.read(folder / "a.xml.gz")
    return [(record.pmid, record.title, record.abstract) for record in records]


@st.composite
def bad_pubmed(draw: st.DrawFn) -> Files:
    made = pubmed_xml(draw(pubmed_rows))
    slips = [
        lambda data: gzip.compress(data.replace(b"<PMID", b"<ID").replace(b"</PMID", b"</ID")),
        lambda data: gzip.compress(data.replace(b'"1">', b'"1">x', 1)),
        lambda data: gzip.compress(data.replace(b"</Article>", b"", 1)),
        lambda data: gzip.compress(data.replace(b"PubmedArticleSet", b"Set")),
        lambda data: gzip.compress(data)[:-9],
        lambda data: data,
        lambda data: gzip.compress(data.rpartition(b"</Pub")[0]),
    ]
    return {"a.xml.gz": draw(st.sampled_from(slips))(made)}


# Entries of config/ in YAML.

lines = st.text([mark for mark in LETTERS + ODD if mark not in "\u2028\u0085"], max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(10**6), 10**6),
        st.floats(allow_nan=False, allow_infinity=False),
        lines,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ids, inner, max_size=3)),
    max_leaves=6,
)
yamls = st.dictionaries(ids.filter(lambda key: key != "base"), values, min_size=1, max_size=3).map(
    lambda held: Case({"e.yaml": json.dumps(held, indent=1, ensure_ascii=False).encode()}, held)
)


def read_yaml(folder: Path) -> object:
    return entries.parse(folder / "e.yaml", dict[str, object])


@st.composite
def bad_yaml(draw: st.DrawFn) -> Files:
    held = yaml.safe_dump(draw(yamls).truth, allow_unicode=True).encode()
    tails = [b"zz: 1\nzz: 2\n", b"zz: *a\n", b"zz: &a 1\nzy: *a\n", b"zz: [1\n", b"zz: \xff\n"]
    tails += [b"zz: !!python/name:os.system x\n", b"zz: " + b"[" * 100 + b"]" * 100 + b"\n"]
    return {"e.yaml": held + draw(st.sampled_from(tails))}


# Bundles, and manifests of others' results.


def bundle(members: dict[str, bytes], index: dict[str, str]) -> bytes:
    handle = io.BytesIO()
    listed = json.dumps({"format": bundling.FORMAT, "files": index}).encode()
    with (
        gzip.GzipFile(fileobj=handle, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in {bundling.INDEX: listed, **members}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return handle.getvalue()


names = st.text("abcXYZ01._", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
members = st.dictionaries(
    names.map(lambda name: f"results/{name}"), st.binary(max_size=40), min_size=1, max_size=3
)


def index_of(held: dict[str, bytes]) -> dict[str, str]:
    return {name: sha256(data).hexdigest() for name, data in held.items()}


bundles = members.map(lambda held: Case({"b.tar.gz": bundle(held, index_of(held))}, []))


def read_bundle(folder: Path) -> object:
    """Return what is wrong with an archive's files; what is wrong there is a refusal here."""
    place = folder / "unpacked"
    place.mkdir()
    faults = bundling.unpack(folder / "b.tar.gz", place)
    outside = [path for path in place.rglob("*") if not path.resolve().is_relative_to(place)]
    assert not outside
    if faults:
        raise ResiduumError(f"{folder}: {faults}")
    return faults


@st.composite
def bad_bundles(draw: st.DrawFn) -> Files:
    held = draw(members)
    index, first = index_of(held), min(held)
    kind = draw(st.integers(0, 4))
    if kind == 0:
        held = held | {first: held[first] + b"x"}
    elif kind == 1:
        held = held | {"results/more!": b"x"}
    elif kind == 2:
        held = {name: data for name, data in held.items() if name != first}
    elif kind == 3:
        held = held | {draw(st.sampled_from(["../out", "/tmp/out", "results/../out", "x"])): b"x"}
    else:
        made = bundle(held, index)
        return {"b.tar.gz": made[: draw(st.integers(1, len(made) - 1))]}
    return {"b.tar.gz": bundle(held, index)}


def manifest(inputs: dict[str, str]) -> bytes:
    record = {
        "artefact": {"kind": "x"},
        "spec": {"a": 1},
        "inputs": inputs,
        "files": {},
        "code": {"module": "residuum.data", "sha256": "0" * 64},
        "environment": {"path": "/somewhere/results/mini/x"},
    }
    return json.dumps(record).encode()


manifests = st.dictionaries(
    st.sampled_from(["results/mini/a", "/x/y", "data/z"]), st.just("1" * 64), max_size=2
).map(lambda inputs: Case({"x/manifest.json": manifest(inputs)}, 1))


def read_manifests(folder: Path) -> object:
    graph = provenance.read(folder)
    return sum(artefact.manifest is not None for artefact in graph.values())


@st.composite
def bad_manifests(draw: st.DrawFn) -> Files:
    record = json.loads(manifest({}))
    slips: list[dict[str, Any]] = [
        {"inputs": {"a": "no hash"}},
        {"inputs": 3},
        {"code": {}},
        {"environment": {}},
        {"files": {"a": {"bytes": "many"}}},
    ]
    record |= draw(st.sampled_from(slips))
    return {"x/manifest.json": json.dumps(record).encode()}


# The log of reproductions.

RECORDED = "log/toy/2026-01-01-a-00000000"


def reproduction(measured: list[float], **changes: object) -> Files:
    """Return a reproduction's files; `changes` are of its facts."""
    head = ["paper", "table", "row", "column", "kind", "claim"]
    head += ["reported", "measured", "p_adjusted", "verdict"]
    rows = [
        ["p", "p-t", f"r{number}", "c", "number", "x", "", repr(value), "", "close"]
        for number, value in enumerate(measured)
    ]
    data = bytes_of(["\t".join(row) for row in (head, *rows)])
    facts: dict[str, object] = {
        "scale": "toy",
        "published": {"by": "A", "licence": "MIT", "day": "2026-01-01"},
        "bundle": "0" * 64,
        "residuum": "1.0.0",
        "commits": [],
        "machine": {"python": ["3.11.7"]},
        "packages": {},
        "verdicts": {"p": {"close": len(rows)}},
        "numbers": sha256(data).hexdigest(),
    }
    text = yaml.safe_dump(facts | changes).encode()
    return {
        "log/toy/2026-01-01-a-00000000/reproduction.yaml": text,
        "log/toy/2026-01-01-a-00000000/numbers.tsv": data,
    }


measured = st.lists(st.floats(-1, 1), min_size=1, max_size=4)
reproductions = measured.map(lambda values: Case(reproduction(values), values))


def read_reproductions(folder: Path) -> object:
    [one] = log.read(folder / "log")
    return [row.measured for row in one.rows.values()]


@st.composite
def bad_reproductions(draw: st.DrawFn) -> Files:
    values = draw(measured)
    slips: list[dict[str, object]] = [
        {"scale": None},
        {"scale": "../x"},
        {"published": {"by": "A", "licence": "MIT", "day": "soon"}},
        {"bundle": "no hash"},
        {"machine": ["3.11.7"]},
        {"verdicts": {"p": {"close": "many"}}},
        {"numbers": "1" * 64},
    ]
    kind = draw(st.integers(0, len(slips)))
    if kind < len(slips):
        return reproduction(values, **slips[kind])
    files = reproduction(values)
    return files | {
        "log/toy/2026-01-01-a-00000000/numbers.tsv": files[
            "log/toy/2026-01-01-a-00000000/numbers.tsv"
        ]
        + b"more\n"
    }


# Checkpoints.


@cache
def checkpoint() -> Files:
    """Return the files of an encoder of two layers."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "river", "hill"]
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(
        vocab_size=len(words), intermediate_size=8, max_position_embeddings=8, **shape
    )
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        BertModel(config).save_pretrained(folder)
        BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
        (folder / "residuum.json").write_text('{"query_length": 8, "doc_length": 8}')
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_checkpoint(folder: Path) -> object:
    from residuum.neural.devices import Device
    from residuum.neural.encoders import Encoder

    return Encoder.load(folder, Device("cpu", "fp32")).encode(["river"], "query", 1).shape


checkpoints = st.builds(lambda: Case(checkpoint(), (1, 8)))


@st.composite
def bad_checkpoints(draw: st.DrawFn) -> Files:
    files, kind = dict(checkpoint()), draw(st.integers(0, 4))
    weights = files["model.safetensors"]
    size = int.from_bytes(weights[:8], "little")
    head, values = json.loads(weights[8 : 8 + size]), weights[8 + size :]
    name = draw(st.sampled_from(sorted(head.keys() - {"__metadata__"})))
    if kind == 0:
        head[f"module.{name}"] = head.pop(name)
    elif kind == 1:
        head[f"{name}.more"] = head.pop(name)
    elif kind == 2:
        config = json.loads(files["config.json"])
        key = draw(st.sampled_from(["num_hidden_layers", "hidden_size", "vocab_size"]))
        files["config.json"] = json.dumps(config | {key: draw(st.integers(10, 10**9))}).encode()
    elif kind == 3:
        values = values[: draw(st.integers(0, len(values) - 1))]
    else:
        key = draw(st.sampled_from(["query_lenght", "doc_lengths"]))
        files["residuum.json"] = json.dumps({key: 8}).encode()
    text = json.dumps(head).encode()
    files["model.safetensors"] = len(text).to_bytes(8, "little") + text + values
    return files


READERS = {
    "run": Reader(read_run, runs, bad_runs),
    "gzipped run of others": Reader(read_any_run, packed_runs, bad_packed_runs),
    "qrels": Reader(
        lambda folder: trec.read_qrels(folder / "q.trec").rows(),
        grades().map(lambda rows: Case({"q.trec": bytes_of(qrels_lines(rows))}, rows)),
        bad_qrels,
    ),
    "queries": Reader(
        lambda folder: trec.read_queries(folder / "queries.tsv"), queries, bad_queries
    ),
    "JSON lines": Reader(docs_of("docs.jsonl"), jsonl, bad_jsonl),
    "CSV": Reader(docs_of("docs.csv"), csvs, bad_csv()),
    "TSV": Reader(docs_of("docs.tsv"), tsvs, bad_tsv),
    "Parquet": Reader(docs_of("docs.parquet"), parquets, bad_parquet()),
    "DPR": Reader(read_questions, questions, bad_questions),
    "BEIR": Reader(read_beir, beir(), bad_beir()),
    "SGML": Reader(read_sgml, sgmls, bad_sgml()),
    "PubMed": Reader(read_pubmed, pubmeds, bad_pubmed()),
    "YAML": Reader(read_yaml, yamls, bad_yaml(), ValueError),
    "bundle": Reader(read_bundle, bundles, bad_bundles()),
    "reproductions": Reader(read_reproductions, reproductions, bad_reproductions()),
    "manifest": Reader(read_manifests, manifests, bad_manifests()),
    "checkpoint": Reader(read_checkpoint, checkpoints, bad_checkpoints()),
}
