"""Why another tool's run of the same split differs from ours: likely causes, each tested.

Usage: `residuum explain clear/table1/bm25/dev-rr --against their.run`. Each cause is one change of
our run or of theirs. The change that brings the lists closest together is the likely first cause.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from residuum import lexical
from residuum.artefacts import contracts, trec
from residuum.artefacts.manifest import FOLDER
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.measures import cutoff, mean
from residuum.config.specs import canonical_json
from residuum.inspect import comparing
from residuum.inspect.addressing import PATHS, Cell, find
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


class Cause(NamedTuple):
    """A change that is tested: its name, and what the changed run comes to."""

    name: str
    value: float  # of the measure
    overlap: float  # with the other run, from 0 to 1
    theirs: bool  # whether their run was changed, not ours
    spec: Mapping[str, object] | None = None  # of a search that was made anew


class RunPair(NamedTuple):
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
        judged = self.judged.filter(pl.col("query_id").is_in(self.queries))
        values = evaluate(run, judged, [self.measure])
        return float(mean(self.measure, values["value"].to_numpy()))

    def overlap(self, run: Run, other: Run) -> float:
        """Return the average overlap of the lists of two runs, a mean over queries."""
        first, second = (comparing.orders(one) for one in (run, other))
        shares = [
            average_overlap(first.get(query, []), second.get(query, []), self.depths)
            for query in self.queries
        ]
        return float(np.mean(shares))

    def tested(self, cause: str, run: Run, theirs: bool = False) -> Cause:
        """Return a cause, tested by a changed run of ours or of theirs."""
        other = self.ours if theirs else self.theirs
        return Cause(cause, self.value(run), self.overlap(run, other), theirs)


def average_overlap(first: Sequence[str], second: Sequence[str], depths: Sequence[int]) -> float:
    """Return the mean share of docs that two lists have in common at depths; 1 for no docs.

    Rank-biased overlap would weigh the first ten or so alone, and not see where a list is cut.
    Source: Webber, Moffat and Zobel, TOIS 2010 (average overlap), here at fewer depths.
    """
    shares = []
    for depth in depths:
        a, b = {*first[:depth]}, {*second[:depth]}
        shares.append(len(a & b) / max(len(a), len(b)) if a or b else 1.0)
    return float(np.mean(shares))


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
    theirs, remark = comparing.read_run(path)
    judged = trec.read_qrels(ours.qrels)
    queries = sorted(judged["query_id"].unique())
    if not {*queries} & {*theirs["query_id"]}:
        raise ResiduumError(f"{path}: no list of a judged query of {cell.line.split_ref}")
    pair = RunPair(ours.run, theirs, judged, cell.line.measure, queries)
    start, other = pair.tested("", ours.run), pair.value(theirs)
    same = 1 - start.overlap < SAME and abs(start.value - other) < SAME / 10
    causes, remarks = [*orders(pair), *rounded(pair), *lacking(pair)], list[str]()
    try:
        causes += removed(pair, ours)
        if not same and max((explained(one, start) for one in causes), default=0.0) <= ALL:
            settings, remarks = _anew(pair, ours, start)
            causes += settings
    except ResiduumError as error:
        remarks.append(f"not tested: {error}")
    except ModuleNotFoundError as error:
        remarks.append(f"not tested: settings, for which this environment lacks {error.name}.")
    head = [
        f"{cell.address} in {results}, against {path}",
        "",
        line("ours", f"{start.value:.4f} ({_where(cell)})"),
        line("theirs", f"{other:.4f}{f'; {remark}' * bool(remark)}"),
        line("overlap", f"{start.overlap:.3f}, average of ranks 1 to {pair.depths[-1]}"),
        line("cause", SAME_LISTS if same else verdict(causes, start)),
    ]
    if reported is not None:
        head.append(_reported(pair, reported))
    name = comparing.ENDINGS.sub("", path.name)
    table = _table(sorted(causes, key=lambda one: -one.overlap), start, name)
    return "\n".join([*head, "", table, *[wrapped(text) for text in remarks]])


def _where(cell: Cell) -> str:
    """Return the measure and the split of a cell, and which of several seeds our run is of."""
    text, seeds = f"{cell.line.measure} on {cell.line.split_ref}", cell.line.seeds or 1
    more = f"; seed 1, where the cell is a mean of {seeds}: {cell.line.measured:.4f}"
    return f"{text}{more}" if seeds > 1 else text


def _anew(pair: RunPair, ours: "Ours", start: Cause) -> tuple[list[Cause], list[str]]:
    """Return the causes that searching or encoding anew tests, and remarks."""
    kind = ours.made.spec.get("kind")
    if kind == "lexical":
        causes = [*remade(pair, ours, ours.made.spec)]
        best = max(causes, key=lambda one: one.overlap)
        if best.spec and LIKELY <= explained(best, start) < ALL:
            causes += remade(pair, ours, best.spec, best.name)
        return causes, []
    if kind == "dense":
        causes, remark = encoded(pair, ours)
        return causes, [remark]
    return [], [f"not tested: settings of a system of kind {kind}. Compare its parts."]


def explained(one: Cause, start: Cause) -> float:
    """Return the share of the distance between the lists that a change takes away."""
    return (one.overlap - start.overlap) / max(1 - start.overlap, 1e-9)


def verdict(causes: Sequence[Cause], start: Cause) -> str:
    """Return what is likely: the change that brings the lists closest together, and its rivals."""
    best = max(causes, key=lambda one: one.overlap, default=start)
    share = explained(best, start)
    if share < LIKELY:
        tried = f": the best, {best.name}, explains {share:.0%}" if share > SAME else ""
        return f"none of those tested{tried}"
    rivals = [one.name for one in causes if one is not best and one.overlap > best.overlap - SAME]
    also = f" (as well as {', '.join(rivals)})" if rivals else ""
    rest = "" if share > ALL else "; something else differs, too"
    return f"{best.name}{also}: explains {share:.0%} of what the lists do not share{rest}"


def _table(causes: Sequence[Cause], start: Cause, name: str) -> str:
    header = ["cause", "changed", "then", "overlap", "explains"]
    rows = [["nothing", "", f"{start.value:.4f}", f"{start.overlap:.3f}", ""]]
    for one in causes:
        changed = name if one.theirs else "ours"
        if abs(one.overlap - start.overlap) >= SAME or one.spec:
            share = f"{max(explained(one, start), 0):.0%}"
            rows.append([one.name, changed, f"{one.value:.4f}", f"{one.overlap:.3f}", share])
    return layout.grid(header, rows)


def _reported(pair: RunPair, reported: float) -> str:
    """Return which way of measuring their run gives the number that its authors report."""
    name, at, depth = pair.measure.partition("@")
    ways = {"as here": pair.measure, "relevance from 2": f"{name}(rel=2){at}{depth}"}
    ways |= {"judged docs alone": f"{name}(judged_only=True){at}{depth}", "no cutoff": name}
    if name == "nDCG":
        ways["gains 2^level - 1"] = f"nDCG(dcg='exp-log2'){at}{depth}"
    listed = pair._replace(queries=[*{*pair.queries} & {*pair.theirs["query_id"]}])
    values = {}
    for way, measure in ways.items():
        try:
            values[way] = pair._replace(measure=measure).value(pair.theirs)
            if len(listed.queries) < len(pair.queries):
                alone = listed._replace(measure=measure).value(listed.theirs)
                values[f"{way}, queries with a list alone"] = alone
        except (ResiduumError, ValueError):
            continue  # the measure has no such form
    fitting = [way for way, value in values.items() if abs(value - reported) < 0.0005]
    tried = ", ".join(f"{way} {value:.4f}" for way, value in values.items())
    text = ", or ".join(fitting) or f"no way of measuring that was tried: {tried}"
    return line("reported", f"{reported:g}: {text}")


def orders(pair: RunPair) -> Iterator[Cause]:
    """Yield other orders of equal scores, in our run and in theirs."""
    for theirs, run in ((False, pair.ours), (True, pair.theirs)):
        now = run.sort("query_id", "rank").select("doc_id")
        for way, made in _by_id(run):
            if not made.select("doc_id").equals(now):
                yield pair.tested(f"equal scores by doc id, from the {way}", made, theirs)


def rounded(pair: RunPair) -> Iterator[Cause]:
    """Yield our run with scores of as few decimals as theirs have, ties by doc id."""
    for places in range(MOST_PLACES):
        if (pair.theirs["score"] - pair.theirs["score"].round(places)).abs().max() == 0:
            cut = pair.ours.with_columns(pl.col("score").round(places))
            for way, made in _by_id(cut):
                cause = f"scores of {places} decimals, ties by doc id from the {way}"
                yield pair.tested(cause, made)
            return


def _by_id(run: Run) -> Iterator[tuple[str, Run]]:
    """Yield a run with equal scores in the order of doc ids, from the first and from the last."""
    yield from (("first", trec.by_score(run)), ("last", trec.by_score(run, last=True)))


def lacking(pair: RunPair) -> Iterator[Cause]:
    """Yield the queries and the depths that their run lacks."""
    gone = {*pair.ours["query_id"]} - {*pair.theirs["query_id"]}
    if gone:
        kept = pair.ours.filter(~pl.col("query_id").is_in([*gone]))
        yield pair.tested(f"{len(gone)} queries without a list", kept)
    depth, own = (one.group_by("query_id").len()["len"].max() for one in (pair.theirs, pair.ours))
    if isinstance(depth, int) and isinstance(own, int) and depth < own:
        yield pair.tested(f"lists that end at rank {depth}", trec.cut(pair.ours, depth))


def removed(pair: RunPair, ours: "Ours") -> Iterator[Cause]:
    """Yield docs that one side leaves out: a query's own, empty and unjudged ones, and others."""
    sides = ((False, pair.ours), (True, pair.theirs))
    for theirs, run in sides:
        kept = run.filter(pl.col("query_id") != pl.col("doc_id"))
        if kept.height < run.height:
            yield pair.tested("the doc with a query's own id left out", _counted(kept), theirs)
    pairs = pair.judged.select(trec.PAIR)
    if pair.theirs.join(pairs, on=trec.PAIR, how="anti").is_empty():
        kept = pair.ours.join(pairs, on=trec.PAIR, how="semi")
        yield pair.tested("judged docs alone", _counted(kept))
    if ours.docs > CHEAP_DOCS:
        text = f"{ours.docs:,} docs are looked through and indexed only up to {CHEAP_DOCS:,}"
        raise ResiduumError(f"empty and unknown docs, and settings, because {text}")
    unknown = {*pair.theirs["doc_id"]} - ours.texts.keys()
    if unknown:
        kept = pair.theirs.filter(~pl.col("doc_id").is_in([*unknown]))
        yield pair.tested(f"{len(unknown)} docs that our collection lacks", _counted(kept), True)
    empty = [name for name, text in ours.texts.items() if not text.strip()]
    for theirs, run in sides:
        kept = run.filter(~pl.col("doc_id").is_in(empty))
        if kept.height < run.height:
            yield pair.tested(f"{len(empty)} empty docs left out", _counted(kept), theirs)


def _counted(run: Run) -> Run:
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
    def _parts(self) -> list[contracts.Record]:
        return [*contracts.read_docs(self.corpus)]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of all docs."""
        return {doc["doc_id"]: doc["text"] for doc in self._parts}

    @cached_property
    def bodies(self) -> dict[str, str]:
        """The texts of docs without their titles; none where docs have no parts."""
        return {doc["doc_id"]: doc["body"] for doc in self._parts if "body" in doc}

    @property
    def checkpoint(self) -> Path:
        """The folder of the encoder behind a dense run."""
        for artefact in reversed(ancestors(self.graph, [self.path])):  # the nearest first
            if PATHS.checkpoint.parse(f"{artefact.path}/{FOLDER}"):
                return self.results / artefact.path
        raise ResiduumError("the encoder's settings, because no checkpoint stands behind the run")

    @property
    def made(self) -> Manifest:
        """The manifest of the run."""
        return self.graph.manifest(self.path)


def remade(
    pair: RunPair, ours: Ours, spec: Mapping[str, object], before: str = ""
) -> Iterator[Cause]:
    """Yield searches with one other setting than a spec's, where ours is a lexical search.

    `before` is the change that made the spec.
    """
    if why := _cannot(spec, str(ours.made.environment.get("command", ""))):
        raise ResiduumError(f"settings, because {why}")
    changes = [*_lexical(dict(spec), bool(ours.bodies))]
    if before:  # what was changed before is not changed again
        first = {key: spec[key] for key in KEYS if spec[key] != ours.made.spec[key]}
        changes = [one for one in changes if {**one[1], **first} == one[1]]
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
            tested = pair.tested(f"{before} and {cause}" if before else cause, trec.read_run(made))
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


def encoded(pair: RunPair, ours: Ours) -> tuple[list[Cause], str]:
    """Return orders of the first docs by an encoder like ours with one other setting, and a remark.

    Of some queries, the first docs of both runs are encoded anew and put into order.
    """
    shared = sorted({*pair.queries} & {*pair.ours["query_id"]} & {*pair.theirs["query_id"]})
    some = shared[:: max(1, len(shared) // CHEAP_QUERIES)][:CHEAP_QUERIES]
    heads = pl.concat([trec.cut(run, POOL) for run in (pair.ours, pair.theirs)])
    pool = heads.filter(pl.col("query_id").is_in(some)).select(trec.PAIR).unique().sort(trec.PAIR)
    looks = pair.measure if (cutoff(pair.measure) or POOL) < POOL else "nDCG@10"
    first, second = (_within(run, pool) for run in (pair.ours, pair.theirs))
    within = RunPair(first, second, pair.judged, looks, some)
    distance = 1 - within.overlap(first, second)
    if distance < SAME:
        raise ResiduumError(f"the encoder's settings, because the first {POOL} docs are the same")
    orderer = Orderer(ours, pool)
    alike = within.overlap(orderer.order({}), first)
    if alike < IDENTICAL:
        raise ResiduumError(
            "the encoder's settings, because its order of our docs is not that of our run (overlap "
            f"{alike:.2f}). Docs are read in passages, or queries have an encoder of their own"
        )
    scale = (1 - pair.overlap(pair.ours, pair.theirs)) / distance
    causes, variants = list[Cause](), [*_dense(orderer.settings, bool(ours.bodies))]
    for name, changed, bodies in track(variants, "encode", len(variants), "settings"):
        with suppress(ResiduumError):  # of a setting that this encoder does not have
            cause = within.tested(name, orderer.order(changed, bodies))
            # In the units of the whole lists, so that causes compare.
            causes.append(cause._replace(overlap=1 - (1 - cause.overlap) * scale))
    values = [f"{within.value(run):.4f}" for run in (first, second)]
    return causes, (
        f"Settings of the encoder were tested on {len(some)} queries, by the first {POOL} docs of "
        f"both runs: there {looks} is {values[0]} of ours and {values[1]} of theirs."
    )


def _within(run: Run, pool: pl.DataFrame) -> Run:
    return _counted(run.join(pool, on=trec.PAIR, how="semi"))


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


class Orderer:
    """Puts pairs of queries and docs into the order of our encoder's scores, with other settings.

    Vectors of docs are kept, by the settings that they depend on.
    """

    def __init__(self, ours: Ours, pool: pl.DataFrame) -> None:
        from residuum.neural.pretrained import SETTINGS

        self.ours, self.pool, self.file = ours, pool, SETTINGS
        self.settings = json.loads((ours.checkpoint / SETTINGS).read_bytes())
        self.queries = trec.read_queries(ours.queries)
        self._kept: dict[str, Matrix] = {}

    def order(self, changed: Mapping[str, object], bodies: bool = False) -> Run:
        """Return the pairs in order, by changed settings, or by docs without their titles."""
        from residuum.neural import devices
        from residuum.neural.encoders import Encoder

        queries, docs = (self.pool[name].unique().sort().to_list() for name in trec.PAIR)
        settings = self.settings | changed
        of_docs = {name: value for name, value in settings.items() if not name.startswith("query_")}
        key = canonical_json([bodies, of_docs])
        texts = self.ours.bodies if bodies else self.ours.texts
        with tempfile.TemporaryDirectory(prefix="residuum-") as temporary:
            folder = Path(temporary) / "model"
            shutil.copytree(self.ours.checkpoint, folder, copy_function=_linked)
            for name in (FOLDER, self.file):
                (folder / name).unlink(missing_ok=True)
            (folder / self.file).write_text(json.dumps(settings))
            encoder = Encoder.load(folder, devices.choose("auto", "auto", THREADS))
            asked, _ = encoder.vectors([self.queries[name] for name in queries], "query", BATCH)
            if key not in self._kept:
                read = [texts[name] for name in docs]
                self._kept[key], _ = encoder.vectors(read, "doc", BATCH, len(docs))
        product = asked @ self._kept[key].T
        scores = np.asarray(product.todense() if hasattr(product, "todense") else product)
        if scores.shape != (len(queries), len(docs)):
            raise ResiduumError("the encoder's settings, because a text has several vectors")
        rows, columns = ({name: n for n, name in enumerate(some)} for some in (queries, docs))
        values = [float(scores[rows[query], columns[doc]]) for query, doc in self.pool.rows()]
        return trec.rank(self.pool.with_columns(score=pl.Series(values, dtype=pl.Float64)))


def _linked(source: str, target: str) -> None:
    Path(target).symlink_to(Path(source).resolve())
