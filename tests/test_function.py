"""Fusion by a Python function of one's own, against the same fusion by a plain loop."""

import json
import random
from collections import Counter

import polars as pl
import pytest

from conftest import ROOT
from residuum import function as stage
from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.tuning.evaluation import evaluate

SPEC = {"kind": "function", "parts": ["a", "b"], "function": {"file": "mine.py"}, "k": 5}
POWERS = '''
def fuse(lists, power, factor=1):
    """Sum powers of scores; what is changed here is changed for this call alone."""
    total = {}
    for number, (part, scores) in enumerate(lists.items()):
        for doc, score in scores.items():
            total[doc] = total.get(doc, 0) + factor ** number * score ** power
        scores.clear()
    return total
'''
DOCS = range(12)
FACTORS = {"a": 1, "b": 2}


@pytest.fixture
def made(tmp_path):
    """Return lists of two parts, judgements, and what runs the stage on them by some source."""
    draw, queries = random.Random(3), [f"q{number}" for number in range(9)]
    given = {
        part: {
            (q, f"d{doc}"): round(draw.random(), 6)
            for q in queries
            for doc in draw.sample(range(12), 7)
        }
        for part in "ab"
    }
    given["b"] = {pair: score for pair, score in given["b"].items() if pair[0] != "q4"}
    for part, scores in given.items():
        rows = [(*pair, score) for pair, score in scores.items()]
        run = trec.rank(pl.DataFrame(rows, trec.HITS, orient="row"))
        trec.write_run(tmp_path / f"{part}.trec.gz", run, part)
    relevant = {q: f"d{draw.randrange(12)}" for q in queries[1:]}
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, d in relevant.items()))
    return tmp_path, queries, given, relevant


def call(folder, verb, source, **changes):
    (folder / "mine.py").write_text(source)
    runs = [f"{part}={folder / part}.trec.gz" for part in "ab"]
    spec = json.dumps({**SPEC, **{k: v for k, v in changes.items() if k not in ("tuning", "fold")}})
    path = folder / "mine.py"
    if verb == "tune":
        stage.tune(spec, runs, path, folder / "qrels", folder / "t.json", changes.get("fold"))
        return json.loads((folder / "t.json").read_text())
    stage.fuse(spec, runs, path, "mine", folder / "out.trec.gz", changes.get("tuning"))
    return trec.read_run(folder / "out.trec.gz")


def best(given, query, power, k=5):
    """Return the first docs of a query by the sum of powers, as a loop of its own."""
    total = Counter()
    for part, scores in given.items():
        for (q, doc), score in scores.items():
            if q == query:
                total[doc] += FACTORS[part] * score**power
    return [
        doc for doc, _ in sorted(total.items(), key=lambda item: (-round(item[1], 12), item[0]))
    ][:k]


def test_the_function_gets_each_list_and_its_scores_order_the_run(made):
    folder, queries, given, _ = made
    run = call(folder, "fuse", POWERS, parameters={"power": 2, "factor": 2})
    lists = dict(trec.lists_of(run).iter_rows())
    assert lists == {query: best(given, query, 2) for query in queries}
    seen = call(folder, "fuse", "def fuse(lists):\n    assert [*lists] == ['a', 'b']\n"
                "    return {doc: -n for n, doc in enumerate(lists['a'])}\n", k=7)  # fmt: skip
    first = trec.read_run(folder / "a.trec.gz")
    assert seen.select("query_id", "doc_id", "rank").equals(
        first.select("query_id", "doc_id", "rank")
    ), "docs come in the order of their ranks"
    record = json.loads((folder / "out.trec.gz.manifest.json").read_text())
    assert str(folder / "mine.py") in record["inputs"]


def test_a_parameter_is_chosen_as_a_plain_loop_does(made):
    folder, queries, given, relevant = made
    grid, measure = [0.1, 1, 4, 30], "RR@5"

    def mean(power, asked):
        ranks = {q: best(given, q, power) for q in asked}
        found = [q for q in asked if relevant[q] in ranks[q]]
        return sum(1 / (1 + ranks[q].index(relevant[q])) for q in found) / len(asked)

    tuned = {"parameter": "power", "grid": grid, "measure": measure, "tune_on": "tune"}
    record = call(folder, "tune", POWERS, parameters={"factor": 2}, tuned=tuned)
    means = [mean(power, relevant) for power in grid]
    assert [tried["means"][0] for tried in record["tried"]] == pytest.approx(means)
    assert record["choices"][0]["setting"] == {"power": grid[means.index(max(means))]}
    drawn = {**tuned, "tune_on": None, "folds": 3, "seed": 4}
    record = call(folder, "tune", POWERS, parameters={"factor": 2}, tuned=drawn)
    expected = []
    for fold in range(3):
        others = [q for q in relevant if record["fold_of"][q] != fold]
        expected.append(max(grid, key=lambda power, asked=others: mean(power, asked)))
    assert [choice["setting"]["power"] for choice in record["choices"]] == expected
    tuning = folder / "t.json"
    run = call(folder, "fuse", POWERS, parameters={"factor": 2}, tuned=drawn, tuning=tuning)
    lists = dict(trec.lists_of(run).iter_rows())
    assert lists == {q: best(given, q, expected[record["fold_of"][q]]) for q in queries}
    values = evaluate(run, trec.read_qrels(folder / "qrels"), [measure])["value"]
    held_out = [mean(expected[record["fold_of"][q]], [q]) for q in sorted(relevant)]
    assert values.to_list() == pytest.approx(held_out)


def test_the_example_of_the_configuration_is_inverse_square_rank_fusion(made):
    folder = made[0]
    run = call(folder, "fuse", (ROOT / "config/functions/isr.py").read_text(), k=12)
    lists = [dict(trec.lists_of(trec.read_run(folder / f"{p}.trec.gz")).iter_rows()) for p in "ab"]
    for query, docs in trec.lists_of(run).iter_rows():
        ranks = {
            d: [own[query].index(d) + 1 for own in lists if d in own.get(query, [])] for d in docs
        }
        by_hand = {doc: len(some) * sum(n**-2 for n in some) for doc, some in ranks.items()}
        assert docs == sorted(by_hand, key=lambda doc: (-round(by_hand[doc], 12), doc))
        assert {*docs} == {doc for own in lists for doc in own.get(query, [])}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def fuse(lists)\n", "mine.py: cannot be run: SyntaxError: expected ':'"),
        ("import no_such_package\n", "cannot be run: line 1, `import no_such_package`: ModuleNot"),
        ("def fuze(lists): ...\n", "mine.py: no function 'fuse'; known: fuze. Did you mean fuze?"),
        ("def fuse(lists):\n    return {'d0': 1 / len(lists['c'])}\n",
         "mine.py: query q0: line 2, `return {'d0': 1 / len(lists['c'])}`: KeyError: 'c'"),
        ("def fuse(lists): return [1]\n", "query q0: returned list; return a dictionary"),
        ("def fuse(lists): return {'d99': 1}\n", "query q0: returned doc 'd99', which no list"),
        ("def fuse(lists): return {d: float('nan') for d in lists['a']}\n", "no finite number"),
        ("def fuse(lists): return {d: 'high' for d in lists['a']}\n", "returned 'high' for doc"),
        ("def fuse(lists): return {d: 10**400 for d in lists['a']}\n", "no finite number"),
        ("def fuse(lists): return {}\n", "the function returned no doc for any query"),
        ("import itertools\nn = itertools.count()\n"
         "def fuse(lists): return {d: next(n) for d in lists['a']}\n",
         "query q0: other scores when it is called again"),
        ("def fuse(lists, power): return {}\n", "missing 1 required positional argument: 'power'"),
        ("def fuse(lists): raise SystemExit(3)\n", "query q0: line 1, `def fuse(lists): raise"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_function_is_said_and_nothing_is_written(made, source, says):
    with pytest.raises(ResiduumError) as caught:
        call(made[0], "fuse", source)
    assert says in str(caught.value)
    assert not (made[0] / "out.trec.gz").exists()


def test_parameters_that_contradict_are_refused(made):
    tuned = {"parameter": "power", "grid": [1], "measure": "RR", "tune_on": "tune"}
    with pytest.raises(ResiduumError, match="power is tuned; give it no value"):
        call(made[0], "fuse", POWERS, parameters={"power": 1}, tuned=tuned)
    with pytest.raises(ResiduumError, match="give --tuning if a parameter is tuned, and only then"):
        call(made[0], "fuse", POWERS, tuned=tuned)
    with pytest.raises(ResiduumError, match="no tuned parameter: there is nothing to tune"):
        call(made[0], "tune", POWERS)
    with pytest.raises(ResiduumError, match="give folds and seed in place of tune_on"):
        call(made[0], "tune", POWERS, tuned={**tuned, "folds": 2})
