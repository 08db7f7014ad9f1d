"""Fusion against numbers worked out by hand, and lambda chosen as it is written."""

import json
import random
from collections import Counter
from functools import partial

import polars as pl
import pytest

from corpora import make_corpus
from residuum import fusion
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.systems import FusionSystem
from residuum.config.specs import canonical_json
from residuum.tuning import weights
from residuum.tuning.choosing import split_folds
from residuum.tuning.evaluation import evaluate

GRID = {"tune_on": "t", "measure": "RR@10", "grid": [0.0, 0.5]}


def system(lexical="minimum", dense="minimum", k=10, scaled=None, combine="sum", **interpolation):
    return FusionSystem(
        normalise=scaled,
        combine=combine,
        kind="fusion",
        label="f",
        parts=["l", "d"],
        unretrieved={"l": lexical, "d": dense},
        interpolation={"weighted": "l", **(interpolation or GRID)},
        k=k,
    )


@pytest.fixture
def run(tmp_path):
    """Return a writer of runs: run(name, {(query_id, doc_id): score}) -> path."""

    def write(name, scores):
        rows = [(q, d, float(s)) for (q, d), s in scores.items()]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(tmp_path / name, trec.rank(frame), name)
        return tmp_path / name

    return write


@pytest.fixture
def lists(run):
    lexical = run("lex.gz", {("q", "a"): 10, ("q", "b"): 4, ("r", "x"): 1})
    dense = run("dense.gz", {("q", "b"): 3, ("q", "c"): 2, ("s", "z"): -1})
    return {"l": lexical, "d": dense}


def union(entry, runs, scores=None):
    files = fusion.Files(entry, named(runs), named(scores or {}))
    return pl.concat(some for lists in files.read() for some in lists.unions()).sort(trec.PAIR)


def named(paths):
    return [f"{part}={path}" for part, path in paths.items()]


def test_union_and_minimum_by_hand(lists):
    pairs = union(system(), lists)
    assert pairs.rows() == [
        ("q", "a", 10.0, 2.0),  # not in the dense list, whose minimum is 2
        ("q", "b", 4.0, 3.0),
        ("q", "c", 4.0, 2.0),  # not in the lexical list, whose minimum is 4
        ("r", "x", 1.0, 0.0),  # no dense list at all: 0
        ("s", "z", 0.0, -1.0),
    ]
    # lambda 0.5: a = 5 + 2, b = 2 + 3, c = 2 + 2 (CLEAR Eq. 8).
    assert fusion.ranked(pairs, 0.5, 2).rows() == [
        ("q", "a", 1, 7.0),
        ("q", "b", 2, 5.0),
        ("r", "x", 1, 0.5),
        ("s", "z", 1, -1.0),
    ]


# Of q the lexical list has 10, 4, 1 (a, b, c), the dense one 3, 2 (b, d).
SCALED = {
    "min-max": ({"a": 1, "b": 3 / 9, "c": 0}, {"b": 1, "d": 0}),
    "max": ({"a": 1, "b": 0.4, "c": 0.1}, {"b": 1, "d": 2 / 3}),
    "sum": ({"a": 9 / 12, "b": 3 / 12, "c": 0}, {"b": 1, "d": 0}),
    "zmuv": (
        {"a": 5 / 14**0.5, "b": -1 / 14**0.5, "c": -4 / 14**0.5},  # mean 5, variance 42 / 3
        {"b": 1, "d": -1},  # mean 2.5, deviation 0.5
    ),
}


@pytest.mark.parametrize("scaled", SCALED)
@pytest.mark.parametrize("combine", ["sum", "mnz"])
def test_lists_are_scaled_as_by_hand(run, tmp_path, scaled, combine):
    lexical, dense = SCALED[scaled]
    runs = {
        "l": run("l.gz", {("q", "a"): 10, ("q", "b"): 4, ("q", "c"): 1, ("r", "x"): 2}),
        "d": run("d.gz", {("q", "b"): 3, ("q", "d"): 2}),
    }
    entry = system("zero", "zero", scaled=scaled, combine=combine, value=0.3)
    fusion.fuse(entry.model_dump_json(), named(runs), "f", tmp_path / "f.gz")
    expected = {}
    for doc in "abcd":
        both = (lexical.get(doc, 0.0), dense.get(doc, 0.0))
        weights_of_lists = 0.3 * (doc in lexical) + 1.0 * (doc in dense)
        summed = 0.3 * both[0] + both[1]
        expected[doc] = summed if combine == "sum" else sum(both) * weights_of_lists
    read = trec.read_run(tmp_path / "f.gz")
    made = dict(read.filter(query_id="q").select("doc_id", "score").rows())
    assert made == pytest.approx(expected, abs=1e-11)
    (alone,) = read.filter(query_id="r")["score"]  # a list of one doc: nothing to divide by
    assert alone == pytest.approx({"max": 0.3}.get(scaled, 0.0))


def test_a_true_score_is_scaled_as_its_list_is(run, lists):
    """The dense list of q has 3 and 2, so a's true score of 1 lies one range below the least."""
    entry = system("minimum", "true_score", scaled="min-max", value=1.0)
    true = run("true.gz", {("q", "a"): 1, ("r", "x"): 0})
    pairs = union(entry, lists, {"d": true})
    a, b, c, *_ = pairs.rows()
    assert a == ("q", "a", 1.0, -1.0)
    assert b == ("q", "b", 0.0, 1.0)
    assert c == ("q", "c", 0.0, 0.0)


def test_the_weight_of_scaled_lists_is_tuned(tmp_path, run):
    """Of q, b leads up to 1.5 by 1 against 2 w / 3, and a from there on."""
    lists = {
        "l": run("l.gz", {("q", "a"): 10, ("q", "b"): 4, ("q", "c"): 1}),
        "d": run("d.gz", {("q", "b"): 3, ("q", "d"): 2}),
    }
    entry = system("zero", "zero", scaled="min-max", **{**GRID, "grid": [0.0, 1.0, 2.0]})
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    fusion.tune(entry.model_dump_json(), named(lists), tmp_path / "t.json", tmp_path / "qrels")
    record = json.loads((tmp_path / "t.json").read_text())
    assert record["choices"][0]["setting"] == {"lambda": 2.0}


def test_mnz_goes_with_lists_that_give_nothing_to_docs_they_lack():
    with pytest.raises(ValueError, match="write unretrieved: zero"):
        system("zero", "minimum", combine="mnz", value=1.0)


def test_the_weight_may_lie_on_either_part(tmp_path, lists):
    entry = system(weighted="d", value=2.0)  # RoC Eq. 11: lexical + lambda * dense
    output = tmp_path / "run.gz"
    fusion.fuse(entry.model_dump_json(), named(lists), "f", output)
    assert trec.read_run(output).rows()[:3] == [
        ("q", "a", 1, 14.0), ("q", "b", 2, 10.0), ("q", "c", 3, 8.0)
    ]  # fmt: skip


def test_three_parts_with_weights_of_their_own(run, lists):
    third = run("third.gz", {("q", "c"): 100, ("q", "new"): 8})
    entry = FusionSystem(
        kind="fusion",
        parts=["l", "d", "t"],
        unretrieved="minimum",
        interpolation={"weighted": "d", "value": 3.0, "others": {"t": 0.5}},
        k=10,
    )
    pairs = union(entry, {**lists, "t": third}).filter(query_id="q")
    assert pairs.rows() == [  # the score of d, and that of l plus half that of t
        ("q", "a", 2.0, 10 + 4.0),
        ("q", "b", 3.0, 4 + 4.0),
        ("q", "c", 2.0, 4 + 50.0),
        ("q", "new", 2.0, 4 + 4.0),
    ]


def test_true_scores_take_the_place_of_what_a_list_lacks(run, lists):
    on_dense = run("ld.gz", {("q", "b"): 4, ("q", "c"): 0.25, ("s", "z"): 0})
    on_lexical = run("dl.gz", {("q", "a"): -7, ("q", "b"): 3, ("r", "x"): 0.5})
    exact = system("true_score", "true_score")
    assert union(exact, lists, {"l": on_dense, "d": on_lexical}).rows() == [
        ("q", "a", 10.0, -7.0),
        ("q", "b", 4.0, 3.0),
        ("q", "c", 0.25, 2.0),
        ("r", "x", 1.0, 0.5),
        ("s", "z", 0.0, -1.0),
    ]


def test_runs_of_two_splits_are_named_before_a_score_that_lacks_for_it(run, tmp_path, monkeypatch):
    runs = {"l": run("l.gz", {("q", "a"): 1}), "d": run("d.gz", {("z", "a"): 1})}
    scores = run("s.gz", {("y", "b"): 1})
    one_at_a_time = partial(trec.read_together, at_once=1)
    monkeypatch.setattr(trec, "read_together", one_at_a_time)
    entry = system("true_score", value=1.0).model_dump_json()
    with pytest.raises(ResiduumError, match=r"none of its 1 queries, such as q, is in .*d\.gz"):
        fusion.fuse(
            entry, named(runs), "f", tmp_path / "out.gz", scores=[f"l={scores}"], requested=None
        )
    assert not (tmp_path / "out.gz").exists()


def test_a_pair_without_its_true_score_is_an_error_not_a_zero(run, lists):
    on_dense = run("ld.gz", {("q", "b"): 4, ("s", "z"): 0})
    with pytest.raises(ResiduumError, match=r"ld\.gz: no score of l for query q, doc c"):
        union(system("true_score"), lists, {"l": on_dense})
    with pytest.raises(ResiduumError, match="l gives true scores: name their files"):
        union(system("true_score"), lists)


def test_each_part_needs_its_run(tmp_path, lists):
    spec = canonical_json(system(value=0.5).model_dump(mode="json"))
    with pytest.raises(ResiduumError, match="--run d=PATH is missing"):
        fusion.fuse(spec, [f"l={lists['l']}"], "tag", tmp_path / "run.trec.gz")


def test_a_scores_file_adds_no_docs(run, lists):
    on_dense = run("ld.gz", {("q", "b"): 4, ("q", "c"): 0.25, ("s", "z"): 0, ("q", "other"): 99})
    assert "other" not in union(system("true_score"), lists, {"l": on_dense})["doc_id"].to_list()


def test_queries_need_not_be_together_in_a_run(tmp_path, lists):
    text = "r Q0 x 1 1 t\nq Q0 a 1 10 t\ns Q0 y 1 5 t\nq Q0 b 2 4 t\n"
    (tmp_path / "mixed.trec").write_text(text)
    pairs = union(system(), {**lists, "l": tmp_path / "mixed.trec"})
    assert pairs.filter(query_id="q").equals(union(system(), lists).filter(query_id="q"))


def tuned(tmp_path, lists, grid, relevant):
    trec.write_qrels(tmp_path / "qrels", [("q", relevant, 1)])
    spec = canonical_json(system(**{**GRID, "grid": grid}).model_dump(mode="json"))
    fusion.tune(spec, named(lists), tmp_path / "t.json", tmp_path / "qrels")
    return json.loads((tmp_path / "t.json").read_text())


def test_lambda_is_the_best_of_the_grid(tmp_path, lists):
    # b leads with 3 against 2 until lambda reaches 1/6; from then on a does.
    record = tuned(tmp_path, lists, [0.0, 0.1, 0.5, 0.9], "a")
    assert (record["choices"][0]["setting"], record["choices"][0]["at_edge"]) == (
        {"lambda": 0.5}, []
    )  # fmt: skip
    # At lambda 0 the docs a and c tie at 2, and a wins by its id.
    assert [point["means"] for point in record["tried"]] == [[0.5], [0.5], [1.0], [1.0]]


def test_lambda_by_answers_is_that_by_success_on_what_holds_them(tmp_path, lists):
    passages = {"a": "Ada Lovelace", "b": "nothing", "c": "by Ada", "x": "Ada", "z": "no"}
    corpus = make_corpus(tmp_path / "corpus", list(passages.items()))
    answers = {"q": ["ada"], "r": ["ada"], "s": ["ada"], "t": ["ada"]}  # t has no list
    contracts.write_answers(tmp_path / "answers.jsonl", answers)
    grid = [0.0, 0.1, 0.5]
    tuning = {**GRID, "grid": grid, "measure": "AnswerAccuracy@1"}
    spec = canonical_json(system(**tuning).model_dump(mode="json"))
    read = {"answers": tmp_path / "answers.jsonl", "corpus": corpus}
    fusion.tune(spec, named(lists), tmp_path / "t.json", **read)
    record = json.loads((tmp_path / "t.json").read_text())
    # Of q, b leads until a does at 0.5; r's only doc holds an answer, s's and none of t's do not.
    assert [point["means"] for point in record["tried"]] == [[0.25], [0.25], [0.5]]
    assert record["choices"][0]["setting"] == {"lambda": 0.5}
    judged = [(q, d, int("Ada" in text)) for q in answers for d, text in passages.items()]
    trec.write_qrels(tmp_path / "qrels", judged)
    tuning["measure"] = "Success@1"
    spec = canonical_json(system(**tuning).model_dump(mode="json"))
    fusion.tune(spec, named(lists), tmp_path / "u.json", tmp_path / "qrels")
    by_judgements = json.loads((tmp_path / "u.json").read_text())
    assert [p["means"] for p in by_judgements["tried"]] == [p["means"] for p in record["tried"]]


def test_an_exact_lambda_lies_where_the_list_is_best(tmp_path, lists):
    record = tuned(tmp_path, lists, "exact", "a")
    ((chosen,), means) = record["choices"], [p["means"][0] for p in record["tried"]]
    weights = [point["setting"]["lambda"] for point in record["tried"]]
    assert chosen["setting"]["lambda"] > 1 / 6 and chosen["mean"] == 1.0
    assert means[weights.index(0.0)] == 0.5 and chosen["at_edge"] == []
    (other,) = tuned(tmp_path, lists, "exact", "b")["choices"]
    assert 0 <= other["setting"]["lambda"] < 1 / 6 and other["mean"] == 1.0


@pytest.mark.parametrize("folded", [False, True])
def test_no_weight_of_a_fine_grid_is_better_than_the_exact_one(tmp_path, run, folded):
    """Of folds on the queries of the others, and scores of which many are equal."""
    source = random.Random(5)
    queries, docs = [f"q{n}" for n in range(12)], [f"d{n}" for n in range(20)]

    def scores():
        return {(q, d): source.randint(0, 9) / 3 for q in queries for d in source.sample(docs, 15)}

    lists = {part: run(f"{part}.gz", scores()) for part in "ld"}
    trec.write_qrels(tmp_path / "qrels", [(q, source.choice(docs), 1) for q in queries])
    paths, halves = [], ([queries[:7], queries[7:]] if folded else [])
    for n, own in enumerate(halves):
        paths.append(tmp_path / f"fold{n}")
        paths[n].write_text("".join(f"{q}\ttext\n" for q in own))
    entry = system(**{**GRID, "grid": "exact", "measure": "RR@10"})
    named_lists, output = named(lists), tmp_path / "t.json"
    fusion.tune(entry.model_dump_json(), named_lists, output, tmp_path / "qrels", fold=paths)
    choices = json.loads(output.read_text())["choices"]
    pairs, judged = union(entry, lists), trec.read_qrels(tmp_path / "qrels")

    def mean(weight, own):
        some, of = pairs.filter(pl.col("query_id").is_in(own)), pl.col("query_id").is_in(own)
        runs = fusion.ranked(some, weight, 10)
        return evaluate(runs, judged.filter(of), ["RR@10"])["value"].sum() / len(own)

    chosen_on = [halves[1], halves[0]] if folded else [queries]
    for choice, own in zip(choices, chosen_on, strict=True):
        best = mean(choice["setting"]["lambda"], own)
        assert choice["mean"] == pytest.approx(best, abs=1e-12)
        others = [0.0, *(n / 10 + 1e-3 for n in range(80))]  # at a change itself, docs would tie
        assert best >= max(mean(weight, own) for weight in others) - 1e-12


def test_an_exact_lambda_by_answers_is_that_by_success_on_what_holds_them(tmp_path, lists):
    passages = {"a": "Ada Lovelace", "b": "nothing", "c": "by Ada", "x": "Ada", "z": "no"}
    corpus = make_corpus(tmp_path / "corpus", list(passages.items()))
    contracts.write_answers(tmp_path / "answers.jsonl", {"q": ["ada"], "r": ["ada"]})
    tuning = {**GRID, "grid": "exact", "measure": "AnswerAccuracy@1"}
    spec = canonical_json(system(**tuning).model_dump(mode="json"))
    read = {"answers": tmp_path / "answers.jsonl", "corpus": corpus}
    fusion.tune(spec, named(lists), tmp_path / "t.json", **read)
    (choice,) = json.loads((tmp_path / "t.json").read_text())["choices"]
    assert choice["setting"]["lambda"] > 1 / 6 and choice["mean"] == 1.0


def test_lambda_needs_what_its_measure_reads(tmp_path, lists):
    for measure, option in (("RR@10", "--qrels"), ("AnswerAccuracy@5", "--answers and --corpus")):
        spec = canonical_json(system(**{**GRID, "measure": measure}).model_dump(mode="json"))
        with pytest.raises(ResiduumError, match=f"{measure}: give {option}"):
            fusion.tune(spec, named(lists), tmp_path / "t.json")


@pytest.mark.parametrize("measure", ["RR@10", "nDCG@3", "AP"])
def test_what_is_left_out_changes_no_value(tmp_path, run, monkeypatch, measure):
    """Against fusing and evaluating the whole lists for each weight; scores are full of ties."""
    monkeypatch.setattr(fusion, "QUERIES_AT_ONCE", 3)
    source = random.Random(3)
    names = {"l": "lex.gz", "d": "dense.gz"}
    queries = [f"q{number}" for number in range(8)]
    docs = [f"d{number}" for number in range(60)]

    def scores():
        return {(q, d): source.randint(-4, 4) / 4 for q in queries for d in source.sample(docs, 40)}

    lists = {part: run(name, scores()) for part, name in names.items()}
    qrels = [(q, d, source.randint(0, 2)) for q in queries for d in source.sample(docs, 6)]
    trec.write_qrels(tmp_path / "qrels", qrels)
    grid = [-1.0, 0.0, 0.25, 1.0, 3.0]
    entry = system(k=30, grid=grid, tune_on="t", measure=measure)
    fusion.tune(entry.model_dump_json(), named(lists), tmp_path / "t.json", tmp_path / "qrels")
    record = json.loads((tmp_path / "t.json").read_text())
    pairs, judged = union(entry, lists), trec.read_qrels(tmp_path / "qrels")
    for weight, tried in zip(grid, record["tried"], strict=True):
        whole = evaluate(fusion.ranked(pairs, weight, 30), judged, [measure])["value"].mean()
        assert tried["means"] == [pytest.approx(whole, abs=1e-12)]
    if measure != "AP":
        few = weights.contenders(pairs, grid, 3)
        assert few.height < pairs.height / 2


FOLDS = ["q\tone\nr\ttwo\n", "s\tthree\nt\tunjudged\n"]


def test_each_fold_of_a_collection_gets_the_lambda_that_is_best_on_the_others(tmp_path, run):
    # lambda 0: the dense list alone; lambda 9: the lexical one. In q and r the dense doc is
    # relevant, in s the lexical one: each fold gets what is best for the other, and fails.
    lexical = run("lex.gz", {(q, d): s for q in "qrst" for d, s in (("l", 2), ("d", 1))})
    dense = run("dense.gz", {(q, d): s for q in "qrst" for d, s in (("l", 1), ("d", 2))})
    lists = named({"l": lexical, "d": dense})
    (tmp_path / "qrels").write_text("q 0 d 1\nr 0 d 1\ns 0 l 1\n")
    paths = [tmp_path / "fold1", tmp_path / "fold2"]
    for path, text in zip(paths, FOLDS, strict=True):
        path.write_text(text)
    spec = canonical_json(system(**{**GRID, "grid": [0.0, 9.0]}).model_dump(mode="json"))
    tuning, output = tmp_path / "t.json", tmp_path / "run.trec.gz"
    fusion.tune(spec, lists, tuning, tmp_path / "qrels", fold=paths)
    choices = json.loads(tuning.read_text())["choices"]
    assert [choice["setting"]["lambda"] for choice in choices] == [9.0, 0.0]
    assert [choice["queries"] for choice in choices] == [2, 1]
    assert [choice["mean"] for choice in choices] == [1.0, 1.0]
    assert [choice["held_out"] for choice in choices] == [0.5, 0.5]
    fusion.fuse(spec, lists, "f", output, tuning)
    first = trec.read_run(output).filter(rank=1).select("query_id", "doc_id").rows()
    assert first == [("q", "l"), ("r", "l"), ("s", "d"), ("t", "d")]
    other = run("other.gz", {("u", "d"): 1})
    with pytest.raises(ResiduumError, match="query u is in none of the folds that lambda"):
        fusion.fuse(spec, named({"l": other, "d": other}), "f", output, tuning)
    paths[1].write_text(FOLDS[1].replace("s", "q"))
    with pytest.raises(ResiduumError, match=r"query q is in 2 of the 2 folds \(1, 2\)"):
        fusion.tune(spec, lists, tuning, tmp_path / "qrels", fold=paths)
    paths[1].write_text("t\tunjudged\n")
    with pytest.raises(ResiduumError, match=r"query s is in 0 of the 2 folds \(none\)"):
        fusion.tune(spec, lists, tuning, tmp_path / "qrels", fold=paths)


def test_drawn_folds_of_the_searched_split_choose_as_a_plain_loop_does(tmp_path, run):
    draw, queries = random.Random(5), [f"q{number:02d}" for number in range(23)]
    given = {
        part: {(q, f"d{doc}"): draw.random() for q in queries for doc in draw.sample(range(30), 12)}
        for part in "ld"
    }
    relevant = {q: f"d{draw.randrange(30)}" for q in queries[:-2]}  # two have no judgement
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, d in relevant.items()))
    lists = named({part: run(f"{part}.gz", scores) for part, scores in given.items()})
    grid = [0.0, 0.3, 1.0, 3.0]
    entry = system("zero", "zero", grid=grid, measure="RR@10", folds=4, seed=7)
    fusion.tune(entry.model_dump_json(), lists, tmp_path / "t.json", tmp_path / "qrels")
    record = json.loads((tmp_path / "t.json").read_text())
    fold_of = record["fold_of"]
    assert sorted(fold_of) == queries and record["queries"] == len(relevant)
    assert sorted(Counter(fold_of[q] for q in relevant).values()) == [5, 5, 5, 6]
    assert fold_of == split_folds(queries, {*relevant}, 4, 7), "as RM3's, of all queries"

    def reciprocal(query, weight):
        fused = Counter()
        for part, factor in (("l", weight), ("d", 1.0)):
            for (q, doc), score in given[part].items():
                fused[doc] += factor * round(score, 6) * (q == query)
        in_lists = {doc for part in "ld" for q, doc in given[part] if q == query}
        ordered = sorted(in_lists, key=lambda doc: (-round(fused[doc], 6), doc))[:10]
        return 1 / (1 + ordered.index(relevant[query])) if relevant[query] in ordered else 0.0

    expected = []
    for fold in range(4):
        others = [q for q in relevant if fold_of[q] != fold]
        expected.append(max(grid, key=lambda w: sum(reciprocal(q, w) for q in others)))
    assert [choice["setting"]["lambda"] for choice in record["choices"]] == expected
    assert len({*expected}) > 1, "all folds agree: a choice on all queries would pass"
    fusion.fuse(entry.model_dump_json(), lists, "f", tmp_path / "f.gz", tmp_path / "t.json")
    values = evaluate(
        trec.read_run(tmp_path / "f.gz"), trec.read_qrels(tmp_path / "qrels"), ["RR@10"]
    )
    for query, _, value in values.iter_rows():
        assert value == pytest.approx(reciprocal(query, expected[fold_of[query]]))


@pytest.mark.parametrize(
    "changes", [{"tune_on": "t"}, {"seed": None}, {"value": 1.0, "grid": None}]
)
def test_folds_take_the_place_of_a_tuning_split(changes):
    drawn = {"grid": [0.0, 1.0], "measure": "RR@10", "folds": 2, "seed": 1}
    system(**drawn)
    with pytest.raises(ValueError, match="give value, or grid"):
        system(**{**drawn, **changes})


def test_lambda_at_an_edge_is_said(tmp_path, lists, capsys):
    (choice,) = tuned(tmp_path, lists, [0.0, 0.1, 0.9], "b")["choices"]
    assert (choice["setting"], choice["at_edge"]) == ({"lambda": 0.0}, ["lambda"])
    assert "lambda 0.0 at an edge of the grid" in capsys.readouterr().err
