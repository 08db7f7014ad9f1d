"""Recompute the cells, tests and verdicts of a results folder, with no code of residuum.

    python tests/recompute.py results/mini [PAGE ...]

It reads runs, judgements, answers and scores, and what the manifests of pages say of their rows
and columns. It imports nothing of `residuum`, and none of the libraries that it measures with.
Without pages it compares all tables and claims of the folder, circles, figures and the ledger.

The exit status is 1 where a value differs. `taken over` counts what is read and not recomputed.
Rules of verdicts are those of docs/verdicts.md and docs/statistics.md: a mistake there is in both.
Of significance files it leaves out bootstrap intervals, and it takes detectable differences from
them. Of the ledger it leaves out `same_as`, `rests_on` and the words of reasons. How alike two
averages order rows stands in a note alone, which it does not read.
"""

import argparse
import csv
import gzip
import json
import math
import re
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy import stats

CLOSE = 1e-9  # values of cells and of exact tests
ROUNDING = 1e-12  # differences at most that large are none (docs/statistics.md)
RESAMPLES = 19_999  # of our own permutation tests
SEED = 271_828  # of our own permutation tests; theirs have seed 1
ERRORS = 5  # Monte-Carlo standard errors that two estimates of one p may lie apart
HEAD = 100  # first docs of a list that are kept where a split has answers
FEWEST_EACH = 10  # queries of a collection without which averages have no interval

MEASURED, NOT_RUN, NOT_LEARNED = "measured", "not run", "not learned"


class NotCompared(Exception):
    """Something that a page shows and this script does not compute."""


class Refused(Exception):
    """A run that was refused: a cell behind it has no value."""


# Reading


def read_table(path):
    """Return the rows of a tab-separated file with a header, as dicts of texts."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def spec_of(path):
    """Return what the manifest beside a page says that the page was made from."""
    return json.loads(Path(f"{path}.manifest.json").read_text(encoding="utf-8"))["spec"]


class Run:
    """A TREC run, in shards or one file: six fields a line, parted by spaces, ranked from 1.

    Fields are found by the positions of spaces and line ends, not by splitting millions of lines.
    """

    def __init__(self, path, *others):
        self.path = path
        self.data = b"".join(gzip.decompress(Path(p).read_bytes()) for p in (path, *others))
        if self.data.startswith(b"#"):
            raise Refused(f"{path}: {self.data.decode().strip()}")
        letters = np.frombuffer(self.data, dtype=np.uint8)
        self.ends = np.flatnonzero(letters == ord("\n"))
        spaces = np.flatnonzero(letters == ord(" "))
        if len(spaces) != 5 * len(self.ends):
            raise ValueError(f"{path}: a line has not six fields")
        self.spaces = spaces.reshape(-1, 5)
        self.starts = np.concatenate([[0], self.ends[:-1] + 1]).astype(np.int64)
        self.blocks = self._blocks(self._ranks(letters))

    def _ranks(self, letters):
        before, after = self.spaces[:, 2], self.spaces[:, 3]
        ranks = np.zeros(len(before), dtype=np.int64)
        for power in range(int((after - before).max(initial=1)) - 1):
            digit = after - 1 - power
            digits = letters[digit].astype(np.int64) - ord("0")
            ranks += np.where(digit > before, digits * 10**power, 0)
        return ranks

    def _blocks(self, ranks):
        firsts = np.flatnonzero(ranks == 1)
        lasts = np.append(firsts, len(ranks))[1:]
        counted = np.arange(len(ranks)) - np.repeat(firsts, lasts - firsts) + 1
        if not np.array_equal(counted, ranks):
            raise ValueError(f"{self.path}: ranks are not 1, 2, 3 for each query")
        blocks = {}
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            query = self._field(first, 0)
            if query != self._field(last - 1, 0) or query in blocks:
                raise ValueError(f"{self.path}: lines of query {query} are not together")
            blocks[query] = first, last
        return blocks

    def _field(self, line, number):
        start = self.starts[line] if number == 0 else self.spaces[line, number - 1] + 1
        return self.data[start : self.spaces[line, number]].decode()

    def first(self, query, depth):
        """Return the docs of a query's list down to a depth."""
        first, last = self.blocks.get(query, (0, 0))
        return [self._field(line, 2) for line in range(first, min(last, first + depth))]

    def length(self, query):
        """Return how many docs the list of a query has."""
        first, last = self.blocks.get(query, (0, 0))
        return last - first

    def rank(self, query, doc):
        """Return the rank of a doc in a query's list, or None where it is not there."""
        if query not in self.blocks:
            return None
        first, last = self.blocks[query]
        offset, end = int(self.starts[first]), int(self.ends[last - 1])
        while (offset := self.data.find(b" " + doc.encode() + b" ", offset + 1, end)) >= 0:
            line = int(np.searchsorted(self.ends, offset))
            if self.spaces[line, 1] == offset:  # the third field, not a rank or a tag like it
                return line - first + 1
        return None

    def scores(self, query):
        """Return the exact scores of docs: in the second field where the fifth's is lower."""
        first, last = self.blocks.get(query, (0, 0))
        return {self._field(n, 2): self._score(n) for n in range(first, last)}

    def _score(self, line):
        exact = self._field(line, 1).removeprefix("Q0").removeprefix("=")
        return float(exact or self._field(line, 4))


@cache
def category(letter):
    """Return the first letter of a character's Unicode category."""
    return unicodedata.category(letter)[0]


def tokens(text):
    """Return the tokens of a text as Karpukhin et al. (2020) match answers.

    The text is decomposed (NFD). A token is a run of letters, digits and marks, or another
    character that is no separator and no control. Tokens are in lower case.
    """
    ended, letters = [], []
    for letter in unicodedata.normalize("NFD", text):
        kind = category(letter)
        if kind in "LNM":
            letters.append(letter)
            continue
        if letters:
            ended.append("".join(letters).lower())
            letters = []
        if kind not in "ZC":
            ended.append(letter.lower())
    return [*ended, "".join(letters).lower()] if letters else ended


def joined(text):
    """Return the tokens of a text, each between two line ends, which no token holds."""
    return "\n" + "".join(token + "\n" for token in tokens(text))


@dataclass
class Split:
    """Judgements and answers of a split; `queries` has those that measures are averaged over."""

    levels: dict
    answers: dict
    queries: list
    texts: dict


class Results:
    """A results folder: its splits, corpora, runs and verdicts on trainings, each read once."""

    def __init__(self, root):
        self.root = Path(root)
        for read in ("split", "corpus", "passage", "lists", "values", "group", "curve", "bounds"):
            setattr(self, read, cache(getattr(self, read)))

    def split(self, split_id):
        """Return a split, named `dataset/split`."""
        folder = self.root / "data" / split_id
        levels = defaultdict(dict)
        for line in (folder / "qrels.trec").read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                query, _, doc, level = line.split()
                levels[query][doc] = int(level)
        answers = {}
        if (folder / "answers.jsonl").is_file():
            for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                answers[entry["query_id"]] = entry["answers"]
        lines = (folder / "queries.tsv").read_text(encoding="utf-8").splitlines()
        texts = dict(line.split("\t") for line in lines)
        return Split(dict(levels), answers, sorted(levels) or sorted(answers), texts)

    def corpus(self, dataset):
        """Return the texts of a dataset's docs."""
        docs = {}
        for path in sorted((self.root / "data" / dataset / "corpus").glob("part-*.jsonl.gz")):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                for line in file:
                    doc = json.loads(line)
                    docs[doc["doc_id"]] = doc["text"]
        return docs

    def passage(self, dataset, doc):
        """Return a doc's tokens, joined as `joined` does."""
        return joined(self.corpus(dataset)[doc])

    def run_path(self, split_id, run):
        """Return where the run of a split lies, or that of an order of candidates."""
        folder = "scores" if ".on." in run else "runs"
        return self.root / folder / split_id / f"{run}.trec.gz"

    def lists(self, split_id, run):
        """Return what measures need of a run: for each query hits, first docs, and length.

        Hits are pairs of the rank and level of relevant docs. First docs are 100 where the split
        has answers, 10 elsewhere.
        """
        split = self.split(split_id)
        file = Run(self.run_path(split_id, run))
        depth = HEAD if split.answers else 10
        lists = {}
        for query in split.queries:
            hits = []
            for doc, level in split.levels.get(query, {}).items():
                rank = file.rank(query, doc) if level > 0 else None
                if rank is not None:
                    hits.append((rank, level))
            lists[query] = sorted(hits), file.first(query, depth), file.length(query)
        return lists

    def values(self, split_id, run, measure):
        """Return the value of a measure for each query of a split, in the order of the split."""
        split, lists = self.split(split_id), self.lists(split_id, run)
        every = []
        for query in split.queries:
            if measure.startswith("AnswerAccuracy@"):
                every.append(self._answered(split_id, query, lists[query][1], measure))
            else:
                every.append(measure_of(measure, split.levels.get(query, {}), *lists[query]))
        return np.array(every, dtype=float)

    def bounds(self, split_id, measure, over):
        """Return chance and ceiling of a measure for each query; None where none is known.

        AnswerAccuracy@k is Success@k where docs that hold an answer are relevant.
        """
        if measure.startswith("AnswerAccuracy@"):
            return self._bounds_by_answers(split_id, measure, over)
        split, both = self.split(split_id), []
        number = len(self.corpus(split_id.rpartition("/")[0])) if not over else None
        run = Run(self.run_path(split_id, over)) if over else None
        for query in split.queries:
            levels = {doc: n for doc, n in split.levels.get(query, {}).items() if n > 0}
            docs = number
            listed = list(levels.values())
            if run:
                drawn = run.first(query, run.length(query))
                docs, listed = len(drawn), [levels[doc] for doc in drawn if doc in levels]
            every = list(levels.values())
            both.append((chance_of(measure, listed, every, docs), listed, every))
        if any(chance is None for chance, *_ in both):
            return None
        tops = [ceiling_of(measure, listed, every) for _, listed, every in both]
        return np.array([chance for chance, *_ in both]), np.array(tops)

    def _bounds_by_answers(self, split_id, measure, over):
        """Return chance and ceiling of a measure by answers for each query."""
        split, dataset = self.split(split_id), split_id.rpartition("/")[0]
        run = Run(self.run_path(split_id, over)) if over else None
        name, every, both = f"Success@{measure.partition('@')[2]}", [*self.corpus(dataset)], []
        for query in split.queries:
            docs = run.first(query, run.length(query)) if run else every
            needles = [joined(answer) for answer in split.answers.get(query, [])]
            needles = [needle for needle in needles if len(needle) > 1]
            passages = (self.passage(dataset, doc) for doc in docs)
            held = [1 for text in passages if any(needle in text for needle in needles)]
            both.append((chance_of(name, held, held, len(docs)), float(bool(held))))
        return np.array([chance for chance, _ in both]), np.array([top for _, top in both])

    def _answered(self, split_id, query, docs, measure):
        depth = int(measure.partition("@")[2])
        if depth > HEAD:
            raise NotCompared(f"{measure}: only {HEAD} docs are kept")
        split, dataset = self.split(split_id), split_id.rpartition("/")[0]
        needles = [joined(answer) for answer in split.answers.get(query, [])]
        needles = [needle for needle in needles if len(needle) > 1]
        passages = (self.passage(dataset, doc) for doc in docs[:depth])
        return float(any(needle in passage for passage in passages for needle in needles))

    def learned(self, split_id, runs, models):
        """Return whether all models behind runs learned, as `learning/` says of each.

        A model without a verdict counts as learned.
        """
        return all(self._learned(split_id, run, models) for run in runs)

    def _learned(self, split_id, run, models):
        dataset = split_id.rpartition("/")[0]
        for model in models.get(dataset, {}).get(run, []):
            path = self.root / "learning" / f"{model}.json"
            if path.is_file() and not json.loads(path.read_text())["learned"]:
                return False
        return True

    def group(self, split_id, grouping, group):
        """Return a mask over the queries of a split: those of a group."""
        rows = read_table(self.root / "groups" / split_id / f"{grouping}.tsv")
        members = {row["query_id"] for row in rows if row["group"] == group}
        return np.array([query in members for query in self.split(split_id).queries])

    def curve(self, split_id, run, depths):
        """Return values of RR@10 and of recall at each rerank depth of a run of a reranker.

        The first K docs of the first stage are ordered by the reranker's scores. The others follow
        as they were. Keys are the depths; values are pairs of arrays over the split's queries.
        """
        manifest = json.loads(Path(f"{self.run_path(split_id, run)}.manifest.json").read_text())
        runs = [name for name in manifest["inputs"] if f"/runs/{split_id}/" in name]
        scored = [name for name in manifest["inputs"] if f"/rerank/{split_id}/" in name]
        [first], shards = set(runs), {n for n in scored if n.endswith(".trec.gz")}
        stage, scores = Run(self._inside(first)), Run(*map(self._inside, sorted(shards)))
        return {depth: self._reranked(split_id, stage, scores, depth) for depth in depths}

    def _inside(self, name):
        return self.root / name.split("/", 2)[2]

    def chosen_depth(self, split_id, run):
        """Return the rerank depth of a run and over how many queries it is chosen.

        It is the first depth of the grid that has the best mean on the tuning split.
        """
        manifest = json.loads(Path(f"{self.run_path(split_id, run)}.manifest.json").read_text())
        depth = manifest["spec"]["depth"]
        if depth["value"] is not None:
            return float(depth["value"]), None
        [curve] = [n for n in manifest["inputs"] if n.endswith(".depths.tsv")]
        _, dataset, split, name = self._inside(curve).relative_to(self.root).parts
        if depth["measure"] != "RR@10":
            raise NotCompared(f"{run}: depth chosen by {depth['measure']}")
        there = f"{dataset}/{split}"
        folder = self.root / "rerank" / there / name.removesuffix(".depths.tsv")
        scores = Run(*sorted(folder.glob("shard-*.trec.gz")))
        [first] = [n for n in manifest["inputs"] if f"/runs/{split_id}/" in n]
        stage = Run(self.run_path(there, Path(first).name.removesuffix(".trec.gz")))
        means = []
        for tried in depth["grid"]:
            values, _ = self._reranked(there, stage, scores, tried)
            means.append(math.fsum(values) / len(values))
        best = max(range(len(means)), key=lambda n: (means[n], -n))
        return float(depth["grid"][best]), len(self.split(there).queries)

    def _reranked(self, split_id, stage, scores, depth):
        """Return RR@10 and recall at a rerank depth, arrays over the split's queries."""
        split, values, recalls = self.split(split_id), [], []
        for query in split.queries:
            docs, given = stage.first(query, max(10, depth)), scores.scores(query)
            relevant = {doc for doc, level in split.levels.get(query, {}).items() if level > 0}
            top = sorted(docs[:depth], key=given.__getitem__, reverse=True)
            ranked = [*top, *docs[depth:]][:10]
            values.append(reciprocal([doc in relevant for doc in ranked]))
            recalls.append(len(relevant & set(top)) / max(1, len(relevant)))
        return np.array(values), np.array(recalls)


# Measures


def reciprocal(relevant):
    """Return 1 / rank of the first relevant doc, or 0 if no doc is relevant."""
    return next((1 / rank for rank, hit in enumerate(relevant, 1) if hit), 0.0)


NAME = re.compile(r"([A-Za-z_0-9]+?)(?:\(rel=(\d+)\))?(?:@(\d+))?")


def measure_of(name, levels, hits, docs, length):
    """Return the value of a measure for one query.

    hits are (rank, level) of relevant docs, docs the first docs, length that of the list.

    - RR@k = 1 / rank of the first relevant doc.
    - P@k = hits / k; R@k = hits / relevant docs; Success@k = 1 where there is a hit.
    - AP@k = sum of P@rank over hits / relevant docs (Buckley and Voorhees 2000).
    - BioASQ_AP@k divides by min(k, relevant docs) (BioASQ's evaluation since its eighth edition).
    - nDCG@k = DCG / ideal DCG, DCG = sum of level / log2(rank + 1) (Järvelin and Kekäläinen 2002).
    - Holes@k = share of the first k docs without a judgement (of all, where there are fewer).
    """
    kind, least, cut = NAME.fullmatch(name).groups()
    least, cut = int(least or 1), int(cut) if cut else 10**9
    relevant = sum(level >= least for level in levels.values())
    ranks = [rank for rank, level in hits if level >= least and rank <= cut]
    if kind == "RR":
        return 1 / ranks[0] if ranks else 0.0
    if kind == "P":
        return len(ranks) / cut
    if kind == "R":
        return len(ranks) / relevant if relevant else 0.0
    if kind == "Success":
        return float(bool(ranks))
    if kind in ("AP", "BioASQ_AP"):
        total = math.fsum(number / rank for number, rank in enumerate(ranks, 1))
        most = min(cut, relevant) if kind == "BioASQ_AP" else relevant
        return total / most if most else 0.0
    if kind == "nDCG":
        gains = sorted((level for level in levels.values() if level > 0), reverse=True)[:cut]
        ideal = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
        found = math.fsum(level / math.log2(rank + 1) for rank, level in hits if rank <= cut)
        return found / ideal if ideal else 0.0
    if kind == "Holes":
        first = docs[:cut]
        if len(first) < min(cut, length):
            raise NotCompared(f"{name}: only {len(docs)} docs are kept")
        return sum(doc not in levels for doc in first) / len(first) if first else 0.0
    raise NotCompared(f"measure {name}")


def wilson(hits, count):
    """Return Wilson's 95% interval of a share (Wilson 1927): hits of count."""
    z = stats.norm.ppf(0.975)
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    half /= 1 + z * z / count
    return middle - half, middle + half


# What data can show


def chance_of(name, listed, levels, docs):
    """Return a measure's expected value over all orders of docs, or None where none is known.

    listed are the levels of the relevant docs among these, levels those of all relevant docs.

    - Success@k = 1 - C(N - R, k) / C(N, k), for R relevant of N docs.
    - RR@k: the first relevant doc stands at rank r with C(N - r, R - 1) / C(N, R).
    - P@k, R@k and nDCG@k: a doc stands at each rank with 1 / N.
    - AP@k: a relevant doc at rank r has (r - 1) (R - 1) / (N - 1) others before it on average.
    """
    kind, least, cut = NAME.fullmatch(name).groups()
    least = int(least or 1)
    cut = min(int(cut), docs) if cut else docs
    shown = [level for level in listed if level >= least]
    every = [level for level in levels if level >= least]
    some, full = len(shown), NAME.fullmatch(name)[3]
    if kind not in ("RR", "P", "R", "Success", "AP", "BioASQ_AP", "nDCG"):
        return None
    if not some:
        return 0.0
    if kind == "Success":
        return 1 - math.comb(docs - some, cut) / math.comb(docs, cut)
    if kind == "RR":
        ways = math.comb(docs, some)
        return math.fsum(
            math.comb(docs - rank, some - 1) / ways / rank for rank in range(1, cut + 1)
        )
    if kind == "P":
        return cut * some / docs / int(full or docs)
    if kind == "R":
        return cut * some / docs / len(every)
    if kind == "nDCG":
        discounts = [1 / math.log2(rank + 1) for rank in range(1, max(cut, len(levels)) + 1)]
        most = sorted(levels, reverse=True)[: int(full)] if full else sorted(levels, reverse=True)
        ideal = math.fsum(a * b for a, b in zip(most, discounts, strict=False))
        return sum(listed) / docs * math.fsum(discounts[:cut]) / ideal
    before = (some - 1) / (docs - 1) if docs > 1 else 0.0
    found = math.fsum((1 + (rank - 1) * before) / rank for rank in range(1, cut + 1))
    most = min(len(every), int(full)) if kind == "BioASQ_AP" else len(every)
    return found * some / docs / most


def ceiling_of(name, listed, levels):
    """Return a measure's value where the listed relevant docs stand first, highest level first."""
    hits = [(rank, level) for rank, level in enumerate(sorted(listed, reverse=True), 1)]
    judged_docs = dict(enumerate(levels))
    return measure_of(name, judged_docs, hits, [], len(listed))


@dataclass(frozen=True)
class Source:
    """Where the values of a row in a column come from."""

    split_id: str
    measure: str
    over: str | None
    parts: tuple  # of each dense part its runs, seed by seed
    models: frozenset  # pairs of a trained model and its seed
    whole: bool

    @classmethod
    def of(cls, spec, split_id, runs, measure, over, whole):
        """Return the source of runs, by what the spec says of trained models."""
        known = spec.get("trained_runs", {}).get(split_id, {})
        names = [run.partition(".on.")[0] for run in runs]
        trained = [known[name] for name in names if name in known]
        parts = tuple(zip(*(one["dense"] for one in trained), strict=True))
        if over:
            parts = (tuple(runs),) if trained else ()
        parts = tuple(tuple(dict.fromkeys(part)) for part in parts)
        models = frozenset(tuple(m.rsplit("/", 1)) for one in trained for m in one["models"])
        return cls(split_id, measure, over, parts, models, whole)


class Shown:
    """What the data of a comparison can show (docs/verdicts.md)."""

    def __init__(self, results, first, second):
        self.results, self.sides = results, (first, second)

    def lacks(self, pair, ways, alpha):
        """Return whether a rule forbids a verdict. ways has 1 for a above b, and -1 for below."""
        if any(self._at_chance(source) for side in self.sides for source in side):
            return True
        if not ways or pair.significant:
            return False
        if not self._enough_differ(pair, alpha):
            return True
        least = parsed(pair.theirs["min_detectable"])
        rooms = [self._room(pair, way) for way in ways]
        return least is not None and all(room is not None and room < least for room in rooms)

    def few(self):
        """Return whether each row has trained models of its own, one of fewer than three seeds."""
        first, second = ({m for source in side for m in source.models} for side in self.sides)
        seeds = [Counter(name for name, _ in one) for one in (first - second, second - first)]
        return all(seeds) and min(min(count.values()) for count in seeds) < 3

    def _enough_differ(self, pair, alpha):
        """Return whether so many equal differences as there are would be significant."""
        differ = int(np.count_nonzero(pair.gaps))
        if pair.theirs["test"] == "permutation":
            return differ > 0 and 2 * 0.5**differ <= alpha
        alike = np.zeros(pair.gaps.size)
        alike[:differ] = 1.0
        test = {"t-test": t_test, "wilcoxon": wilcoxon}[pair.theirs["test"]]
        return differ > 0 and test(alike) <= alpha

    def _room(self, pair, way):
        sources = self.sides[0 if way == 1 else 1]
        other = pair.second if way == 1 else pair.first
        if len(self.sides[0]) != 1 or len(self.sides[1]) != 1 or not sources[0].whole:
            return None
        bounds = self.results.bounds(sources[0].split_id, sources[0].measure, sources[0].over)
        if bounds is None:
            return None
        return math.fsum(bounds[1]) / len(bounds[1]) - float(other.mean())

    def _at_chance(self, source):
        bounds = self.results.bounds(source.split_id, source.measure, source.over)
        for runs in source.parts if bounds is not None else ():
            values = [self.results.values(source.split_id, run, source.measure) for run in runs]
            above = np.mean(values, axis=0) - bounds[0]
            if above.mean() <= 2 * above.std(ddof=1) / math.sqrt(above.size):
                return True
        return False


# Cells


def worst(states):
    """Return the state that decides: not learned before not run, or None if all are measured."""
    return next((state for state in (NOT_LEARNED, NOT_RUN) if state in states), None)


@dataclass
class Cell:
    """A cell: its state, and where it is measured its value in each seed.

    `tested` are the values that comparisons take: a row for each seed and a column for each query.
    It is None where the cell has no value for a query. `sizes` are the numbers of queries of the
    collections that an average is over; None where the cell is no average.
    """

    state: str
    seeds: list = field(default_factory=list)
    tested: np.ndarray | None = None
    count: int | None = None
    interval: tuple | None = None
    sizes: tuple | None = None

    @property
    def mean(self):
        """Return the mean over seeds."""
        return math.fsum(self.seeds) / len(self.seeds)

    @property
    def deviation(self):
        """Return the standard deviation over seeds, of a sample; None for one seed."""
        return float(np.std(self.seeds, ddof=1)) if len(self.seeds) > 1 else None


def means(values):
    """Return the mean of each row."""
    return [math.fsum(row) / len(row) for row in values]


class Table:
    """The cells of a table, made from what its manifest says of rows, columns and runs."""

    def __init__(self, results, spec):
        self.results, self.spec = results, spec
        self.entry = spec["entry"]
        self.rows = {row["id"]: row for row in self.entry["rows"]}
        self.columns = {column["id"]: column for column in self.entry["columns"]}
        self.averages = {mean["id"]: mean["of"] for mean in self.entry.get("means", [])}
        self.numbered = {row["index"]: row["id"] for row in self.rows.values() if row["index"]}
        self._cells = {}

    def expected(self):
        """Return the row and the column of each cell."""
        return [(row, column) for row in self.rows for column in self.shown()]

    def shown(self):
        """Return the columns, and behind them the averages."""
        return [*self.columns, *self.averages]

    def cell(self, row, column):
        """Return the cell as it is shown: a change where the column says so."""
        base = self.columns.get(column, {}).get("change_from")
        cell = self.plain(row, column)
        if base in (None, row) or cell.state != MEASURED:
            return cell
        other = self.plain(base, column)
        if other.state != MEASURED:
            return Cell(other.state)
        others = other.seeds
        if len(others) != len(cell.seeds):
            others = [other.mean] * len(cell.seeds)
        changes = [a - b for a, b in zip(cell.seeds, others, strict=True)]
        return Cell(MEASURED, changes, cell.tested, cell.count)

    def plain(self, row, column):
        """Return the cell without the change."""
        if (row, column) not in self._cells:
            of = self._average if column in self.averages else self._measured
            try:
                self._cells[row, column] = of(row, column)
            except Refused:
                self._cells[row, column] = Cell(NOT_RUN)
        return self._cells[row, column]

    def runs(self, row, column):
        """Return the run ids behind a cell, seed by seed; of an average, if no column lacks any."""
        runs = self.spec["runs"]
        if column in self.averages:
            every = [self.runs(row, name) for name in self.averages[column]]
            return [run for some in every for run in some] if all(every) else []
        return runs.get(f"{row}/{column}", runs.get(row, []))

    def source(self, row, column):
        """Return where the values of a cell come from, in a list.

        It is [] if nothing is measured. Of an average it has the models alone, since nobody knows
        its bounds.
        """
        if column in self.averages:
            every = [one for part in self.averages[column] for one in self.source(row, part)]
            models = frozenset(model for one in every for model in one.models)
            return [replace(every[0], parts=(), models=models, whole=False)] if every else []
        entry, split_id = self.columns[column], self.spec["splits"].get(column)
        if split_id is None or entry["measure"] == "depth":
            return []
        runs, over = self.runs(row, column), entry["over"]
        if over:
            runs = [self._over(row, column, run) for run in runs]
        whole = not entry["derived"] and not entry["within"]
        return [Source.of(self.spec, split_id, runs, entry["measure"], over, whole)]

    def _system(self, row, column):
        systems = self.spec["systems"]
        return systems.get(f"{row}/{column}", systems.get(row, {}))

    def _measured(self, row, column):
        spec, entry = self.spec, self.columns[column]
        split_id = spec["splits"].get(column)
        runs = self.runs(row, column)
        absent = column in spec["absent"].get(row, {})
        if self.rows[row]["not_run"] or absent or split_id is None or not runs:
            return Cell(NOT_RUN)
        if entry["measure"] == "depth" and self._system(row, column)["kind"] != "rerank":
            return Cell(NOT_RUN)
        if entry["derived"]:
            return self._derived(row, column, split_id)
        if entry["over"]:
            runs = [self._over(row, column, run) for run in runs]
        if not self._learned(split_id, runs):
            return Cell(NOT_LEARNED)
        if entry["measure"] == "depth":
            chosen = [self.results.chosen_depth(split_id, run) for run in runs]
            return Cell(MEASURED, [depth for depth, _ in chosen], None, chosen[0][1])
        values = np.array([self.results.values(split_id, r, entry["measure"]) for r in runs])
        if entry["within"]:
            within = entry["within"]
            mask = self.results.group(split_id, within["grouping"], within["group"])
            values = values[:, mask]
        return Cell(MEASURED, means(values), values, values.shape[1])

    def _average(self, row, column):
        """Return the mean of columns, whose values of a query weigh N / (C n).

        Its collection has n of N queries, and there are C collections. A column of one seed meets
        each seed of the others. Where seeds are unequally many, each query has its mean over them.
        """
        cells = [self.plain(row, name) for name in self.averages[column]]
        if state := worst({cell.state for cell in cells} - {MEASURED}):
            return Cell(state)
        numbers = {len(cell.tested) for cell in cells} - {1}
        seeds = max(numbers) if len(numbers) == 1 else 1
        sizes = tuple(cell.tested.shape[1] for cell in cells)
        rows = []
        for seed in range(seeds):
            values = []
            for cell in cells:
                some = cell.tested[seed] if len(cell.tested) == seeds else cell.tested.mean(axis=0)
                values += [value * sum(sizes) / (len(sizes) * len(some)) for value in some]
            rows.append(values)
        return Cell(MEASURED, means(rows), np.array(rows), sum(sizes), sizes=sizes)

    def _learned(self, split_id, runs):
        models = self.spec["models"]
        names = [run.partition(".on.")[0] for run in runs]
        return self.results.learned(split_id, names, models)

    def _over(self, row, column, run):
        over = self.columns[column]["over"]
        if self._system(row, column).get("first_stage") == over:
            return run
        return f"{run}.on.{over}"

    def _derived(self, row, column, split_id):
        """Return a cell made of two runs: residual D (1 - S), overlap D S, RoC, or better.

        RoC = sum of residuals / hits of D, in each seed (Lee et al. 2023, Eq. 1). `better` is the
        share of queries in which the row's value is higher.
        """
        entry = self.columns[column]
        measure, kind = entry["measure"], entry["derived"]
        sides = self.spec["derived"].get(row, {}).get(column)
        if sides is None:
            return Cell(NOT_RUN)
        if not self._learned(split_id, [*sides["first"], *sides["second"]]):
            return Cell(NOT_LEARNED)
        first = np.array([self.results.values(split_id, run, measure) for run in sides["first"]])
        second = np.array([self.results.values(split_id, run, measure) for run in sides["second"]])
        if kind == "better":
            values = (first > second + ROUNDING).astype(float)
        elif kind == "overlap":
            values = first * second
        else:
            values = first * (1 - second)
        if kind != "RoC":
            return Cell(MEASURED, means(values), values, values.shape[1])
        hits = first.sum(axis=1)
        if not hits.all():
            return Cell(NOT_RUN)
        ratios = [float(a / b) for a, b in zip(values.sum(axis=1), hits, strict=True)]
        share, count = math.fsum(ratios) / len(ratios), float(hits.mean())
        interval = wilson(share * count, count)
        return Cell(MEASURED, ratios, None, values.shape[1], interval)


# Tests


def differences(first, second):
    """Return a - b of each query, seeds averaged; rounding counts as 0."""
    gaps = first.mean(axis=0) - second.mean(axis=0)
    return np.where(np.abs(gaps) <= ROUNDING, 0.0, gaps)


class Flips:
    """Sign flips of our own for permutation tests, the same for all pairs of as many queries."""

    def p_values(self, gaps, theirs):
        """Return p of each row of gaps, and whether it is exact.

        p is the share of sign flips whose |sum| reaches the observed one (Fisher's randomisation):
        of all 2^k where k queries differ and 2^k is at most theirs + 1, else
        (reached + 1) / (drawn + 1).
        """
        p, exact = np.ones(len(gaps)), np.ones(len(gaps), dtype=bool)
        drawn = []
        for number, row in enumerate(gaps):
            nonzero = row[row != 0]
            if 2 ** len(nonzero) <= theirs + 1:
                p[number] = self._enumerated(nonzero)
            else:
                drawn.append(number)
        exact[drawn] = False
        if drawn:
            p[drawn] = self._drawn(gaps[drawn])
        return p, exact

    @staticmethod
    def _enumerated(gaps):
        sums = np.zeros(1)
        for gap in gaps:
            sums = np.concatenate([sums + gap, sums - gap])
        return float(np.mean(np.abs(sums) >= abs(gaps.sum()) - CLOSE))

    def _drawn(self, gaps):
        columns = np.ascontiguousarray(gaps.T)
        observed = np.abs(columns.sum(axis=0)) - CLOSE
        reached = np.zeros(len(gaps))
        generator = np.random.default_rng([SEED, len(columns)])
        left = RESAMPLES
        while left:
            block = min(left, 4000)
            bits = generator.integers(0, 2, size=(block, len(columns)), dtype=np.int8)
            sums = (2.0 * bits - 1.0) @ columns
            reached += (np.abs(sums) >= observed).sum(axis=0)
            left -= block
        return (reached + 1) / (RESAMPLES + 1)


def t_test(gaps):
    """Return p of Student's paired t-test, two-sided: t = mean / (s / sqrt(n)), n - 1 df."""
    if len(gaps) < 2 or not gaps.any():
        return 1.0
    spread = gaps.std(ddof=1)
    if spread <= ROUNDING:
        return 0.0
    t = gaps.mean() / (spread / math.sqrt(len(gaps)))
    return float(2 * stats.t.sf(abs(t), len(gaps) - 1))


def signed_ranks(gaps):
    """Return the ranks of |gap| of queries that differ, with signs; ties share their mean.

    Sizes that rounding alone tells apart tie, as 1/2 - 1/3 and 1/3 - 1/6 do.
    """
    nonzero = gaps[gaps != 0]
    sizes = np.abs(nonzero)
    order = np.argsort(sizes)
    apart = np.diff(sizes[order], prepend=0.0) > ROUNDING
    level = np.empty(len(sizes), dtype=int)
    level[order] = np.cumsum(apart)
    return stats.rankdata(level) * np.sign(nonzero)


def wilcoxon(gaps):
    """Return p of Wilcoxon's signed-rank test (1945), two-sided.

    Zeros are dropped. It is exact up to 13 queries, and up to 50 without ties and zeros. Beyond,
    z = W / sqrt(sum of squared ranks), which allows for ties, without continuity correction.
    """
    ranks = signed_ranks(gaps)
    if not len(ranks):
        return 1.0
    tied = len(np.unique(np.abs(ranks))) < len(ranks) or len(ranks) < len(gaps)
    if len(gaps) <= 13 or (len(gaps) <= 50 and not tied):
        doubled = np.rint(2 * np.abs(ranks)).astype(int)
        ways = np.zeros(doubled.sum() + 1)
        ways[0] = 1
        for step in doubled:
            ways[step:] = ways[step:] + ways[: len(ways) - step]
        shares = ways / ways.sum()
        positive = round(2 * ranks[ranks > 0].sum())
        low, high = shares[: positive + 1].sum(), shares[positive:].sum()
        return float(min(1.0, 2 * min(low, high)))
    z = ranks.sum() / math.sqrt((ranks**2).sum())
    return float(2 * stats.norm.sf(abs(z)))


def collections_of(sizes):
    """Return the queries of each collection as a slice; collections follow each other."""
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def standard_error(gaps, sizes=None):
    """Return the standard error of a mean difference, or None with too few queries.

    It is s / sqrt(n). Of an average over C collections, which have the weights of their sizes, its
    square is the sum of s^2 / n over the collections, divided by C^2 (Cochran, eq. 5.6).
    """
    if len(gaps) < 2 or (sizes and min(sizes) < FEWEST_EACH):
        return None
    if not sizes:
        return float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    variances = []
    for queries, size in zip(collections_of(sizes), sizes, strict=True):
        plain = gaps[queries] * len(sizes) * size / sum(sizes)
        variances.append(plain.var(ddof=1) / size)
    return math.sqrt(math.fsum(variances)) / len(sizes)


def moved(gaps, sizes):
    """Return differences by seed and query of an average, as random effects need them.

    Each collection is moved to the common mean of the seed. Deviations are scaled so that their
    variance over all N queries is that of the average: by n / (n - 1) over N / (N - 1), in squares.
    """
    made, count = np.array(gaps), gaps.shape[1]
    for queries, size in zip(collections_of(sizes), sizes, strict=True):
        for seed, row in enumerate(gaps):
            away = row[queries] - row[queries].mean()
            scale = math.sqrt(size / (size - 1) * (count - 1) / count)
            made[seed, queries] = row.mean() + scale * away
    return made


def seeds_meet(first, second):
    """Return whether one row has several seeds, or both rows have equally many."""
    seeds = max(len(first), len(second))
    return seeds > 1 and min(len(first), len(second)) in (1, seeds)


def mixed_effects(first, second, sizes=None):
    """Return p, low and high of a - b over queries and seeds, or None for one seed.

    Crossed two-way random effects without replication (Searle, Casella and McCulloch), degrees of
    freedom by Satterthwaite (1946); docs/statistics.md, Several seeds.
    """
    if not seeds_meet(first, second) or (sizes and min(sizes) < FEWEST_EACH):
        return None
    seeds, gaps = max(len(first), len(second)), first - second
    count = gaps.shape[1]
    if count < 2:
        return None
    if sizes:
        gaps = moved(gaps, sizes)
    mean, by_query, by_seed = gaps.mean(), gaps.mean(axis=0), gaps.mean(axis=1)
    rest = gaps - by_query - by_seed[:, None] + mean
    square_query = seeds * ((by_query - mean) ** 2).sum() / (count - 1)
    square_seed = count * ((by_seed - mean) ** 2).sum() / (seeds - 1)
    square_rest = (rest**2).sum() / ((count - 1) * (seeds - 1))
    total = count * seeds
    variance = max(square_query + square_seed - square_rest, square_rest) / total
    parts = square_query**2 / (count - 1) + square_seed**2 / (seeds - 1)
    parts += square_rest**2 / ((count - 1) * (seeds - 1))
    if variance <= 0 or parts <= 0:
        return (1.0 if abs(mean) <= ROUNDING else 0.0), mean, mean
    freedom = (total * variance) ** 2 / parts
    error = math.sqrt(variance)
    half = stats.t.ppf(0.975, freedom) * error
    p = float(2 * stats.t.sf(abs(mean) / error, freedom))
    return p, float(mean - half), float(mean + half)


def corrected(p_values, correction):
    """Return p-values adjusted within their family.

    Bonferroni: m p. Holm (1979): of p sorted upwards, the largest of (m - j + 1) p_j so far.
    """
    count = len(p_values)
    if correction == "none":
        return list(p_values)
    if correction == "bonferroni":
        return [min(1.0, count * p) for p in p_values]
    if correction != "holm":
        raise ValueError(f"unknown correction {correction}")
    adjusted, largest = [0.0] * count, 0.0
    for step, number in enumerate(sorted(range(count), key=lambda n: p_values[n])):
        largest = max(largest, min(1.0, (count - step) * p_values[number]))
        adjusted[number] = largest
    return adjusted


@dataclass
class Pair:
    """Two rows in a column and their test; `theirs` is the row of the significance file.

    `sizes` are the numbers of queries of the collections that an average is over.
    """

    column: str
    a: str
    b: str
    first: np.ndarray
    second: np.ndarray
    family: str
    relation: str = "above"
    p: float = 1.0
    exact: bool = True
    seed_p: list = field(default_factory=list)
    seed_exact: list = field(default_factory=list)
    theirs: dict | None = None
    significant: bool = False
    over_seeds: bool | None = None
    holm: bool = False
    holm_over_seeds: bool | None = None
    shown: Shown | None = None
    sizes: tuple | None = None

    @cached_property
    def gaps(self):
        return differences(self.first, self.second)

    @cached_property
    def difference(self):
        return math.fsum(self.first.mean(axis=0) - self.second.mean(axis=0)) / self.gaps.size

    @cached_property
    def mixed(self):
        return mixed_effects(self.first, self.second, self.sizes)

    @cached_property
    def error(self):
        """Return the standard error of the mean difference, or None with too few queries."""
        return standard_error(self.gaps, self.sizes)

    @cached_property
    def seed_gaps(self):
        """Return the differences of each seed alone, where both have seeds that meet."""
        seeds = max(len(self.first), len(self.second))
        if not seeds_meet(self.first, self.second):
            return []
        gaps = np.broadcast_to(self.first - self.second, (seeds, self.first.shape[1]))
        return np.where(np.abs(gaps) <= ROUNDING, 0.0, gaps)

    def direction(self, test):
        """Return the sign of what is tested: of signed ranks, or of the mean difference."""
        return sign_of(self.gaps, test)


def sign_of(gaps, test):
    """Return the sign of the sum of signed ranks (Wilcoxon), or of the sum of differences."""
    total = signed_ranks(gaps).sum() if test == "wilcoxon" else gaps.sum()
    return 0 if abs(total) <= ROUNDING * max(1, gaps.size) else int(math.copysign(1, total))


def monte_carlo(p, resamples, exact):
    """Return sqrt(p (1 - p) (1 / ours + 1 / theirs)), and 0 for an exact p."""
    if exact:
        return 0.0
    return math.sqrt(p * (1 - p) * (1 / (RESAMPLES + 1) + 1 / (resamples + 1)))


def run_tests(pairs, tests):
    """Give each pair its p, and that of each of its seeds alone."""
    if tests["test"] != "permutation":
        test = {"t-test": t_test, "wilcoxon": wilcoxon}[tests["test"]]
        for pair in pairs:
            pair.p, pair.seed_p = test(pair.gaps), [test(gaps) for gaps in pair.seed_gaps]
            pair.seed_exact = [True] * len(pair.seed_p)
        return
    by_count = defaultdict(list)
    for pair in pairs:
        by_count[pair.gaps.size].append(pair)
    flips = Flips()
    for some in by_count.values():
        rows = [gaps for pair in some for gaps in (pair.gaps, *pair.seed_gaps)]
        p, exact = flips.p_values(np.array(rows), tests["resamples"])
        start = 0
        for pair in some:
            count = len(pair.seed_gaps)
            pair.p, pair.exact = float(p[start]), bool(exact[start])
            pair.seed_p = p[start + 1 : start + 1 + count].tolist()
            pair.seed_exact = exact[start + 1 : start + 1 + count].tolist()
            start += 1 + count


# Comparing


def parsed(text):
    """Return the number of a field, None where it is empty."""
    return float(text) if text not in ("", None) else None


def close(ours, theirs, relative=False):
    """Return whether two values are equal within 1e-9; of p-values far below 1e-9, relatively."""
    if ours is None or theirs is None:
        return ours is None and theirs is None
    largest = max(abs(ours), abs(theirs))
    return abs(ours - theirs) <= CLOSE * (largest if relative else max(1.0, largest)) + 1e-300


class Report:
    """What a page's comparison found: counts, differences, and what was taken over."""

    def __init__(self, page):
        self.page = page
        self.cells = self.tests = self.verdicts = self.markers = 0
        self.near_alpha = 0
        self.differences = []
        self.taken_over = Counter()

    def differ(self, where, what, ours, theirs):
        """Note a difference, with both values."""
        self.differences.append(f"{self.page}: {where}: {what}: recomputed {ours}, found {theirs}")

    def same(self, where, what, ours, theirs, relative=False):
        """Note a difference of two numbers unless they are equal."""
        if not close(ours, theirs, relative):
            self.differ(where, what, ours, theirs)

    def __str__(self):
        line = (
            f"{self.page}: cells {self.cells}, markers {self.markers}, tests {self.tests}, "
            f"verdicts {self.verdicts}, differences {len(self.differences)}"
        )
        if self.near_alpha:
            line += f"; {self.near_alpha} decisions by their p, which lies near alpha"
        for what, count in sorted(self.taken_over.items()):
            line += f"\n    taken over: {count} {what}"
        return "\n".join([line, *(f"    DIFFERS {one}" for one in self.differences)])


def compare_cells(table, rows, report):
    """Compare the rows of a page's file with its cells. A cell of only one of the two differs."""
    expected = set(table.expected())
    found = {(row["row"], row["column"]): row for row in rows}
    for row, column in sorted(expected ^ set(found)):
        ours, theirs = ("there", "absent") if (row, column) in expected else ("absent", "there")
        report.differ(f"{row}/{column}", "cell", ours, theirs)
    for row, column in sorted(expected & set(found)):
        theirs, cell = found[row, column], table.cell(row, column)
        compare_cell(f"{row}/{column}", cell, theirs, report)


def compare_cell(where, cell, theirs, report):
    """Compare a cell: its state, mean, seeds, standard deviation, count and interval."""
    state = MEASURED if theirs["measured"] != "" else NOT_RUN
    state = NOT_LEARNED if theirs["not_learned"] == "true" else state
    if state != cell.state:
        report.differ(where, "state", cell.state, state)
        return
    if state == NOT_LEARNED:
        report.taken_over["cells `not learned`: that a model did not is read of learning/"] += 1
        return
    if state == NOT_RUN:
        report.taken_over["empty cells: that data, a system or a split is absent is read"] += 1
        return
    seeds = [float(text) for text in theirs["per_seed"].split()]
    report.cells += 1
    report.same(where, "mean", cell.mean, parsed(theirs["measured"]))
    if len(seeds) != len(cell.seeds):
        report.differ(where, "seeds", cell.seeds, seeds)
        return
    for number, (ours, other) in enumerate(zip(cell.seeds, seeds, strict=True), 1):
        report.same(where, f"seed {number}", ours, other)
    report.same(where, "lowest", min(cell.seeds), parsed(theirs["lowest"]))
    report.same(where, "highest", max(cell.seeds), parsed(theirs["highest"]))
    report.same(where, "standard deviation", cell.deviation, parsed(theirs["std"]))
    if cell.count is not None:
        report.same(where, "n", cell.count, parsed(theirs["n"]))
    if "ci_low" in theirs and (cell.interval or theirs["ci_low"]):
        low, high = cell.interval or (None, None)
        report.same(where, "interval's low end", low, parsed(theirs["ci_low"]))
        report.same(where, "interval's high end", high, parsed(theirs["ci_high"]))


def compare_tests(pairs, rows, tests, report):
    """Compare tests with the rows of a significance file, and settle what is significant."""
    run_tests(pairs, tests)
    found = defaultdict(list)
    for row in rows:
        found[row["column"], row["a"], row["b"], row["family"]].append(row)
    for pair in pairs:
        same = found[pair.column, pair.a, pair.b, pair.family]
        pair.theirs = same.pop(0) if same else None
        if pair.theirs is None:
            report.differ(name(pair), "test", "made", "absent")
    for row in (row for same in found.values() for row in same):
        report.differ(f"{row['column']}: {row['a']}, {row['b']}", "test", "none", "made")
    pairs[:] = [pair for pair in pairs if pair.theirs is not None]
    for pair in pairs:
        compare_test(pair, tests, report)
    families = defaultdict(list)
    for pair in pairs:
        families[pair.family].append(pair)
    for family in families.values():
        settle(family, tests, report)
    columns = defaultdict(list)
    for pair in pairs:
        columns[pair.column].append(pair)
    for column in columns.values():
        settle_under_holm(column, tests, report)


def name(pair):
    """Return how a pair is named in messages."""
    return f"{pair.column}: {pair.a}, {pair.b}"


def compare_test(pair, tests, report):
    """Compare a test: means, difference, intervals, effect, wins, p, p over seeds, seeds."""
    where, theirs, gaps = name(pair), pair.theirs, pair.gaps
    report.tests += 1
    count = gaps.size
    report.same(where, "n", count, parsed(theirs["n"]))
    report.same(where, "mean of a", float(pair.first.mean()), parsed(theirs["mean_a"]))
    report.same(where, "mean of b", float(pair.second.mean()), parsed(theirs["mean_b"]))
    report.same(where, "difference", pair.difference, parsed(theirs["difference"]))
    low = high = effect = None
    if pair.error is not None:
        half, spread = stats.t.ppf(0.975, count - 1) * pair.error, pair.error * math.sqrt(count)
        low, high = float(gaps.mean() - half), float(gaps.mean() + half)
        effect = float(gaps.mean() / spread) if spread > ROUNDING else None
    report.same(where, "ci_low", low, parsed(theirs["ci_low"]))
    report.same(where, "ci_high", high, parsed(theirs["ci_high"]))
    report.same(where, "effect", effect, parsed(theirs["effect"]))
    counted = {"wins": gaps > 0, "ties": gaps == 0, "losses": gaps < 0}
    for what, mask in counted.items():
        report.same(where, what, int(mask.sum()), parsed(theirs[what]))
    report.same(where, "direction", pair.direction(tests["test"]), parsed(theirs["direction"]))
    compare_p(where, pair, parsed(theirs["p"]), tests, report)
    mixed = pair.mixed or (None, None, None)
    columns = ("p_mixed_effects", "seed_low", "seed_high")
    for what, ours in zip(columns, mixed, strict=True):
        report.same(where, what, ours, parsed(theirs[what]), what == "p_mixed_effects")
    compare_agreeing(where, pair, tests, report)


def compare_p(where, pair, theirs, tests, report):
    """Compare p: exactly, or within Monte-Carlo error where flips are drawn."""
    if pair.exact:
        report.same(where, "p", pair.p, theirs, relative=True)
        return
    error = monte_carlo((pair.p + theirs) / 2, tests["resamples"], False)
    if abs(pair.p - theirs) > ERRORS * error:
        report.differ(where, f"p, of Monte-Carlo error {error:.2g}", pair.p, theirs)


def compare_agreeing(where, pair, tests, report):
    """Compare how many seeds are significant alone, in the same direction.

    Seeds whose p is within Monte-Carlo error of alpha may count either way.
    """
    theirs = pair.theirs["seeds_agreeing"]
    if not pair.seed_p:
        if theirs:
            report.differ(where, "seeds agreeing", "", theirs)
        return
    sure = near = 0
    direction = pair.direction(tests["test"])
    for gaps, p, exact in zip(pair.seed_gaps, pair.seed_p, pair.seed_exact, strict=True):
        if sign_of(gaps, tests["test"]) != direction:
            continue
        error = monte_carlo(p, tests["resamples"], exact)
        if abs(p - tests["alpha"]) <= ERRORS * error:
            near += 1
        elif p < tests["alpha"]:
            sure += 1
    agreeing, _, seeds = theirs.partition("/")
    report.near_alpha += near
    if int(seeds or 0) != len(pair.seed_p) or not sure <= int(agreeing) <= sure + near:
        ours = f"{sure} to {sure + near}/{len(pair.seed_p)}"
        report.differ(where, "seeds agreeing", ours, theirs)


def decide(ours, theirs, pair, tests, report):
    """Return whether an adjusted p is below alpha.

    Where our p is within Monte-Carlo error of alpha, their p decides, and the report counts that.
    """
    error = monte_carlo(pair.p, tests["resamples"], pair.exact)
    error *= max(1.0, ours / pair.p) if pair.p > 0 else 1.0
    if abs(ours - tests["alpha"]) > ERRORS * error:
        return ours < tests["alpha"]
    report.near_alpha += 1
    return theirs < tests["alpha"]


def over(p, pair):
    """Return the larger of p and of p over queries and seeds."""
    return max(p, pair.mixed[0]) if pair.mixed else p


def adjusted(pairs, correction):
    """Return p and p over seeds of pairs, corrected together: of our p, then of theirs."""
    ours = [pair.p for pair in pairs]
    theirs = [parsed(pair.theirs["p"]) for pair in pairs]
    lists = []
    for values in (ours, theirs):
        both = [over(p, pair) for p, pair in zip(values, pairs, strict=True)]
        lists += [corrected(values, correction), corrected(both, correction)]
    return list(zip(*lists, strict=True))


def settle(family, tests, report):
    """Correct the p-values of a family, compare, and settle what is significant in it."""
    values = adjusted(family, tests["correction"])
    for pair, (ours, ours_over, theirs, theirs_over) in zip(family, values, strict=True):
        where, shown = name(pair), parsed(pair.theirs["p_adjusted"])
        report.same(where, "p adjusted, of their p", theirs, shown, relative=True)
        pair.significant = decide(ours, theirs, pair, tests, report)
        if pair.significant != (pair.theirs["significant"] == "true"):
            report.differ(where, "significant", pair.significant, pair.theirs["significant"])
        if pair.mixed is None:
            continue
        shown = parsed(pair.theirs["p_over_seeds"])
        report.same(where, "p over seeds, of their p", theirs_over, shown, relative=True)
        pair.over_seeds = decide(ours_over, theirs_over, pair, tests, report)
        if pair.over_seeds != (pair.theirs["holds_over_seeds"] == "true"):
            report.differ(where, "over seeds", pair.over_seeds, pair.theirs["holds_over_seeds"])


def settle_under_holm(column, tests, report):
    """Settle what is significant where Holm corrects all comparisons of a column."""
    values = adjusted(column, "holm")
    for pair, (ours, ours_over, theirs, theirs_over) in zip(column, values, strict=True):
        pair.holm = decide(ours, theirs, pair, tests, report)
        if pair.mixed is not None:
            pair.holm_over_seeds = decide(ours_over, theirs_over, pair, tests, report)


# Markers


def tested_pairs(table, tests):
    """Return the pairs of rows that a table tests, in each column.

    Rows with values for each query are tested, controls are not. With baselines, a pair has one.
    """
    baselines = table.entry["baselines"]
    pairs = []
    for column in table.shown():
        if column in table.columns and not table.columns[column]["compared"]:
            continue
        cells = {row: table.plain(row, column) for row in table.rows}
        shown = [row for row in table.rows if cells[row].tested is not None]
        shown = [row for row in shown if not table.rows[row]["control"] or row in baselines]
        family = table.spec["id"]
        if tests["family"] == "column":
            family = f"{family}/{column}"
        for number, a in enumerate(shown):
            for b in shown[number + 1 :]:
                if tests["compare"] == "all_pairs" or a in baselines or b in baselines:
                    first, second = cells[a].tested, cells[b].tested
                    pair = Pair(column, a, b, first, second, family, sizes=cells[a].sizes)
                    sides = table.source(a, column), table.source(b, column)
                    pair.shown = Shown(table.results, *sides)
                    pairs.append(pair)
    return pairs


class Outcomes:
    """The settled tests of a table, looked up by the rows in either order."""

    def __init__(self, pairs, test, alpha):
        self.test, self.alpha = test, alpha
        self.pairs = {(pair.column, pair.a, pair.b): pair for pair in pairs}

    def find(self, column, a, b):
        """Return the pair, and 1 where it is a, b and -1 where it is b, a; None without a test."""
        if (column, a, b) in self.pairs:
            return self.pairs[column, a, b], 1
        if (column, b, a) in self.pairs:
            return self.pairs[column, b, a], -1
        return None, 0

    def above(self, column, a, b):
        """Return whether a is significantly above b, by the test and by the means."""
        pair, sign = self.find(column, a, b)
        if pair is None or not pair.significant:
            return False
        return pair.direction(self.test) == sign == np.sign(pair.difference)


def compare_markers(table, outcomes, rows, report):
    """Compare superscripts, arrows and ticks with those that our tests give."""
    for theirs in rows:
        row, column = theirs["row"], theirs["column"]
        varied = table.rows[row]["below"]
        beaten = [n for n, other in table.numbered.items() if outcomes.above(column, row, other)]
        beaten = [] if varied is not None else beaten  # variants have arrows instead
        found = indexes(theirs["beats"])
        report.markers += 1
        if sorted(beaten) != sorted(found):
            report.differ(f"{row}/{column}", "superscripts", beaten, found)
        below = varied is not None and outcomes.above(column, varied, row)
        if below != (theirs["below"] == "true"):
            report.differ(f"{row}/{column}", "arrow", below, theirs["below"])
        if theirs.get("tick"):
            entry = table.columns[column]
            pair = (row, entry["change_from"])
            ticked = outcomes.above(column, *(pair if entry["tick"] == "above" else pair[::-1]))
            if ticked != (theirs["tick"] == "true"):
                report.differ(f"{row}/{column}", "tick", ticked, theirs["tick"])


# Verdicts


def judged(significant, over_seeds, sign, claimed):
    """Return the verdict of a comparison that a paper claims (docs/verdicts.md).

    sign is 1 where a is above b, by test and means alike, -1 below, 0 where these differ.
    """
    if not significant or sign == 0:
        return "inconclusive"
    if over_seeds is False:
        return "these models only"
    return "holds" if sign == claimed else "reversed"


def judged_blank(significant, over_seeds, sign):
    """Return the verdict of a pair without a marker (docs/verdicts.md)."""
    if not significant:
        return "agrees"
    if sign == 0:
        return "inconclusive"
    return "these models only" if over_seeds is False else "significant here"


def weighed(verdict, lacks, few):
    """Return the verdict that the data, and the number of trainings, let a comparison have."""
    if lacks:
        return "not judged"
    if few and verdict in ("holds", "reversed", "significant here"):
        return "these models only"
    return verdict


def agreed_sign(pair, sign, test):
    """Return the sign of a pair's difference, 0 where the test's is another one."""
    direction = pair.direction(test)
    return sign * direction if direction == np.sign(pair.difference) else 0


@dataclass
class Printed:
    """What a paper prints in a cell: a number, markers, and the size of its last digit."""

    value: float | None
    beats: list
    arrow: bool
    tick: bool
    unit: float = 0.0


def printed(text):
    """Return what a cell of `reported:` says, such as `0.308 ^1-4`, `8.8M`, `+0.05` or `✓`."""
    match = re.match(r"([+-]?)(\d+(?:\.(\d+))?)(e-?\d+)?([KM]?)", text)
    value, unit = None, 0.0
    if match:
        sign, digits, decimals, power, suffix = match.groups()
        scale = float(f"1{power or ''}") * {"": 1, "K": 1e3, "M": 1e6}[suffix]
        value = float(digits) * scale * (-1 if sign == "-" else 1)
        unit = 10.0 ** -len(decimals or "") * scale
    marks = re.search(r"\^([\d,-]+)", text)
    beats = indexes(marks.group(1)) if marks else []
    return Printed(value, beats, "↓" in text, "✓" in text, unit)


def indexes(text):
    """Return the numbers of rows that a superscript such as `1-3,5` lists."""
    found = []
    for part in text.split(",") if text else []:
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


class Ledger:
    """The rows of a ledger, each taken once by the page that it judges."""

    def __init__(self, rows):
        self.rows = {}
        for row in rows:
            self.rows[self._key(row)] = row

    @staticmethod
    def _key(row):
        claim = row["claim"] if row["kind"] in ("comparison", "no marker") else ""
        return row["table"], row["row"], row["column"], row["kind"], claim

    def take(self, table, row, column, kind, claim=""):
        """Return the row, which then counts as judged, or None."""
        return self.rows.pop((table, row, column, kind, claim), None)

    def left(self, table):
        """Return the rows of a page that nobody took."""
        return [key for key in self.rows if key[0] == table]


def compare_verdict(report, where, found, expected):
    """Compare fields of a ledger's row: verdicts as texts, numbers within 1e-9."""
    if found is None:
        report.differ(where, "row of the ledger", expected["verdict"], "absent")
        return
    report.verdicts += 1
    for what, ours in expected.items():
        theirs = found[what]
        if isinstance(ours, str):
            if ours != theirs:
                report.differ(where, what, ours, theirs)
        else:
            report.same(where, what, ours, parsed(theirs))


def compares(spec, row, column):
    """Return whether a number compares with the paper's; `but` names parts that do not.

    An average compares if all its columns do.
    """
    averages = {mean["id"]: mean["of"] for mean in spec["entry"].get("means", [])}
    parts = {row, column, column.partition("/")[0], *averages.get(column, [])}
    return spec["comparable"] and not parts & set(spec.get("but", {}))


def numbers_of(table, page, spec, ledger, report):
    """Compare the verdict of each number that the paper prints."""
    entry = table.entry
    for row, cells in entry["reported"].items():
        for column, text in cells.items():
            mark = printed(text)
            if mark.value is None:
                continue
            cell = table.cell(row, column)
            tolerance = entry["tolerance"].get(column)
            if tolerance is None:
                tolerance = entry["tolerance"].get(row, entry["tolerance"].get("default"))
            if entry["last_digits"]:
                tolerance *= mark.unit
            comparable = compares(spec, row, column)
            expected = judged_number(cell, mark.value, tolerance, comparable)
            where = f"ledger, {row}/{column}, number"
            compare_verdict(report, where, ledger.take(page, row, column, "number"), expected)


def judged_number(cell, reported, tolerance, comparable):
    """Return the fields of a number's row of the ledger (docs/verdicts.md)."""
    fields = {"reported": reported, "tolerance": tolerance}
    if cell.state != MEASURED:
        return {**fields, "measured": None, "delta": None, "verdict": cell.state}
    delta = cell.mean - reported
    if not comparable:
        verdict = "not comparable"
    elif abs(delta) <= tolerance * (1 + ROUNDING):
        verdict = "reproduced"
    elif min(cell.seeds) <= reported <= max(cell.seeds):
        verdict = "close"
    else:
        verdict = "differs"
    return {**fields, "measured": cell.mean, "delta": delta, "verdict": verdict}


class Claims:
    """The comparisons that a table's markers and blanks state, judged by our tests."""

    def __init__(self, table, outcomes, page, ledger, report):
        self.table, self.outcomes, self.page = table, outcomes, page
        self.ledger, self.report = ledger, report
        self.marks = {}
        for row, cells in table.entry["reported"].items():
            self.marks.update({(row, column): printed(text) for column, text in cells.items()})

    def compare(self):
        """Compare all markers, then all blanks, with the rows of the ledger."""
        for column in self.table.shown():
            stated = self._marked(column)
            for a, b, claimed in stated:
                self._comparison(column, a, b, claimed)
            if stated:
                for a, b in self._blanks(column, stated):
                    self._blank(column, a, b, stated)

    def _marked(self, column):
        """Return the pairs that markers of a column state: a, b, and 1 for above or -1."""
        stated = []
        for (row, where), mark in self.marks.items():
            if where != column:
                continue
            stated += [(row, self.table.numbered[index], 1) for index in mark.beats]
            if mark.arrow:
                stated.append((row, self.table.rows[row]["below"], -1))
            if mark.tick:
                entry = self.table.columns[column]
                claimed = 1 if entry["tick"] == "above" else -1
                stated.append((row, entry["change_from"], claimed))
        return stated

    def _value(self, row, column):
        mark = self.marks.get((row, column))
        return None if mark is None else mark.value

    def _blanks(self, column, stated):
        """Return the pairs without a marker of which a is above b by the printed numbers."""
        mentioned = {frozenset((a, b)) for a, b, _ in stated}
        baselines, rows = self.table.entry["baselines"], self.table.rows
        candidates = []
        for a in rows:
            for b in rows:
                values = self._value(a, column), self._value(b, column)
                if a == b or None in values or frozenset((a, b)) in mentioned:
                    continue
                if rows[b]["below"] is not None:
                    compared = rows[b]["below"] == a
                elif baselines:
                    compared = b in baselines and self.table.runs(a, column)
                else:
                    compared = rows[a]["index"] and rows[b]["index"]
                if compared and values[0] > values[1]:
                    candidates.append((a, b))
        return candidates

    def _comparison(self, column, a, b, claimed):
        word = "above" if claimed == 1 else "below"
        claim = f"{a} significantly {word} {b}"
        verdict, pair, sign = self._state(column, a, b)
        under_holm = verdict
        if pair is not None:
            agreed = agreed_sign(pair, sign, self.outcomes.test)
            verdict = judged(pair.significant, pair.over_seeds, agreed, claimed)
            under_holm = judged(pair.holm, pair.holm_over_seeds, agreed, claimed)
            lacks = pair.shown.lacks(pair, [claimed * sign], self.outcomes.alpha)
            verdict, under_holm = (
                weighed(one, lacks, pair.shown.few()) for one in (verdict, under_holm)
            )
        fields = self._effect(column, a, b, pair, sign)
        reported, measured = fields["reported"], fields["measured"]
        known = None not in (reported, measured)
        fields["delta"] = measured - reported if known else None
        fields |= {"verdict": verdict, "under_holm": under_holm}
        where = f"ledger, {column}, {claim}"
        found = self.ledger.take(self.page, a, column, "comparison", claim)
        compare_verdict(self.report, where, found, fields)

    def _blank(self, column, a, b, stated):
        claim = f"{a} above {b}, unmarked"
        verdict, pair, sign = self._state(column, a, b)
        if pair is not None:
            agreed = agreed_sign(pair, sign, self.outcomes.test)
            verdict = judged_blank(pair.significant, pair.over_seeds, agreed)
            lacks = pair.shown.lacks(pair, [1, -1], self.outcomes.alpha)
            verdict = weighed(verdict, lacks, pair.shown.few())
        if self._says_nothing(column, a, b, stated):
            verdict = "no test"
        fields = self._effect(column, a, b, pair, sign) | {"verdict": verdict}
        where = f"ledger, {column}, {claim}"
        found = self.ledger.take(self.page, a, column, "no marker", claim)
        compare_verdict(self.report, where, found, fields)

    def _says_nothing(self, column, a, b, stated):
        """Return whether the column marks a row over the same b whose number is nearer."""
        gap = abs(self._value(a, column) - self._value(b, column))
        for other, over_b, sense in stated:
            value = self._value(other, column)
            if over_b != b or sense != 1 or value is None:
                continue
            if abs(value - self._value(b, column)) < gap:
                return True
        return False

    def _state(self, column, a, b):
        """Return why a pair cannot be judged, or its test and the sign of its order."""
        states = {self.table.plain(row, column).state for row in (a, b)}
        if state := worst(states):
            return state, None, 0
        pair, sign = self.outcomes.find(column, a, b)
        return "no test", pair, sign

    def _effect(self, column, a, b, pair, sign):
        """Return reported and measured difference, effect ratio and delta RI (Breuer et al. 2020).

        effect ratio = (a' - b') / (a - b); delta RI = (a - b) / b - (a' - b') / b'.
        """
        first, second = self._value(a, column), self._value(b, column)
        known = None not in (first, second)
        reported = first - second if known else None
        fields = {"reported": reported, "measured": None, "effect_ratio": None, "delta_ri": None}
        fields |= {"p_adjusted": None, "p_over_seeds": None, "seeds_agreeing": ""}
        if pair is None:
            return fields
        fields["measured"] = sign * pair.difference
        fields["p_adjusted"] = parsed(pair.theirs["p_adjusted"])
        fields["p_over_seeds"] = parsed(pair.theirs["p_over_seeds"])
        fields["seeds_agreeing"] = pair.theirs["seeds_agreeing"]
        base = float((pair.second if sign == 1 else pair.first).mean())
        if known and reported:
            fields["effect_ratio"] = fields["measured"] / reported
        if known and second and base:
            fields["delta_ri"] = reported / second - fields["measured"] / base
        return fields


# Sentences


@dataclass
class Series:
    """A series of a figure, with values for each query at each of its points."""

    points: dict
    state: str = MEASURED


class Figure:
    """What sentences need of a figure: the values of each series in each panel and point."""

    def __init__(self, results, spec):
        self.results, self.spec, self.entry = results, spec, spec["entry"]

    def source(self, name, panel):
        """Return where the values of a series in a panel come from, in a list."""
        [shown] = [one for one in self.entry["panels"] if one["id"] == panel]
        beside = [one["measure"] for one in self.entry["panels"] if one["measure"]]
        split_id = self.spec["splits"].get(name)
        if split_id is None or not beside:
            return []
        runs, measure = self.spec["runs"].get(name, []), shown["measure"] or beside[0]
        return [Source.of(self.spec, split_id, runs, measure, None, False)]

    def series(self, name, panel):
        """Return a series in a panel."""
        split_id, runs = self.spec["splits"].get(name), self.spec["runs"].get(name, [])
        if split_id is None or not runs or self.spec["absent"].get(name):
            return Series({}, NOT_RUN)
        if not self.results.learned(split_id, runs, self.spec["models"]):
            return Series({}, NOT_LEARNED)
        [shown] = [one for one in self.entry["panels"] if one["id"] == panel]
        if self.entry["over"] == "depth":
            return Series(self._depths(split_id, runs, shown))
        if self.entry["over"] == "snapshot":
            return Series(self._snapshots(name, split_id, runs, shown))
        if self.entry["over"] == "cutoff":
            return Series(self._cutoffs(split_id, runs, shown))
        return Series(self._groups(split_id, runs, shown))

    def _depths(self, split_id, runs, shown):
        path = f"{self.results.run_path(split_id, runs[0])}.manifest.json"
        grid = json.loads(Path(path).read_text())["spec"]["depth"]["grid"]
        curves = [self.results.curve(split_id, run, (0, *grid)) for run in runs]
        value = 1 if shown["shows"] == "recall" else 0
        if value == 0 and shown["measure"] != "RR@10":
            raise NotCompared(f"curves of {shown['measure']}")
        shown_at = grid if shown["shows"] == "recall" else (0, *grid)  # depth 0 reranks nothing
        return {depth: np.array([curve[depth][value] for curve in curves]) for depth in shown_at}

    def _snapshots(self, name, split_id, runs, shown):
        last = self.spec["snapshots"][name]
        points = {}
        for count in range(1, last + 1):
            kept = [run if count == last else f"{run}@{count}" for run in runs]
            values = [self.results.values(split_id, run, shown["measure"]) for run in kept]
            points[count] = np.array(values)
        return points

    def _cutoffs(self, split_id, runs, shown):
        """Return values at 1, 2, 5, 10, 20, ... docs, up to those of the panel's measure."""
        name, _, most = shown["measure"].partition("@")
        steps = [step * 10**power for power in range(len(most)) for step in (1, 2, 5)]
        cuts = [step for step in steps if step < int(most)] + [int(most)]
        return {
            cut: np.array([self.results.values(split_id, run, f"{name}@{cut}") for run in runs])
            for cut in cuts
        }

    def _groups(self, split_id, runs, shown):
        values = [self.results.values(split_id, run, shown["measure"]) for run in runs]
        if shown["shows"] == "better":
            than = self.spec["runs"][f"{shown['id']}/than"]
            others = [self.results.values(split_id, run, shown["measure"]) for run in than]
            values = np.array(values) > np.array(others) + ROUNDING
        values = np.array(values, dtype=float)
        grouping = self.entry["over"]
        groups = self.entry["groups"] or self._named(split_id, grouping)
        points = {}
        for group in groups:
            points[group] = values[:, self.results.group(split_id, grouping, group)]
        return points

    def _named(self, split_id, grouping):
        rows = read_table(self.results.root / "groups" / split_id / f"{grouping}.tsv")
        return list(dict.fromkeys(row["group"] for row in rows))


@dataclass
class Step:
    """A point of a page: a column, or `panel/x`; how names of tests write it; what is there."""

    column: str
    where: str
    values: np.ndarray
    source: list


class OfTable:
    """What sentences read of a table, whose columns are points of one axis."""

    def __init__(self, results, spec, page):
        self.table, self.page = Table(results, spec), page

    def kept(self, columns, along):
        """Return the columns that a sentence reads: along columns, those with a split.

        With fewer than two of them all are read, and the sentence is not run.
        """
        bound = [name for name in columns if self.table.spec["splits"].get(name) is not None]
        return bound if along and len(bound) > 1 else columns

    def state(self, row, column):
        """Return the state of a cell."""
        return self.table.plain(row, column).state

    def steps(self, row, column):
        """Return the points of a row in a column: the cell."""
        values = self.table.plain(row, column).tested
        if values is None:
            raise NotCompared(f"{row}/{column} has no value per query")
        return [Step(column, f"in {column}", values, self.table.source(row, column))]

    def axes(self, row, columns):
        """Return each axis with its points in order."""
        yield self.page, [step for column in columns for step in self.steps(row, column)]

    def queries(self, column):
        """Return the queries that a column compares."""
        split_id, within = self.table.spec["splits"][column], self.table.columns[column]["within"]
        queries = np.array(self.table.results.split(split_id).queries)
        if within:
            group = within["grouping"], within["group"]
            queries = queries[self.table.results.group(split_id, *group)]
        return queries.tolist()


class OfFigure:
    """What sentences read of a figure, whose panels are axes each."""

    def __init__(self, results, spec):
        self.figure = Figure(results, spec)
        self.series = cache(self._series)
        over = self.figure.entry["over"]
        self.word = "K" if over == "depth" else over

    def _series(self, row, panel):
        if self.figure.entry["over"] in ("effort", "cutoff", "query"):
            raise NotCompared(f"figures over {self.figure.entry['over']}")
        return self.figure.series(row, panel)

    def kept(self, columns, along):
        """Return the panels that a sentence reads: all."""
        return columns

    def state(self, row, panel):
        """Return the state of a series."""
        return self.series(row, panel).state

    def steps(self, row, panel):
        """Return the points of a series in a panel, without depth 0."""
        points, source = self.series(row, panel).points, self.figure.source(row, panel)
        places = sorted(points) if self.word in ("K", "snapshot") else points
        return [
            Step(f"{panel}/{at}", f"at {self.word} {at}", points[at], source)
            for at in places
            if at != 0
        ]

    def axes(self, row, panels):
        """Return each axis with its points in order."""
        yield from ((panel, self.steps(row, panel)) for panel in panels)


def slope(points):
    """Return the least-squares slope through the origin of pairs x, y: sum of x y / sum of x x."""
    squares = math.fsum(x * x for x, _ in points)
    return math.fsum(x * y for x, y in points) / squares if points else None


class OfDimensions:
    """What sentences read of a page of dimensions: margins by query, and numbers of its plots."""

    def __init__(self, results, spec):
        self.results, self.spec = results, spec
        self.rows = {row["id"]: row for row in spec["entry"]["rows"]}
        self.read = cache(self.read)

    def folder(self, row):
        """Return the folder of a row's measurement."""
        return self.results.root / "fidelity" / self.spec["split"] / self.rows[row]["fidelity"]

    def read(self, row, table):
        """Return the rows of a table of a row's measurement."""
        return read_table(self.folder(row) / f"{table}.tsv")

    def facts(self, row):
        """Return the facts in the manifest of a row's measurement."""
        return json.loads((self.folder(row) / "manifest.json").read_text())["artefact"]

    def kept(self, columns, along):
        """Return the quantities that a sentence reads: all."""
        return columns

    def state(self, row, quantity):
        """Return the state of a plot."""
        return NOT_RUN if self.spec["split"] is None or row in self.spec["absent"] else MEASURED

    def margins(self, row, rank):
        """Return the margins of a rank: by length, a dict of those of each query."""
        found = {}
        for line in self.read(row, "margins"):
            if int(line["nearest"]) == rank and line["length"] != "all":
                margin = float(line["margin"])
                found.setdefault(line["length"], {})[line["query_id"]] = margin
        return found

    def steps(self, row, quantity):
        """Return the margins of a rank by length, of queries with a margin at every length."""
        found = self.margins(row, int(re.match(r"\d+", quantity)[0]))
        shared = sorted(set.intersection(*map(set, found.values()))) if found else []
        return [
            Step(f"{quantity}/{at}", f"at length {at}", np.array([[of[q] for q in shared]]), [])
            for at, of in found.items()
        ]

    def axes(self, row, quantities):
        """Return each axis with its points in order."""
        yield from ((quantity, self.steps(row, quantity)) for quantity in quantities)

    def lengths(self, row, quantity):
        """Return the numbers of a quantity along lengths: pairs of the number's name and value."""
        shows = self.rows[row]["shows"]
        if shows == "margins":
            found = self.margins(row, int(re.match(r"\d+", quantity)[0]))
            shown = {at: float(np.median(list(each.values()))) for at, each in found.items()}
        elif shows == "recall":
            shown = self._recall(row, float(quantity))
        else:
            raise NotCompared(f"{quantity} of {shows} along lengths")
        return [(f"{quantity}/{at}", value) for at, value in shown.items()]

    def _recall(self, row, share):
        """Return for each length the least dimensions that keep a share of the queries, or None."""
        least = {}
        for line in self.read(row, "recall"):
            if line["length"] == "all":
                continue
            least.setdefault(line["length"], None)
            if float(line["recall"]) >= share:
                tried = [least[line["length"]], int(line["dimensions"])]
                least[line["length"]] = min(number for number in tried if number is not None)
        return least

    def number(self, row, quantity):
        """Return a number of a plot; None if no number of dimensions that was tried is enough.

        Over bins of x with a least k: shares are k / (2 ln(4 / error) x). The exponent is the
        least-squares slope of ln k over ln x.
        """
        facts = self.facts(row)
        if quantity == "least-margin":
            return facts["least_margin"]
        constant = 2 * math.log(4 / facts["error"])
        if quantity == "constant":
            return constant
        if quantity in ("slope-least", "slope-most"):
            return self._slope_of_draws(row, min if quantity == "slope-least" else max)
        least, exact = {}, {}
        for line in self.read(row, "pairs"):
            if float(line["error"]) <= facts["error"]:
                x, tried = float(line["x"]), int(line["dimensions"])
                least[x] = min(tried, least.get(x, tried))
                exact[x] = int(line["exact"])
        shares = [k / (constant * x) for x, k in least.items()]
        if quantity in ("slope", "exact-slope"):
            return slope(list((least if quantity == "slope" else exact).items()))
        if quantity == "most-share":
            return max(shares, default=None)
        if quantity not in ("share-ratio", "exponent"):
            raise NotCompared(f"{quantity} of a page of dimensions")
        if len(shares) < 2:
            return None
        if quantity == "share-ratio":
            return max(shares) / min(shares)
        middle = math.fsum(map(math.log, least)) / len(least)
        return slope([(math.log(x) - middle, math.log(k)) for x, k in least.items()])

    def _slope_of_draws(self, row, extreme):
        points = defaultdict(list)
        for line in self.read(row, "draws"):
            if line["dimensions"]:
                points[line["draw"]].append((float(line["x"]), int(line["dimensions"])))
        return extreme(map(slope, points.values()), default=None)


BETWEEN = ("above", "below", "apart")
ALONG = ("rises", "falls", "keeps", "needs_largest")
GAPS = {"narrows": "below", "widens": "above", "widest": "above", "stays": "not apart"}
COMPUTED = ("factor", "within")


def reader_of(results, spec, page):
    """Return what reads a page, of those that a page of sentences names."""
    if page in spec["tables"]:
        return OfTable(results, spec["tables"][page], page)
    if page in spec["figures"]:
        return OfFigure(results, spec["figures"][page])
    return OfDimensions(results, spec["dimensions"][page])


class Sentence:
    """What decides a sentence: its pairs, the state of a row without values, or a verdict.

    `numbers` are those of a page of dimensions that it reads. `unread` says why nothing is
    computed.
    """

    def __init__(self, results, spec, claim):
        self.results, self.spec, self.claim = results, spec, claim
        self.holds = claim["holds"]
        self.pairs, self.states, self.numbers = [], set(), {}
        self.settled = self.unread = None
        if self.holds is None:
            self.settled = "no test"
            return
        try:
            self._collect()
        except (NotCompared, LookupError, OSError, ValueError) as why:
            self.pairs, self.numbers = [], {}
            self.unread = f"{type(why).__name__}, {why}" if type(why) is not NotCompared else why

    def named(self):
        """Return the rows that the sentence is about."""
        rows, named = self.holds["rows"], []
        for row in rows:
            others = rows[row] if isinstance(rows, dict) else []
            named += [row, *([others] if isinstance(others, str) else others)]
        return list(dict.fromkeys(named))

    def _collect(self):
        relation, holds = self.holds["relation"], self.holds
        if relation not in (*BETWEEN, *ALONG, *GAPS, *COMPUTED):
            raise NotCompared("no rule here")
        if relation == "factor":
            self.settled = judged_factor(self.results, self.spec, self.claim)
            return
        self.reader = reader_of(self.results, self.spec, holds["page"])
        along = relation not in (*BETWEEN, *COMPUTED)
        self.columns = self.reader.kept(holds["columns"], along)
        places = ((row, column) for row in self.named() for column in self.columns)
        self.states = {self.reader.state(*place) for place in places} - {MEASURED}
        if self.states:
            return
        if along and isinstance(self.reader, OfTable):
            queries = [sorted(self.reader.queries(column)) for column in self.columns]
            if any(some != queries[0] for some in queries):
                self.settled = "no test"
                return
        if isinstance(self.reader, OfDimensions) and not self._of_margins():
            self.settled = self._computed()
        elif relation in BETWEEN:
            self._between()
        elif relation in ALONG:
            self._along()
        else:
            self._gaps()
        if not self.pairs and self.settled is None:
            self.settled = NOT_RUN

    def _pair(self, column, a, b, first, second, relation, sides):
        pair = Pair(column, a, b, first, second, self.claim["id"], relation)
        pair.shown = Shown(self.results, *sides)
        self.pairs.append(pair)

    def _between(self):
        """Compare a row with each of its others at each point that `but` does not name."""
        for column in self.columns:
            for row, others in self.holds["rows"].items():
                for other in others:
                    beside = {step.column: step for step in self.reader.steps(other, column)}
                    for step in self.reader.steps(row, column):
                        at = step.column.partition("/")[2]
                        if at in self.holds["but"] or step.column not in beside:
                            continue
                        second = beside[step.column]
                        both, sides = (step.values, second.values), (step.source, second.source)
                        relation = self.holds["relation"]
                        self._pair(step.column, row, other, *both, relation, sides)

    def _along(self):
        """Compare a row with itself at other points of an axis.

        Rising: the last point above the first, and none below the one before it. Falling: the
        same from the last point on. Keeping: the last at least as high as the first. Needing the
        largest: the last above every other one.
        """
        relation = self.holds["relation"]
        for row in self.holds["rows"]:
            for name, steps in self.reader.axes(row, self.columns):
                for high, low, claimed in ordered(steps, relation):
                    labels = f"{row} {high.where}", f"{row} {low.where}"
                    both, sides = (high.values, low.values), (high.source, low.source)
                    self._pair(name, *labels, *both, claimed, sides)

    def _gaps(self):
        """Compare the gap of two rows at the last point with that at the first, or at all."""
        relation = self.holds["relation"]
        for row, others in self.holds["rows"].items():
            for other in others:
                axes = zip(
                    self.reader.axes(row, self.columns),
                    self.reader.axes(other, self.columns),
                    strict=True,
                )
                for (name, steps), (_, less) in axes:
                    gaps = [
                        Step("", f"{row} - {other} {a.where}", a.values - b.values,
                             [*a.source, *b.source])
                        for a, b in zip(steps, less, strict=True)
                    ]  # fmt: skip
                    for gap in gaps[:-1] if relation == "widest" else gaps[:-1][:1]:
                        last = gaps[-1]
                        both, sides = (last.values, gap.values), (last.source, gap.source)
                        self._pair(name, last.where, gap.where, *both, GAPS[relation], sides)

    def _of_margins(self):
        """Return whether a sentence on a page of dimensions is tested: along lengths, margins."""
        plots = {self.reader.rows[row]["shows"] for row in self.named()}
        return self.holds["relation"] in ALONG and plots == {"margins"}

    def _computed(self):
        """Return the verdict of numbers of a page of dimensions, which nothing tests."""
        relation, rows = self.holds["relation"], self.holds["rows"]
        compared = []
        if relation == "within":
            low, high = self.holds["between"]
            for row in rows:
                for value in (self._number(row, column) for column in self.columns):
                    compared += [(value, low, MEETS["at least"]), (high, value, MEETS["at least"])]
        elif relation in BETWEEN:
            for column in self.columns:
                for row, others in rows.items():
                    compared += [
                        (self._number(row, column), self._number(other, column), MEETS[relation])
                        for other in others
                    ]
        elif relation in ALONG:
            for row in rows:
                for column in self.columns:
                    numbers = self.reader.lengths(row, column)
                    steps = ordered(numbers, relation)
                    for both in ((high, low) for high, low, _ in steps):
                        self.numbers.update({(row, at): value for at, value in both})
                    compared += [(high[1], low[1], MEETS[claimed]) for high, low, claimed in steps]
        else:
            raise NotCompared("gaps of numbers that nothing tests")
        values = [value for *both, _ in compared for value in both]
        if not values or None in values:
            return NOT_RUN
        unmet = [(a, b) for a, b, meets in compared if not meets(a, b)]
        if unmet and relation in ALONG and all(a == b for a, b in unmet):
            return "not judged"
        return "differs" if unmet else "holds"

    def _number(self, row, column):
        value = self.reader.number(row, column)
        self.numbers[row, column] = value
        return value


MEETS = {
    "above": lambda a, b: a > b,
    "below": lambda a, b: a < b,
    "apart": lambda a, b: a != b,
    "at least": lambda a, b: a >= b,
    "not below": lambda a, b: a >= b,
}


def ordered(steps, relation):
    """Return the comparisons of an axis: pairs of its points, and what is said of the first."""
    if len(steps) < 2:
        return []
    if relation == "falls":
        steps = steps[::-1]
    *others, last = steps
    if relation == "needs_largest":
        return [(last, other, "above") for other in others]
    if relation == "keeps":
        return [(last, steps[0], "at least")]
    each = [(later, earlier, "not below") for earlier, later in pairwise(steps) if len(steps) > 2]
    return [(last, steps[0], "above"), *each]


def judged_relation(pair, test):
    """Return the verdict of a comparison of a sentence (docs/verdicts.md)."""
    said = {"above": [1], "at least": [1], "below": [-1], "apart": [1, -1]}
    if pair.shown.lacks(pair, said.get(pair.relation, []), test["alpha"]):
        return "not judged"
    return differing(pair, test["test"], pair.shown.few())


def differing(pair, test, few):
    """Return the verdict of a comparison of a sentence that the data can show."""
    sign = agreed_sign(pair, 1, test)
    if pair.relation in ("above", "at least", "below"):
        claimed = -1 if pair.relation == "below" else 1
        return weighed(judged(pair.significant, pair.over_seeds, sign, claimed), False, few)
    differs = weighed(judged(pair.significant, pair.over_seeds, sign, sign), False, few)
    if pair.relation == "apart":
        return differs
    if pair.relation == "not apart":
        return "reversed" if differs == "holds" else differs
    if differs == "inconclusive" or sign == 1:
        return "holds" if sign != 0 or not pair.significant else "inconclusive"
    return "reversed" if differs == "holds" else differs


WORST = ["reversed", "inconclusive", "not judged", "these models only", "holds"]


def judged_sentence(sentence, test):
    """Return the verdict of a sentence: a settled one, a state, or its worst comparison's."""
    if sentence.settled is not None:
        return sentence.settled
    if state := worst(sentence.states):
        return state
    found = {judged_relation(pair, test) for pair in sentence.pairs}
    return next(verdict for verdict in WORST if verdict in found)


def judged_factor(results, spec, claim):
    """Return the verdict of a factor between two rerank depths, both read from the table."""
    holds = claim["holds"]
    table = Table(results, spec["tables"][holds["page"]])
    low, high = holds["between"]
    states, factors = set(), []
    for column in holds["columns"]:
        for row, other in holds["rows"].items():
            cells = table.plain(row, column), table.plain(other, column)
            states |= {cell.state for cell in cells} - {MEASURED}
            if not states:
                factors.append(cells[0].mean / cells[1].mean)
    if state := worst(states):
        return state
    named = {row for both in holds["rows"].items() for row in both}
    if not all(compares(table.spec, row, name) for row in named for name in holds["columns"]):
        return "not comparable"
    return "holds" if all(low <= factor <= high for factor in factors) else "differs"


def check_claims(results, page, ledger):
    """Compare a page of sentences: its tests and its verdicts."""
    report = Report(page)
    path = results.root / "claims" / f"{page}.tsv"
    spec, rows = spec_of(path), read_table(path)
    tests = spec["tests"]
    sentences = [Sentence(results, spec, claim) for claim in spec["entry"]["claims"]]
    pairs = [pair for sentence in sentences for pair in sentence.pairs]
    unread = {sentence.claim["id"] for sentence in sentences if sentence.unread}
    made = read_table(results.root / "significance" / f"{page}.tsv")
    made = [row for row in made if row["family"] not in unread]
    compare_tests(pairs, made, tests, report)
    shown = {row["row"]: row for row in rows}
    if set(shown) != {claim["id"] for claim in spec["entry"]["claims"]}:
        report.differ("claims", "ids", len(spec["entry"]["claims"]), len(shown))
    for sentence in sentences:
        compare_sentence(results, spec, sentence, shown, ledger, report)
    finish(page, ledger, report)
    return report


def compare_sentence(results, spec, sentence, shown, ledger, report):
    """Compare the verdict of a sentence on its page and in the ledger."""
    claim, test = sentence.claim, spec["tests"]
    holds = claim["holds"]
    if sentence.unread:
        report.taken_over[f"sentences ({holds['relation']}): {sentence.unread}"] += 1
        if ledger is not None:
            ledger.take(report.page, claim["id"], claim["section"], "claim")
        return
    compare_numbers(results, spec, sentence, report)
    verdict = judged_sentence(sentence, test)
    found = shown.get(claim["id"])
    compare_verdict(report, f"{claim['id']}, on the page", found, {"verdict": verdict})
    if found is not None and found["measured"] and sentence.pairs:
        shown_one(sentence, found, test, report)
    if ledger is not None:
        taken = ledger.take(report.page, claim["id"], claim["section"], "claim")
        where = f"ledger, {claim['id']}"
        compare_verdict(report, where, taken, {"verdict": verdict})
        for what in ("measured", "p_adjusted", "p_over_seeds", "seeds_agreeing"):
            if taken is not None and found is not None and taken[what] != found[what]:
                report.differ(where, what, found[what], taken[what])
    if verdict == "no test" and holds is None:
        report.taken_over["sentences with `no test`: the page enters no test of them"] += 1
    elif verdict in (NOT_LEARNED, NOT_RUN):
        report.taken_over[f"sentences `{verdict}`: what is absent or did not learn is read"] += 1


def compare_numbers(results, spec, sentence, report):
    """Compare the numbers of a page of dimensions that a sentence reads with those there."""
    if not sentence.numbers:
        return
    page = spec["dimensions"][sentence.holds["page"]]["id"]
    rows = read_table(results.root / "dimensions" / f"{page}.tsv")
    found = {(row["row"], row["column"]): parsed(row["measured"]) for row in rows}
    for (row, column), value in sentence.numbers.items():
        report.same(f"{sentence.claim['id']}, {row}/{column} of {page}", "number", value,
                    found.get((row, column)))  # fmt: skip
        if column == "least-margin":
            report.taken_over["least margins, which are read of the measurement's manifest"] += 1


def shown_one(sentence, found, test, report):
    """Compare the numbers that a sentence shows: those of a comparison of its verdict."""
    measured, adjusted = parsed(found["measured"]), parsed(found["p_adjusted"])
    for pair in sentence.pairs:
        same = close(pair.difference, measured)
        same = same and close(parsed(pair.theirs["p_adjusted"]), adjusted, relative=True)
        if same and judged_relation(pair, test) == found["verdict"]:
            return
    where = f"{sentence.claim['id']}, on the page"
    ours = "those of a comparison of its verdict"
    report.differ(where, "numbers shown", ours, f"{measured}, p {adjusted}")


# Pages


def finish(page, ledger, report):
    """Note rows of the ledger about a page that nothing here led to."""
    for _, row, column, kind, claim in ledger.left(page) if ledger is not None else []:
        report.differ(f"ledger, {row}/{column}, {kind} {claim}", "row", "none", "there")


def check_table(results, page, ledger):
    """Compare a table: cells, tests, markers, and the ledger's rows about it."""
    path = results.root / "tables" / f"{page}.tsv"
    spec, rows, report = spec_of(path), read_table(path), Report(page)
    if spec["entry"]["kind"] == "characteristics":
        return check_characteristics(results, page, spec, rows, ledger, report)
    table, tests = Table(results, spec), spec["tests"]
    compare_cells(table, rows, report)
    pairs = tested_pairs(table, tests)
    found = results.root / "significance" / f"{page}.tsv"
    compare_tests(pairs, read_table(found), tests, report)
    outcomes = Outcomes(pairs, tests["test"], tests["alpha"])
    compare_markers(table, outcomes, rows, report)
    if ledger is not None:
        numbers_of(table, page, spec, ledger, report)
        Claims(table, outcomes, page, ledger, report).compare()
        finish(page, ledger, report)
    return report


class Characteristics:
    """Counts of collections, as a table's cells."""

    def __init__(self, results, spec):
        self.results, self.spec, self.entry = results, spec, spec["entry"]
        self.rows = {row["id"]: row for row in self.entry["rows"]}
        self.columns = [column["id"] for column in self.entry["columns"]]

    def expected(self):
        """Return the row and the column of each cell."""
        return [(row, column) for row in self.rows for column in self.columns]

    def cell(self, row, column):
        """Return the cell of a quantity and a split."""
        split_id = self.spec["splits"].get(column)
        if split_id is None or column in self.spec["absent"]:
            return Cell(NOT_RUN)
        value = self._count(self.rows[row]["quantity"], split_id, self.spec["trained"].get(column))
        if value is None:
            return Cell(NOT_RUN)
        return Cell(MEASURED, [float(value)], None, len(self.results.split(split_id).queries))

    def _count(self, quantity, split_id, trained):
        split, dataset = self.results.split(split_id), split_id.rpartition("/")[0]
        if quantity == "docs":
            return len(self.results.corpus(dataset))
        if quantity == "doc_words":
            docs = self.results.corpus(dataset)
            return sum(len(text.split()) for text in docs.values()) / len(docs)
        if quantity == "queries":
            return len(split.queries)
        if quantity == "test_queries":
            return len(split.texts)
        if quantity == "query_words":
            return sum(len(text.split()) for text in split.texts.values()) / len(split.texts)
        if quantity == "relevant_per_query":
            levels = [level for docs in split.levels.values() for level in docs.values()]
            return sum(level > 0 for level in levels) / len(split.queries)
        if quantity == "grades":
            found = {level for docs in split.levels.values() for level in docs.values()}
            return len(found | {0})
        if quantity in ("train_queries", "train_pairs"):
            training = self.results.split(trained)
            if quantity == "train_queries":
                return len(training.texts)
            pairs = [level for docs in training.levels.values() for level in docs.values()]
            return sum(level > 0 for level in pairs) or None
        raise NotCompared(f"quantity {quantity}")


def check_characteristics(results, page, spec, rows, ledger, report):
    """Compare a table of counts, and the ledger's rows about it."""
    table = Characteristics(results, spec)
    if spec["folds"]:
        report.taken_over["cells of splits with folds"] += len(rows)
        return report
    return compare_page(table, page, spec, rows, ledger, report)


SHARES = ("dense", "lexical", "residual", "overlap", "failure", "RoC")


class Circles:
    """The shares of circles, as a table's cells."""

    def __init__(self, results, spec):
        self.results, self.spec, self.entry = results, spec, spec["entry"]
        self.rows = {row["id"]: row for row in self.entry["rows"]}

    def expected(self):
        """Return the row and the column of each cell; disjoint circles have failure alone."""
        return [(row, column) for row in self.rows for column in SHARES]

    def cell(self, row, column):
        """Return a share of the queries: of D, S, D (1 - S), D S or neither; or RoC.

        Disjoint circles are those of two parts that answer no query both, as in RoC's Figure 1c:
        failure is max(0, 1 - D - S) there.
        """
        split_id = self.spec["split"]
        sides = [self.spec["runs"].get(f"{row}/{side}", []) for side in ("dense", "lexical")]
        if split_id is None or row in self.spec["absent"] or not all(sides):
            return Cell(NOT_RUN)
        if not self.results.learned(split_id, [*sides[0], *sides[1]], self.spec["models"]):
            return Cell(NOT_LEARNED)
        measure = self.entry["measure"]
        dense, lexical = (
            np.array([self.results.values(split_id, run, measure) for run in runs])
            for runs in sides
        )
        both = np.zeros_like(dense) if self.rows[row]["disjoint"] else dense * lexical
        parts = {
            "dense": dense,
            "lexical": np.broadcast_to(lexical, dense.shape),
            "residual": dense - both,
            "overlap": both,
            "failure": 1 - dense - lexical + both,
        }
        count = dense.shape[1]
        if column == "failure":
            shares = [max(0.0, share) for share in means(parts["failure"])]
            return Cell(MEASURED, shares, None, count)
        if column != "RoC":
            return Cell(MEASURED, means(parts[column]), None, count)
        hits = dense.sum(axis=1)
        if not hits.all():
            return Cell(NOT_RUN)
        ratios = (parts["residual"].sum(axis=1) / hits).tolist()
        return Cell(MEASURED, ratios, None, count)


class Points:
    """The points of a figure, as a table's cells: columns are `panel/point`."""

    def __init__(self, results, spec):
        self.figure, self.entry = Figure(results, spec), spec["entry"]
        self._series = {}

    def expected(self):
        """Return the series and the column of each point, also where a series did not learn."""
        cells = []
        for panel in self.entry["panels"]:
            for series in self.entry["series"]:
                if panel["series"] and series["id"] not in panel["series"]:
                    continue
                points = self._of(series["id"], panel["id"]).points
                cells += [(series["id"], f"{panel['id']}/{point}") for point in points]
        return cells

    def cell(self, name, column):
        """Return the mean of a series at a point, or its change where the panel says so."""
        panel, _, point = column.partition("/")
        [shown] = [one for one in self.entry["panels"] if one["id"] == panel]
        cell = self._plain(name, panel, point)
        base = shown["change_from"]
        if base is None or cell.state != MEASURED:
            return cell
        others = self._plain(base, panel, point)
        changes = [a - b for a, b in zip(cell.seeds, others.seeds, strict=True)]
        return Cell(MEASURED, changes, None, cell.count)

    def _of(self, name, panel):
        if (name, panel) not in self._series:
            self._series[name, panel] = self.figure.series(name, panel)
        return self._series[name, panel]

    def _plain(self, name, panel, point):
        series = self._of(name, panel)
        if series.state != MEASURED:
            return Cell(series.state)
        values = {str(key): found for key, found in series.points.items()}[point]
        return Cell(MEASURED, means(values), None, values.shape[1])


def check_shares(results, page, folder, ledger):
    """Compare the cells of circles or of a figure, and the ledger's rows about them."""
    path = results.root / folder / f"{page}.tsv"
    spec, rows, report = spec_of(path), read_table(path), Report(page)
    if folder == "figures":
        if not kept(results, spec):
            what = "points of searches or rerankings whose runs are not kept"
            report.taken_over[what] += len(rows)
            return report
        if spec["entry"]["over"] == "query":
            return check_queries(results, spec, rows, report)
        report.taken_over["points' tests against the first series"] += len(rows)
        rows = [point_as_cell(row) for row in rows]
    table = Circles(results, spec) if folder == "venn" else Points(results, spec)
    return compare_page(table, page, spec, rows, ledger, report)


def check_queries(results, spec, rows, report):
    """Compare a figure's values of each query, the first series' and another one's."""
    panels = {panel["id"]: panel for panel in spec["entry"]["panels"]}

    def values(name, measure):
        split_id = spec["splits"][name]
        every = [results.values(split_id, run, measure) for run in spec["runs"][name]]
        mean = np.mean(every, axis=0).tolist()
        return dict(zip(results.split(split_id).queries, mean, strict=True))

    of_series, seen = cache(values), defaultdict(list)
    for row in rows:
        seen[row["panel"], row["series"]].append(row["query_id"])
    first, *others = (series["id"] for series in spec["entry"]["series"])
    for panel, name in product(panels, others):
        queries = sorted(of_series(first, panels[panel]["measure"]))
        if sorted(seen[panel, name]) != queries:
            report.differ(f"{panel}/{name}", "queries", len(queries), len(seen[panel, name]))
            return report
    for row in rows:
        where = f"{row['panel']}/{row['series']}/{row['query_id']}"
        measure, report.cells = panels[row["panel"]]["measure"], report.cells + 1
        for name, column in ((row["against"], "first"), (row["series"], "value")):
            ours = of_series(name, measure)[row["query_id"]]
            report.same(where, name, ours, parsed(row[column]))
    report.taken_over["means and tests of circles, which stand in the page's text"] += 1
    return report


def compare_page(table, page, spec, rows, ledger, report):
    """Compare a page's cells, and the ledger's rows about its numbers."""
    compare_cells(table, rows, report)
    if ledger is not None:
        numbers_of(table, page, spec, ledger, report)
        finish(page, ledger, report)
    return report


def kept(results, spec):
    """Return whether the runs behind a figure are there; those of a sweep never are."""
    if spec["entry"]["over"] == "effort":
        return False
    runs = [
        (split_id, run) for name, split_id in spec["splits"].items() for run in spec["runs"][name]
    ]
    return all(results.run_path(split_id, run).is_file() for split_id, run in runs)


def point_as_cell(theirs):
    """Return a point of a figure with the columns of a cell, without those of its test."""
    if "panel" not in theirs:
        return {key: value for key, value in theirs.items() if key not in ("ci_low", "ci_high")}
    point = theirs.get("depth", theirs.get("snapshot", theirs.get("cutoff")))
    seeds = [float(text) for text in theirs["per_seed"].split()]
    spread = repr(float(np.std(seeds, ddof=1))) if len(seeds) > 1 else ""
    added = {"row": theirs["series"], "column": f"{theirs['panel']}/{point}", "std": spread}
    added |= {"measured": theirs["mean"], "not_learned": "false", "ci_low": "", "ci_high": ""}
    return {**theirs, **added}


FOLDERS = ("tables", "claims", "venn", "figures")


def pages_of(results):
    """Return the pages that are compared by default, folder by folder."""
    found = []
    for folder in FOLDERS:
        paths = (results.root / folder).glob("*.tsv")
        found += sorted(path.stem for path in paths)
    return found


def check(results, page, folder, ledger):
    """Compare a page of one of the folders."""
    if folder == "tables":
        return check_table(results, page, ledger)
    if folder == "claims":
        return check_claims(results, page, ledger)
    return check_shares(results, page, folder, ledger)


def recompute(root, pages=None, verdicts=True):
    """Return a report for each page of a results folder; by default of all that it knows.

    Verdicts are compared with ledger.tsv, where the folder has one; not with `verdicts=False`.
    """
    results = Results(root)
    path = results.root / "ledger.tsv"
    ledger = Ledger(read_table(path)) if verdicts and path.is_file() else None
    reports = []
    for page in pages or pages_of(results):
        folders = [name for name in FOLDERS if (results.root / name / f"{page}.tsv").is_file()]
        if not folders:
            raise SystemExit(f"no page {page} in {', '.join(FOLDERS)} of {results.root}")
        try:
            reports.append(check(results, page, folders[0], ledger))
        except NotCompared as why:
            reports.append(Report(page))
            reports[-1].taken_over[f"page: {why}"] += 1
    if ledger is not None and not pages:
        report = Report("ledger")
        for page, _, _, kind, _ in ledger.rows:
            if page not in pages_of(results):
                report.taken_over[f"rows ({kind}) about {page}, which is not recomputed"] += 1
        reports.append(report)
    return reports


def main(arguments=None):
    """Print a report for each page, and return 1 where a value differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="a results folder, such as results/mini")
    parser.add_argument("pages", nargs="*", help="pages such as clear-table1; default: all")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    reports = recompute(options.results, options.pages)
    for report in reports:
        print(report)
    totals = {
        what: sum(getattr(report, what) for report in reports)
        for what in ("cells", "markers", "tests", "verdicts")
    }
    differing = sum(len(report.differences) for report in reports)
    counts = ", ".join(f"{what} {count}" for what, count in totals.items())
    print(f"{len(reports)} pages: {counts}, differences {differing}", end="; ")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
