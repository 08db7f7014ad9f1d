"""A small results folder with a page of every kind, made by the functions that the stages run."""

import json
from pathlib import Path

import polars as pl

from bounds_fixture import bounds_of, unmeasured
from residuum import evaluate, ledger, lexical, significance
from residuum.artefacts import contracts, files, manifest, trec
from residuum.config.specs import canonical_json
from residuum.pages.characteristics import make as characteristics
from residuum.pages.characteristics.job import BoundCharacteristics
from residuum.pages.claims import make as claims
from residuum.pages.figure import make as figures
from residuum.pages.table import make as tables
from tables_fixture import job, spec

QUERIES = [f"q{i:02d}" for i in range(12)]
MEASURES = ["RR@10"]
COUNTED = {
    "id": "toy-table2",
    "entry": {
        "kind": "characteristics",
        "title": "Toy characteristics",
        "printed_in": "Toy, Table 2",
        "columns": [{"id": "dev", "role": "dev", "header": "Dev"}],
        "rows": [{"id": "queries", "label": "# of queries", "quantity": "queries"}],
        "tolerance": {"default": 0.5},
        "reported": {"queries": {"dev": "12"}},
    },
    "splits": {"dev": "data/dev"},
    "scale": "toy",
    "comparable": True,
    "reason": "a toy.",
}
FIGURE = {
    "kind": "figure",
    "title": "Toy depths",
    "printed_in": "Toy, Figure 1",
    "role": "dev",
    "series": [{"id": "base", "label": "Base", "system": "base-reranked"}],
    "panels": [{"id": "accuracy", "shows": "reranked", "measure": "RR@10", "header": "MRR@10"}],
    "tests": "toy",
}


def record(path: Path, facts: dict, made_from: list[Path], stage: str, **setting: object) -> None:
    """Write a manifest as a stage does."""
    manifest.write(path, facts, setting, made_from, stage)


def build(results: Path, k1: float = 0.9, pages: bool = True, terms: int = 40) -> Path:
    """Make the folder; `k1` moves the relevant docs of `base` and stands in its spec."""
    _sources(results, terms)
    base = [3 if k1 == 0.9 else 1 + i % 3 for i in range(len(QUERIES))]
    _run(results, "base", base, lexical.__name__, kind="lexical", bm25={"k1": k1, "b": 0.4}, k=10)
    _run(results, "ours.seed1", [1] * len(QUERIES), "residuum.fusion", lexical="base", k=10)
    _run(results, "ours.seed2", [2] * len(QUERIES), "residuum.fusion", lexical="base", k=10)
    _run(results, "ablation", [2] * len(QUERIES), "residuum.fusion", lexical="base", k=10)
    if pages:
        make_pages(results)
    return results


def _sources(results: Path, terms: int) -> None:
    data, split = results / "data" / "data", results / "data" / "data" / "dev"
    with files.whole_directory(data / "corpus") as folder:
        docs = ((f"d{i}", {"text": f"doc {i}"}) for i in range(20))
        facts = {"docs": 20, "edition": "first", "shards": contracts.write_corpus(folder, docs)}
        record(folder, facts, [], "residuum.data", source={"seed": 1})
    trec.write_queries(split / "queries.tsv", [(q, f"text of {q}") for q in QUERIES])
    trec.write_qrels(split / "qrels.trec", [(q, "d7", 1) for q in QUERIES])
    facts, own = {"queries": 12, "qrels": 12}, [split / "queries.tsv", split / "qrels.trec"]
    manifest.write(own[0], facts, {"source": {"seed": 1}}, [], "residuum.data", own)
    index = results / "index" / "data" / "en"
    index.mkdir(parents=True)
    corpus = [data / "corpus" / "manifest.json"]
    record(index, {"docs": 20, "unique_terms": terms}, corpus, lexical.__name__, stemmer="porter")


def _run(results: Path, name: str, ranks: list[int], module: str, **setting: object) -> None:
    """Write a run that has the relevant doc at a rank per query, and its metrics."""
    path = results / "runs" / "data" / "dev" / f"{name}.trec.gz"
    write_run(path, ranks)
    split = results / "data" / "data" / "dev"
    read = [results / "index" / "data" / "en" / "manifest.json", split / "queries.tsv"]
    if module != lexical.__name__:
        read[0] = results / "runs" / "data" / "dev" / "base.trec.gz"
    record(path, {"hits": 5 * len(ranks)}, read, module, **setting)
    output = results / "metrics" / "data" / "dev" / f"{name}.tsv"
    evaluate.run(path, split / "qrels.trec", MEASURES, output)


def write_run(path: Path, ranks: list[int]) -> None:
    """Write five docs per query, d7 at the given rank."""
    rows = []
    for query_id, at in zip(QUERIES, ranks, strict=True):
        others = [f"d{i}" for i in range(4)]
        docs = [*others[: at - 1], "d7", *others[at - 1 :]]
        rows += [(query_id, doc, float(10 - i)) for i, doc in enumerate(docs)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    trec.write_run(path, trec.rank(frame), path.name.partition(".")[0])


def make_pages(results: Path) -> None:
    """Make a table, characteristics, a figure, a case study, a claim and the ledger."""
    made, counted = spec(job()), _counted_job()
    page = results / "tables" / "toy-table1.tsv"
    tests = results / "significance" / "toy-table1.tsv"
    significance.compare(made, results / "metrics", tests, bounds_of(results / "metrics"))
    tables.render(made, results / "metrics", tests, page, [])
    second = results / "tables" / "toy-table2.tsv"
    characteristics.count(counted, second, [f"dev={results / 'data' / 'data' / 'dev'}"])
    _figure(results)
    case = results / "cases" / "toy-table3.tsv"
    files.write_text(case, "query_id\tdoc_id\n")
    record(case, {"pairs": 0}, [], "residuum.pages.cases.make", id="toy-table3")
    sentences = results / "claims" / "toy-claims.tsv"
    tested = results / "significance" / "toy-claims.tsv"
    claims.judge(
        _claims_job(),
        results / "metrics",
        tested,
        sentences,
        *unmeasured(results / "metrics"),
        [page],
    )
    ledger.write([made, counted], [page, second], results / "ledger.tsv", [tests], [sentences])


def _claims_job() -> str:
    holds = {"relation": "above", "page": "table1", "rows": {"ours": ["base"]}, "columns": ["rr"]}
    claim = {"id": "better", "section": "5", "says": "Ours is better.", "holds": holds}
    page = {"kind": "claims", "title": "What Toy says", "printed_in": "Toy, prose", "tests": "toy"}
    made = {
        "id": "toy-claims",
        "entry": {**page, "claims": [claim]},
        "tests": job().tests.model_dump(mode="json"),
        "tables": {"table1": job().model_dump(mode="json")},
        "figures": {},
        "scale": "toy",
        "reason": "a toy.",
    }
    return canonical_json(made)


def _counted_job() -> str:
    return canonical_json(BoundCharacteristics.model_validate(COUNTED).model_dump(mode="json"))


def _figure(results: Path) -> None:
    place = results / "rerank" / "data" / "dev"
    depths = place / "toy.depths.tsv"
    lines = [
        f"base-reranked\t{k}\t{q}\tRR@10\t{k / 100 + 0.1}" for k in (0, 10, 20) for q in QUERIES
    ]
    files.write_text(depths, "\n".join(["run\tdepth\tquery_id\tmeasure\tvalue", *lines, ""]))
    scored = [place / "toy" / f"shard-{number:05d}.trec.gz" for number in (0, 1)]
    for path, pairs in zip(scored, (60, 40), strict=True):
        facts = {"pairs": pairs, "pairs_without_sharing": 100, "pairs_per_run": {"base": 100}}
        record(path, facts, [], "residuum.rerank")
    record(depths, {}, [], "residuum.rerank")
    made = {
        "id": "toy-figure1",
        "entry": FIGURE,
        "tests": job().tests.model_dump(mode="json"),
        "splits": {"base": "data/dev"},
        "runs": {"base": ["base-reranked"]},
        "scale": "toy",
        "reason": "a toy.",
    }
    output = results / "figures" / "toy-figure1.tsv"
    metrics = results / "metrics"
    figures.draw(canonical_json(made), output, metrics, [depths], [*map(manifest.beside, scored)])


def change(path: Path, old: str, new: str) -> None:
    """Replace a text in a file, once."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} lacks {old}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def seal(path: Path) -> None:
    """Record a changed file in its manifest, as if it had been made so."""
    for place in path.parent.glob("*manifest.json"):
        listed = json.loads(place.read_text(encoding="utf-8"))["files"]
        if path.name in listed:
            edit(place, files={**listed, path.name: manifest.described(path).model_dump()})


def edit(path: Path, **changes: object) -> None:
    """Change sections of a manifest."""
    made = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**made, **changes}, indent=1), encoding="utf-8")
