"""Run searches anew in memory, under a clock: which phase takes how long.

Usage: `Watch(results, graph, queries, Sample()).answer(run)`. A search is run by the functions and
settings of its stages, as manifests tell them. Indexes, vectors, models and texts are opened before
the clock starts, and no file is written under it.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import polars as pl

from residuum import dense, function, fusion, lexical, rrf, termvectors
from residuum.artefacts import contracts, hits, shards, trec
from residuum.artefacts.residual import Residual
from residuum.artefacts.streams import chunks
from residuum.artefacts.termvectors import TermVectors
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.settings import Interpolation, Rm3
from residuum.config.schema.systems import (
    DenseSystem,
    FunctionSystem,
    FusionSystem,
    HybridSystem,
    LexicalSystem,
    ReciprocalRankSystem,
)
from residuum.hybrid import docs_of_part
from residuum.inspect import provenance
from residuum.tuning.choosing import LAMBDA, Record
from residuum.tuning.unions import Proof
from residuum.vectors import hybrid
from residuum.vectors.hybrid import Docs
from residuum.vectors.nearest import Index, pair_scores, use_threads, with_ids
from residuum.vectors.projection import project
from residuum.vectors.scores import Vectors, in_order, some_rows

if TYPE_CHECKING:
    from residuum.neural.devices import Device

# Of a query, a mean of all: float64 (repeats,), by phase and by the artefact that the phase makes.
# Systems that share an artefact share its time.
Seconds = dict[tuple[str, str], np.ndarray]
T = TypeVar("T")
R = TypeVar("R")


class Sample(NamedTuple):
    """How many queries are timed, how many are answered at once, how often, by how many threads."""

    queries: int = 200
    at_once: int | None = None  # all of them
    repeats: int = 3
    threads: int = 1

    def check(self) -> None:
        """Raise ResiduumError for a number below 1."""
        given = {name: value for name, value in self._asdict().items() if value is not None}
        if low := [name for name, value in given.items() if value < 1]:
            raise ResiduumError(f"{low[0]}: {given[low[0]]} is below 1")


class Answer(NamedTuple):
    """The lists of some queries, and the time that each phase of the search took."""

    lists: pl.DataFrame
    seconds: Seconds

    def of(self, query_ids: Iterable[str]) -> pl.DataFrame:
        """Return the lists of some queries."""
        return _of(self.lists, query_ids)

    def phases(self) -> dict[str, np.ndarray]:
        """Return the seconds of each phase."""
        total = dict[str, np.ndarray]()
        for (phase, _), took in self.seconds.items():
            total[phase] = total.get(phase, np.zeros(len(took))) + took
        return total


class Made(NamedTuple):
    """What made an artefact: the verb of a stage, its spec and options, and where paths begin."""

    below: str  # the artefact's path below the results
    verb: tuple[str, str]
    spec: str
    options: Mapping[str, list[str]]
    prefix: str
    results: Path

    def path(self, text: str) -> Path:
        """Return where a path of the command lies now."""
        inside = text.startswith(self.prefix)
        return self.results / text.removeprefix(self.prefix) if inside else Path(text)

    def paths(self, option: str) -> list[Path]:
        """Return all paths of an option, or none of an option that is not given."""
        return [self.path(text) for text in self.options.get(option, [])]

    def named(self, option: str) -> list[tuple[str, Path]]:
        """Return the names and paths of an option of the form NAME=PATH."""
        given = command.pairs(self.options.get(option, []))
        return [(name, self.path(str(path))) for name, path in given]

    def one(self, option: str) -> str | None:
        """Return the value of an option that is given at most once."""
        return next(iter(self.options.get(option, [])), None)

    @property
    def device(self) -> str:
        """The device that was asked for, which a stage takes as `auto` where none was."""
        return self.one("--device") or "auto"


class Watch:
    """Runs searches anew for some queries of a split; what several systems share runs once."""

    def __init__(
        self, results: Path, graph: provenance.Graph, queries: Sequence[str], sample: Sample
    ) -> None:
        self._results, self._graph, self._queries = results, graph, {*queries}
        self._at_once, self._repeats = sample.at_once or len(queries), sample.repeats
        self._threads, self.cards = sample.threads, dict[str, None]()  # names of cards in use
        self._answers: dict[str, Answer] = {}
        self._scored: dict[tuple[str, ...], Answer] = {}
        self._encodings: dict[str, Seconds] = {}
        self._verbs: dict[tuple[str, str], Callable[[Made], Answer]] = {
            ("residuum.lexical", "search"): self._lexical,
            ("residuum.rm3", "tune"): self._lexical,
            ("residuum.dense", "gather"): self._dense,
            ("residuum.fusion", "fuse"): self._fused,
            ("residuum.rrf", "fuse"): self._by_rank,
            ("residuum.function", "fuse"): self._by_function,
            ("residuum.hybrid", "gather"): self._hybrid,
            ("residuum.rerank", "cut"): self._reranked,
        }

    def answer(self, path: Path) -> Answer:
        """Return the answers of the system behind a run; one that cannot is a ResiduumError."""
        below = path.relative_to(self._results).as_posix()
        if below not in self._answers:
            made = self._made(path)
            if made.verb not in self._verbs:
                raise ResiduumError(f"a run of {made.verb[0]} cannot be timed")
            self._answers[below] = self._verbs[made.verb](made)
        return self._answers[below]

    def _made(self, path: Path) -> Made:
        below = path.relative_to(self._results).as_posix()
        record = self._graph.manifest(below)
        written = record.environment.get("command")
        if not written:
            raise ResiduumError(f"{below} was made by no command")
        _, _, _, verb, *words = shlex.split(str(written))
        options = dict[str, list[str]]()
        for word, following in zip(words, [*words[1:], "--"], strict=True):
            if word.startswith("--"):
                values = options.setdefault(word, [])
                values += [] if following.startswith("--") else [following]
        prefix = options["--output"][0].removesuffix(below)
        spec = (options.get("--spec") or ["null"])[0]
        return Made(below, (record.module, verb), spec, options, prefix, self._results)

    def _clocked(self, batches: Iterable[T], work: Callable[[T], R]) -> tuple[list[R], np.ndarray]:
        """Return what the work makes of each batch, and the seconds of a query in each repeat.

        Each batch is worked on once before, since caches and compilers are cold the first time.
        Batches are made beside the clock.
        """
        made, total = list[R](), np.zeros(self._repeats)
        for batch in batches:
            made.append(work(batch))
            for number in range(self._repeats):
                start = time.perf_counter()
                work(batch)
                total[number] += time.perf_counter() - start
        return made, total / len(self._queries)

    def _device(self, made: Made) -> "Device":
        """Return the device on which a model computes."""
        from residuum.neural import devices

        precision, arithmetic = made.one("--precision"), made.one("--arithmetic")
        computes = self._threads, arithmetic or "native"
        chosen = devices.choose(made.device, precision or "auto", *computes)
        self._note(chosen.name)
        return chosen

    def _note(self, device: str) -> None:
        """Keep the name of a card that is used."""
        if device == "cuda":
            from residuum.neural.devices import name_of_card

            self.cards[name_of_card()] = None

    def _batches(self, query_ids: Iterable[str]) -> Iterator[list[str]]:
        return chunks(sorted(self._queries.intersection(query_ids)), self._at_once)

    def _texts(self, queries: Iterable[Path]) -> dict[str, str]:
        """Return the texts of the queries, which lie in one file or, with folds, in several."""
        return {q: text for path in queries for q, text in trec.read_queries(path).items()}

    def _lexical(self, made: Made) -> Answer:
        system = command.parse_spec(LexicalSystem, made.spec)
        [index] = made.paths("--index")
        searcher = lexical.open_index(index, system, self._threads)
        residual = Residual(made.paths("--judged-before"))
        texts = self._texts(made.paths("--queries"))
        depth, fixed = system.k + residual.most, system.rm3.value if system.rm3 else None
        chosen = dict[str, Rm3]()
        if system.tunes_rm3:
            [record] = made.paths("--record")
            settings = Record.read(record).of_queries()
            chosen = {q: Rm3.model_validate(setting) for q, setting in settings.items()}

        def search(batch: Sequence[str]) -> pl.DataFrame:
            parts = list[pl.DataFrame]()
            for rm3 in dict.fromkeys(chosen.get(q, fixed) for q in batch):
                some = [(q, texts[q]) for q in batch if chosen.get(q, fixed) == rm3]
                parts += searcher.search(some, depth, rm3)
            return trec.rank(residual.left(pl.concat(parts)), system.k)

        lists, seconds = self._clocked(self._batches(texts), search)
        return Answer(_together(lists), {("search", made.below): seconds})

    def _dense(self, made: Made) -> Answer:
        system = command.parse_spec(DenseSystem, made.spec)
        lists, seconds = list[pl.DataFrame](), Seconds()
        for split in made.options["--split"]:
            folders = [path for path in made.paths("--hits") if hits.holds(path, split)]
            if not folders:
                raise ResiduumError(f"{made.paths('--hits')[0].parent}: no hits of {split}")
            searched, parts = [*map(self._made, folders)], list[pl.DataFrame]()
            [folder] = {path for one in searched for path in one.paths("--queries")}
            queries = _only(shards.read(folder / split), self._queries)
            if not queries[0]:
                continue  # a fold without any
            seconds |= self._encoded(self._made(folder), split)
            for one in searched:
                best, took = self._best_of_shard(one, split, system.k, queries)
                parts += best
                seconds["search", f"{one.below}/{split}"] = took
            every = _together(parts)
            batches = (_of(every, batch) for batch in self._batches(queries[0]))
            ranked, took = self._clocked(batches, lambda some: trec.rank(some, system.k))
            seconds["search", f"{made.below}/{split}"] = took
            lists += ranked
        return Answer(_together(lists), seconds)

    def _best_of_shard(
        self, made: Made, split: str, k: int, queries: Vectors
    ) -> tuple[list[pl.DataFrame], np.ndarray]:
        """Return the best docs of a shard, and the time of its search."""
        search = command.parse_spec(dense.Approximate, made.spec).root
        use_threads(self._threads)
        [folder] = made.paths("--embeddings")
        docs = shards.read(folder, "--first-passages" in made.options)
        sparse = isinstance(docs, TermVectors)
        device = "cpu" if sparse else dense.device_of(made.device, self._threads, search)
        self._note(device)
        index = Index(docs, search, device)
        residual = Residual([path for name, path in made.named("--judged-before") if name == split])

        def best(some: Vectors) -> pl.DataFrame:
            return dense.best_docs(index, docs, some, k, residual, None)

        return self._clocked(in_order(queries, self._at_once), best)

    def _encoded(self, made: Made, split: str) -> Seconds:
        """Return the time of encoding queries."""
        name = f"{made.below}/{split}"
        if name not in self._encodings:
            self._encodings[name] = {("encode", name): self._encode(made, split)}
        return self._encodings[name]

    def _encode(self, made: Made, split: str) -> np.ndarray:
        if made.verb == ("residuum.encode", "queries"):
            read = self._by_model(made)
        elif made.verb == ("residuum.termvectors", "queries"):
            read = self._by_terms(made)
        else:
            raise ResiduumError(f"vectors of queries by {made.verb[0]} cannot be timed")
        texts = trec.read_queries(dict(made.named("--split"))[split])
        return self._clocked(self._batches(texts), lambda some: read([texts[q] for q in some]))[1]

    def _by_model(self, made: Made) -> Callable[[list[str]], object]:
        """Return what makes vectors of queries' texts by an encoder."""
        from residuum import encode
        from residuum.neural.encoders import Encoder, asker

        [model] = made.paths("--model")
        snapshot, asking = made.one("--snapshot"), made.paths("--asking")
        weights = encode.at(model, int(snapshot) if snapshot else None)
        encoder = Encoder.load(asker(asking[0] if asking else weights), self._device(made))
        size = int(made.options["--batch-size"][0])
        return lambda texts: encoder.vectors(texts, "query", size)

    def _by_terms(self, made: Made) -> Callable[[list[str]], object]:
        """Return what makes vectors of queries' texts by the statistics of an index."""
        model = command.parse_spec(termvectors.Vectors, made.spec)
        [index] = made.paths("--index")
        weigher = termvectors.opened(index, model, self._threads)

        def read(texts: list[str]) -> object:
            terms, rows = weigher.queries(texts)
            size = model.dimensions
            return rows if size is None else project(rows, terms, size, model.seed)

        return read

    def _hybrid(self, made: Made) -> Answer:
        system = command.parse_spec(HybridSystem, made.spec)
        weights = _weights(system.interpolation, made)
        if weights.fold_of:
            raise ResiduumError("an exact search whose weight differs by fold cannot be timed")
        factors = [system.coefficients(float(weights.choices[0].setting[LAMBDA]))]
        searched = self._made(made.paths("--hits")[0])
        queries, docs = list[Vectors](), list[list[Docs]]()
        residual, seconds = Residual(searched.paths("--judged-before")), Seconds()
        first = searched.options.get("--first-passages", [])
        for part in system.parts:
            [folder] = [path for name, path in searched.named("--queries") if name == part]
            seconds |= self._encoded(self._made(folder.parent), folder.name)
            queries.append(_only(shards.read(folder), self._queries))
            folders = [path for name, path in searched.named("--embeddings") if name == part]
            docs.append([*docs_of_part(part, folders, queries[-1], part in first)])
        depth = system.k + residual.most

        def search(some: tuple[Vectors, ...]) -> pl.DataFrame:
            best = hybrid.search(hybrid.in_blocks(docs, depth), some, factors, depth)
            return trec.rank(residual.left(with_ids(best, some[0][0])), system.k)

        batches = zip(*(in_order(one, self._at_once) for one in queries), strict=True)
        lists, took = self._clocked(batches, search)
        return Answer(_together(lists), {**seconds, ("search", made.below): took})

    def _fused(self, made: Made) -> Answer:
        system = command.parse_spec(FusionSystem, made.spec)
        record = _weights(system.interpolation, made)
        proof = Proof(system, [float(one.setting[LAMBDA]) for one in record.choices], [])
        runs = dict(made.named("--run"))
        parts = [(part, self.answer(runs[part])) for part in system.parts]
        true = {part for part, _ in system.true_scores()}
        for part, path in made.named("--scores"):
            if part in true:
                parts.append((part, self._scores(self._made(path), [*runs.values()])))

        def fuse(tables: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
            lists = fusion.Lists(system, tables, [])
            return pl.concat(fusion.fused(system, [lists], record, proof))

        batches = self._batches(_listed(one for _, one in parts))
        given = ([(part, one.of(batch)) for part, one in parts] for batch in batches)
        lists, took = self._clocked(given, fuse)
        return Answer(_together(lists), _joined(made, took, (one for _, one in parts)))

    def _scores(self, made: Made, runs: Sequence[Path]) -> Answer:
        """Return a part's scores of the docs of other parts' runs."""
        scored = [run for run in made.paths("--run") if run in runs]
        key = (made.below, *map(str, scored))
        if key not in self._scored:
            self._scored[key] = self._score(made, scored)
        return self._scored[key]

    def _score(self, made: Made, runs: Sequence[Path]) -> Answer:
        lists = (self.answer(run).lists for run in runs)
        pairs = pl.concat(one.select(trec.PAIR) for one in lists).unique(maintain_order=True)
        if made.verb == ("residuum.lexical", "score"):
            system = command.parse_spec(LexicalSystem, made.spec)
            [index] = made.paths("--index")
            searcher = lexical.open_index(index, system, self._threads)
            texts = self._texts(made.paths("--queries"))
            given = (
                [(q, texts[q], docs) for q, docs in trec.lists_of(_of(pairs, batch)).iter_rows()]
                for batch in self._batches(pairs["query_id"])
            )
            scored, took = self._clocked(given, lambda docs: trec.rank(searcher.score(docs)))
        elif made.verb == ("residuum.dense", "score"):
            scored, took = self._clocked(self._dense_pairs(made, pairs), _pair_scores)
        else:
            raise ResiduumError(f"scores of {made.verb[0]} cannot be timed")
        return Answer(_together(scored), {("score", made.below): took})

    def _dense_pairs(
        self, made: Made, pairs: pl.DataFrame
    ) -> Iterator[tuple[list[Vectors], Vectors, pl.DataFrame]]:
        """Yield vectors of docs and of queries, and the pairs of docs and queries."""
        system = command.parse_spec(DenseSystem, made.spec)
        each = dense.of_each(made.paths("--queries"), made.paths("--embeddings"))
        listed, scored = ({*pairs[name]} for name in trec.PAIR)
        for encoded, folders in zip(made.paths("--queries"), each, strict=True):
            docs = [_only(shards.read(folder, system.first), scored) for folder in folders]
            for queries in in_order(_only(shards.read(encoded), listed), self._at_once):
                numbered = dense.numbers(queries[0])
                some = pairs.join(numbered, on="query_id", maintain_order="left")
                named = {*some["doc_id"]}
                yield [_only(shard, named) for shard in docs], queries, some

    def _by_rank(self, made: Made) -> Answer:
        system = command.parse_spec(ReciprocalRankSystem, made.spec)
        runs = dict(made.named("--run"))
        parts = [self.answer(runs[part]) for part in system.parts]
        batches = self._batches(_listed(parts))
        lists, took = self._clocked(
            ([one.of(batch) for one in parts] for batch in batches),
            lambda tables: rrf.by_rank(tables, system.rank_constant, system.k),
        )
        return Answer(_together(lists), _joined(made, took, parts))

    def _by_function(self, made: Made) -> Answer:
        system = command.parse_spec(FunctionSystem, made.spec)
        [file], runs = made.paths("--file"), dict(made.named("--run"))
        fuse = function.Loaded(file, system.function.name)
        tuning = next(iter(made.paths("--tuning")), None)
        record = Record.read(tuning) if tuning else Record(choices=[])
        settings = record.settings(self._queries, tuning, "a value", "tuned")
        parts = {part: self.answer(runs[part]) for part in system.parts}

        def fused(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
            lists = function.Lists(system, tables)
            return pl.concat(lists.fused(fuse, settings.__getitem__, system.k, lists.query_ids))

        batches = self._batches(_listed(parts.values()))
        given = ({part: one.of(batch) for part, one in parts.items()} for batch in batches)
        lists, took = self._clocked(given, fused)
        return Answer(_together(lists), _joined(made, took, parts.values()))

    def _reranked(self, made: Made) -> Answer:
        from residuum import rerank
        from residuum.neural.tokens import windows_of

        [run], [record] = made.paths("--run"), made.paths("--record")
        chosen = Record.read(record)
        first, scoring = self.answer(run), self._made(made.paths("--scores")[0])
        if len(scoring.options["--model"]) > 1:
            raise ResiduumError("a reranker of folds cannot be timed")
        job = command.parse_spec(rerank.Scoring, scoring.spec)
        model = rerank.reranker_of(
            job,
            str(scoring.path(scoring.options["--model"][0])),
            scoring.one("--revision"),
            scoring.one("--reading"),
            "--pickled" in scoring.options,
            next(iter(scoring.paths("--asking")), None),
            self._device(scoring),
        )
        [corpus], windows = scoring.paths("--corpus"), windows_of(scoring.one("--windows"))
        tops = {*trec.cut(first.lists, rerank.deepest(chosen))["doc_id"]}
        every = ((doc["doc_id"], doc) for doc in contracts.read_docs(corpus))
        records = {doc_id: doc for doc_id, doc in every if doc_id in tops}
        texts = _Held(self._texts(scoring.paths("--queries")), records)

        def order(lists: pl.DataFrame) -> pl.DataFrame:
            depth = rerank.depths_of(lists, chosen, record)
            pairs = trec.cut(lists, depth).select(trec.PAIR)
            sizes = job.batch_size, job.part_pairs
            scored = pl.concat(rerank.scored_parts(pairs, model, texts, *sizes, windows))
            return rerank.reranked(rerank.joined(lists, depth, scored), depth)

        batches = self._batches(first.lists["query_id"])
        lists, took = self._clocked((first.of(batch) for batch in batches), order)
        return Answer(_together(lists), {**first.seconds, ("rerank", made.below): took})


class _Held(NamedTuple):
    """Texts of queries and records of docs, in memory."""

    queries: Mapping[str, str]
    records: Mapping[str, dict[str, str]]

    def read(self, kind: str, ids: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the ids and texts of queries or docs."""
        query = kind == "query"
        return ((i, self.queries[i] if query else self.records[i]["text"]) for i in sorted(ids))

    def docs(self, ids: set[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the ids and records of docs."""
        return ((one, self.records[one]) for one in sorted(ids))


def _weights(weighting: Interpolation, made: Made) -> Record:
    """Return the weights that were chosen, or the one that is given."""
    if weighting.value is None:
        return Record.read(made.paths("--tuning")[0])
    return Record.given(LAMBDA, weighting.value)


def _listed(answers: Iterable[Answer]) -> set[str]:
    """Return the queries of which some answer has a list."""
    return {query_id for one in answers for query_id in one.lists["query_id"].unique()}


def _together(lists: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return all lists in one table, which may have no line."""
    return pl.concat(lists) if lists else trec.rank(pl.DataFrame(schema=trec.HITS))


def _of(lists: pl.DataFrame, query_ids: Iterable[str]) -> pl.DataFrame:
    return lists.filter(pl.col("query_id").is_in([*query_ids]))


def _only(vectors: Vectors, ids: set[str]) -> Vectors:
    """Return the vectors of some texts."""
    return some_rows(vectors, [row for row, name in enumerate(vectors[0]) if name in ids])


def _pair_scores(batch: tuple[list[Vectors], Vectors, pl.DataFrame]) -> pl.DataFrame:
    docs, queries, pairs = batch
    return trec.rank(with_ids(pair_scores(docs, queries, pairs), queries[0]))


def _joined(made: Made, took: np.ndarray, parts: Iterable[Answer]) -> Seconds:
    """Return the times of a fusion and of its parts."""
    seconds = Seconds()
    for one in parts:
        seconds |= one.seconds
    return {**seconds, ("fuse", made.below): took}
