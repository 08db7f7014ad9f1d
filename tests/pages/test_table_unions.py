"""How often a union is exact: from a fused run's manifest to the line under a table."""

import json

import polars as pl

from bounds_fixture import bounds_of
from residuum import evaluate, significance
from residuum.artefacts import manifest, trec
from residuum.pages.table import make as tables
from residuum.pages.table import notes
from tables_fixture import job, spec, write_metrics

FUSED = {"ours": {"kind": "fusion"}, "base": {"kind": "lexical"}, "ablation": {"kind": "fusion"}}


def table():
    return job().model_copy(update={"systems": FUSED})


def record(metrics, run, **shares):
    facts = {"artefact": {"provably_exact": shares}} if shares else {"artefact": {}}
    path = metrics / "data" / "dev" / f"{run}.tsv.manifest.json"
    path.write_text(json.dumps(facts))


def test_the_metrics_of_a_fused_run_have_its_share_and_name_where_it_stood(tmp_path):
    run, qrels, metrics = (tmp_path / name for name in ("run.gz", "qrels", "m.tsv"))
    rows = [("q", "a", 2.0), ("q", "b", 1.0)]
    trec.write_run(run, trec.rank(pl.DataFrame(rows, trec.HITS, orient="row")), "f")
    trec.write_qrels(qrels, [("q", "b", 1)])
    for shares in ({"10": 0.75, "1000": 0.0}, None):
        facts = {"provably_exact": shares} if shares else {}
        manifest.write(run, facts, {}, [], "residuum.fusion")
        evaluate.run(run, qrels, ["RR@10"], metrics)
        made = json.loads(manifest.beside(metrics).read_text())
        assert made["artefact"].get("provably_exact") == shares
        assert (str(manifest.beside(run)) in made["inputs"]) == bool(shares)


def test_a_table_says_of_each_union_for_how_many_queries_it_is_exact(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    for run, share in (("ours.seed1", 0.975), ("ours.seed2", 0.9), ("base", 0.5)):
        record(metrics, run, **{"10": share, "1000": 0.0})
    record(metrics, "ablation")
    (line,) = notes.of_unions(table(), metrics)
    assert line.startswith("Queries for which a union's first 10 docs provably have the scores of")
    assert line.endswith(": ours 90.0 to 97.5%.")
    record(metrics, "ours.seed1", **{"10": 0.9})
    record(metrics, "ablation", **{"5": 1.0})
    fewer, line = notes.of_unions(table(), metrics)
    assert "first 5 docs" in fewer and fewer.endswith(": ablation 100.0%.")
    assert "first 10 docs" in line and line.endswith(": ours 90.0%.")


def test_the_line_stands_under_the_page_and_changes_no_number(tmp_path):
    metrics, text = write_metrics(tmp_path / "metrics"), spec(table())
    for run in ("ours.seed1", "ours.seed2", "ablation"):
        record(metrics, run)
    significance.compare(text, metrics, tmp_path / "s.tsv", bounds_of(metrics))
    pages = []
    for name in ("before", "after"):
        tables.render(text, metrics, tmp_path / "s.tsv", tmp_path / f"{name}.tsv")
        pages.append((tmp_path / f"{name}.tsv").read_bytes())
        record(metrics, "ours.seed1", **{"10": 0.25})
    before, after = ((tmp_path / f"{name}.md").read_text() for name in ("before", "after"))
    assert pages[0] == pages[1]
    assert "exact search over all docs" not in before and ": ours 25.0%." in after
    assert ": ours 25.0\\%." in (tmp_path / "after.tex").read_text()
    made = json.loads((tmp_path / "after.tsv.manifest.json").read_text())
    assert str(metrics / "data" / "dev" / "ablation.tsv.manifest.json") in made["inputs"]


def test_a_table_reads_the_manifests_of_its_fusions_alone():
    runs = ("ablation", "ours.seed1", "ours.seed2")
    assert table().metrics_records() == [f"data/dev/{run}.tsv.manifest.json" for run in runs]


def test_a_table_says_how_many_hits_other_vectors_win(tmp_path):
    metrics = write_metrics(tmp_path / "metrics")
    for run, share in (("ours.seed1", 0.125), ("ours.seed2", 0.25), ("base", 0.5)):
        path = metrics / "data" / "dev" / f"{run}.tsv.manifest.json"
        path.write_text(json.dumps({"artefact": {"won_by_other_vectors": share}}))
    several = job().model_copy(update={"vectors": {"ours": 3, "ablation": 3}})
    (line,) = notes.of_vectors(several, metrics)
    assert line.startswith("Of the first 10 docs of a list, so many score by another vector than")
    assert line.endswith(": ours (3 vectors) 12.5 to 25.0%.")
    assert {"data/dev/ours.seed1.tsv.manifest.json"} < {*several.metrics_records()}
    assert not [*notes.of_vectors(job(), metrics)]
