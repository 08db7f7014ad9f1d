"""RoC's Tables 1 and 5 as the configuration has them: the runs that their derived columns read."""

from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from plan_fixture import named
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.registry import SplitId
from residuum.pages.claims.bind import ClaimsInputs
from residuum.pages.table.bind import TableInputs, bind_table
from residuum.pages.table.entry import Table
from residuum.pages.table.job import ITSELF, NO_PARTS, BoundTable
from residuum.wiring.availability import all_available
from residuum.wiring.pages import gaps
from residuum.wiring.paths import Paths

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
SPLIT = "generated-mini/dev"
TABLE1, TABLE5 = (ROOT / f"config/papers/roc/table{number}.yaml" for number in (1, 5))


def load(folder, scale="mini", **config):
    return loading.load(folder, {**BASE, "scale": scale, "papers": ["roc"], **config})


def edit(path: Path, **changes: object) -> None:
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))


@pytest.fixture
def config(config):
    """Return a configuration in which a judged split of mini plays both roles of NQ."""
    for path in (config / "papers/roc").glob("*.yaml"):
        path.unlink()
    for path in (TABLE1, TABLE5):
        text = path.read_text().replace("AnswerAccuracy@", "Success@")
        (config / "papers/roc" / path.name).write_text(text)
    scale = config / "scales/mini.yaml"
    roles = yaml.safe_load(scale.read_text())["roles"]
    edit(scale, roles={**roles, "nq-test": SPLIT, "nq-open": SPLIT})
    return config


def bound(config, page="roc-table1", **more) -> BoundTable:
    return bind_table(load(config, seeds=[1, 2], **more), page, all_available)


def test_a_derived_cell_reads_the_dense_and_the_lexical_part_of_its_row(config):
    sides = bound(config).derived
    assert sides.keys() == {"sum", "clear", "ours", "tuned"}
    assert sides["ours"].keys() == {"residual", "overlap", "roc"}
    for row, dense in (("sum", "cocondenser"), ("clear", "clear-cocondenser"),
                       ("ours", "cocondenser-ei"), ("tuned", "cocondenser")):  # fmt: skip
        own = sides[row]["roc"]
        assert own.first == [f"{dense}-embedding.seed{seed}" for seed in (1, 2)]
        assert own.second == ["bm25-default"], "of the first stage, never the hybrid"


def test_a_page_asks_for_the_metrics_of_the_parts_and_a_split_for_their_measures(config):
    registry = load(config, seeds=[1, 2])
    tables = TableInputs(registry, Paths("r"), all_available)
    asked = {*tables.metrics(named(page="roc-table5"))}
    parts = ["bm25-default", "cocondenser-ei-embedding.seed2", "cocondenser-ei.seed2"]
    assert {f"r/metrics/{SPLIT}/{run}.tsv" for run in parts} < asked
    assert asked == {*tables.tested_metrics(named(page="roc-table5"))}
    assert {"Success@10", "Success@100", "AP@1000"} < {
        *registry.measures(SplitId("generated-mini", "dev"))
    }
    own = registry.datasets["generated-mini"].splits["dev"].measures
    assert "Success@10" not in own, "no list has it twice"
    assert "AnswerAccuracy@10" in load(ROOT / "config", "full").measures(SplitId("nq-250k", "test"))


def test_the_tables_are_as_the_paper_prints_them(config):
    first, fifth = (bound(config, f"roc-table{n}").entry for n in (1, 5))
    cells = {(row, column): cell for row, column, cell in first.cells()}
    assert sum(cell.tick for cell in cells.values()) == 3
    assert {key: cell.value for key, cell in cells.items() if not cell.tick} == {
        ("clear", "roc"): 0.05, ("ours", "roc"): 0.12,
        ("clear", "recall"): 0.0051, ("ours", "recall"): 0.0119,
    }  # fmt: skip
    printed = {(row, column): cell.value for row, column, cell in fifth.cells()}
    gains = {
        row: round(printed[row, "roc"] - printed["cocondenser", "roc"], 2)
        for row in ("e", "i", "ei")
    }
    assert gains == {"e": 0.1, "i": 0.06, "ei": 0.15}, "the sums of section 4.2.1"
    assert {row: printed[row, "gain"] for row in gains} == gains, "and its text"
    assert gains["ei"] != cells["ours", "roc"].value
    for page in (first, fifth):
        assert [note for note in page.notes if "0.15" in note and "contradicts" in note]


def test_rows_without_parts_and_rows_beaten_by_none_are_no_gaps(config):
    page = config / "papers/roc/table5.yaml"
    table = yaml.safe_load(page.read_text())
    wins = {"id": "won", "role": "nq-test", "measure": "RR@10", "derived": "better", "than": "bm25",
            "header": "W"}  # fmt: skip
    rows = [*table["rows"], {"id": "bm25", "label": "BM25", "system": "bm25-default"},
            {"id": "fields", "label": "F", "system": "dpr-embedding"}]  # fmt: skip
    edit(page, columns=[*table["columns"], wins], rows=rows)
    registry = load(config, seeds=[1, 2])
    made = bind_table(registry, "roc-table5", all_available)
    assert made.absent["bm25"] == {"roc": NO_PARTS, "gain": NO_PARTS, "won": ITSELF}
    assert made.absent["fields"] == {"roc": NO_PARTS, "gain": NO_PARTS}
    assert made.derived["ei"]["won"].first == ["cocondenser-ei.seed1", "cocondenser-ei.seed2"]
    assert (
        made.derived["ei"]["won"].second == made.derived["fields"]["won"].second == ["bm25-default"]
    )
    assert not [gap for gap in gaps(registry, all_available) if gap.row in ("bm25", "fields")]


def test_models_with_other_seeds_meet_in_those_that_they_share(config):
    scale = config / "scales/mini.yaml"
    budgets = yaml.safe_load(scale.read_text())["budgets"]
    del budgets["dpr"]["seeds"]
    edit(scale, budgets=budgets)
    edit(config / "models/clear-cocondenser.yaml", seeds=[2, 3])
    page = config / "papers/roc/table1.yaml"
    column = {"id": "won", "role": "nq-test", "measure": "RR@10", "derived": "better",
              "than": "clear", "header": "W"}  # fmt: skip
    edit(page, columns=[*yaml.safe_load(page.read_text())["columns"], column])
    own = bind_table(load(config), "roc-table1", all_available)
    assert own.derived["ours"]["won"].first == ["cocondenser-ei.seed2", "cocondenser-ei.seed3"]
    assert own.derived["ours"]["won"].second == [
        "clear-cocondenser.seed2",
        "clear-cocondenser.seed3",
    ]
    edit(config / "models/clear-cocondenser.yaml", seeds=[8])
    own = bind_table(load(config), "roc-table1", all_available)
    assert own.absent["ours"]["won"] == "no seed in common: cocondenser-ei, clear-cocondenser"


@pytest.mark.parametrize("name", ["residual", "roc"])
def test_a_claim_may_rest_on_what_has_a_value_per_query(config, name):
    holds = {"relation": "above", "page": "table1", "rows": {"ours": ["sum"]}, "columns": [name]}
    claim = {"id": "more", "section": "1", "says": "More.", "holds": holds}
    page = {"kind": "claims", "title": "T", "printed_in": "P", "tests": "claims", "claims": [claim]}
    (config / "papers/roc/claims.yaml").write_text(yaml.safe_dump(page))
    if name == "roc":
        with pytest.raises(
            ResiduumError, match="no column 'roc'; known: overlap, recall, residual"
        ):
            load(config)
        return
    claimed = ClaimsInputs(load(config), Paths("r"), all_available)
    metrics = claimed.metrics(named(page="roc-claims"))
    assert f"r/metrics/{SPLIT}/cocondenser-ei-embedding.seed1.tsv" in metrics


def column(**changes):
    return {"id": "c", "role": "nq-test", "measure": "Success@10", "header": "H", **changes}


@pytest.mark.parametrize(
    ("columns", "reported", "says"),
    [
        (column(derived="RoC", measure="RR@10"), {},
         "columns.c.measure: 'RR@10' is no hit, 1 or 0 for a query, as RoC counts: take Success@k"),
        (column(derived="better"), {}, "give than for derived: better, and for nothing else"),
        (column(than="sum"), {}, "give than for derived: better, and for nothing else"),
        (column(derived="better", than="som"), {}, "no row 'som'"),
        (column(change_from="som"), {}, "no row 'som'"),
        (column(measure="depth", change_from="sum"), {}, "depth is chosen: leave out derived"),
        (column(tick="above"), {}, "a tick needs change_from"),
        (column(derived="RoC", change_from="sum", tick="above"), {}, "that is tested: not RoC"),
        (column(), {"c": "+0.1"}, "reported.ours.c: a sign, but the cell is no change"),
        (column(change_from="sum"), {"c": "0.1"}, "reported.ours.c: a change needs a sign"),
        (column(change_from="sum"), {"c": "✓"}, "a tick, but the column has no `tick:` there"),
        (column(change_from="sum", tick="above"), {"c": "+0.1"}, "but the column prints ticks"),
        (column(change_from="clear", tick="above"), {"c": "✓"},
         "reported.ours.c: a marker about clear, which is not in `baselines:`"),
        (column(derived="RoC"), {"c": "0.4 ^1"}, "a marker: RoC is not tested"),
        (column(compared=False), {"c": "0.4 ^1"}, "a marker: the column is not compared"),
        (column(change_from="sum"), {"c": "+0.4 ^1"}, "a marker, but a change has ticks alone"),
        (column(), {"c": "+ 0.1"}, "cannot read the cell '+ 0.1'"),
    ],
)  # fmt: skip
def test_columns_and_cells_that_do_not_fit_are_named(config, columns, reported, says):
    page = config / "papers/roc/table1.yaml"
    rows = yaml.safe_load(page.read_text())["rows"]
    rows[0]["index"] = 1
    edit(page, columns=[columns], reported={"ours": reported}, rows=rows)
    with pytest.raises(ResiduumError) as caught:
        load(config)
    assert says in str(caught.value) and "roc/table1.yaml" in str(caught.value)


def test_a_tick_on_another_page_is_a_fault(config):
    page = config / "papers/dualrm/table1.yaml"
    reported = yaml.safe_load(page.read_text())["reported"]
    row, cells = next(iter(reported.items()))
    edit(page, reported={**reported, row: dict.fromkeys(cells, "✓")})
    with pytest.raises(
        ResiduumError, match=f"reported.{row}.* a tick, which only a column of a table"
    ):
        load(config)


def test_a_column_names_what_it_shows():
    table = Table.model_validate(yaml.safe_load(TABLE1.read_text()))
    residual, _, roc, recall = table.columns
    assert roc.named("ours") == "change of RoC(AnswerAccuracy@10)"
    assert roc.named("sum") == "RoC(AnswerAccuracy@10)"
    assert recall.named() == "change of AnswerAccuracy@100"
    assert [c.shows for c in table.columns] == ["derived", "derived", "derived", "measured"]
    assert (residual.tested, roc.tested, recall.tested) == (True, False, True)
