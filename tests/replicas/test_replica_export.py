"""residuum exports every replica with the specs of config/: the docs, queries and judgements."""

import csv
import json
import re
import tarfile
from gzip import decompress

import polars as pl
import pytest

import wordnets
from corpora import form
from replicas import (
    car,
    cord19,
    disks45,
    dpr_w100,
    exporting,
    kilt,
    msmarco_document,
    msmarco_passage,
    nfcorpus,
)
from residuum import lexical
from residuum.artefacts import contracts, docpairs, trec
from residuum.config.schema.analyses import IndexForm
from residuum.lucene import indexing, jvm
from residuum.tuning.evaluation import evaluate

DPR = "dpr-w100/natural-questions"
WRITERS = {
    "msmarco-passage": lambda folders: msmarco_passage.write(folders.home),
    "msmarco-document": lambda folders: msmarco_document.write(folders.home),
    "nq-dpr": lambda folders: dpr_w100.write(*folders),
    "cord19": lambda folders: cord19.write(folders.home),
    "robust04": lambda folders: disks45.write(folders.home),
    "nfcorpus": lambda folders: nfcorpus.write(folders.home),
    "car": lambda folders: car.write(folders.home),
    "wikipedia": lambda folders: kilt.write(*folders, dpr_w100.write(*folders)),
}


class Written:
    """A replica, where it lies, and what residuum exports of it."""

    def __init__(self, name, base):
        self.name, self.base = name, base
        self.folders = exporting.Folders(base / "home", base / "data")
        self.replica = WRITERS[name](self.folders)

    def docs(self, name=None, **source):
        output = self.base / f"{name or self.name}.corpus"
        entry = exporting.dataset(name or self.name, self.replica, **source)
        done = exporting.corpus(self.folders, name or self.name, entry, output)
        assert done.returncode == 0, done.stderr
        return {doc.pop("doc_id"): doc for doc in contracts.read_docs(output)}

    def split(self, which):
        output = self.base / which
        entry = exporting.dataset(self.name, self.replica)
        done = exporting.split(self.folders, self.name, entry, which, output)
        assert done.returncode == 0, done.stderr
        return output


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    made = {}

    def give(name):
        if name not in made:
            made[name] = Written(name, tmp_path_factory.mktemp(name))
        return made[name]

    return give


def joined(*texts):
    return " ".join(text for text in texts if text)


def test_papers_have_the_bodies_that_were_generated(written):
    result = written("cord19").docs()
    expected = {}
    for uid, paper in written("cord19").replica.docs:
        body = joined(*(part for section in paper["body"] for part in section))
        fields = {"title": paper["title"], "abstract": paper["abstract"], "body": body}
        expected.setdefault(uid, {"text": joined(paper["title"], paper["abstract"]), **fields})
    assert result == expected and len(result) == 220
    assert sum(not paper["body"] for paper in result.values()) not in (0, 220)


def test_passages_of_dpr_come_without_the_quotes_of_their_file(written):
    result = written("nq-dpr").docs()
    path = written("nq-dpr").folders.home / "dpr-w100" / "docs.tsv.gz"
    rows = list(
        csv.reader(decompress(path.read_bytes()).decode().split("\n")[1:-1], delimiter="\t")
    )
    expected = {i: {"text": f"{t} {text}", "title": t, "body": text} for i, text, t in rows}
    assert result == expected and len(result) == 600
    assert any('"' in doc["body"] for doc in result.values()), "quotes of the text stay"


def test_a_sample_of_dpr_keeps_the_marked_passages(written):
    sample = {"docs": 300, "seed": 1, "keep": ["train", "dev"], "level": 2}
    without = written("nq-dpr").docs("nq-250k", sample=sample)
    result = written("nq-dpr").docs(
        "nq-250k", sample={**sample, "marked": "nq/nq-test_gold_info.json"}
    )
    replica = written("nq-dpr").replica
    marked = {doc for rows in replica.qrels.values() for _, doc, level in rows if level == 2}
    assert marked < set(result) and marked < set(without) and len(result) == len(without) == 300
    of_test = {doc for docs in replica.holders["nq-test"].values() for doc in docs}
    assert of_test < set(result) and not of_test <= set(without)
    assert not any(doc["body"].startswith('"') for doc in result.values())


def test_twice_encoded_passages_are_mended(written):
    expected = {i: {"text": doc["text"]} for i, doc in written("msmarco-passage").replica.docs}
    assert written("msmarco-passage").docs() == expected
    assert any(msmarco_passage.ODD in doc["text"] for doc in expected.values())


def test_raw_passages_are_those_of_the_official_file(written):
    made = written("msmarco-passage")
    mangled = {i: msmarco_passage.mangled(int(i), doc["text"]) for i, doc in made.replica.docs}
    result = made.docs("msmarco-passage-raw")
    assert result == {i: {"text": text} for i, text in mangled.items()}
    mended = made.docs()
    assert "cafÃ©" in result["3"]["text"] and "café" in mended["3"]["text"]
    assert sum(result[i] != mended[i] for i in mended) == 86, "one of seven of the 600"


def test_an_index_of_raw_passages_has_the_counts_of_anserinis(written, tmp_path):
    made, theirs = written("msmarco-passage"), tmp_path / "theirs"
    with tarfile.open(made.folders.home / made.name / "collectionandqueries.tar.gz") as tar:
        lines = tar.extractfile("collection.tsv").read().decode().split("\n")[:-1]
    docs = [dict(zip(("id", "contents"), line.split("\t"), strict=True)) for line in lines]
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "docs.jsonl").write_text("".join(f"{json.dumps(d)}\n" for d in docs))
    options = ["-collection", "JsonCollection", "-input", str(tmp_path / "json"), "-threads", "1"]
    jvm.java("io.anserini.index.IndexCollection").main([*options, "-index", str(theirs)])
    counts = indexing.statistics(theirs, IndexForm.model_validate_json(form()))
    for name in ("msmarco-passage-raw", "msmarco-passage"):
        made.docs(name)
        lexical.index(made.base / f"{name}.corpus", form(), tmp_path / name)
    raw, mended = (lexical.index_record(tmp_path / n) for n in (f"{made.name}-raw", made.name))
    assert {key: raw[key] for key in counts} == counts
    assert mended["documents"] == raw["documents"] and mended["total_terms"] != raw["total_terms"]


def test_documents_have_url_title_and_body(written):
    result = written("msmarco-document").docs()
    assert result == {
        i: {"text": joined(doc["url"], doc["title"], doc["body"]), **doc}
        for i, doc in written("msmarco-document").replica.docs
    }


def test_paragraphs_are_read_with_the_words_of_their_links(written):
    result = written("car").docs()
    assert list(result.items()) == written("car").replica.docs and len(result) == 600


def test_articles_of_wikipedia_have_a_title_and_a_body(written):
    """KILT's text begins with the title; headings and points of lists lose their marks."""
    made = written("wikipedia")
    docs, expected = made.docs(), dict(made.replica.docs)
    assert docs.keys() == expected.keys() and len(docs) == 100
    for doc_id, record in docs.items():
        title, text = expected[doc_id]["title"], expected[doc_id]["text"]
        assert record == {"text": joined(title, text), "title": title, "body": text}
        assert text.startswith(f"{title}\n") and "::::" not in text


def test_newswire_has_title_and_body(written):
    result = written("robust04").docs()
    collapsed = {
        i: {field: " ".join(doc[field].split()) for field in ("title", "body")}
        for i, doc in result.items()
    }
    assert collapsed == dict(written("robust04").replica.docs) and len(result) == 2500


@pytest.mark.parametrize(
    ("name", "which", "irds_id"),
    [
        ("msmarco-passage", "dev", "msmarco-passage/dev/small"),
        ("msmarco-passage", "trec-dl-2019", "msmarco-passage/trec-dl-2019/judged"),
        ("msmarco-document", "trec-dl-2020", "msmarco-document/trec-dl-2020/judged"),
        ("nq-dpr", "dev", "dpr-w100/natural-questions/dev"),
        ("cord19", "round1", "cord19/trec-covid/round1"),
        ("cord19", "round2", "cord19/trec-covid/round2"),
        ("robust04", "test", "disks45/nocr/trec-robust-2004"),
        ("nfcorpus", "test", "nfcorpus/test"),
        ("car", "test200", "car/v1.5/test200"),
    ],
)
def test_queries_and_judgements_are_exported(written, name, which, irds_id):
    output, replica = written(name).split(which), written(name).replica
    assert trec.read_queries(output / "queries.tsv") == replica.queries[irds_id]
    expected = replica.qrels[irds_id]
    if name == "nq-dpr":  # `relevant_from: 2`: what BM25 found and holds an answer has level 1
        expected = [(query, doc, 0 if level == 1 else level) for query, doc, level in expected]
        assert expected != replica.qrels[irds_id]
    assert trec.read_qrels(output / "qrels.trec").rows() == expected


def test_a_holdout_is_drawn_from_the_training_queries(written):
    train, tune = (
        set(trec.read_queries(written("msmarco-passage").split(which) / "queries.tsv"))
        for which in ("train", "tune")
    )
    assert (len(tune), len(train)) == (500, 640 - 500)
    assert train | tune == set(written("msmarco-passage").replica.queries["msmarco-passage/train"])


def test_adverse_queries_are_reworded_by_a_wordnet_and_refused_without(written):
    place = written("msmarco-passage")
    entry, output = exporting.dataset(place.name, place.replica), place.base / "dev-adverse"
    done = exporting.split(place.folders, place.name, entry, "dev-adverse", output)
    folder = place.folders.data / "wordnet" / "dict"
    assert done.returncode and f"{folder}: no such folder. Get WordNet" in done.stderr
    wordnets.write(folder, wordnets.OF_PLACES)
    place.split("dev-adverse")
    before, docs = place.replica.queries["msmarco-passage/dev/small"], dict(place.replica.docs)
    [qrels] = {(f / "qrels.trec").read_bytes() for f in (output, place.split("dev"))}
    other = {a: b for own in wordnets.OF_PLACES.values() for a, b in own}
    other = {key: b.replace("_", " ") for a, b in other.items() for key, b in ((a, b), (b, a))}
    target = {row.split()[0]: row.split()[2] for row in qrels.decode().splitlines()}
    after = trec.read_queries(output / "queries.tsv")
    for query_id, text in before.items():
        held = {*re.findall(r"[a-z-]+", str(docs[target[query_id]]).lower())}
        words = re.findall(r"[a-z-]+|[^a-z-]+", text)
        new = [other[w] if w in other and w in held else w for w in words]
        assert after[query_id] == "".join(new)
    assert before.keys() == after.keys() and before != after


def test_answers_are_those_that_csv_reads(written):
    place = written("nq-dpr")
    spec = exporting.spec(exporting.dataset("nq-dpr", place.replica), "test")
    output = place.base / "answers.jsonl"
    words = ["answers", "--dataset", "nq-dpr", "--name", "test", "--spec", spec]
    done = exporting.run(place.folders, "residuum.data", *words, "--output", str(output))
    assert done.returncode == 0, done.stderr
    assert contracts.read_answers(output) == place.replica.answers["nq-test"]


@pytest.mark.parametrize(("which", "of"), [("test", "nq-test"), ("dev", f"{DPR}/dev")])
def test_answers_judge_the_passages_that_the_replica_made_to_hold_them(written, which, of):
    place = written("nq-dpr")
    corpus, output = place.base / "whole", place.base / f"answered-{which}"
    every = {"docs": 600, "seed": 1, "keep": ["train", "dev"], "level": 2}
    entry = exporting.dataset("nq-250k", place.replica, sample=every)
    assert exporting.corpus(place.folders, "nq-250k", entry, corpus).returncode == 0
    words = (place.folders, "nq-250k", entry, which, output, "--corpus", str(corpus))
    done = exporting.split(*words)
    assert done.returncode == 0, done.stderr
    holders, judged = place.replica.holders[of], trec.read_qrels(output / "qrels.trec")
    relevant = judged.filter(relevance=1).select("query_id", "doc_id").rows()
    assert relevant == [(query_id, doc) for query_id, docs in holders.items() for doc in docs]
    unanswered = [query_id for query_id, docs in holders.items() if not docs]
    assert judged.filter(relevance=0).rows() == [(query_id, "1", 0) for query_id in unanswered]
    run = pl.DataFrame(
        [(q, str(n + k), k) for n, q in enumerate(holders) for k in range(1, 300)],
        schema={"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64}, orient="row",
    )  # fmt: skip
    names, answers = ["AnswerAccuracy@250", "Success@250"], place.replica.answers[of]
    metrics = evaluate(run, judged, names, lambda: (answers, contracts.read_docs(corpus)))
    expected = {
        query_id: float(any(n < int(doc) <= n + 250 for doc in docs))
        for n, (query_id, docs) in enumerate(holders.items())
    }
    for name in names:
        assert dict(metrics.filter(measure=name).select("query_id", "value").rows()) == expected
    assert 0 < sum(expected.values()) < len(holders) - len(unanswered)


def test_mcdonalds_folds_are_exported_with_all_that_is_judged(written):
    newswire = written("robust04")
    splits = exporting.dataset("robust04", newswire.replica).splits
    whole = newswire.split("test-mcdonald")
    folds = [newswire.split(name) for name in splits["test-mcdonald"].folds]
    topics = [list(trec.read_queries(fold / "queries.tsv")) for fold in folds]
    assert [len(fold) for fold in topics] == [50] * 5
    every = trec.read_queries(whole / "queries.tsv")
    assert sorted(topic for fold in topics for topic in fold) == sorted(every) and "672" in every
    rows = [row for fold in folds for row in trec.read_qrels(fold / "qrels.trec").rows()]
    assert sorted(rows) == sorted(trec.read_qrels(whole / "qrels.trec").rows())
    assert "672" not in {query_id for query_id, _, _ in rows}


def test_another_encoding_of_the_machine_is_refused(written):
    place = written("nfcorpus")
    entry = exporting.dataset("nfcorpus", place.replica)
    words = ["corpus", "--dataset", "nfcorpus", "--spec", exporting.spec(entry), "--output"]
    odd = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    output = place.base / "odd"
    done = exporting.run(place.folders, "residuum.data", *words, str(output), **odd)
    assert done.returncode == 1 and not output.exists()
    assert "Set PYTHONUTF8=1" in done.stderr and "Traceback" not in done.stderr


def test_training_triples_are_read_without_those_of_held_out_queries(written):
    passages = written("msmarco-passage")
    folder = passages.split("train")
    entry = exporting.dataset(passages.name, passages.replica)
    done = exporting.docpairs(passages.folders, passages.name, entry, "train", folder)
    assert done.returncode == 0, done.stderr
    path = passages.folders.home / passages.name / "train" / "small.triples.qidpid.tsv"
    official = [tuple(line.split("\t")) for line in path.read_text().splitlines()]
    own = trec.read_queries(folder / "queries.tsv")
    assert (len(official), len(own)) == (1280, 140), "500 of 640 queries are held out to tune"
    expected = [row for row in official if row[0] in own]
    assert docpairs.read(folder / "docpairs.tsv.gz").rows() == expected
    facts = json.loads((folder / "docpairs.tsv.gz.manifest.json").read_text())["artefact"]
    assert facts == {"triples": 280, "of_other_queries": 1000}
