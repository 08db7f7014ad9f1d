"""RM3 by cross-validation: folds, choices by hand, and the run that comes of them."""

import json
import os
import random
import subprocess
import sys

import pytest

from conftest import ROOT
from corpora import RM3, make_index, spec
from residuum import lexical, rm3
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.tuning.evaluation import evaluate

GRID = {"feedback_docs": [2, 5], "feedback_terms": [3], "original_query_weight": [0.2, 0.5, 0.9]}
MEASURES = {"dev": "RR@5"}


def tuned(**grid) -> dict:
    return {"grid": grid, "folds": 2, "seed": 1, "measures": MEASURES}


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    """300 random docs, 290 queries of which all but five are judged, and their files."""
    folder = tmp_path_factory.mktemp("split")
    rng = random.Random(5)
    words = [f"w{chr(97 + i % 26)}{i}" for i in range(80)]
    docs = [(f"d{i}", " ".join(rng.choices(words, k=10))) for i in range(300)]
    queries = [(f"q{i}", " ".join(rng.choices(docs[i][1].split(), k=2))) for i in range(290)]
    trec.write_queries(folder / "queries.tsv", queries)
    qrels = [(f"q{i}", f"d{i}", 1) for i in range(285)]
    trec.write_qrels(folder / "qrels.trec", qrels)
    return make_index(folder, docs), folder / "queries.tsv", folder / "qrels.trec"


def tune(split, folder, name, measure="RR@5", **grid):
    index, queries, qrels = split
    run, record = folder / f"{name}.trec.gz", folder / f"{name}.json"
    entry = spec(k=50, rm3=tuned(**grid))
    rm3.tune(index, queries, qrels, entry, measure, "x", run, record, 2)
    return trec.read_run(run), json.loads(record.read_text())


def test_a_grid_of_one_setting_is_the_fixed_setting(split, tmp_path):
    index, queries, _ = split
    tune(split, tmp_path, "tuned", **{name: [value] for name, value in RM3["value"].items()})
    lexical.search(index, queries, spec(k=50, rm3=RM3), "x", tmp_path / "fixed.trec.gz", 1)
    tuned_bytes = (tmp_path / "tuned.trec.gz").read_bytes()
    assert tuned_bytes == (tmp_path / "fixed.trec.gz").read_bytes()


def test_folds_that_a_collection_has_take_the_place_of_dealt_ones(split, tmp_path):
    index, queries, qrels = split
    texts = list(trec.read_queries(queries).items())
    parts = [texts[:100], texts[100:150], texts[150:]]
    paths = [tmp_path / f"fold{number}.tsv" for number in range(3)]
    for path, part in zip(paths, parts, strict=True):
        trec.write_queries(path, part)
    run, record = tmp_path / "run.trec.gz", tmp_path / "t.json"
    entry = spec(k=50, rm3=tuned(**GRID))
    rm3.tune(index, queries, qrels, entry, "RR@5", "x", run, record, fold=paths)
    facts = json.loads(record.read_text())
    assert [fold["queries"] for fold in facts["choices"]] == [100, 50, 135], "judged ones"
    assert facts["fold_of"] == {q: n for n, part in enumerate(parts) for q, _ in part}
    for number, fold in enumerate(facts["choices"]):
        sizes = [f["queries"] for f in facts["choices"]]
        others = [n for n in range(3) if n != number]
        total = sum(sizes[n] for n in others)
        means = [sum(t["means"][n] * sizes[n] for n in others) / total for t in facts["tried"]]
        assert fold["mean"] == pytest.approx(max(means), abs=1e-12)
    trec.write_queries(paths[2], parts[2][1:])
    with pytest.raises(ResiduumError, match="query q150 is in 0 of the 3 folds"):
        rm3.tune(index, queries, qrels, entry, "RR@5", "x", run, record, fold=paths)


def test_values_and_the_run_are_those_of_each_setting_searched_alone(split, tmp_path, capsys):
    index, queries, qrels = split
    run, record = tune(split, tmp_path, "tuned", **GRID)
    judged, fold_of = trec.read_qrels(qrels), record["fold_of"]
    assert (record["measure"], record["queries"], len(fold_of)) == ("RR@5", 285, 290)
    assert len(record["tried"]) == 6
    alone = {}
    for place, tried in enumerate(record["tried"]):
        assert list(tried["setting"]) == list(GRID)
        values = tuple(tried["setting"].values())
        path = tmp_path / f"{place}.trec.gz"
        lexical.search(index, queries, spec(k=50, rm3={"value": tried["setting"]}), "x", path)
        alone[values] = trec.read_run(path)
        metrics = evaluate(alone[values], judged, ["RR@5"])
        for fold, value in enumerate(tried["means"]):
            held = [
                v for q, v in metrics.select("query_id", "value").iter_rows() if fold_of[q] == fold
            ]
            assert value == pytest.approx(sum(held) / len(held), abs=1e-12)
    for number, fold in enumerate(record["choices"]):
        values = [tried["means"][1 - number] for tried in record["tried"]]
        assert fold["mean"] == max(values)
        best = record["tried"][values.index(max(values))]
        assert fold["setting"] == best["setting"]
        assert fold["held_out"] == best["means"][number]
        mine = {q for q, of in fold_of.items() if of == number}
        of_setting = alone[tuple(fold["setting"].values())]
        assert run.filter(run["query_id"].is_in(mine)).equals(
            of_setting.filter(of_setting["query_id"].is_in(mine))
        )
        ends = {name: {grid[0], grid[-1]} for name, grid in GRID.items() if len(grid) > 1}
        assert fold["at_edge"] == [name for name in ends if fold["setting"][name] in ends[name]]
    assert "warning: fold 1: feedback_docs" in capsys.readouterr().err


def test_manifests_lie_beside_the_run_and_the_record(split, tmp_path):
    tune(split, tmp_path, "tuned", measure="AP", **GRID)
    for name in ("tuned.trec.gz", "tuned.json"):
        facts = json.loads((tmp_path / f"{name}.manifest.json").read_text())
        assert facts["artefact"]["measure"] == "AP"
        assert [path.split("/")[-1] for path in facts["inputs"]] == [
            "manifest.json",
            "queries.tsv",
            "qrels.trec",
        ]
    run = json.loads((tmp_path / "tuned.trec.gz.manifest.json").read_text())["artefact"]
    assert "10%" in run["parameters"]["feedback_term_filter"]
    assert [list(setting) for setting in run["folds"]] == [list(GRID), list(GRID)]


def test_what_cannot_be_tuned_is_refused(split, tmp_path):
    index, queries, qrels = split
    end = ("x", tmp_path / "run.trec.gz")
    record = tmp_path / "record.json"
    with pytest.raises(ResiduumError, match="rm3 has no grid: use the verb search"):
        rm3.tune(index, queries, qrels, spec(rm3=RM3), "RR@5", *end, record)
    entry = spec(rm3=tuned(**GRID))
    with pytest.raises(ResiduumError, match="which needs qrels: use the verb tune of"):
        lexical.search(index, queries, entry, *end)
    with pytest.raises(ResiduumError, match="rm3 cannot score"):
        lexical.score(index, queries, [tmp_path / "any"], entry, *end)
    trec.write_qrels(tmp_path / "qrels.trec", [("stranger", "d1", 1)])
    with pytest.raises(ResiduumError, match=r"qrels\.trec: query stranger is not in .*queries"):
        rm3.tune(index, queries, tmp_path / "qrels.trec", entry, "RR@5", *end, record)
    trec.write_qrels(tmp_path / "qrels.trec", [("q1", "d1", 1)])
    with pytest.raises(ResiduumError, match="1 judged queries cannot be split into 2 folds"):
        rm3.tune(index, queries, tmp_path / "qrels.trec", entry, "RR@5", *end, record)
    assert [path.name for path in tmp_path.iterdir()] == ["qrels.trec"]


def test_a_kept_process_tunes_a_second_time(split, tmp_path):
    """Between two jobs of one process preload ends what Python ends last: its threads."""
    index, queries, qrels = split
    program = (
        "import sys, threading; from pathlib import Path; from residuum import rm3;"
        "*paths, spec = sys.argv[1:];"
        "index, queries, qrels, folder = map(Path, paths);"
        "tune = lambda name: rm3.tune(index, queries, qrels, spec, 'RR@5', 'x',"
        " folder / f'{name}.trec.gz', folder / f'{name}.json', 2);"
        "tune('one'); threading._shutdown(); tune('two')"
    )
    words = [index, queries, qrels, tmp_path, spec(k=50, rm3=tuned(**GRID))]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    subprocess.run([sys.executable, "-c", program, *map(str, words)], env=environment, check=True)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
