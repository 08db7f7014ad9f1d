"""The docs' recipe of a dataset of one's own, as printed: from a folder to a tested table."""

import gzip
import json
import os
import re
import shutil

import ir_measures
import numpy as np
import polars as pl
import pytest
import torch
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import forking
import layouts
import recompute
from conftest import ROOT
from corpora import make_corpus
from projects import copy_project, snakemake
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from timings import phases_of_runs
from tiny_models import make_backbone

PAGE = (ROOT / "docs" / "how-to" / "dataset.md").read_text()
RECIPE = PAGE.partition("## Make a tested table of it\n")[2].partition("\n## ")[0]
BLOCK = re.compile(r"```yaml\n# (config/\S+?\.yaml)\b[^\n]*\n(.*?)```", re.S)


def lay(home):
    """Lay 30 docs as BEIR has them, with a query of each word that two docs share."""
    folder = home / "mine"
    docs = [(f"d{n}", "", f"word{n % 15} of doc {n} in town{n % 6}") for n in range(30)]
    queries = [(f"q{n}", f"word{n}") for n in range(15)]
    layouts.write_beir(folder, docs, queries, {
        split: [(f"q{n}", f"d{doc}", 1) for n in range(15) if n % 3 == part for doc in (n, n + 15)]
        for part, split in enumerate(("train", "dev", "test"))
    })  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the project, write the files of the recipe, at scale smoke, and lay the folder."""
    project = copy_project(tmp_path_factory.mktemp("mine"))
    blocks = dict(BLOCK.findall(RECIPE))
    for name, text in blocks.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("base: mini", "base: smoke"))
    lay(project / "data")
    return project, blocks


def test_the_recipe_has_as_many_lines_as_pages_say(project):
    _, blocks = project
    assert [*blocks] == [
        "config/datasets/mine.yaml", "config/scales/mine.yaml", "config/papers/mine/table1.yaml",
    ]  # fmt: skip
    assert sum(len(text.splitlines()) for text in blocks.values()) == 16
    for name in ("README.md", "docs/tutorial.md", "docs/how-to/dataset.md"):
        assert re.search("sixteen lines of YAML", (ROOT / name).read_text(), re.I), name


def test_a_folder_becomes_a_tested_table(project):
    folder, _ = project
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    table = (folder / "results" / "mine" / "tables" / "mine-table1.md").read_text()
    for label in ("1 BM25", "2 CLEAR's embedding", "3 DPR trained on it", "4 BM25 and DPR"):
        (row,) = [line for line in table.splitlines() if f"| {label}" in line]
        assert "not run" not in row and re.search(r"\d\.\d{3}", row)
    assert "1 BM25                                 | 1.000" in table  # two docs share each word
    assert "Test: permutation" in table and ", 5 queries." in table
    index = (folder / "results" / "mine" / "report" / "index.html").read_text()
    head, _, body = index.partition('<div class="papers">')
    assert "there is no verdict" in head, "no paper prints this table: the report opens with it"
    numbers = re.findall(r'<a class="number" href="(mine/mine-table1\.html)#.*?">(.*?)</a>', head)
    assert numbers[0][1] == "1.000" and len(numbers) == 8 and "<table" not in body


def test_without_a_split_to_train_on_the_others_run(project):
    folder, _ = project
    (folder / "config" / "datasets" / "mine.yaml").write_text(
        "source: {kind: beir, folder: mine}\nsplits: {test: {}}\n"
    )
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    table = (folder / "results" / "mine" / "tables" / "mine-table1.md").read_text()
    lines = {label: line for line in table.splitlines() if (label := line[5:11])}
    assert "not run" in lines["3 DPR "] and "not run" in lines["4 BM25"]
    assert "not run" not in lines["1 BM25"] + lines["2 CLEA"]
    assert "Not run: dpr: config/datasets/mine.yaml: own.train: no split given" in table


SYSTEMS = (ROOT / "docs" / "how-to" / "system.md").read_text()
PUBLISHED = (ROOT / "docs" / "how-to" / "published-model.md").read_text()
TABLE = """\
kind: table
title: A released encoder
columns: [{id: ndcg, role: mine-test, measure: nDCG@10, header: nDCG@10}]
rows:
  - {id: bm25, index: 1, label: BM25, system: bm25-default}
  - {id: released, index: 2, label: the model, system: theirs}
  - {id: hybrid, index: 3, label: both, system: mine-hybrid}
  - {id: reranked, index: 4, label: reranked, system: mine-reranked}
  - {id: late, index: 5, label: of tokens, system: late}
  - {id: late-sum, index: 6, label: BM25 and of tokens, system: late-sum}
  - {id: late-exact, index: 7, label: both models, system: late-exact}
  - {id: late-reranked, index: 8, label: reranked by tokens, system: late-reranked}
tests: clear
"""


FIGURE = """\
kind: figure
title: Depths
role: mine-test
over: depth
panels: [{id: ndcg, shows: reranked, measure: nDCG@10, header: nDCG@10}]
series: [{id: late, label: by tokens, system: late-reranked}]
tests: depths
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return a project with a released encoder by the docs' recipe, its results, and the model."""
    folder = copy_project(tmp_path_factory.mktemp("released"))
    lay(folder / "data")
    texts = make_corpus(
        folder / "texts", [(f"d{n}", f"word{n} doc {n} town{n}") for n in range(60)]
    )
    start = make_backbone(folder / "start", texts)
    model = SentenceTransformer(modules=[Transformer(str(start)), Pooling(16), Normalize()])
    model.save(str(folder / "theirs"))
    (hybrid,) = (text for name, text in BLOCK.findall(PUBLISHED) if name.endswith("hybrid.yaml"))
    assert len(hybrid.splitlines()) <= 8
    hybrid = hybrid.replace("[bm25-default, mine]", "[bm25-default, theirs]")
    (late,) = (
        text for name, text in BLOCK.findall(PUBLISHED) if name.endswith("bm25-colbert.yaml")
    )
    late = late.replace("{model: colbert}", "{model: late}").replace("[10, 20, 50]", "[5, 10, 20]")
    (folder / "data/mine/qrels/dev.tsv").rename(folder / "data/mine/qrels/tune.tsv")
    entries = {
        "datasets/mine": "source: {kind: beir, folder: mine}\nsplits: {tune: {}, test: {}}\n"
        "own: {tune: tune}\n",
        "scales/mine": "base: smoke\nreason: small\nroles: {mine-test: mine/test}\n",
        "models/theirs": "kind: released-encoder\npath: theirs\n",
        "systems/mine-hybrid": hybrid.replace("weighted: mine", "weighted: theirs"),
        "systems/mine-reranked": "kind: rerank\nfirst_stage: bm25-default\n"
        "reranker: {path: a cross, reading: {query_length: 12, length: 32}}\ndepth: {value: 10}\n",
        "models/late": "kind: released-encoder\npath: theirs late\npooling: tokens\n",
        "systems/late-sum": "base: mine-hybrid\nparts: [bm25-default, late]\n"
        "interpolation: {weighted: late, value: 0.7, grid: null, tune_on: null, measure: null}\n",
        "systems/late-exact": "kind: hybrid\nparts: [theirs, late]\n"
        "interpolation: {weighted: late, value: 0.5}\nk: 20\n",
        "systems/late-reranked": late,
        "papers/mine/table1": TABLE,
        "papers/mine/figure1": FIGURE,
    }
    late_model(start).save(str(folder / "theirs late"))
    write(folder, entries)
    torch.manual_seed(1)
    cross = AutoModelForSequenceClassification.from_pretrained(start, num_labels=1)
    cross.save_pretrained(folder / "a cross")
    AutoTokenizer.from_pretrained(start).save_pretrained(folder / "a cross")
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    return folder, folder / "results" / "mine", model


def late_model(start):
    """Return a late-interaction model of sentence-transformers, of the toy backbone."""
    torch.manual_seed(3)
    how = {"module_input_name": "token_embeddings"}
    dense = Dense(16, 6, bias=False, activation_function=torch.nn.Identity(), **how)
    expansion = {"strategy": "fixed", "attend": False, "length": 8}
    text = Transformer(str(start), query_expansion=expansion, document_length=24)
    return MultiVectorEncoder(modules=[text, dense, MultiVectorMask(), Normalize(**how)])


def write(folder, entries):
    for name, text in entries.items():
        (folder / "config" / name).parent.mkdir(exist_ok=True)
        (folder / "config" / f"{name}.yaml").write_text(text)


def rows_of(results, page):
    """Return a table and its rows by their numbers."""
    table = (results / "tables" / f"mine-{page}.md").read_text()
    lines = [line for line in table.splitlines() if line.startswith("|  | ")]
    return table, {line[5:6]: line for line in lines}


def test_a_released_encoder_is_a_system_in_three_lines(released):
    """With a folder of sentence-transformers: its own numbers, and no seeds."""
    folder, results, model = released
    table, rows = rows_of(results, "table1")
    assert not any("±" in row or "not run" in row for row in rows.values()), table
    assert (
        "theirs, released and not trained here: theirs, pooling mean, vectors of length 1" in table
    )
    assert f" {of_sentence_transformers(folder, model):.3f}" in rows["2"]
    assert not (results / "learning").exists(), "nothing was trained"
    assert "Nothing to be done" in snakemake(folder, scale="mine", config="papers=[mine]", cores=1)


def test_what_another_tool_did_otherwise_is_named(released):
    """Of a page's run, against runs of a file: a query less, and docs of fewer tokens."""
    folder, results, _ = released
    run = trec.read_run(results / "runs/mine/test/bm25-default.trec.gz")
    gone = run["query_id"].unique().sort()[0]
    lines = run.filter(pl.col("query_id") != gone).select("query_id", "doc_id", "rank", "score")
    text = "".join(f"{q} Q0 {d} {r} {s} theirs\n" for q, d, r, s in lines.rows())
    (folder / "less.run").write_text(text)
    words = ["explain", "mine/table1/bm25/ndcg", "--results", "results/mine", "--against"]
    said = forking.run("residuum.__main__", [*words, "less.run"], os.environ, folder, merged=True)
    assert "cause      1 queries without a list: explains 100%" in said.stdout, said.stdout
    docs, queries = texts_of(folder)
    asked = {query: queries[query] for query in run["query_id"].unique().sort()}
    short = SentenceTransformer(str(folder / "theirs"), device="cpu")
    scores = short.encode([f"query: {text}" for text in asked.values()]) @ short.encode(
        [*docs.values()]
    ).T  # fmt: skip
    table = pl.DataFrame(
        [(query, doc, float(score)) for query, row in zip(asked, scores, strict=True)
         for doc, score in zip(docs, row, strict=True)],
        ["query_id", "doc_id", "score"], orient="row",
    )  # fmt: skip
    trec.write_run(folder / "short.trec.gz", trec.rank(table), "short")
    words[1] = "mine/table1/released/ndcg"
    said = forking.run(
        "residuum.__main__", [*words, "short.trec.gz"], os.environ, folder, merged=True
    )
    assert "cause      prompts 'query: ' and '': explains 100%" in said.stdout, said.stdout


def test_one_command_writes_what_makes_the_table(released):
    """With a model of the configuration and one of a folder: each row has a number."""
    folder, _, model = released
    shutil.copytree(folder / "theirs", folder / "anew")
    words = ["new", "data/mine", "--paper", "fresh", "--model", "theirs", "--model", "anew"]
    done = forking.run("residuum.__main__", words, os.environ, folder, merged=True)
    assert done.returncode == 0, done.stdout
    written = re.findall(r"^wrote (.+)$", done.stdout, re.M)
    (table,) = re.findall(r"^The table is then (.+)\.$", done.stdout, re.M)
    snakemake(folder, scale="fresh", config="papers=[fresh]", cores=1)
    text = (folder / table).read_text()
    rows = [line.split("|") for line in text.splitlines() if line.startswith("|  | ")][1:]
    labels = [row[2].split(maxsplit=1)[1].strip() for row in rows]
    assert labels == [
        "BM25", "BM25 + RM3", "theirs", "BM25 + theirs, weighted sum", "BM25 + theirs, RRF",
        "anew", "BM25 + anew, weighted sum", "BM25 + anew, RRF",
    ]  # fmt: skip
    numbers = [re.findall(r"\d\.\d{3}", "|".join(row)) for row in rows]
    assert all(len(found) == 2 for found in numbers), text
    assert numbers[2] == numbers[5] and numbers[3] == numbers[6]
    assert numbers[2][0] == f"{of_sentence_transformers(folder, model):.3f}"
    figures = folder / "results/fresh/figures"
    recall, by_query = (
        pl.read_csv(figures / f"fresh-figure{number}.tsv", separator="\t") for number in (1, 2)
    )
    named = {"BM25": "bm25-default", "theirs": "theirs", "BM25 + theirs, RRF": "fresh-theirs-rrf"}
    for label, system in named.items():
        ndcg, recall_at_100 = numbers[labels.index(label)]
        assert f"{recall.filter(series=system, cutoff=100)['mean'].item():.3f}" == recall_at_100
        column = "first" if label == "BM25" else "value"
        other = "theirs" if label == "BM25" else system
        assert f"{by_query.filter(series=other)[column].mean():.3f}" == ndcg
    judged = trec.read_qrels(folder / "results/fresh/data/fresh/test/qrels.trec")
    relevant = judged.filter(pl.col("relevance") > 0)
    answered = {
        system: {
            *trec.cut(
                trec.read_run(folder / f"results/fresh/runs/fresh/test/{system}.trec.gz"), 10
            ).join(relevant, on=trec.PAIR)["query_id"]
        }
        for system in ("theirs", "bm25-default")
    }
    circles = pl.read_csv(folder / "results/fresh/venn/fresh-figure3.tsv", separator="\t")
    alone = circles.filter(row="theirs", column="residual")["measured"].item()
    count = judged["query_id"].n_unique()
    assert alone == pytest.approx(len(answered["theirs"] - answered["bm25-default"]) / count)
    drawn = [f"fresh-figure{number}" for number in (1, 2, 3)]
    reports = recompute.recompute(folder / "results/fresh", drawn, verdicts=False)
    assert not [one for report in reports for one in report.differences]
    assert [report.cells for report in reports] == [recall.height, by_query.height, 2 * 6]
    for number, column, value in ((1, "mean", recall), (2, "value", by_query)):
        path = figures / f"fresh-figure{number}.tsv"
        value.with_columns(pl.col(column) + 0.25).write_csv(path, separator="\t")
        [report] = recompute.recompute(folder / "results/fresh", [path.stem], verdicts=False)
        assert len(report.differences) == value.height, "each changed number is found"
    for name in [*written, "config/papers/fresh"]:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_another_precision_of_a_model_encodes_and_reranks_by_it_anew(released):
    """Nothing of other models: with theirs, its hybrid; with the late one, what it reranks."""
    folder, *_ = released
    kept = {f"models/{name}": (folder / f"config/models/{name}.yaml").read_text()
            for name in ("theirs", "late")}  # fmt: skip
    for name, scored in (("theirs", {}), ("late", {"rerank_score": 2, "rerank_depths": 2})):
        text = kept[f"models/{name}"]
        write(folder, {f"models/{name}": f"{text}precision: bf16\n"})
        planned = snakemake(folder, scale="mine", config="papers=[mine]", options=["--dry-run"])
        write(folder, kept)
        counts = dict(re.findall(r"^((?:encode|rerank|release)_[a-z]+) +(\d+)$", planned, re.M))
        made = {rule: int(count) for rule, count in counts.items() if rule != "rerank_cut"}
        assert made == {"encode_docs": 1, "encode_queries": 1, **scored}, planned


def test_a_late_model_is_a_system_and_a_part(released):
    """Its scores are sentence-transformers' MaxSim; sums, exact and of lists, add these scores."""
    folder, results, model = released
    table, rows = rows_of(results, "table1")
    assert not any("not run" in rows[number] for number in "567"), table
    assert "queries of 8 tokens at least" in table
    docs, queries = texts_of(folder)
    late = MultiVectorEncoder(str(folder / "theirs late"), device="cpu")
    encoded = [late.encode_query([*queries.values()]), late.encode_document([*docs.values()])]
    scores = pl.DataFrame(np.asarray(late.similarity(*encoded)), [*docs])
    scores = scores.with_columns(query_id=pl.Series([*queries])).unpivot(
        index="query_id", variable_name="doc_id", value_name="expected"
    )
    runs = results / "runs" / "mine" / "test"
    own = trec.read_run(runs / "late.trec.gz").join(scores, on=trec.PAIR)
    assert len(own) == 5 * 30
    np.testing.assert_allclose(own["score"], own["expected"], atol=1e-4)
    plain = np.asarray(model.similarity(
        model.encode_query([*queries.values()]), model.encode_document([*docs.values()])
    ))  # fmt: skip
    names = [*queries], [*docs]
    for query, doc, score, expected in (
        trec.read_run(runs / "late-exact.trec.gz").join(scores, on=trec.PAIR)
        .select(*trec.PAIR, "score", "expected").rows()
    ):  # fmt: skip
        other = plain[names[0].index(query), names[1].index(doc)]
        assert score == pytest.approx(0.5 * expected + other, abs=1e-4)
    bm25 = {row[:2]: row[2] for row in trec.read_run(runs / "bm25-default.trec.gz").select(
        *trec.PAIR, "score").rows()}  # fmt: skip
    for query, doc, score, expected in (
        trec.read_run(runs / "late-sum.trec.gz").join(scores, on=trec.PAIR)
        .select(*trec.PAIR, "score", "expected").rows()
    ):  # fmt: skip
        assert score == pytest.approx(0.7 * expected + bm25.get((query, doc), 0), abs=1e-4)


def test_a_late_model_reranks_at_every_depth(released):
    """Each pair has the score of the late run; orders at a depth are made from both runs here."""
    _, results, _ = released
    table, rows = rows_of(results, "table1")
    assert "not run" not in rows["8"], table
    assert "late, released and not trained here: theirs late, pooling tokens" in table
    runs = results / "runs" / "mine" / "test"
    late = {row[:2]: row[2] for row in trec.read_run(runs / "late.trec.gz").select(
        *trec.PAIR, "score").rows()}  # fmt: skip
    scored = trec.read_run(results / "rerank/mine/test/late@seed0/shard-00000.trec.gz")
    first = trec.read_run(runs / "bm25-default.trec.gz")
    assert scored.height == trec.cut(first, 20).height
    for query, doc, score in scored.select(*trec.PAIR, "score").rows():
        assert score == pytest.approx(late[query, doc], abs=1e-4)
    record = json.loads((results / "tuning/mine/test/late-reranked.json").read_text())
    (depth,) = {choice["setting"]["depth"] for choice in record["choices"]}
    reranked = trec.read_run(runs / "late-reranked.trec.gz")
    for (query,), docs in first.group_by("query_id"):
        order = docs.sort("rank")["doc_id"].to_list()
        top = sorted(order[:depth], key=lambda doc, q=query: (-late[q, doc], doc))
        made = reranked.filter(query_id=query).sort("rank")["doc_id"].to_list()
        assert made == top + order[depth:]
    curve = trec.read_curve(results / "rerank/mine/test/late@seed0.depths.tsv")
    assert {0, 5, 10, 20} == {*curve["depth"]}
    assert (results / "figures" / "mine-figure1.tsv").is_file()


def test_a_cross_encoder_of_a_folder_reranks(released):
    """Its scores are those of sentence-transformers, without the sigmoid of a single label."""
    folder, results, _ = released
    (path,) = (results / "rerank").glob("mine/test/a_cross@*/shard-*.trec.gz")
    scored = trec.read_run(path)
    docs, queries = texts_of(folder)
    theirs = CrossEncoder(str(folder / "a cross"), device="cpu", activation_fn=torch.nn.Identity())
    pairs = [(queries[query], docs[doc]) for query, doc in scored.select(trec.PAIR).rows()]
    np.testing.assert_allclose(scored["score"], theirs.predict(pairs), atol=1e-4)


def test_systems_of_a_released_model_are_timed(released, monkeypatch):
    """Commands name models of folders from where Snakemake ran."""
    folder, results, _ = released
    monkeypatch.chdir(folder)
    dense = {"encode", "search"}
    runs = {
        **{"theirs": dense, "late": dense, "late-exact": dense},
        **{name: {*dense, "score", "fuse"} for name in ("mine-hybrid", "late-sum")},
        **{"late-reranked": {"search", "rerank"}},
        "mine-reranked": {"search", "rerank"},
    }
    assert phases_of_runs(results, "mine/test", *runs) == runs


EXTERNAL = {
    "systems/ext": "kind: external\nsource: theirs, kept\nruns: {mine-test: ext.run}\n",
    "systems/ext-seeds": "kind: external\nsource: theirs, of two seeds\n"
    "runs: {mine-test: [ext.run, ext2.run]}\n",
    "systems/ext-sum": """\
kind: fusion
parts: [bm25-default, ext]
interpolation: {weighted: ext, value: 1}
unretrieved: zero
normalise: min-max
k: 1000
""",
    "systems/own-sum": "base: ext-sum\nparts: [bm25-default, theirs]\n"
    "interpolation: {weighted: theirs}\n",
    **{
        f"systems/{name}-sum": f"base: ext-sum\nparts: [bm25-default, {name}]\n"
        f"interpolation: {{weighted: {name}}}\n"
        for name in ("vectors", "asked")
    },
    "systems/by-mine": "kind: function\nparts: [bm25-default, ext]\n"
    "function: {file: mine.py}\nk: 1000\n",
    "systems/by-own": "base: by-mine\nparts: [bm25-default, theirs]\n",
    "papers/mine/table2": """\
kind: table
title: An external run as a part
columns:
  - {id: hits, role: mine-test, measure: Success@10, header: Success@10}
  - {id: roc, role: mine-test, measure: Success@10, derived: RoC, header: RoC}
rows:
  - {id: own, index: 1, label: own, system: own-sum}
  - {id: external, index: 2, label: external, system: ext-sum}
  - {id: vectors, index: 3, label: vectors, system: vectors-sum}
  - {id: asked, index: 4, label: asked, system: asked-sum}
  - {id: function, index: 5, label: by a function, system: by-mine}
  - {id: by-own, index: 7, label: "ours, by a function", system: by-own}
  - {id: seeds, index: 6, label: two seeds, system: ext-seeds}
tests: clear
""",
    "papers/mine/venn": """\
kind: venn
title: Circles of an external run
role: mine-test
measure: Success@10
rows:
  - {id: own, label: own, dense: theirs, lexical: bm25-default}
  - {id: external, label: external, dense: ext, lexical: bm25-default}
""",
}


GIVEN = {  # the recipes of vectors, by the names that the table below has for them
    f"models/{name}": text
    for name, kind in (("vectors", "released-vectors"), ("asked", "program"))
    for text in re.findall(r"```yaml\n# config/models/\S+[^\n]*\n(.*?)```", PUBLISHED, re.S)
    if f"kind: {kind}\n" in text
}
(FUNCTION,) = re.findall(r"```python\n# mine\.py\n(.*?)```", SYSTEMS, re.S)
SCRIPT = """\
import json, sys
import numpy as np

held = {side: dict(np.load(f"{side}.npz")) for side in ("doc", "query")}
for line in sys.stdin:
    text = json.loads(line)
    with open("asked.txt", "a") as file:
        file.write(text["id"] + "\\n")
    ids, rows = held[text["side"]]["ids"].tolist(), held[text["side"]]["vectors"]
    vector = rows[ids.index(text["id"])].tolist()
    print(json.dumps({"id": text["id"], "vector": vector}), flush=True)
"""


@pytest.fixture(scope="module")
def beside(released):
    """Return the project's results beside its run as an external one, its vectors as others' own.

    A program answers with these vectors, too. A function of the user's fuses two parts.
    """
    folder, results, _ = released
    run = results / "runs" / "mine" / "test" / "theirs.trec.gz"
    (folder / "data" / "ext.run").write_bytes(gzip.decompress(run.read_bytes()))
    other = gzip.decompress(run.with_name("bm25-default.trec.gz").read_bytes())
    (folder / "data" / "ext2.run").write_bytes(other)
    ids, rows = contracts.read_vectors(results / "embeddings/mine/theirs/seed0/shard-00000")
    (folder / "data" / "given").mkdir()
    np.save(folder / "data/given/docs.npy", rows[::-1])
    (folder / "data/given/docs.txt").write_text("".join(f"{name}\n" for name in ids[::-1]))
    np.savez(folder / "doc.npz", ids=np.array(ids), vectors=rows)
    encoded = results / "embeddings/mine.queries/theirs/seed0"
    names, vectors = contracts.read_vectors(encoded / "test")
    table = {"id": names, "vector": vectors.tolist()}
    pl.DataFrame(table).write_parquet(folder / "data/given/queries.parquet")
    tune, more = contracts.read_vectors(encoded / "tune")
    both = np.concatenate([vectors, more])
    np.savez(folder / "query.npz", ids=np.array(names + tune), vectors=both)
    (folder / "embed.py").write_text(SCRIPT)
    (folder / "mine.py").write_text(FUNCTION)
    write(folder, {**EXTERNAL, **GIVEN})
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    return folder, results


def test_an_external_run_is_a_part_as_our_own_is(beside):
    """The same run, taken in from a file: equal numbers, RoC and circles, by a function too."""
    _, results = beside
    _, rows = rows_of(results, "table2")
    own, external, function = (rows[number].split("|")[3:] for number in "125")
    assert own == external == function
    metrics = results / "metrics" / "mine" / "test"
    means = [
        trec.read_metrics(metrics / f"{name}.tsv").filter(measure="Success@10")["value"].mean()
        for name in ("theirs", "bm25-default")
    ]
    assert f" {np.mean(means):.3f} ±{np.std(means, ddof=1):.3f} " in rows["6"]
    assert all(re.fullmatch(r" *\d\.\d{3}.*", cell) for cell in own[:-1]), rows
    circles = pl.read_csv(results / "venn" / "mine-venn.tsv", separator="\t")
    shares = ("column", "n", "measured", "not_run")
    own, external = (circles.filter(row=row).select(shares) for row in ("own", "external"))
    assert own.equals(external), circles
    assert own["measured"].null_count() == 0, circles


@pytest.mark.parametrize("model", ["vectors", "asked"])
def test_vectors_of_others_and_of_a_program_are_parts_as_our_own_are(model, beside):
    """The same vectors, from files and from a program: the same bytes of hits, the same lists."""
    _, results = beside
    hits = (results / "hits" / "mine" / name / "seed0" for name in ("theirs", model))
    own, given = (next(folder.rglob("test/*.parquet")).read_bytes() for folder in hits)
    assert own == given
    runs = results / "runs" / "mine" / "test"
    for of_own, of_given in (("theirs", model), ("own-sum", f"{model}-sum")):
        own, given = (trec.read_run(runs / f"{name}.trec.gz") for name in (of_own, of_given))
        assert own.equals(given)
    _, rows = rows_of(results, "table2")
    numbers = {label: line.split("|")[3:] for line in rows.values() for label in [line.split()[3]]}
    assert numbers[model] == numbers["own"]


def test_a_function_is_timed_and_what_comes_from_elsewhere_is_not(beside, monkeypatch):
    folder, results = beside
    monkeypatch.chdir(folder)
    runs = {"by-own": {"encode", "search", "fuse"}}
    assert phases_of_runs(results, "mine/test", *runs) == runs
    for name, fault in {
        "by-mine": "a run of residuum.external cannot be timed",
        "asked": "vectors of queries by residuum.program cannot be timed",
        "vectors": "vectors of queries by residuum.external cannot be timed",
    }.items():
        with pytest.raises(ResiduumError, match=fault):
            phases_of_runs(results, "mine/test", name)


def test_recipes_of_vectors_have_at_most_eight_lines():
    assert GIVEN.keys() == {"models/vectors", "models/asked"}
    assert all(len(text.splitlines()) <= 8 for text in GIVEN.values())


def test_a_table_says_whose_vectors_are_and_no_text_is_asked_for_twice(beside):
    folder, results = beside
    table, _ = rows_of(results, "table2")
    assert "asked: vectors of the program `python embed.py`, compared by cosine." in table
    assert "vectors: vectors of others (who made them, and where to get them), 16 " in table
    asked = (folder / "asked.txt").read_text().split()
    assert len(asked) == 40 and {"d0", "d29", "q2"} <= {*asked}, "each text once"
    assert [*(folder / "results" / "answers").rglob("*.answers")]


def test_a_folder_that_is_gone_leaves_its_rows_out_and_an_edited_function_runs_again(released):
    folder, results, _ = released
    (folder / "mine.py").write_text("def fuse(lists):\n    return lists['bm25-default']\n")
    write(folder, {"models/theirs": "kind: released-encoder\npath: gone\n"})
    snakemake(folder, scale="mine", config="papers=[mine]", cores=1)
    assert "no such folder: gone, which theirs names" in rows_of(results, "table1")[0]
    alone, edited = (
        trec.read_run(results / "runs" / "mine" / "test" / f"{name}.trec.gz").drop("score")
        for name in ("bm25-default", "by-mine")
    )
    assert alone.equals(edited)


def texts_of(folder):
    """Return the texts of docs and of queries by their ids."""
    files = (folder / "data" / "mine" / name for name in ("corpus.jsonl", "queries.jsonl"))
    rows = (map(json.loads, file.read_text().splitlines()) for file in files)
    return [{row["_id"]: row["text"] for row in some} for some in rows]


def of_sentence_transformers(folder, model):
    """Return the nDCG@10 of a model on the test split, by ir_measures and the model's own code."""
    docs, queries = texts_of(folder)
    data = folder / "data" / "mine"
    judged = [line.split("\t") for line in (data / "qrels/test.tsv").read_text().splitlines()[1:]]
    qrels = [ir_measures.Qrel(query, doc, int(level)) for query, doc, level in judged]
    scores = model.similarity(
        model.encode_query([*queries.values()]), model.encode_document([*docs.values()])
    )
    run = [
        ir_measures.ScoredDoc(query, doc, float(score))
        for query, row in zip(queries, scores, strict=True)
        for doc, score in zip(docs, row, strict=True)
    ]
    return ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10]
