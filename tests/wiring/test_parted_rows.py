"""A row with a system for each of some columns: bound, read, tested and refused as rows of one."""

import shutil
from pathlib import Path
from shlex import quote
from types import SimpleNamespace

import pytest
import yaml

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config import loading, specs
from residuum.config.registry import Registry, SplitId
from residuum.pages.table import notes
from residuum.pages.table.bind import TableInputs, bind_table
from residuum.pages.table.job import NO_SYSTEM, BoundTable
from residuum.wiring.availability import all_available, why_unavailable
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths
from residuum.wiring.rerankers import candidates, datasets_of, reranked
from residuum.wiring.runs import Runs
from tables_fixture import job

PAGE = "clear-table1"
COLUMNS = ["dev-rr", "dev-recall", "dl-ndcg", "dl-ap", "dl-recall"]
PARTED = {"dev-rr": "clear-random", "dl-ndcg": "bm25"}


def changed(folder: Path, **rows: object) -> Registry:
    """Return the registry of smoke with other systems in rows of CLEAR's Table 1."""
    config = shutil.copytree(ROOT / "config", folder / "config")
    path = config / "papers" / "clear" / "table1.yaml"
    table = yaml.safe_load(path.read_text())
    for row in table["rows"]:
        row["system"] = rows.get(row["id"], row["system"])
    path.write_text(yaml.safe_dump(table))
    return loading.load(config, {"scale": "smoke", "papers": ["clear"]})


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return changed(tmp_path_factory.mktemp("parted"), clear=PARTED)


@pytest.fixture(scope="module")
def bound(registry: Registry) -> BoundTable:
    return bind_table(registry, PAGE, all_available)


def test_each_cell_has_the_runs_of_its_own_system(bound: BoundTable) -> None:
    read = {name: bound.runs_of("clear", name) for name in COLUMNS}
    assert read == {
        "dev-rr": ["clear-random.seed1"],
        "dev-recall": None,
        "dl-ndcg": ["bm25"],
        "dl-ap": None,
        "dl-recall": None,
    }
    assert bound.runs_of("clear-random", "dev-recall") == ["clear-random.seed1"]
    assert bound.runs["clear/dl-ndcg"] == ["bm25"]
    assert bound.systems["clear/dev-rr"]["kind"] == "fusion"


def test_where_a_row_has_no_system_a_dash_stands(bound: BoundTable) -> None:
    row = bound.entry.row("clear")
    why = {column.id: bound.not_run(row, column) for column in bound.entry.columns}
    assert why == {name: None if name in PARTED else NO_SYSTEM for name in COLUMNS}
    compared = {(column, a, b) for column, a, b in bound.compared() if "clear" in (a, b)}
    assert {column for column, *_ in compared} == {*PARTED}


def test_files_are_those_that_the_cells_read(registry: Registry, bound: BoundTable) -> None:
    row = bound.entry.row("clear")
    files = {c.id: bound.metrics_of(row, c) for c in bound.entry.columns if c.id in PARTED}
    assert files == {
        "dev-rr": ["generated-smoke/dev/clear-random.seed1.tsv"],
        "dl-ndcg": ["generated-smoke/judged/bm25.tsv"],
    }
    tables = TableInputs(registry, Paths(), all_available)
    tuned = tables.tuning(SimpleNamespace(page=PAGE))
    assert any("clear-random.seed1" in path for path in tuned)
    assert not any("/clear.seed1" in path for path in tuned)


def test_the_models_behind_a_cell_are_those_of_its_system(tmp_path: Path) -> None:
    registry = changed(tmp_path, clear={"dev-rr": "bm25", "dl-ndcg": "clear"})
    bound = bind_table(registry, PAGE, all_available)
    judged = {name: bound.judged_runs("clear", bound.column(name)) for name in COLUMNS[:3]}
    assert judged == {"dev-rr": ["bm25"], "dev-recall": [], "dl-ndcg": ["clear.seed1"]}


def test_a_row_without_a_system_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ResiduumError, match=r"table1\.yaml:\d+: rows.*: system: name a system, or one "
    ):
        changed(tmp_path, clear={})


def test_unknown_columns_and_systems_are_named(tmp_path: Path) -> None:
    with pytest.raises(ResiduumError) as refused:
        changed(tmp_path, clear={"dev-rrr": "bm25", "dl-ap": "bm26"})
    text = str(refused.value)
    assert "no column 'dev-rrr'" in text and "dev-rr" in text
    assert "no system 'bm26'" in text


def test_what_another_system_plays_is_told_of_each(tmp_path: Path) -> None:
    rows = [{"id": "both", "label": "Both", "system": {"rr": "one", "far": "two"}}]
    table = job(rows=rows, reported={}).model_copy(
        update={"runs": {"both/rr": ["other.seed1"], "both/far": ["two.seed1"]}}
    )
    assert list(notes._played(table)) == ["one by other"]


def test_headers_name_the_dataset_where_splits_of_several_are_named_alike() -> None:
    def headers(**splits: str) -> list[str]:
        table = job(rows=[{"id": "a", "label": "A", "system": "one"}], reported={})
        bound = table.model_copy(update={"splits": splits})
        return [bound.short_header(column) for column in bound.entry.columns]

    assert headers(rr="data/dev", far="data/test") == ["dev RR@10", "test P@5"]
    assert headers(rr="data/dev", far="data/dev") == ["dev RR@10", "dev P@5"]
    assert headers(rr="data/dev", far="pages/dev") == ["data/dev RR@10", "pages/dev P@5"]


def test_what_is_reranked_on_a_dataset_is_what_pages_show_there(tmp_path: Path) -> None:
    mebert = loading.load(ROOT / "config", {"scale": "smoke", "papers": ["mebert"]})
    passages, pages = {"generated-smoke"}, {"generated-pages-smoke"}
    shown = {name: datasets_of(mebert, name) for name in mebert.of_kind("rerank")}
    assert shown["me-bert-reranked"] == shown["me-hybrid-reranked"] == passages
    assert shown["me-bert-document-reranked"] == shown["me-hybrid-document-reranked"] == pages
    assert shown["de-bert-reranked"] == passages | pages
    assert shown["clear-bert-base"] == {*mebert.datasets}  # no chosen page names it
    splits = [SplitId(*name, "dev") for name in (passages, pages)]
    firsts = [candidates(mebert, "cross-attention@seed1", dev, all_available) for dev in splits]
    assert {*firsts[0]} == {"bm25-unigrams", "de-bert.seed1", "me-bert.seed1", "me-hybrid.seed1"}
    assert "me-bert-document.seed1" in firsts[1] and "me-bert.seed1" not in firsts[1]
    runs = Runs(mebert, Paths(), all_available)
    job = {"dataset": "generated-pages-smoke", "split": "dev", "run": "me-bert-reranked.seed1"}
    with pytest.raises(ResiduumError, match="show it on generated-smoke alone; add a column of"):
        runs.cut(SimpleNamespace(**job))
    everything = loading.load(ROOT / "config", {"scale": "smoke", "papers": ["clear"]})
    assert datasets_of(everything, "clear-bert-base") == passages


def test_a_figure_over_depths_has_all_of_a_grid_whatever_depth_a_table_shows() -> None:
    mebert = loading.load(ROOT / "config", {"scale": "mini", "papers": ["mebert"]})
    dev = SplitId("generated-mini", "dev")
    runs = reranked(mebert, "cross-attention@seed1", dev, all_available)
    assert {tuple(run.grid) for run in runs.values()} == {(3, 5, 10)}
    clear = loading.load(ROOT / "config", {"scale": "mini", "papers": ["clear"]})
    runs = reranked(clear, "bert-large-reranker", dev, all_available)
    assert runs["clear-bert-large-deepest.seed1"].grid == [50], "no figure draws it"
    assert runs["clear-bert-large.seed1"].grid == [5, 10, 20, 50]


def test_what_a_scale_leaves_out_has_no_runs_nor_has_what_is_made_of_it(tmp_path: Path) -> None:
    mini = loading.load(ROOT / "config", {"scale": "mini", "papers": ["mebert"]})
    test, why = SplitId("ict-50", "test"), "scale mini leaves de-bert-512 out (left_out)"
    assert why_unavailable(mini, "de-bert-512", test, all_available) == why
    assert why_unavailable(mini, "de-bert-768", test, all_available) is None
    table = bind_table(mini, "mebert-a1ict", all_available)
    own = table.absent["de-bert-512"]
    assert len(own) == 8 and {*own.values()} == {why}
    lengths = loading.load(ROOT / "config", {"scale": "lengths", "papers": ["mebert"]})
    assert why_unavailable(lengths, "de-bert-512", test, all_available) is None
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / "scales" / "mini.yaml"
    path.write_text(path.read_text().replace("left_out: [de-bert-512", "left_out: [me-bert-768"))
    without = loading.load(tmp_path / "config", {"scale": "mini", "papers": ["mebert"]})
    hybrid = why_unavailable(without, "hybrid-me-bert-uni", test, all_available)
    assert hybrid == "scale mini leaves me-bert-768 out (left_out)"
    path.write_text(path.read_text().replace("left_out: [me-bert-768", "left_out: [de-bert-first"))
    without = loading.load(tmp_path / "config", {"scale": "mini", "papers": ["mebert"]})
    dev = without.bound_split("msmarco-dev")  # whose negatives are hits of de-bert-first
    assert "leaves de-bert-first out" in str(
        why_unavailable(without, "de-bert", dev, all_available)
    )
    path.write_text(path.read_text().replace("left_out: [de-bert-first", "left_out: [me-bert-786"))
    with pytest.raises(ResiduumError, match=r"left_out.*no system 'me-bert-786'.*me-bert-768"):
        loading.load(tmp_path / "config", {"scale": "mini", "papers": ["mebert"]})


@pytest.mark.parametrize("scale", ["full", "mini", "smoke"])
def test_models_of_documents_read_passages_whole(scale: str) -> None:
    """ME-BERT, section 7: passages of at most 482 tokens, overlapping."""
    registry = loading.load(ROOT / "config", {"scale": scale, "papers": ["mebert"]})
    dataset = registry.bound_split("msmarco-document-dev").dataset
    windows = registry.datasets[dataset].windows
    assert windows.stride < windows.length
    for name in ("de-bert", "de-bert-first", "me-bert-document", "me-bert-document-first"):
        assert registry.models[name].encoder.doc_length >= windows.length + 2, name
    reading = registry.models["cross-attention"].reading
    assert reading.length - reading.query_length - 3 >= windows.length


@pytest.mark.parametrize("scale", ["full", "mini", "smoke"])
def test_trainings_on_documents_read_the_best_passage_as_search_does(scale: str) -> None:
    """All models of section 7; by an answer where the split has answers, as at mini and smoke."""
    registry = loading.load(ROOT / "config", {"scale": scale, "papers": ["mebert"]})
    models = Models(registry, Paths("r"), all_available)
    documents = registry.bound_split("msmarco-document-dev").dataset
    windows = registry.datasets[documents].windows
    given = f"--windows {quote(specs.of_entry(windows))}"
    train = registry.datasets[documents].own.train
    named = ("de-bert", "me-bert-document-first", "me-bert-document", "cross-attention")
    for wildcards in (SimpleNamespace(model=f"{n}@{documents}.{train}", seed="1") for n in named):
        assert models.windows(wildcards) == given
        answers = [] if scale == "full" else [f"r/data/{documents}/{train}/answers.jsonl"]
        assert models.passage_answers(wildcards) == answers
        assert scale != "mini" or models.judged_windows(wildcards) == given
    passages = registry.bound_split("msmarco-dev").dataset
    own = SimpleNamespace(model=f"de-bert@{passages}.train", seed="1")
    assert (models.windows(own), models.passage_answers(own)) == ("", [])
    others = loading.load(ROOT / "config", {"scale": "mini", "papers": ["bioasq"]})
    of_others = Models(others, Paths("r"), all_available)
    abstracts = SimpleNamespace(model="bioasq-de", seed="1")
    assert others.datasets[others.train_split("bioasq-de").dataset].windows
    assert of_others.windows(abstracts) == "", "BioASQ's training is left as it is"


POOL = {"kind": "candidates", "parts": [{"system": "bm25", "top": 20}], "random": 20}
DEEP = {"kind": "rerank", "first_stage": "pool", "reranker": "bert-base-reranker"}


def over_pool(folder: Path, rows: dict[str, str]) -> Registry:
    """Return the registry of smoke where CLEAR's Table 1 has a column of given candidates."""
    config = shutil.copytree(ROOT / "config", folder / "config")
    deep = {**DEEP, "depth": {"value": 40}}
    for name, entry in {"pool": POOL, "deep": deep}.items():
        (config / "systems" / f"{name}.yaml").write_text(yaml.safe_dump(entry))
    path = config / "papers" / "clear" / "table1.yaml"
    table = yaml.safe_load(path.read_text())
    ordered = {**table["columns"][0], "id": "pool-rr", "over": "pool"}
    table["columns"] = [*table["columns"], ordered]
    other = {row["id"]: row for row in table["rows"]}
    every = [column["id"] for column in table["columns"][:-1]]
    for name, system in rows.items():
        row = other[name]
        row["system"] = {**dict.fromkeys(every, row["system"]), "pool-rr": system}
    for name in other.keys() - rows.keys():
        row = other[name]
        if "system" in row:
            row["system"] = dict.fromkeys(every, row["system"])
    path.write_text(yaml.safe_dump(table))
    return loading.load(config, {"scale": "smoke", "papers": ["clear"]})


def test_a_column_over_candidates_has_its_systems_orders_of_them(tmp_path: Path) -> None:
    rows = {"bm25": "bm25", "clear": "clear-embedding", "clear-random": "deep"}
    bound = bind_table(over_pool(tmp_path, rows), PAGE, all_available)
    read = {name: bound.runs_of(name, "pool-rr") for name in rows}
    assert read == {
        "bm25": ["bm25.on.pool"],
        "clear": ["clear-embedding.seed1.on.pool"],
        "clear-random": ["deep"],
    }
    row, column = bound.entry.row("clear"), bound.column("pool-rr")
    assert bound.metrics_of(row, column) == [
        "generated-smoke/dev/clear-embedding.seed1.on.pool.tsv"
    ]
    assert bound.not_run(row, column) is None
    assert bound.models_of(["a.seed1.on.pool"], "x/dev") == []
    trained = bound.model_copy(update={"models": {"x": {"a.seed1": ["m/seed1"]}}})
    assert trained.models_of(["a.seed1.on.pool"], "x/dev") == ["m/seed1"]


def test_systems_that_cannot_order_candidates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResiduumError) as caught:
        over_pool(
            tmp_path, {"clear": "clear", "bm25": "bm25-rm3", "clear-random": "bm25-bert-base"}
        )
    for name in ("clear", "bm25-rm3", "bm25-bert-base"):
        assert f"'{name}' cannot put docs of 'pool' into order" in str(caught.value)
    assert "rerankers with first_stage: pool do" in str(caught.value)
