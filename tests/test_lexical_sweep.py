"""RM3 by cross-validation: folds, choices by hand, and the run that comes of them."""

import json
import random
from collections import Counter

import numpy as np
import pytest

from corpora import RM3, make_index, spec
from residuum import evaluate, folds, lexical
from residuum.core import trec
from residuum.core.errors import ResiduumError

GRID = {"feedback_docs": [2, 5], "feedback_terms": [3], "original_query_weight": [0.2, 0.5, 0.9]}
MEASURES = {"dev": "RR@5"}


def swept(**grid) -> dict:
    return {"folds": 2, "seed": 1, "measures": MEASURES, **grid}


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


def sweep(split, folder, name, measure="RR@5", **grid):
    index, queries, qrels = split
    run, record = folder / f"{name}.trec.gz", folder / f"{name}.json"
    entry = spec(k=50, rm3_sweep=swept(**grid))
    lexical.sweep(index, queries, qrels, entry, measure, "x", run, record, 2)
    return trec.read_run(run), json.loads(record.read_text())


def test_each_fold_gets_what_is_best_on_the_others():
    fold = np.array([0, 1, 0, 1, 2])
    values = np.array(
        [
            [1.0, 0.0, 1.0, 0.0, 0.0],  # best where fold 0 counts
            [0.0, 0.9, 0.0, 0.9, 0.0],  # best where fold 1 counts and fold 0 does not
            [0.0, 0.9, 0.0, 0.9, 0.0],  # its equal, and later
        ]
    )
    first, second, third = folds.choose(values, fold)
    assert (first.setting, first.queries) == (1, 2)
    assert (first.value_on_others, first.value_held_out) == (pytest.approx(1.8 / 3), 0.0)
    assert (second.setting, second.value_on_others) == (0, pytest.approx(2 / 3))
    assert (third.setting, third.value_on_others, third.queries) == (0, 0.5, 1)


def test_means_of_the_same_values_in_another_order_are_equal():
    values = [0.1, 0.2, 0.3, 1 / 3, 1 / 7, 1 / 9] * 3
    one, other = folds.means(np.array([values, sorted(values)]))
    assert one == other


def test_folds_are_balanced_and_follow_the_seed_alone():
    ids = [f"q{i}" for i in range(101)]
    judged = set(ids[:31])
    fold_of = folds.split(ids, judged, 3, seed=1)
    assert list(fold_of) == ids
    assert sorted(Counter(fold_of.values()).values()) == [33, 34, 34]
    assert sorted(Counter(fold_of[q] for q in judged).values()) == [10, 10, 11]
    assert folds.split(ids[::-1], judged, 3, seed=1) == fold_of
    assert folds.split(ids, judged, 3, seed=2) != fold_of


def test_edges_are_those_of_grids_with_several_values():
    grid = {"docs": [5, 10, 20], "terms": [10], "weight": [0.1, 0.5, 0.9]}
    assert folds.edges({"docs": 10, "terms": 10, "weight": 0.9}, grid) == ["weight"]
    assert folds.edges({"docs": 5, "terms": 10, "weight": 0.5}, grid) == ["docs"]


def test_a_sweep_of_one_setting_is_the_fixed_setting(split, tmp_path):
    index, queries, _ = split
    sweep(split, tmp_path, "swept", **{name: [value] for name, value in RM3.items()})
    lexical.search(index, queries, spec(k=50, rm3=RM3), "x", tmp_path / "fixed.trec.gz", 1)
    swept_bytes = (tmp_path / "swept.trec.gz").read_bytes()
    assert swept_bytes == (tmp_path / "fixed.trec.gz").read_bytes()


def test_folds_that_a_collection_has_take_the_place_of_dealt_ones(split, tmp_path):
    index, queries, qrels = split
    texts = list(trec.read_queries(queries).items())
    parts = [texts[:100], texts[100:150], texts[150:]]
    paths = [tmp_path / f"fold{number}.tsv" for number in range(3)]
    for path, part in zip(paths, parts, strict=True):
        trec.write_queries(path, part)
    run, record = tmp_path / "run.trec.gz", tmp_path / "t.json"
    entry = spec(k=50, rm3_sweep=swept(**GRID))
    lexical.sweep(index, queries, qrels, entry, "RR@5", "x", run, record, fold=paths)
    facts = json.loads(record.read_text())
    assert [fold["queries"] for fold in facts["folds"]] == [100, 50, 135], "judged ones"
    assert facts["fold_of"] == {q: n for n, part in enumerate(parts) for q, _ in part}
    for number, fold in enumerate(facts["folds"]):
        sizes = [f["queries"] for f in facts["folds"]]
        others = [n for n in range(3) if n != number]
        total = sum(sizes[n] for n in others)
        means = [
            sum(t["fold values"][n] * sizes[n] for n in others) / total for t in facts["tried"]
        ]
        assert fold["value_on_others"] == pytest.approx(max(means), abs=1e-12)
    trec.write_queries(paths[2], parts[2][1:])
    with pytest.raises(ResiduumError, match="query q150 is in 0 of the 3 folds"):
        lexical.sweep(index, queries, qrels, entry, "RR@5", "x", run, record, fold=paths)


def test_values_and_the_run_are_those_of_each_setting_searched_alone(split, tmp_path, capsys):
    index, queries, qrels = split
    run, record = sweep(split, tmp_path, "swept", **GRID)
    judged, fold_of = trec.read_qrels(qrels), record["fold_of"]
    assert (record["measure"], record["queries"], len(fold_of)) == ("RR@5", 285, 290)
    assert len(record["tried"]) == 6
    alone = {}
    for place, tried in enumerate(record["tried"]):
        rm3 = {name: tried[name] for name in GRID}
        path = tmp_path / f"{place}.trec.gz"
        lexical.search(index, queries, spec(k=50, rm3=rm3), "x", path)
        alone[tuple(rm3.values())] = trec.read_run(path)
        metrics = evaluate.evaluate(alone[tuple(rm3.values())], judged, ["RR@5"])
        for fold, value in enumerate(tried["fold values"]):
            held = [
                v for q, v in metrics.select("query_id", "value").iter_rows() if fold_of[q] == fold
            ]
            assert value == pytest.approx(sum(held) / len(held), abs=1e-12)
    for number, fold in enumerate(record["folds"]):
        values = [tried["fold values"][1 - number] for tried in record["tried"]]
        assert fold["value_on_others"] == max(values)
        best = record["tried"][values.index(max(values))]
        assert fold["chosen"] == {name: best[name] for name in GRID}
        assert fold["value_held_out"] == best["fold values"][number]
        mine = {q for q, of in fold_of.items() if of == number}
        of_setting = alone[tuple(fold["chosen"].values())]
        assert run.filter(run["query_id"].is_in(mine)).equals(
            of_setting.filter(of_setting["query_id"].is_in(mine))
        )
        ends = {name: {grid[0], grid[-1]} for name, grid in GRID.items() if len(grid) > 1}
        assert fold["at_edge"] == [name for name in ends if fold["chosen"][name] in ends[name]]
    assert "warning: fold 0: feedback_docs" in capsys.readouterr().err


def test_manifests_lie_beside_the_run_and_the_record(split, tmp_path):
    sweep(split, tmp_path, "swept", measure="AP", **GRID)
    for name in ("swept.trec.gz", "swept.json"):
        facts = json.loads((tmp_path / f"{name}.manifest.json").read_text())
        assert facts["artefact"]["measure"] == "AP"
        assert "10%" in facts["artefact"]["parameters"]["feedback_term_filter"]
        assert [path.split("/")[-1] for path in facts["inputs"]] == [
            "manifest.json",
            "queries.tsv",
            "qrels.trec",
        ]


def test_what_cannot_be_swept_is_refused(split, tmp_path):
    index, queries, qrels = split
    end = ("x", tmp_path / "run.trec.gz")
    record = tmp_path / "record.json"
    with pytest.raises(ResiduumError, match="no rm3_sweep: use the verb search"):
        lexical.sweep(index, queries, qrels, spec(rm3=RM3), "RR@5", *end, record)
    entry = spec(rm3_sweep=swept(**GRID))
    with pytest.raises(ResiduumError, match="use the verb sweep"):
        lexical.search(index, queries, entry, *end)
    with pytest.raises(ResiduumError, match="rm3 cannot score"):
        lexical.score(index, queries, [tmp_path / "any"], entry, *end)
    trec.write_qrels(tmp_path / "qrels.trec", [("stranger", "d1", 1)])
    with pytest.raises(ResiduumError, match="query stranger is judged, but"):
        lexical.sweep(index, queries, tmp_path / "qrels.trec", entry, "RR@5", *end, record)
    trec.write_qrels(tmp_path / "qrels.trec", [("q1", "d1", 1)])
    with pytest.raises(ResiduumError, match="1 judged queries cannot be split into 2 folds"):
        lexical.sweep(index, queries, tmp_path / "qrels.trec", entry, "RR@5", *end, record)
    assert [path.name for path in tmp_path.iterdir()] == ["qrels.trec"]
