"""What a residual split asks of its rules and pages: the qrels of what was judged before."""

from dataclasses import replace

from plan_fixture import DATASET, named, registry
from residuum.config.registry import SplitId
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.splits import Split
from residuum.config.specs import RunId
from residuum.pages.table import make, notes
from residuum.pages.table.make import removed
from residuum.wiring.availability import all_available, why_no_export
from residuum.wiring.base import residual_of
from residuum.wiring.corpora import Corpora
from residuum.wiring.paths import Paths
from residuum.wiring.runs import Runs
from tables_fixture import job

TOY = registry()
SPLITS = TOY.datasets["toy"].splits
RESIDUAL = SPLITS["dev"].model_copy(update={"residual_of": ["train", "open"]})
DATA = TOY.datasets["toy"].model_copy(update={"splits": {**SPLITS, "dev": RESIDUAL}})
REGISTRY = replace(TOY, datasets={"toy": DATA})
QRELS = [f"r/data/toy/{split}/qrels.trec" for split in ("train", "open", "tune")]


def part(kind):
    return kind(REGISTRY, Paths("r"), all_available)


def test_the_holdout_of_an_earlier_split_was_judged_before_too():
    assert DATA.judged_before("dev") == ["train", "open", "tune"], "tune is drawn from train"
    assert DATA.judged_before("open") == DATA.judged_before("tune") == []


def test_a_holdout_of_a_residual_split_is_residual():
    holdout = Split.model_validate({"holdout": {"of": "dev", "queries": 5, "seed": 1}})
    drawn = DATA.model_copy(update={"splits": {**DATA.splits, "some": holdout}})
    assert drawn.judged_before("some") == ["train", "open", "tune"]


def test_runs_read_the_qrels_of_earlier_rounds():
    for run in map(str, (RunId("bm25"), RunId("vectors", 1))):
        assert part(Runs).residual_of(named(dataset="toy", split="dev", run=run)) == QRELS
    assert part(Runs).residual_of(named(dataset="toy", split="tune", run="bm25")) == []


def test_a_dense_search_reads_them_for_its_residual_split_alone():
    searching, shard = part(Corpora), named(dataset="toy", model="dual", seed="1", k="10")
    assert searching.residual_of(shard) == QRELS
    options = " ".join(f"--judged-before dev={path}" for path in QRELS)
    assert searching.residual_options(shard) == options, "of the splits tune and dev"
    plain = Corpora(TOY, Paths("r"), all_available)
    assert (plain.residual_of(shard), plain.residual_options(shard)) == ([], "")


def test_a_residual_split_needs_the_files_of_what_was_judged_before(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    source = {"kind": "files", "corpus": "docs.jsonl"}
    splits = {
        name: {"queries": f"{name}.tsv", "qrels": f"{name}.trec"} for name in ("round1", "round2")
    }
    splits["round2"]["residual_of"] = ["round1"]
    entry = {**DATASET, "source": source, "splits": splits, "downloads": [], "editions": [
        {"name": "any", "docs": 1}]}  # fmt: skip
    mine = replace(TOY, datasets={"toy": Dataset.model_validate(entry)})
    for name in ("docs.jsonl", "round2.tsv", "round2.trec"):
        (tmp_path / name).touch()
    assert "round1.trec" in str(why_no_export(mine, "toy", None, "round2"))
    for name in ("round1.tsv", "round1.trec"):
        (tmp_path / name).touch()
    assert why_no_export(mine, "toy", None, "round2") is None


def test_what_judges_before_is_no_part_of_an_export():
    assert DATA.for_split("dev") == TOY.datasets["toy"].for_split("dev")


def test_it_is_said_under_the_page_with_what_external_runs_held(tmp_path):
    residual = residual_of(REGISTRY, [SplitId("toy", "dev"), None, SplitId("toy", "tune")])
    assert residual == {"toy/dev": ["toy/train", "toy/open", "toy/tune"]}
    table = job().model_copy(update={"residual": {"data/dev": ["data/round1"]}})
    folder = tmp_path / "data" / "dev"
    folder.mkdir(parents=True)
    for run, count in {"base": 7, "ablation": None}.items():
        facts = '{"artefact": %s}' % ("{}" if count is None else f'{{"judged_before": {count}}}')
        (folder / f"{run}.tsv.manifest.json").write_text(facts)
    assert removed(table, tmp_path) == {"base": 7}
    assert removed(job(), tmp_path) == {}
    assert table.metrics_records() == [
        f"data/dev/{run}.tsv.manifest.json"
        for run in ("ablation", "base", "ours.seed1", "ours.seed2")
    ]
    assert job().metrics_records() == []
    lines = list(notes.caption(table, [], [], [], {"base": 7}))
    assert lines[2:4] == [
        "data/dev is residual: docs that data/round1 judged for a query are removed from its "
        "runs before the cut at k, whatever their relevance.",
        "Docs judged before, removed from external runs as NIST does with submissions: 7 of base.",
    ]
    assert not [line for line in notes.caption(job(), [], [], [], {}) if "residual" in line]


def test_notes_of_a_table_stand_under_it():
    table = job(notes=["Its unit is unknown."])
    shown = make.page(table, [], ["Another."])
    assert shown.notes == ["Its unit is unknown.", "Another."]


def test_runs_lose_the_query_itself_by_the_queries_of_their_split():
    dev = SPLITS["dev"].model_copy(update={"remove_query": True})
    data = TOY.datasets["toy"].model_copy(update={"splits": {**SPLITS, "dev": dev}})
    mine = replace(TOY, datasets={"toy": data})
    runs, at = Runs(mine, Paths("r"), all_available), named(dataset="toy", split="dev", run="bm25")
    assert runs.residual_of(at) == ["r/data/toy/dev/queries.tsv"]
    assert runs.earlier_rounds(at) == [], "else a split's export would wait for itself"
    searching, shard = Corpora(mine, Paths("r"), all_available), named(
        dataset="toy", model="dual", seed="1", k="10"
    )  # fmt: skip
    assert searching.residual_options(shard) == "--judged-before dev=r/data/toy/dev/queries.tsv"
    assert data.for_split("dev") == TOY.datasets["toy"].for_split("dev"), "no part of an export"
    table = job().model_copy(update={"residual": residual_of(mine, [SplitId("toy", "dev")])})
    lines = list(notes.caption(table, [], [], [], {}))
    said = "The doc with a query's own id is removed from the query's list on toy/dev, "
    assert f"{said}before the cut at k." in lines and not [
        line for line in lines if "is residual" in line
    ]
