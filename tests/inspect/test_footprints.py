"""The bytes of what a run searches: a small results folder whose indexes have known sizes."""

import shutil

import pytest

import residuum as rs
from indexes_fixture import LUCENE, SPLIT, VECTORS, indexed, lay
from residuum.cli.errors import ResiduumError
from residuum.inspect import addressing, provenance
from residuum.inspect.footprints import Sizes, footprints, of_collection
from residuum.site import charts, folder
from results_fixture import build, record


@pytest.fixture
def results(tmp_path):
    return indexed(build(tmp_path / "results" / "toy"))


def sizes(results):
    return {(one.row, one.column): one.index_bytes for one in footprints(results, "toy/table1")}


def test_each_index_of_a_search_counts_once(results):
    """Queries, other seeds and what a model was trained on are no index of the run."""
    both = LUCENE + sum(VECTORS)
    assert sizes(results) == {
        ("base", "rr"): LUCENE, ("ours", "rr"): both, ("ablation", "rr"): LUCENE,
    }  # fmt: skip


def test_an_index_that_is_gone_has_no_size(results):
    shutil.rmtree(results / "embeddings/data/dense/seed1/shard-00001")
    assert ("ours", "rr") not in sizes(results) and ("base", "rr") in sizes(results)
    shutil.rmtree(results / "index")
    with pytest.raises(ResiduumError, match="toy/table1: no number of a table whose"):
        footprints(results, "toy/table1")


def test_a_reranker_searches_what_its_first_stage_searches(results):
    """The pairs that it scored are of other runs, too."""
    pairs = results / "rerank" / SPLIT / "reranker" / "shard-00000.trec.gz"
    lay(pairs, 5)
    runs = [results / "runs" / SPLIT / f"{name}.trec.gz" for name in ("base", "dense.seed1")]
    record(pairs, {}, runs, "residuum.rerank")
    record(results / "runs" / SPLIT / "ablation.trec.gz", {}, [runs[0], pairs], "residuum.rerank")
    assert sizes(results)["ablation", "rr"] == LUCENE


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("index/data/en", True),
        ("embeddings/data/dense/seed1/shard-00000", True),
        ("embeddings/data.queries/dense/seed1", False),
        ("embeddings/data/dev.on.drawn/dense/seed1/shard-00000", False),
        ("models/index/seed1", False),
    ],
)
def test_encodings_of_a_collection_are_indexes_and_others_are_not(path, counts):
    assert of_collection(path) is counts


@pytest.mark.parametrize(
    "change",
    [{"derived": "residual"}, {"over": "drawn"}, {"change_from": "base"}, {"measure": "depth"}],
)
def test_a_number_of_more_than_one_search_has_no_size(results, change):
    graph = provenance.read(results)
    (_, page, cells), *_ = addressing.every(results, graph)
    kept = {one.place: one for one in cells}
    before = Sizes(results, graph).of(kept["ours/rr"])
    assert before and before.index_bytes == LUCENE + sum(VECTORS)
    columns = [page.entry.columns[0].model_copy(update=change), *page.entry.columns[1:]]
    entry = page.entry.model_copy(update={"columns": columns})
    changed = page.model_copy(update={"entry": entry})
    assert Sizes(results, graph).of(kept["ours/rr"]._replace(page=changed)) is None


def test_python_and_the_report_show_the_same_points(results):
    made = rs.read_footprints(results, "toy/table1")
    shown = dict(made.frame().select("label", "index_bytes").rows())
    assert shown == {"Base": 700, "Ours": 800, "w/o it": 700}
    assert "| Ours " in made.to_markdown() and " 800 " in made.to_markdown()
    (ax,) = made.picture().axes
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx([7e-4, 8e-4, 7e-4])
    assert ax.get_ylabel() == "dev RR@10", "as the table heads it here"
    made_of = folder.read(results)
    (sheet,) = [one for one in made_of.sheets if one.name == "toy-table1"]
    (chart,) = charts.charts(made_of, sheet)
    points = {one["label"]: one["points"][0] for one in chart["series"]}
    values = dict(made.frame().select("label", "value").rows())
    assert {label: point["y"] for label, point in points.items()} == values
    assert points["Ours"]["x"] == pytest.approx(8e-4)


def test_a_table_of_one_index_has_no_chart(tmp_path):
    made = build(tmp_path / "results" / "toy")
    lay(made / "index/data/en/lucene/_0.cfs", LUCENE)
    places = ("base", "rr"), ("ours", "rr"), ("ablation", "rr")
    assert sizes(made) == dict.fromkeys(places, LUCENE)
    made_of = folder.read(made)
    (sheet,) = [one for one in made_of.sheets if one.name == "toy-table1"]
    assert charts.charts(made_of, sheet) == []


def test_an_unknown_page_is_refused_with_the_known_ones(results):
    with pytest.raises(ResiduumError, match="toy/table1"):
        rs.read_footprints(results, "toy/table9")
