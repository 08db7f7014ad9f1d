"""Compare, fuse and look into runs of any origin, and read finished results.

Usage: `import residuum as rs`, then `rs.compare("qrels.trec", ["a.trec.gz", "b.trec.gz"],
"RR@10")`. Qrels and runs may be paths, frames of pandas or polars, dictionaries {query: {doc:
value}}, objects of ranx, or ir_measures' tuples. Each function computes what the command of its
name computes.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import polars as pl
from pydantic import ValidationError

from residuum import fusion
from residuum.api import frames
from residuum.api.frames import Source
from residuum.api.results import (
    Audit,
    Comparisons,
    Complementarity,
    Explanation,
    Fidelity,
    Footprints,
    Fused,
    Ledger,
    Times,
)
from residuum.artefacts import fidelities
from residuum.artefacts.trec import refuse_apart
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.measures import is_hit, reads
from residuum.config.schema.systems import FusionSystem, ReciprocalRankSystem
from residuum.fusion import Lists, fused
from residuum.inspect import auditing, comparing, explaining, footprints
from residuum.inspect import fidelities as measured
from residuum.inspect.addressing import find
from residuum.ledger import ledger_of
from residuum.pages import grids
from residuum.pages.verdicts import LedgerRow
from residuum.rrf import by_rank
from residuum.tuning.choosing import LAMBDA, Record
from residuum.tuning.unions import Proof
from residuum.wiring.paths import Paths, folder_of

Form = TypeVar("Form", FusionSystem, ReciprocalRankSystem)
Runs = Mapping[str, Source] | Sequence[Source]
AuditSource = Mapping[str, tuple[Source, Runs]] | Sequence[str | Path] | str | Path | pl.DataFrame
Measures = str | object | Iterable[str | object]


def compare(
    qrels: Source,
    runs: Runs,
    measures: Measures,
    *,
    test: Literal["permutation", "t-test", "wilcoxon"] = "permutation",
    correction: Literal["none", "bonferroni", "holm"] = "holm",
    family: Literal["column", "table"] = "column",
    alpha: float = 0.05,
    resamples: int = 99_999,
    seed: int = 1,
    baseline: str | Sequence[str] = (),
    original: str | None = None,
    missing: Literal["refuse", "zero"] = "refuse",
    workers: int = 1,
) -> Comparisons:
    """Test every pair of runs on the same judged queries, as `residuum compare` does.

    `measures` are ir_measures' names or objects. With a `baseline`, only its pairs are tested. With
    an `original`, every other run is compared with it alone, and it says how close they are.
    `resamples` are sign flips of the permutation test. Raises ResiduumError for runs that cannot be
    compared.
    """
    options = {"test": test, "correction": correction, "family": family, "alpha": alpha}
    tests = comparing.tests_of({**options, "resamples": resamples, "seed": seed})
    judged = frames.qrels(qrels)
    named, remarks = _restricted(judged, runs, missing)
    baselines = [baseline] if isinstance(baseline, str) else list(baseline)
    made = comparing.compared(
        judged, named, _names(measures), tests, remarks, baselines, original, workers
    )
    return Comparisons(made)


def audit(
    source: AuditSource,
    measure: str | object = "nDCG@10",
    *,
    over: Literal["queries", "collections"] = "queries",
    missing: Literal["refuse", "zero"] = "refuse",
    results: str | Path | None = None,
    resamples: int = 9999,
    seed: int = 1,
    workers: int = 1,
) -> Audit:
    """Say which ranks of many systems are certain, as `residuum audit` does.

    The source is {collection: (qrels, runs)}, a frame with a line for each system and query
    (`system`, `query_id`, `value`, perhaps `collection`) or with a column of means for each
    collection, or what the command takes: a folder, a file, or with `results` columns of pages.
    Source: Mogstad et al., Inference for Ranks, Review of Economic Studies 2024.
    """
    remarks: list[str] = []
    if isinstance(source, Mapping):
        name, parts = auditing.one_measure(_names(measure)), list[pl.DataFrame]()
        for collection, (qrels, runs) in source.items():
            judged = frames.qrels(qrels)
            named, more = _restricted(judged, runs, missing)
            parts.append(auditing.valued(judged, named, name, str(collection)))
            remarks += [f"{collection}: {text}" for text in more[1:]]
        values, what = auditing.of_all(parts, remarks), f"means of {name}"
    elif isinstance(source, str | Path | Sequence):
        texts = [source] if isinstance(source, str | Path) else source
        folder = Path(results) if results else None
        given = [str(text) for text in texts]
        values, what, remarks = auditing.read(
            given, auditing.one_measure(_names(measure)), missing, folder
        )
    else:
        columns = {str(name): list(source[name]) for name in source.columns}
        rows = zip(*columns.values(), strict=True)
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        values, what, remarks = auditing.of_records("the frame", records)
    return Audit(auditing.audited(values, what, over, resamples, seed, remarks, workers))


def complementarity(
    qrels: Source,
    runs: Runs,
    measures: Measures = "Success@10",
    *,
    baseline: str | Sequence[str] = (),
    missing: Literal["refuse", "zero"] = "refuse",
) -> Complementarity:
    """Count the queries that each run answers and another does not, and their ratio (RoC).

    `measures` are of hits, 0 or 1 for a query. With a `baseline`, it is the second run of all
    pairs. Source: Lee et al., On Complementarity Objectives for Hybrid Retrieval, ACL 2023, Eq. 1.
    """
    names = _names(measures)
    if odd := [name for name in names if not is_hit(name)]:
        raise ResiduumError(f"measures: {odd[0]} is no measure of hits; take one as Success@10")
    judged = frames.qrels(qrels)
    named, remarks = _restricted(judged, runs, missing)
    if len(named) < 2:
        raise ResiduumError("give two runs or more: there is nothing to compare")
    baselines = [baseline] if isinstance(baseline, str) else list(baseline)
    if odd := [name for name in baselines if name not in named]:
        raise ResiduumError(f"baseline: {unknown('run', odd[0], named)}")
    scores = comparing.measured(judged, named, names)
    return Complementarity(comparing.coverages(scores, names, baselines), remarks)


def _restricted(
    judged: pl.DataFrame, runs: Runs, missing: Literal["refuse", "zero"]
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return the runs' lists of judged queries, and the remarks of `residuum compare`."""
    if missing not in ("refuse", "zero"):
        raise ResiduumError(f"missing: {unknown('way', missing, ['refuse', 'zero'])}")
    queries, remarks = comparing.judged_queries(judged)
    named = {}
    for name, (run, remark) in frames.runs(runs).items():
        named[name], more = comparing.restricted(name, run, queries, judged, missing)
        remarks += [*([remark] if remark else []), *more]
    return named, remarks


def fuse(runs: Runs, qrels: Source | None = None, **settings: object) -> Fused:
    """Fuse runs: by a weighted sum of scores, or by reciprocal rank.

    Settings are those of a system of kind `fusion`, or with `kind="rrf"` of that kind
    (docs/how-to/system.md). They default to a sum of equal weights over all docs of the lists:
    `interpolation={"weighted": the first run, "value": 1}`, `unretrieved="zero"`, `k=1000`, and
    `rank_constant=60`. A `grid` with a `measure` needs the `qrels` by which the weight is chosen.
    With `folds` and `seed`, each fold gets the weight that is best on the others. Source: CLEAR Eq.
    8; Cormack et al., SIGIR 2009.
    """
    given = frames.runs(runs)
    if len(given) < 2:
        raise ResiduumError("give two runs or more: there is nothing to fuse")
    if odd := {"parts", "label"} & {*settings}:
        raise ResiduumError(f"fuse: no setting {min(odd)}; the runs have names")
    named = {name: run for name, (run, _) in given.items()}
    refuse_apart({Path(name): {*run["query_id"]} for name, run in named.items()})
    remarks = [remark for _, remark in given.values() if remark]
    ids = {name: f"run-{number}" for number, name in enumerate(named, start=1)}
    if settings.get("kind") == "rrf":
        chosen = {"rank_constant": 60, "k": 1000, **settings, "parts": [*ids.values()]}
        ranks = _checked(ReciprocalRankSystem, chosen, ids)
        return Fused(by_rank(named.values(), ranks.rank_constant, ranks.k), None, remarks)
    system = _checked(FusionSystem, _settings(settings, ids), ids)
    if system.true_scores():
        raise ResiduumError(
            "unretrieved: true_score needs the systems behind the runs, as the graph has them; "
            "write zero or minimum"
        )
    tables = [(ids[name], run.sort("query_id", "rank")) for name, run in named.items()]
    lists = Lists(system, tables, [])
    record = _weight(system, lists, qrels)
    run = pl.concat([*fused(system, [lists], record, Proof(system, [], []))])
    return Fused(run, record if record.tried else None, remarks)


def _settings(settings: Mapping[str, object], ids: Mapping[str, str]) -> dict[str, object]:
    """Return a fusion's settings with their defaults, and with the ids of runs for their names."""

    def named(name: object) -> str:
        if name in ids:
            return ids[str(name)]
        raise ResiduumError(f"fuse: {unknown('run', str(name), ids)}")

    def renamed(key: str, value: object) -> object:
        if key in ("unretrieved", "others") and isinstance(value, Mapping):
            return {named(name): number for name, number in value.items()}
        return named(value) if key == "weighted" else value

    first = next(iter(ids), "")
    how = settings.get("interpolation", {"value": 1})
    if not isinstance(how, Mapping):
        raise ResiduumError('fuse: interpolation is a mapping, as {"weighted": NAME, "value": 1}')
    weighting = {key: renamed(key, value) for key, value in {"weighted": first, **how}.items()}
    if "grid" in weighting and "folds" not in weighting:
        weighting["tune_on"] = "qrels"
    made: dict[str, object] = {"kind": "fusion", "unretrieved": "zero", "k": 1000}
    made |= {key: renamed(key, value) for key, value in settings.items()}
    return made | {"parts": [*ids.values()], "interpolation": weighting}


def _weight(system: FusionSystem, lists: Lists, qrels: Source | None) -> Record:
    """Return the record of lambda: fixed, or chosen by the qrels."""
    if system.interpolation.value is not None:
        return Record.given(LAMBDA, system.interpolation.value)
    if reads(str(system.interpolation.measure)) != "judgements":
        raise ResiduumError(
            f"interpolation.measure: {system.interpolation.measure} reads answers, which the graph "
            "has; choose by a measure of qrels"
        )
    if qrels is None:
        raise ResiduumError("interpolation.grid: give the qrels by which the weight is chosen")
    judged = frames.qrels(qrels)
    query_ids = judged["query_id"].unique().sort().to_list()
    if record := fusion.chosen(system, [lists], query_ids, lambda pairs: judged):
        return record
    raise ResiduumError("the runs have no list of a judged query. Give runs of the qrels' split")


def read_ledger(results: str | Path) -> Ledger:
    """Return the verdicts on what the papers print, of a results folder."""
    return Ledger(grids.frame(ledger_of(Path(results)), LedgerRow))


def explain(
    results: str | Path, cell: str, *, full: bool = False, deep: bool = False
) -> Explanation:
    """Return all that is known of a number of a page, as `residuum explain` does.

    `cell` is PAPER/PAGE/ROW/COLUMN, as clear/table1/bm25/dev-rr. `full` prints whole command lines.
    Files above 100 MB are compared by size, unless `deep`.
    """
    folder = Path(results)
    values = explaining.values(find(folder, cell))
    return Explanation(explaining.explain(folder, cell, full, deep), values, cell)


def read_footprints(results: str | Path, page: str) -> Footprints:
    """Return the bytes of the indexes that the systems of a table search, and what they reach.

    `page` is PAPER/PAGE, as clear/table1. Another page, and a table whose indexes are gone, raise
    ResiduumError.
    """
    return Footprints(page, footprints.footprints(Path(results), page))


def time(
    results: str | Path,
    page: str,
    *,
    queries: int = 200,
    at_once: int | None = None,
    repeats: int = 3,
    threads: int = 1,
    column: str | None = None,
) -> Times:
    """Time the systems of a table, as `residuum time` does.

    `page` is PAPER/PAGE, as clear/table1. `column` is one of its columns; by default the first.
    Systems run anew on this machine, with the indexes and models of the results; `at_once` queries
    are answered together, by default all. Polars and the libraries of linear algebra keep the
    threads that they have. Raises ResiduumError for an unknown page or column, and where no system
    can be run anew.
    """
    from residuum.inspect import searching, timing

    sample = searching.Sample(queries, at_once, repeats, threads)
    return Times(timing.measured(Path(results), page, sample, column))


def read_fidelity(results: str | Path, split: str, of: str) -> Fidelity:
    """Return how many dimensions keep a lexical ranking, as `residuum fidelity` does.

    `split` is DATASET/SPLIT, and `of` an entry of config/fidelities. Source: Luan et al., TACL
    2021 (ME-BERT), section 2.
    """
    text = measured.show(Path(results), split, of)
    dataset, _, name = split.partition("/")
    made = Paths(str(results)).fidelity.fill(dataset=dataset, split=name, fidelity=of)
    return Fidelity(text, fidelities.read(Path(folder_of(made))))


def _names(measures: Measures) -> list[str]:
    """Return the names of measures, given as names or as ir_measures' objects."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        measures = [measures]
    return comparing.split([str(measure) for measure in measures])


def _checked(form: type[Form], settings: Mapping[str, object], ids: Mapping[str, str]) -> Form:
    """Return the settings, or say what is wrong with them, with names in place of ids."""
    try:
        return form.model_validate(settings)
    except ValidationError as error:
        text = command.describe("settings", error)
        for name, part in ids.items():
            text = text.replace(f'"{part}"', f'"{name}"')
        raise ResiduumError(text) from None
