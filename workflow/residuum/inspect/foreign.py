"""Why another tool's run of the same split differs from ours: likely causes, each tested.

Usage: `residuum explain clear/table1/bm25/dev-rr --against their.run`. Each cause is one change of
our run or of theirs. The change that brings the lists closest together is the likely first cause.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from residuum import lexical
from residuum.artefacts import contracts, trec
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.measures import cutoff, mean
from residuum.config.specs import canonical_json
from residuum.inspect.addressing import PATHS, Cell, find
from residuum.inspect.comparing import ENDINGS
from residuum.inspect.provenance import Manifest, ancestors
from residuum.inspect.text import line, wrapped
from residuum.pages import layout
from residuum.tuning.evaluation import evaluate
from residuum.wiring.paths import folder_of

DEPTHS = (*range(1, 11), 20, 50, 100, 200, 500, 1000)  # at which lists are compared
CHEAP_DOCS, CHEAP_QUERIES = 250_000, 30  # docs that are indexed anew; queries that are encoded anew
POOL = 20  # first docs of both runs that are scored anew
LIKELY = 0.2  # share of the distance that a likely cause takes away
ALL = 0.9  # share that a cause takes away which explains it all
MOST_PLACES = 7  # decimals of scores: more are none that were cut
SAME = 0.0005  # difference of shares that is none
SAME_LISTS = "none: the lists are the same, as far as the measure looks"
IDENTICAL = 0.98  # overlap of our run with the order of our own encoder
SETTINGS = "residuum.json"  # of a checkpoint
BATCH, THREADS = 32, 2
# Parameters of BM25 that tools have as defaults.
KNOWN_BM25 = {
    (0.9, 0.4): "Anserini's",
    (1.2, 0.75): "Lucene's and Elasticsearch's",
    (1.5, 0.75): "bm25s' and rank_bm25's",
    (0.82, 0.68): "Anserini's for MS MARCO passages",
    (0.6, 0.8): "CLEAR's",
}
KEYS = ("analysis", "bm25", "rm3", "joined")  # of a lexical search, of which one is changed
RM3 = {"feedback_docs": 10, "feedback_terms": 10, "original_query_weight": 0.5}
# Pairs of prompts of known encoders, for queries and docs.
PROMPTS = [
    ("query: ", "passage: "),
    ("query: ", ""),
    ("search_query: ", "search_document: "),
    ("Represent this sentence for searching relevant passages: ", ""),
]
LENGTHS = (64, 128, 256, 512)
Matrix = Any  # dense or sparse, a row for each text
Run = pl.DataFrame  # query_id, doc_id, rank, score


class Tested(NamedTuple):
    """A cause with what it changes: the lists with the change, and how near they then are."""

    cause: str
    value: float  # of the measure, of the changed run
    near: float  # mean overlap of the lists, from 0 to 1
    theirs: bool  # whether their run was changed, not ours
    spec: Mapping[str, object] | None = None  # of a search that was made anew


class Both(NamedTuple):
    """Two runs of a split, its judgements, and the measure of a number."""

    ours: Run
    theirs: Run
    judged: pl.DataFrame
    measure: str
    queries: Sequence[str]

    @property
    def depths(self) -> list[int]:
        """The depths down to which the measure looks."""
        last = cutoff(self.measure) or DEPTHS[-1]
        return [depth for depth in DEPTHS if depth <= max(last, 1)]

    def value(self, run: Run) -> float:
        """Return the measure of a run over the queries; one without a list counts 0."""
        held = self.judged.filter(pl.col("query_id").is_in(self.queries))
        values = evaluate(run, held, [self.measure])
        return float(mean(self.measure, values["value"].to_numpy()))

    def near(self, run: Run, other: Run) -> float:
        """Return how much of the lists two runs share, a mean over depths and queries."""
        first, second = (_lists(one) for one in (run, other))
        shares = [
            overlap(first.get(query, []), second.get(query, []), self.depths)
            for query in self.queries
        ]
        return float(np.mean(shares))

    def tested(self, cause: str, run: Run, theirs: bool = False) -> Tested:
        """Return a cause, tested by a changed run of ours or of theirs."""
        other = self.ours if theirs else self.theirs
        return Tested(cause, self.value(run), self.near(run, other), theirs)


def overlap(first: Sequence[str], second: Sequence[str], depths: Sequence[int]) -> float:
    """Return the mean share of docs that two lists have in common at depths; 1 for no docs."""
    shares = []
    for depth in depths:
        a, b = {*first[:depth]}, {*second[:depth]}
        shares.append(len(a & b) / max(len(a), len(b)) if a or b else 1.0)
    return float(np.mean(shares))


def _lists(run: Run) -> dict[str, list[str]]:
    lists = run.sort("query_id", "rank").group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(lists.iter_rows())


def compared(results: Path, path: Path, address: str, reported: float | None = None) -> str:
    """Say why a foreign run gives another number than a cell, by changes that are tested.

    `reported` is the number that its authors give, if the run itself gives another one.
    """
    cell = find(results, address)
    if cell.line.measured is None or not cell.line.split_ref:
        raise ResiduumError(f"{address}: no number of one split, so no run stands behind it")
    if " in " in cell.line.measure:
        raise ResiduumError(f"{address}: a number of some queries; name one of all queries")
    ours = Ours(cell)
    theirs, remark = trec.read_any_run(path)
    judged = trec.read_qrels(ours.qrels)
    queries = sorted(judged["query_id"].unique())
    if not {*queries} & {*theirs["query_id"]}:
        raise ResiduumError(f"{path}: no list of a judged query of {cell.line.split_ref}")
    both = Both(ours.run, theirs, judged, cell.line.measure, queries)
    start, other = both.tested("", ours.run), both.value(theirs)
    same = 1 - start.near < SAME and abs(start.value - other) < SAME / 10
    causes, remarks = [*orders(both), *rounded(both), *lacking(both)], list[str]()
    try:
        causes += removed(both, ours)
        if not same and max((explained(one, start) for one in causes), default=0.0) <= ALL:
            remarks += _anew(both, ours, causes, start)
    except ResiduumError as error:
        remarks.append(f"not tested: {error}")
    except ModuleNotFoundError as error:
        remarks.append(f"not tested: settings, for which this environment lacks {error.name}.")
    of_seeds = f"; seed 1, where the cell is a mean of {cell.line.seeds}: {cell.line.measured:.4f}"
    more = of_seeds * ((cell.line.seeds or 1) > 1)
    text = f"{start.value:.4f} ({cell.line.measure} on {cell.line.split_ref}{more})"
    head = [
        f"{cell.address} in {results}, against {path}",
        "",
        line("ours", text),
        line("theirs", f"{other:.4f}{f'; {remark}' * bool(remark)}"),
        line("shared", f"{start.near:.3f} of the lists, a mean of ranks 1 to {both.depths[-1]}"),
        line("cause", SAME_LISTS if same else verdict(causes, start)),
    ]
    if reported is not None:
        head.append(_reported(both, reported))
    name = ENDINGS.sub("", path.name)
    table = _table(sorted(causes, key=lambda one: -one.near), start, name)
    return "\n".join([*head, "", table, *[wrapped(text) for text in remarks]])


def _anew(both: Both, ours: "Ours", causes: list[Tested], start: Tested) -> list[str]:
    """Add the causes that searching or encoding anew tests to `causes`; return remarks."""
    kind = ours.made.spec.get("kind")
    if kind == "lexical":
        causes += remade(both, ours, ours.made.spec)
        best = max(causes, key=lambda one: one.near)
        if best.spec and LIKELY <= explained(best, start) < ALL:
            causes += remade(both, ours, best.spec, best.cause)
        return []
    if kind == "dense":
        made, how = encoded(both, ours)
        causes += made
        return [how]
    return [f"not tested: settings of a system of kind {kind}. Compare its parts."]


def explained(one: Tested, start: Tested) -> float:
    """Return the share of the distance between the lists that a change takes away."""
    return (one.near - start.near) / max(1 - start.near, 1e-9)


def verdict(causes: Sequence[Tested], start: Tested) -> str:
    """Return what is likely: the change that brings the lists closest together, and its rivals."""
    best = max(causes, key=lambda one: one.near, default=start)
    share = explained(best, start)
    if share < LIKELY:
        tried = f": the best, {best.cause}, explains {share:.0%}" if share > SAME else ""
        return f"none of those tested{tried}"
    rivals = [one.cause for one in causes if one is not best and one.near > best.near - SAME]
    also = f" (as well as {', '.join(rivals)})" if rivals else ""
    rest = "" if share > ALL else "; something else differs, too"
    return f"{best.cause}{also}: explains {share:.0%} of what the lists do not share{rest}"


def _table(causes: Sequence[Tested], start: Tested, name: str) -> str:
    header = ["cause", "changed", "then", "shared", "explains"]
    rows = [["nothing", "", f"{start.value:.4f}", f"{start.near:.3f}", ""]]
    for one in causes:
        changed = name if one.theirs else "ours"
        if abs(one.near - start.near) >= SAME or one.spec:
            share = f"{max(explained(one, start), 0):.0%}"
            rows.append([one.cause, changed, f"{one.value:.4f}", f"{one.near:.3f}", share])
    return layout.grid(header, rows)


def _reported(both: Both, reported: float) -> str:
    """Return which way of measuring their run gives the number that its authors report."""
    name, at, depth = both.measure.partition("@")
    ways = {"as here": both.measure, "relevance from 2": f"{name}(rel=2){at}{depth}"}
    ways |= {"judged docs alone": f"{name}(judged_only=True){at}{depth}", "no cutoff": name}
    if name == "nDCG":
        ways["gains 2^level - 1"] = f"nDCG(dcg='exp-log2'){at}{depth}"
    held = both._replace(queries=[*{*both.queries} & {*both.theirs["query_id"]}])
    values = {}
    for way, measure in ways.items():
        try:
            values[way] = both._replace(measure=measure).value(both.theirs)
            if len(held.queries) < len(both.queries):
                alone = held._replace(measure=measure).value(held.theirs)
                values[f"{way}, queries with a list alone"] = alone
        except (ResiduumError, ValueError):
            continue  # the measure has no such form
    fitting = [way for way, value in values.items() if abs(value - reported) < 0.0005]
    tried = ", ".join(f"{way} {value:.4f}" for way, value in values.items())
    text = ", or ".join(fitting) or f"no way of measuring that was tried: {tried}"
    return line("reported", f"{reported:g}: {text}")


def orders(both: Both) -> Iterator[Tested]:
    """Yield other orders of equal scores, in our run and in theirs."""
    for theirs, run in ((False, both.ours), (True, both.theirs)):
        now = run.sort("query_id", "rank").select("doc_id")
        for way, made in _by_id(run):
            if not made.select("doc_id").equals(now):
                yield both.tested(f"equal scores by doc id, from the {way}", made, theirs)


def rounded(both: Both) -> Iterator[Tested]:
    """Yield our run with scores of as few decimals as theirs have, ties by doc id."""
    for places in range(MOST_PLACES):
        if (both.theirs["score"] - both.theirs["score"].round(places)).abs().max() == 0:
            cut = both.ours.with_columns(pl.col("score").round(places))
            for way, made in _by_id(cut):
                cause = f"scores of {places} decimals, ties by doc id from the {way}"
                yield both.tested(cause, made)
            return


def _by_id(run: Run) -> Iterator[tuple[str, Run]]:
    """Yield a run with equal scores in the order of doc ids, from the first and from the last."""
    for last, way in ((False, "first"), (True, "last")):
        by = run.sort(["query_id", "score", "doc_id"], descending=[False, True, last])
        yield way, by.with_columns(rank=trec.POSITION)


def lacking(both: Both) -> Iterator[Tested]:
    """Yield the queries and the depths that their run lacks."""
    gone = {*both.ours["query_id"]} - {*both.theirs["query_id"]}
    if gone:
        kept = both.ours.filter(~pl.col("query_id").is_in([*gone]))
        yield both.tested(f"{len(gone)} queries without a list", kept)
    depth, own = (one.group_by("query_id").len()["len"].max() for one in (both.theirs, both.ours))
    if isinstance(depth, int) and isinstance(own, int) and depth < own:
        yield both.tested(f"lists that end at rank {depth}", trec.cut(both.ours, depth))


def removed(both: Both, ours: "Ours") -> Iterator[Tested]:
    """Yield docs that one side leaves out: a query's own, empty and unjudged ones, and others."""
    own = both.ours.filter(pl.col("query_id") != pl.col("doc_id"))
    if own.height < both.ours.height:
        yield both.tested("the doc with a query's own id left out", _again(own))
    back = both.theirs.filter(pl.col("query_id") != pl.col("doc_id"))
    if back.height < both.theirs.height:
        yield both.tested("the doc with a query's own id left out", _again(back), theirs=True)
    pairs = both.judged.select(trec.PAIR)
    theirs_judged = both.theirs.join(pairs, on=trec.PAIR, how="anti").is_empty()
    if theirs_judged:
        yield both.tested(
            "judged docs alone", _again(both.ours.join(pairs, on=trec.PAIR, how="semi"))
        )
    if ours.docs > CHEAP_DOCS:
        text = f"{ours.docs:,} docs are looked through and indexed only up to {CHEAP_DOCS:,}"
        raise ResiduumError(f"empty and unknown docs, and settings, because {text}")
    known = {*ours.texts}
    unknown = both.theirs.filter(~pl.col("doc_id").is_in([*known]))
    if unknown.height:
        kept = both.theirs.filter(pl.col("doc_id").is_in([*known]))
        count = unknown["doc_id"].n_unique()
        yield both.tested(f"{count} docs that our collection lacks", _again(kept), theirs=True)
    empty = [name for name, text in ours.texts.items() if not text.strip()]
    if empty:
        for theirs, run in ((False, both.ours), (True, both.theirs)):
            kept = run.filter(~pl.col("doc_id").is_in(empty))
            if kept.height < run.height:
                yield both.tested(f"{len(empty)} empty docs left out", _again(kept), theirs)


def _again(run: Run) -> Run:
    """Return a run whose ranks count from 1 again."""
    return run.sort("query_id", "rank").with_columns(rank=trec.POSITION)


class Ours:
    """Our run behind a cell, of the first seed, and the artefacts that it was made from."""

    def __init__(self, cell: Cell) -> None:
        self.results, self.graph = cell.results, cell.graph
        metrics = [path for path in cell.roots if PATHS.metrics.parse(path)]
        parents = [path for metric in metrics[:1] for path in self.graph[metric].parents]
        runs = {path: at for path in parents if (at := PATHS.run.parse(path))}
        if len(runs) != 1 or len({path.rpartition("/")[0] for path in metrics}) > 1:
            raise ResiduumError(f"{cell.address}: not one run stands behind it")
        [(self.path, at)] = runs.items()
        self.split = {key: at[key] for key in ("dataset", "split")}

    @cached_property
    def run(self) -> Run:
        """The run itself, with exact scores."""
        return trec.read_run(self.results / self.path)

    @property
    def qrels(self) -> Path:
        """The judgements of the split."""
        return self.results / PATHS.qrels.fill(**self.split)

    @property
    def queries(self) -> Path:
        """The queries of the split."""
        return self.results / PATHS.queries.fill(**self.split)

    @property
    def corpus(self) -> Path:
        """The folder of the collection."""
        return self.results / folder_of(PATHS.corpus.fill(dataset=self.split["dataset"]))

    @cached_property
    def docs(self) -> int:
        """The number of docs."""
        return int(contracts.corpus_manifest(self.corpus)["docs"])

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of all docs."""
        return dict(contracts.read_corpus(self.corpus))

    @cached_property
    def bodies(self) -> dict[str, str]:
        """The texts of docs without their titles; none where docs have no parts."""
        return {
            doc["doc_id"]: doc["body"] for doc in contracts.read_docs(self.corpus) if "body" in doc
        }

    @property
    def checkpoint(self) -> Path:
        """The folder of the encoder behind a dense run."""
        for artefact in reversed(ancestors(self.graph, [self.path])):  # the nearest first
            if PATHS.checkpoint.parse(f"{artefact.path}/manifest.json"):
                return self.results / artefact.path
        raise ResiduumError("the encoder's settings, because no checkpoint stands behind the run")

    @property
    def made(self) -> Manifest:
        """The manifest of the run."""
        return self.graph.manifest(self.path)


def remade(
    both: Both, ours: Ours, spec: Mapping[str, object], before: str = ""
) -> Iterator[Tested]:
    """Yield searches with one other setting than a spec's, where ours is a lexical search.

    `before` is the change that made the spec.
    """
    if why := _cannot(spec, str(ours.made.environment.get("command", ""))):
        raise ResiduumError(f"settings, because {why}")
    changes = [*_lexical(dict(spec), bool(ours.bodies))]
    if before:  # what was changed before is not changed again
        kept = {key: spec[key] for key in KEYS if spec[key] != ours.made.spec[key]}
        changes = [one for one in changes if all(one[1][key] == kept[key] for key in kept)]
    with tempfile.TemporaryDirectory(prefix="residuum-") as temporary:
        folder, indexes = Path(temporary), dict[str, Path]()
        for number, (cause, changed) in enumerate(
            track(changes, "search", len(changes), "settings")
        ):
            form = {"analysis": changed["analysis"], "fields": [*_mapping(changed["boosts"])]}
            form["joined"] = changed["joined"]
            key = canonical_json(form)
            if key not in indexes:
                indexes[key] = folder / f"index-{len(indexes)}"
                lexical.index(ours.corpus, key, indexes[key])
            made = folder / f"{number}.trec.gz"
            lexical.search(indexes[key], ours.queries, canonical_json(changed), "changed", made)
            tested = both.tested(f"{before} and {cause}" if before else cause, trec.read_run(made))
            yield tested._replace(spec=changed)


def _cannot(spec: Mapping[str, object], command: str) -> str:
    """Return why a lexical search cannot be made anew with other settings, or ""."""
    if spec.get("term_weights"):
        return "its terms are weighed by a model"
    if "stemmer" not in _mapping(spec["analysis"]):
        return "its terms are not those of Lucene's analysis"
    if _mapping(spec.get("rm3")).get("value", 0) is None:
        return "its RM3 was tuned"
    if "--judged-before" in command:
        return "docs that were judged before are taken out of its lists"
    return ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _lexical(spec: dict[str, object], parted: bool) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield causes with the settings of a lexical search that they stand for."""
    spec = {key: value for key, value in spec.items() if key not in ("label", "budgets")}
    analysis, own = _mapping(spec["analysis"]), _mapping(spec["bm25"])
    for stemmer in ("porter", "krovetz", "none"):
        if stemmer != analysis["stemmer"]:
            yield f"stemmer {stemmer}", {**spec, "analysis": {**analysis, "stemmer": stemmer}}
    other = "none" if analysis["stopwords"] == "lucene" else "lucene"
    yield f"stopwords {other}", {**spec, "analysis": {**analysis, "stopwords": other}}
    words = {**analysis, "stemmer": "none", "stopwords": "none"}
    if "none" not in (analysis["stemmer"], analysis["stopwords"]):
        yield "words as they are (stemmer none, stopwords none)", {**spec, "analysis": words}
    for (k1, b), whose in KNOWN_BM25.items():
        if (k1, b) != (own.get("k1"), own.get("b")):
            yield f"k1 {k1:g}, b {b:g} ({whose})", {**spec, "bm25": {"k1": k1, "b": b}}
    if spec.get("rm3"):
        yield "no RM3", {**spec, "rm3": None}
    elif not spec.get("boosts"):
        yield "RM3 (10 docs, 10 terms, 0.5)", {**spec, "rm3": {"value": RM3}}
    if parted and not spec.get("boosts") and not spec.get("joined"):
        yield "no titles", {**spec, "joined": ["body"]}


def encoded(both: Both, ours: Ours) -> tuple[list[Tested], str]:
    """Return orders of the first docs by an encoder like ours with one other setting, and a remark.

    Of some queries, the first docs of both runs are encoded anew and put into order.
    """
    checkpoint = ours.checkpoint
    settings = json.loads((checkpoint / SETTINGS).read_bytes())
    pooling = settings["pooling"]["kind"] if isinstance(settings["pooling"], dict) else ""
    if "tokens" in (pooling, settings["pooling"]):
        raise ResiduumError("the encoder's settings, because each token has a vector")
    shared = sorted({*both.queries} & {*both.ours["query_id"]} & {*both.theirs["query_id"]})
    some = shared[:: max(1, len(shared) // CHEAP_QUERIES)][:CHEAP_QUERIES]
    heads = pl.concat([trec.cut(run, POOL) for run in (both.ours, both.theirs)])
    pool = heads.filter(pl.col("query_id").is_in(some)).select(trec.PAIR).unique().sort(trec.PAIR)
    ours_within, theirs_within = (_within(run, pool) for run in (both.ours, both.theirs))
    looks = both.measure if (cutoff(both.measure) or POOL) < POOL else "nDCG@10"
    within = Both(ours_within, theirs_within, both.judged, looks, some)
    near = within.near(within.ours, within.theirs)
    if 1 - near < SAME:
        raise ResiduumError(f"the encoder's settings, because the first {POOL} docs are the same")
    texts_of_queries = trec.read_queries(ours.queries)
    scale = (1 - both.near(both.ours, both.theirs)) / (1 - near)
    kept, made = dict[str, Matrix](), list[Tested]()
    own = _ordered(checkpoint, settings, pool, texts_of_queries, ours.texts, kept)
    if (alike := within.near(own, within.ours)) < IDENTICAL:
        raise ResiduumError(
            "the encoder's settings, because its order of our docs is not that of our run (overlap "
            f"{alike:.2f}). Docs have several vectors or are read in passages, or queries have an "
            "encoder of their own"
        )
    variants = [*_dense(settings, bool(ours.bodies))]
    for cause, changed, bodies in track(variants, "encode", len(variants), "settings"):
        texts = ours.bodies if bodies else ours.texts
        try:
            run = _ordered(checkpoint, settings | changed, pool, texts_of_queries, texts, kept)
        except ResiduumError:
            continue  # no such setting of this encoder
        tested = within.tested(cause, run)
        # In the units of the whole lists, so that causes compare.
        made.append(tested._replace(near=1 - (1 - tested.near) * scale))
    values = [f"{within.value(run):.4f}" for run in (within.ours, within.theirs)]
    return made, (
        f"Settings of the encoder were tested on {len(some)} queries, by the first {POOL} docs of "
        f"both runs: there {looks} is {values[0]} of ours and {values[1]} of theirs."
    )


def _within(run: Run, pool: pl.DataFrame) -> Run:
    return _again(run.join(pool, on=trec.PAIR, how="semi"))


def _dense(
    settings: dict[str, object], parted: bool
) -> Iterator[tuple[str, dict[str, object], bool]]:
    """Yield causes with other settings of an encoder, and whether docs are read without titles."""
    own = (str(settings.get("query_prompt", "")), str(settings.get("doc_prompt", "")))
    if any(own):
        yield "no prompt", {"query_prompt": "", "doc_prompt": ""}, False
    for query, doc in PROMPTS:
        if (query, doc) != own:
            yield (
                f"prompts {query!r} and {doc!r}",
                {"query_prompt": query, "doc_prompt": doc},
                False,
            )
    for length in LENGTHS:
        if length < int(str(settings["doc_length"])):
            yield f"docs of {length} tokens", {"doc_length": length}, False
    other = "dot" if settings.get("normalise") else "cosine"
    yield f"similarity {other}", {"normalise": other == "cosine"}, False
    for pooling in ("mean", "cls"):
        if settings["pooling"] not in (pooling, {"kind": pooling}):
            yield f"pooling {pooling}", {"pooling": pooling}, False
    if parted:
        yield "no titles", {}, True


def _ordered(
    checkpoint: Path,
    settings: Mapping[str, object],
    pool: pl.DataFrame,
    texts_of_queries: Mapping[str, str],
    texts: Mapping[str, str],
    kept: dict[str, Matrix],
) -> Run:
    """Return pairs in the order of the scores of an encoder with these settings.

    `kept` has the vectors of docs, by what they depend on.
    """
    from residuum.neural import devices
    from residuum.neural.encoders import Encoder

    queries = pool["query_id"].unique(maintain_order=True).to_list()
    docs = pool["doc_id"].unique().sort().to_list()
    alone = {key: value for key, value in settings.items() if not key.startswith("query_")}
    key = canonical_json([alone, sum(map(len, texts.values()))])
    with tempfile.TemporaryDirectory(prefix="residuum-") as temporary:
        folder = Path(temporary) / "model"
        shutil.copytree(checkpoint, folder, copy_function=_linked)
        for name in ("manifest.json", SETTINGS):
            (folder / name).unlink(missing_ok=True)
        (folder / SETTINGS).write_text(json.dumps(settings))
        encoder = Encoder.load(folder, devices.choose("auto", "auto", THREADS))
        of_queries, _ = encoder.vectors(
            [texts_of_queries[name] for name in queries], "query", BATCH
        )
        if key not in kept:
            kept[key], _ = encoder.vectors([texts[name] for name in docs], "doc", BATCH, len(docs))
    product = of_queries @ kept[key].T
    scores = np.asarray(product.todense() if hasattr(product, "todense") else product)
    if scores.shape != (len(queries), len(docs)):
        raise ResiduumError("the encoder's settings, because a doc has several vectors")
    rows, columns = ({name: n for n, name in enumerate(some)} for some in (queries, docs))
    values = [float(scores[rows[query], columns[doc]]) for query, doc in pool.rows()]
    return trec.rank(pool.with_columns(score=pl.Series(values, dtype=pl.Float64)))


def _linked(source: str, target: str) -> None:
    Path(target).symlink_to(Path(source).resolve())
