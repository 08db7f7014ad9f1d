"""What is proven of a union of lists, against all docs by brute force and numbers by hand."""

import json
import random

import polars as pl
import pytest

from residuum import fusion
from residuum.artefacts import manifest, proven, trec
from residuum.cli.errors import ResiduumError
from residuum.tuning.choosing import Choice, Record

WHOLE = {"a": (3.0, 0.0), "b": (2.9, 0.0), "both": (2.7, 2.7), "x": (0.1, 3.0), "y": (0.1, 2.9)}


def system(k=1, value=1.0, parts=("l", "d"), unretrieved="true_score", **others):
    weighting = {"weighted": parts[0], "value": value, "others": others}
    entry = {"kind": "fusion", "parts": parts, "unretrieved": unretrieved, "k": k}
    return json.dumps(entry | {"interpolation": weighting})


def write(path, scores):
    rows = [(query_id, doc_id, float(score)) for (query_id, doc_id), score in scores.items()]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    trec.write_run(path, trec.rank(frame), "f")
    return path


def options(of_parts):
    return [f"{part}={value}" for part, value in of_parts.items()]


class Union:
    """Docs with a score by each part, `{doc: (l, d)}`, and lists of the first of them."""

    def __init__(self, folder, docs, parts=("l", "d")):
        self.folder, self.docs, self.parts = folder, docs, parts

    def fuse(self, spec, depths, requested=None):
        """Fuse the lists; return what is proven, and the docs of the union."""
        runs, scores = {}, {}
        for number, (part, depth) in enumerate(zip(self.parts, depths, strict=True)):
            own = {("q", doc): values[number] for doc, values in self.docs.items()}
            best = sorted(own, key=lambda pair, own=own: (-round(own[pair], 6), pair))
            kept = [pair for pair in best if part != "l" or own[pair] > 0][:depth]
            runs[part] = write(self.folder / f"{part}.gz", {pair: own[pair] for pair in kept})
            scores[part] = write(self.folder / f"{part}.on.gz", own)
        if requested is None:
            requested = dict(zip(self.parts, depths, strict=True))
        output, given = self.folder / "run.gz", options(requested)
        fusion.fuse(spec, options(runs), "f", output, scores=options(scores), requested=given)
        listed = {doc for path in runs.values() for doc in trec.read_run(path)["doc_id"]}
        return proven.recorded(output), listed


def test_what_is_proven_holds_of_all_docs(tmp_path):
    """The best sums of all docs are then those of the union; seldom else is the bound reached."""
    shares = [share for seed in range(60) for share in _drawn(tmp_path, random.Random(seed))]
    assert min(shares.count(0.0), shares.count(1.0)) > 15, "both are drawn"


def _drawn(folder, source):
    """Draw docs and lists, check what is said of their union, and return it."""
    parts, k = ("l", "d", "t")[: source.choice([2, 3])], source.choice([1, 4, 12])
    weights = [source.choice([0.0, 0.3, 1.0, 2.5]), 1.0, source.choice([0.0, 0.7])][: len(parts)]
    ties, depths = source.random() < 0.5, [source.choice([3, 12, 25, 60]) for _ in parts]

    def score(part, centre):
        value = source.randint(-2, 9) / 3 + centre if ties else source.gauss(centre, 1)
        return max(0.0, value) if part == "l" else value - 1

    centres = [source.choice([0, 0, 0, 3]) for _ in range(50)]
    docs = {f"d{n}": tuple(score(part, c) for part in parts) for n, c in enumerate(centres)}
    others = {"t": weights[2]} if len(parts) == 3 else {}
    shares, listed = Union(folder, docs, parts).fuse(system(k, weights[0], parts, **others), depths)
    sums = {d: sum(w * s for w, s in zip(weights, own, strict=True)) for d, own in docs.items()}
    bound = sum(w * _end([own[n] for own in docs.values()], parts[n], depths[n])
                for n, w in enumerate(weights))  # fmt: skip
    assert set(shares) == {min(k, 10), k}
    for depth, share in shares.items():
        best = sorted(sums.values(), reverse=True)[:depth]
        own = sorted((sums[doc] for doc in listed), reverse=True)[:depth]
        assert share in (0.0, 1.0)
        assert own == best if share else len(own) < depth or own[-1] < bound + 1e-5
    return shares.values()


def _end(scores, part, depth):
    """Return the last score of a list, or what a doc has at most that a short one lacks."""
    kept = sorted((s for s in scores if part != "l" or s > 0), reverse=True)[:depth]
    return kept[-1] if len(kept) == depth else min(0.0, *kept, 0.0)


def test_a_union_that_misses_the_best_doc_is_not_proven(tmp_path):
    """`both` sums to 5.4, and is third in each list: 2.9 + 2.9 could still be reached."""
    shares, listed = Union(tmp_path, WHOLE).fuse(system(), [2, 2])
    assert shares == {1: 0.0} and "both" not in listed
    shares, listed = Union(tmp_path, WHOLE).fuse(system(), [4, 4])
    assert shares == {1: 1.0} and "both" in listed, "no other doc has more than 0.1 + 0"


def test_a_sum_that_rounding_alone_lets_reach_the_bound_is_not_proven(tmp_path):
    docs = {"a": (2.0, 1.0), "b": (1.0, 1.0), "c": (1.0000004, 1.0000004)}
    shares, _ = Union(tmp_path, docs).fuse(system(k=2), [2, 2])
    assert shares == {2: 0.0}, "c is 1.000000 in a file, as b, and b's sum is less than c's"
    docs["a"] = (2.0, 1.1)
    assert Union(tmp_path, docs).fuse(system(), [2, 2])[0] == {1: 1.0}


def test_what_a_short_lexical_list_lacks_scores_nothing(tmp_path):
    docs = {"a": (3.0, 1.0), "b": (2.0, -1.0), "x": (0.0, 0.9), "y": (0.0, 0.8), "z": (0.0, 0.7)}
    lists = Union(tmp_path, docs)
    shares, _ = lists.fuse(system(k=2), [3, 3])
    assert shares == {2: 1.0}, "b sums to 1.0, and y, the last of the dense list, to 0.8"
    shares, _ = lists.fuse(system(k=2), [2, 3])
    assert shares == {2: 0.0}, "of a full list of two, a doc might have 2.0 + 0.8"


def test_a_dense_list_shorter_than_requested_lacks_nothing(tmp_path):
    docs = {"a": (1.0, -5.0), "b": (0.5, -6.0), "c": (0.2, -7.0)}
    assert Union(tmp_path, docs).fuse(system(k=2), [9, 9])[0] == {2: 1.0}
    assert Union(tmp_path, docs).fuse(system(k=5), [9, 9])[0] == {5: 0.0}, "it has no fifth"


def test_shares_are_of_the_queries_each_by_the_lambda_of_its_fold(tmp_path):
    """By lambda 0 the dense list decides; by 1 a doc of neither list could have 1.9 + 1.9."""
    lexical = {(q, d): s for q in "qrs" for d, s in (("a", 2.0), ("b", 1.9))}
    dense = {(q, d): s for q in "qrs" for d, s in (("x", 2.0), ("y", 1.9))}
    runs = {"l": write(tmp_path / "l.gz", lexical), "d": write(tmp_path / "d.gz", dense)}
    scores = {
        "l": write(tmp_path / "l.on.gz", dict.fromkeys(dense, 0.0)),
        "d": write(tmp_path / "d.on.gz", dict.fromkeys(lexical, 0.0)),
    }
    choices = [Choice(setting={"lambda": weight}) for weight in (0.0, 1.0)]
    record = Record(choices=choices, fold_of={"q": 0, "r": 0, "s": 1})
    (tmp_path / "t.json").write_text(record.model_dump_json())
    spec, output = json.loads(system()), tmp_path / "run.gz"
    tuned = {"grid": [0.0, 1.0], "tune_on": "t", "measure": "RR@10"}
    spec["interpolation"] = {"weighted": "l", **tuned}
    given = {"tuning": tmp_path / "t.json", "scores": options(scores)}
    fusion.fuse(json.dumps(spec), options(runs), "f", output, requested=["l=2", "d=2"], **given)
    assert proven.recorded(output) == {1: pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("spec", "requested"),
    [
        (system(unretrieved={"l": "true_score", "d": "minimum"}), None),
        (system(value=-0.5), None),
        (system(d=-1.0), None),
        (system(), {}),
    ],
)
def test_where_there_is_nothing_to_prove_nothing_is_said(tmp_path, spec, requested):
    assert Union(tmp_path, WHOLE).fuse(spec, [3, 3], requested)[0] == {}
    assert proven.PROVEN not in manifest.facts_of(tmp_path / "run.gz")


@pytest.mark.parametrize(
    ("requested", "says"),
    [
        ({"l": 3}, "--requested d=K is missing"),
        ({"l": 3, "d": 3, "e": 3}, "--requested: no name 'e'; known: d, l"),
        ({"l": 3, "d": "all"}, "--requested d=all: not a whole number"),
    ],
)
def test_what_is_requested_is_named_of_each_part(tmp_path, requested, says):
    with pytest.raises(ResiduumError, match=says):
        Union(tmp_path, WHOLE).fuse(system(), [3, 3], requested)
