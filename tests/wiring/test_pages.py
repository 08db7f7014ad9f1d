"""Pages of the configuration as it is: what they read, what is missing and why."""

import json
import shlex
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml
from pydantic import TypeAdapter

from conftest import ROOT
from plan_fixture import named
from residuum.config import loading
from residuum.config.schema.scales import FromHub
from residuum.config.schema.systems import System
from residuum.inspect.bundling import PAGES
from residuum.neural import hub
from residuum.pages.cases.bind import CasesInputs, bind_cases
from residuum.pages.characteristics.bind import CharacteristicsInputs, bind_characteristics
from residuum.pages.claims.bind import ClaimsInputs, bind_claims
from residuum.pages.figure.bind import FigureInputs
from residuum.pages.kinds import BINDERS, INPUTS
from residuum.pages.sides import dense_and_lexical
from residuum.pages.table.bind import TableInputs, bind_table
from residuum.wiring import driver
from residuum.wiring.availability import all_available
from residuum.wiring.pages import Pages, gaps
from residuum.wiring.paths import Paths

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def load(**config):
    return loading.load(ROOT / "config", {**BASE, **config})


@pytest.fixture(scope="module")
def mini():
    return load(scale="mini", seeds=[1, 2])


@pytest.fixture(scope="module")
def tables(mini):
    return TableInputs(mini, Paths("r"), all_available)


def no_hub(model):
    return f"no {model}"


def test_a_table_reads_the_metrics_of_every_seed_of_its_rows(tables):
    table = named(page="clear-table1")
    metrics = tables.metrics(table)
    assert metrics == sorted(set(metrics))
    assert "r/metrics/generated-mini/dev/bm25.tsv" in metrics
    for seed in (1, 2):
        assert f"r/metrics/generated-mini/dev/clear.seed{seed}.tsv" in metrics
        assert f"r/tuning/generated-mini/tune/clear.seed{seed}.json" in tables.tuning(table)
    fused = [f"{path}.manifest.json" for path in metrics if "/clear" in path and "-emb" not in path]
    assert tables.records(table) == fused, "how often unions are exact; and it states no index"
    robust = TableInputs(load(scale="full"), Paths("r"), all_available)
    stated = named(page="lexical-baselines-robust04")
    assert robust.records(stated) == [f"{path}.manifest.json" for path in robust.metrics(stated)]


def test_tables_that_are_corrected_together_are_tested_on_the_metrics_of_all(mini, tables):
    assert tables.together(named(page="clear-table1")) == ""
    tests = {n: t.model_copy(update={"family": "paper"}) for n, t in mini.tests.items()}
    family = TableInputs(replace(mini, tests=tests), Paths("r"), all_available)
    one, other = named(page="clear-table1"), named(page="clear-table2")
    control = named(page="clear-control")
    assert family.together(one).count("--together ") == 2
    every = {path for page in (one, other, control) for path in family.metrics(page)}
    assert set(family.tested_metrics(one)) == every


def characteristics(registry):
    return CharacteristicsInputs(registry, Paths("r"), all_available)


def test_characteristics_count_the_splits_that_have_data(mini):
    counts, page = characteristics(mini), named(page="dualrm-table1")
    splits = ["generated-mini/dev", "generated-mini/judged"]
    names = ("queries.tsv", "qrels.trec")
    assert counts.files(page) == [f"r/data/{split}/{name}" for name in names for split in splits]
    assert counts.options(page) == (
        "--split dev=r/data/generated-mini/dev --split dl=r/data/generated-mini/judged"
    )


def test_characteristics_read_training_queries_and_corpora_where_their_rows_ask(mini):
    """The topics have folds, but models of this collection train on other queries."""
    counts, page = characteristics(mini), named(page="roc-table2")
    on, asked = "r/data/generated-mini", "r/data/generated-questions-mini"
    folders = {"marco": on, "nq": asked, "robust": on}
    splits = {"marco": f"{on}/dev", "nq": f"{asked}/questions", "robust": f"{on}/topics"}
    trained = {"marco": f"{on}/train", "nq": f"{asked}/questions-train", "robust": f"{on}/train"}
    assert counts.files(page) == [
        *(f"{split}/{n}" for n in ("queries.tsv", "qrels.trec") for split in splits.values()),
        *(f"{split}/queries.tsv" for split in dict.fromkeys(trained.values())),
        *(f"{folder}/corpus/manifest.json" for folder in (on, asked)),
    ]
    named_as = [f"--split {column}={split}" for column, split in splits.items()]
    named_as += [f"--train {column}={split}" for column, split in trained.items()]
    named_as += [f"--corpus {column}={folder}/corpus" for column, folder in folders.items()]
    assert counts.options(page) == " ".join(named_as)


def test_the_papers_collections_have_training_queries_or_folds():
    bound = bind_characteristics(load(scale="full"), "roc-table2", all_available)
    assert bound.trained == {"marco": "msmarco-passage/train", "nq": "nq-250k/train"}
    assert bound.folds == {"robust": 5}


def test_a_figure_and_a_case_study_read_their_split(mini):
    curves = FigureInputs(mini, Paths("r"), all_available).curves(named(page="clear-figure1"))
    assert all(path.startswith("r/rerank/generated-mini/dev/") for path in curves)
    assert len(curves) == len(set(curves)) > 0
    cases, page = CasesInputs(mini, Paths("r"), all_available), named(page="clear-table3")
    lists = [
        "r/runs/generated-mini/dev/bm25.trec.gz",
        "r/runs/generated-mini/dev/clear.seed1.trec.gz",
    ]
    assert cases.lists(page) == lists
    assert cases.list_options(page) == f"--list bm25={lists[0]} --list clear={lists[1]}"


def test_claims_read_the_metrics_tables_and_curves_that_they_are_about(mini):
    claimed, page = ClaimsInputs(mini, Paths("r"), all_available), named(page="dualrm-claims")
    tables = [
        "r/tables/dualrm-table2.tsv",
        "r/tables/dualrm-table4.tsv",
        "r/tables/dualrm-table5.tsv",
    ]
    assert sorted(claimed.tables(page)) == tables
    assert claimed.curves(page) == ["r/rerank/generated-mini/dev/bert-base-reranker.depths.tsv"]
    assert "r/metrics/generated-mini/dev/bert-siamese.seed2.tsv" in claimed.metrics(page)
    assert Pages(mini, Paths("r"), all_available).claims(None) == [
        f"r/claims/{paper}-claims.tsv" for paper in ("bioasq", "clear", "dualrm", "mebert", "roc")
    ]
    bound = bind_claims(load(scale="nfcorpus"), "dualrm-claims", no_hub)
    assert set(bound.figures["figure2"].absent) == {"dualrm", "bm25"}, "a reason, and no error"


def test_a_table_says_what_plays_its_rerankers_and_what_a_released_one_saw(mini):
    full = bind_table(load(scale="full"), "clear-table2", all_available)
    assert [*full.rerankers] == ["bert-base-reranker", "bert-large-reranker"]
    for text in full.rerankers.values():
        assert text.startswith("nboost/pt-bert-") and "which hold the tuning queries" in text
        assert "Nogueira and Cho's; " in text and "in place of" in text, "whose it is not"
    here = bind_table(mini, "clear-table2", all_available).rerankers
    assert here["bert-large-reranker"].startswith("reranker-large, trained here with seed 2")
    assert bind_table(mini, "clear-table1", all_available).rerankers == {}


@pytest.mark.parametrize(("scale", "largest"), [("mini", 50), ("full", 1000)])
def test_a_case_of_a_reranked_list_is_cut_at_the_grids_largest_depth(scale, largest):
    for page in ("clear-table4", "dualrm-table3"):
        bound = bind_cases(load(scale=scale), page, all_available)
        assert bound.depths == {"reranked": largest}


def test_the_ledger_judges_tables_in_the_order_of_their_specs(mini):
    pages = Pages(mini, Paths("r"), all_available)
    ids = [json.loads(spec)["id"] for spec in shlex.split(pages.judged_specs(None))[1::2]]
    drawn = {"roc-figure4": "figures", "roc-figure1": "venn", "roc-figure3": "venn"}
    drawn |= dict.fromkeys((f"mebert-{n}" for n in ("bounds", "figure2", "figure3")), "dimensions")
    judged = [f"r/{drawn.get(page, 'tables')}/{page}.tsv" for page in ids]
    assert pages.judged(None) == judged and {*drawn} <= {*ids}
    made, tables = pages.all(None), [page for page in ids if page not in drawn]
    assert made[: len(tables)] == [f"r/tables/{page}.md" for page in tables]
    assert {path.removesuffix(".tsv") + ".md" for path in judged} <= {*made}
    assert {"r/figures/clear-figure1.md", "r/cases/clear-table3.md"} <= set(pages.all(None))


def test_what_roc_prints_is_entered():
    """130 numbers of tables, three gains of 4.2.1, nine numbers of figures, 12 markers, 3 ticks."""
    roc = load(scale="full", papers=["roc"])
    pages = {
        page: roc.pages[page] for page in roc.chosen("table", "characteristics", "figure", "venn")
    }
    entered = {name: [cell for *_, cell in page.cells()] for name, page in pages.items()}
    numbers = {name: sum(not cell.tick for cell in cells) for name, cells in entered.items()}
    tables = {"roc-table1": 4, "roc-table2": 15, "roc-table3": 79, "roc-table4": 12,
              "roc-table5": 8 + 3, "roc-table6": 12}  # fmt: skip
    figures = {
        "roc-figure1": 7,
        "roc-figure3": 0,
        "roc-figure4": 2,
        "roc-figure5": 0,
        "roc-figure6": 0,
    }
    assert numbers == tables | figures
    every = [cell for cells in entered.values() for cell in cells]
    assert (sum(len(cell.beats) for cell in every), sum(cell.tick for cell in every)) == (12, 3)


@pytest.mark.parametrize(
    ("page", "rows", "printed"),
    [
        ("roc-table4", {"dpr-e": "dpr-sum"}, [1.95, 1.89, 2.87]),
        ("roc-table4", {"dpr-i": "dpr-sum"}, [0.32, 0.43, 2.10]),
        ("roc-table4", {"ours-dpr": "dpr-sum"}, [2.36, 2.78, 3.95]),
        ("roc-table6", {"sparterm-i": "sparterm"}, [0.45, 0.76, 0.74]),
        ("roc-table6", {"interaction-i": "interaction"}, [0.44, 0.53, 0.31]),
    ],
)
def test_the_differences_that_roc_prints_in_brackets_are_sums_of_its_cells(page, rows, printed):
    reported = load(scale="full").pages[page].reported
    for row, other in rows.items():
        cells = zip(reported[row].values(), reported[other].values(), strict=True)
        gaps = [100 * (float(a) - float(b)) for a, b in cells]
        assert gaps == pytest.approx(printed, abs=1e-9)


def test_every_kind_of_page_has_a_folder_a_binding_inputs_and_a_place_in_bundles():
    assert set(Paths().pages) == {*BINDERS} == {*INPUTS}
    assert set(Paths().pages.values()) < set(PAGES)
    assert Paths("r").pages["cases"] == "r/cases/{page}.tsv"
    assert Paths().pages["characteristics"] == Paths().table == "tables/{page}.tsv"


def test_pages_that_nothing_can_be_shown_on_are_not_made():
    nfcorpus = load(scale="nfcorpus")
    made = Pages(nfcorpus, Paths("r"), no_hub).all(None)
    assert "r/tables/clear-table1.md" in made, "tables always are"
    assert not any(path.startswith("r/cases/") for path in made)
    whole = {gap.page for gap in gaps(nfcorpus, no_hub) if not gap.row}
    assert "clear-table3" in whole


def test_what_is_missing_is_told_with_its_pages_and_what_no_role_asks_for_is_not(tmp_path, capsys):
    result = driver.HubLookup(workflow(), tmp_path / "absent.json")
    result._reasons["kept"] = "because"
    driver.print_gaps(load(scale="smoke", papers=["clear", "lexical-baselines"]), result)
    message = capsys.readouterr().err
    assert "binds nothing" not in message
    assert json.loads((tmp_path / "absent.json").read_text()) == {"kept": "because"}
    driver.print_gaps(
        load(scale="nfcorpus", papers=["clear"]), _AlwaysMissing(workflow(), tmp_path)
    )
    message = capsys.readouterr().err.splitlines()
    assert [line for line in message if "(clear-table1, clear-table2" in line and "no hub" in line]


class _AlwaysMissing(driver.HubLookup):
    def __call__(self, model):
        return "no hub"

    def save(self):
        pass


def workflow(**changes):
    return SimpleNamespace(**{"dryrun": False, "remote_exec": False, **changes})


def test_the_hub_is_looked_up_once_for_each_model(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(hub, "missing", lambda *model: calls.append(model) or "gone")
    result = driver.HubLookup(workflow(), tmp_path / "absent.json")
    model = FromHub(hub="org/a", revision="main")
    assert [result(model), result(model)] == ["gone", "gone"]
    assert calls == [("org/a", "main", False)]
    result.save()
    remote = driver.HubLookup(workflow(remote_exec=True), tmp_path / "absent.json")
    assert remote(model) == "gone" and len(calls) == 1
    dry = driver.HubLookup(workflow(dryrun=True), tmp_path / "absent.json")
    assert dry(model) is None and len(calls) == 1


def test_pages_read_whether_the_models_behind_them_learned(mini, tables):
    """Those behind a fusion and a reranker too, of every seed; none where no split tells."""
    behind = tables.learning(named(page="clear-table2"))
    clear = {f"r/learning/clear/seed{seed}.json" for seed in (1, 2)}
    rerankers = {"r/learning/reranker-base/seed1.json", "r/learning/reranker-large/seed2.json"}
    assert {*behind} == clear | rerankers
    first = tables.learning(named(page="clear-table1"))
    assert clear < {*first} and "r/learning/deepct/seed1.json" in first
    assert not [path for path in first if "not-trained" in path], "a control has nothing to learn"
    assert tables.learning(named(page="lexical-baselines-cacm")) == []
    silent = mini.scale.model_copy(update={"learning": None})
    registry = replace(mini, scales={**mini.scales, "mini": silent})
    silenced = TableInputs(registry, Paths("r"), all_available)
    assert silenced.learning(named(page="clear-table1")) == []


def test_dense_parts_of_every_row_are_compared_with_chance_and_models_counted(mini):
    """Those of a fusion, and of the first stage of a reranker, too; BM25 rests on no training."""
    table = bind_table(mini, "clear-table2", all_available)
    dense = tuple(f"clear-embedding.seed{seed}" for seed in (1, 2))
    for row, rerankers in (("clear", ()), ("clear-base", ("reranker-base/seed1",))):
        basis = table.basis(row, "dev-rr")
        assert basis.alone == (dense,), row
        assert {*basis.models} == {"clear/seed1", "clear/seed2", *rerankers}
    assert table.basis("bm25-base", "dev-rr").alone == ()
    assert table.basis("bm25-base", "dev-rr").models == ("reranker-base/seed1",)
    assert table.basis("bm25", "dev-rr")[3:5] == ((), ())


def test_a_page_of_claims_asks_for_bounds_of_splits_that_can_be_made_alone(
    mini, tmp_path, monkeypatch
):
    """At full without TREC's disks nothing of Robust04 is made; claims on it are not run."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    page = named(page="roc-claims")
    asked = ClaimsInputs(load(scale="full"), Paths("r"), all_available).limits(page)
    assert not [path for path in asked if "robust04" in path]
    assert "r/bounds/msmarco-passage/dev.tsv" in asked
    at_mini = ClaimsInputs(mini, Paths("r"), all_available).limits(page)
    assert "r/bounds/generated-mini/topics.tsv" in at_mini


def test_parts_of_a_sum_are_dense_or_lexical_by_what_they_are(mini):
    """An external run is what the other part is not, unless it says; BM25 as vectors is lexical."""
    given = {"kind": "external", "source": "theirs", "runs": {"msmarco-dev": "their.run"}}
    forms = {"theirs": given, "also": given, "said": {**given, "plays": "lexical"}}
    forms["as-vectors"] = {"kind": "dense", "model": "bm25-vectors"}
    pairs = {
        "beside-lexical": ["bm25", "theirs"],
        "beside-dense": ["theirs", "clear-embedding"],
        "both-external": ["theirs", "also"],
        "one-says": ["said", "theirs"],
        "vectors": ["as-vectors", "clear-embedding"],
        "three": ["bm25", "clear-embedding", "theirs"],
    }
    how = {"kind": "fusion", "unretrieved": "zero", "k": 9}
    for name, parts in pairs.items():
        weighted = {"interpolation": {"weighted": parts[0], "value": 1.0}}
        forms[name] = {**how, **weighted, "parts": parts}
    made = TypeAdapter(dict[str, System]).validate_python(forms)
    registry = replace(mini, systems={**mini.systems, **made})
    assert {name: dense_and_lexical(registry, name) for name in pairs} == {
        "beside-lexical": ("theirs", "bm25"),
        "beside-dense": ("clear-embedding", "theirs"),
        "both-external": None,
        "one-says": ("theirs", "said"),
        "vectors": ("clear-embedding", "as-vectors"),
        "three": None,
    }
