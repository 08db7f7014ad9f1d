"""The notes under a table: its columns, tests, parameters, indexes, unions and arithmetic.

Usage: `caption(job, cells, tests, records, removed)`. Manifests say in which precision and on which
device models were computed; the configuration may say only `auto`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from residuum.artefacts import indexes, manifest, proven, winners
from residuum.config.specs import RunId
from residuum.pages import derived, notes
from residuum.pages.bearing import Weighed, unshown
from residuum.pages.grids import GridCell, Loaded
from residuum.pages.layout import DASH
from residuum.pages.table.entry import DEPTH, Average, Column
from residuum.pages.table.job import NOTHING, BoundTable
from residuum.paired import Comparison, ranks
from residuum.tuning.choosing import Choice, Tuned
from residuum.wiring.paths import Paths

PATHS = Paths()
EMPTY: tuple[object, ...] = (None, [], {})


def caption(
    job: BoundTable,
    cells: Sequence[GridCell],
    tests: Sequence[Weighed],
    records: Sequence[Tuned],
    removed: Mapping[str, int],
) -> Iterator[str]:
    """Yield the notes under a table: its columns, the tests, the systems' parameters.

    `removed` counts, by row, the docs judged in earlier rounds that left an external run.
    """
    for column in job.entry.columns:
        yield _column(job, column, cells)
    for mean in job.entry.means:
        yield _mean(job, mean, cells)
    if any(column.of_parts for column in job.entry.columns):
        yield derived.PARTS
    yield from notes.of_runs(job)
    if removed:
        counts = ", ".join(f"{count} of {row}" for row, count in removed.items())
        what = "Docs judged before, removed from external runs as NIST does with submissions"
        yield f"{what}: {counts}."
    baselines = " and ".join(job.entry.baselines)
    only = f"compared with {baselines} only, " if baselines else ""
    yield (
        "Superscripts: rows significantly beaten; ↓: significantly below the row that it varies. "
        f"{notes.tests_note(job.tests, only=only)}"
    )
    yield from _unmarked(job, tests)
    named = [(f"{test.column}, {test.a} and {test.b}", test) for test in tests]
    yield from notes.remarks(named, job.tests.alpha)
    yield from _not_shown(tests)
    seeds = max((cell.seeds or 0 for cell in cells if cell.measure != DEPTH), default=0)
    if seeds > 1:
        yield (
            f"Rows with ± are means over {seeds} training seeds (± standard deviation); tests "
            f"compare each query's mean over seeds. {notes.SHARED}"
        )
    yield from notes.one_training(job.runs)
    if played := list(_played(job)):
        yield f"Replaced at this scale by other systems: {', '.join(played)}."
    yield from _not_run(job, cells)
    for row, system in job.systems.items():
        shown = {k: v for k, v in sorted(system.items()) if k not in ("kind", "label")}
        parts = [f"{k} {_flat(v)}" for k, v in shown.items() if v not in EMPTY]
        yield f"{row}: {'; '.join([str(system['kind']), *parts]).rstrip('.')}."
    yield from (f"{name}: {what.rstrip('.')}." for name, what in job.rerankers.items())
    yield from _choices(records)
    if job.entry.index is None:
        yield from notes.of_scale(job)
        return
    searched = {(cell.split_ref, cell.index): None for cell in cells if cell.index}
    for split_ref, index in searched:
        yield f"Index searched on {split_ref}: {index}."
    stated = f"Index of the published numbers: {indexes.counted(job.entry.index)}."
    yield f"{stated} Numbers of the same index compare with them, at any scale."


def _not_shown(tests: Sequence[Weighed]) -> Iterator[str]:
    """Yield which comparisons the data could not have shown in any direction, by the reason."""
    pairs: dict[str, list[str]] = {}
    for test in tests:
        if why := unshown(test, [True, False]):
            pairs.setdefault(why, []).append(f"{test.column}, {test.a} and {test.b}")
    for why, named in pairs.items():
        yield f"Not judged, because the data could not show it ({why}): {'; '.join(named)}."


def _unmarked(job: BoundTable, tests: Sequence[Comparison]) -> Iterator[str]:
    """Yield a note on rows that are significantly below others without an index or an arrow."""
    rows, lost = {row.id: row for row in job.entry.rows}, defaultdict[str, list[str]](list)
    headers = {column.id: job.short_header(column) for column in job.shown()}
    for test in tests if job.entry.baselines else ():
        winner, loser = (test.a, test.b) if test.direction > 0 else (test.b, test.a)
        if test.significant and rows[loser].index is None and rows[loser].below != winner:
            lost[loser].append(f"{winner} ({headers[test.column]})")
    if lost:
        texts = (f"{row} below {', '.join(others)}" for row, others in lost.items())
        yield f"Significantly below, without a mark: {'; '.join(texts)}."


def _played(job: BoundTable) -> Iterator[str]:
    """Yield the systems of a page that another system replaces at this scale."""
    for part, system in job.entry.systems().items():
        for run in job.runs.get(part, [])[:1]:
            if (player := RunId.parse(run).system) != system:
                yield f"{system} by {player}"


def _column(job: BoundTable, column: Column, cells: Sequence[GridCell]) -> str:
    split_ref, short = job.splits[column.id], job.short_header(column)
    if split_ref is None:
        what = f"{column.role} {short}" if column.shows == "chosen" else short
        return f"{what}: no split has this role at this scale."
    paper = job.entry.papers_name(column.header)
    if column.shows == "chosen":
        return (
            f"{short}: the depth of the runs on {split_ref} in the role of {column.role}{paper}, "
            f"chosen as noted below; mean and range over seeds; {DASH}: not a rerank system."
        )
    n = max((cell.n for cell in cells if cell.column == column.id and cell.n), default=None)
    where = f"{short}: {split_ref} in the role of {column.role}{paper}, {n} queries"
    where += f" of {column.within.grouping}" if column.within else ""
    return "; ".join([where, *derived.explained(column)]) + "."


def _mean(job: BoundTable, mean: Average, cells: Sequence[GridCell]) -> str:
    n = max((cell.n for cell in cells if cell.column == mean.id and cell.n), default=0)
    over = ", ".join(dict.fromkeys(str(job.splits[name] or name) for name in mean.of))
    return (
        f"{mean.header}: of each row, the mean of {job.parts_of(mean.id)[0].named()} over {over}, "
        f"each counting alike ({n} queries). Tested over queries within their collections: signs "
        "of differences are flipped per query, and the statistic is the mean of the collections' "
        "means. The null is that both rows' values of a query may change places. It says nothing "
        "of other collections."
    )


def _not_run(job: BoundTable, cells: Sequence[GridCell]) -> Iterator[str]:
    """Yield a note per reason why cells are not run, except for columns without a binding."""
    bound = [cell for cell in cells if cell.split_ref is not None]
    partly = {cell.row for cell in bound if cell.measured is not None}
    names = {column.id: job.short_header(column) for column in job.entry.columns}
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cell in bound:
        if cell.not_run not in (None, *NOTHING):
            rows = reasons.setdefault((cell.absence, str(cell.not_run)), {})
            rows.setdefault(cell.row, []).append(names[cell.column])
    for (absence, reason), rows in reasons.items():
        listed = (f"{r} ({', '.join(cs)})" if r in partly else r for r, cs in rows.items())
        full_stop = "" if reason.endswith("?") else "."
        yield f"{absence.capitalize()}: {'; '.join(listed)}: {reason.rstrip('.')}{full_stop}"


def _flat(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_flat(v)}" for key, v in value.items() if v not in EMPTY)
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _choices(records: Sequence[Tuned]) -> Iterator[str]:
    """Yield a sentence on each tuned choice, with its split if a run's choices differ."""
    texts: dict[tuple[str, str, str], Tuned] = {}
    for tuned in sorted(records, key=lambda t: (t.run, t.split_ref)):
        split_ref = tuned.split_ref if tuned.record.fold_of else ""  # each split has its own folds
        texts.setdefault((tuned.run, _tuned(tuned), split_ref), tuned)
    runs = [run for run, _, _ in texts]
    for (run, text, split_ref), tuned in texts.items():
        several = split_ref or runs.count(run) > 1
        yield f"{run} on {tuned.split_ref}: {text}" if several else f"{run}: {text}"


def _tuned(tuned: Tuned) -> str:
    record = tuned.record
    (name, value), *others = record.choices[0].setting.items()
    what = (
        "RM3"
        if others
        else {"lambda": "lambda", "depth": "depth K"}.get(name, name.replace("_", " "))
    )
    if record.fold_of:
        folds = []
        for number, fold in enumerate(record.choices, start=1):
            chosen = ", ".join(f"{name} {_shown(value)}" for name, value in fold.setting.items())
            means = f"{fold.mean:.3f} on the others and {fold.held_out:.3f} held out"
            folds.append(f"fold {number} ({fold.queries} queries) {chosen}{_edge(fold)}, {means}")
        by = f"by {record.measure} on the other folds"
        return f"{what} chosen for each fold of the queries {by}: {'; '.join(folds)}."
    if record.measure is None:
        return f"{what} {_shown(value)}, fixed."
    by = f"on {record.queries} tuning queries by {record.measure}"
    if record.within is not None:
        best = max(record.tried, key=lambda one: one.means[0]).setting[name]
        which = f"the fewest within {record.within:g} standard errors of the best ({_shown(best)})"
        end = ", the end of the curve" if record.choices[0].at_edge else ""
        return f"{what} {_shown(value)}{end}, {which} {by}."
    return f"{what} {_shown(value)}{_edge(record.choices[0])}, chosen {by}."


def _shown(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _edge(choice: Choice) -> str:
    which = f"{', '.join(choice.at_edge)} " if len(choice.setting) > 1 else ""
    return f" ({which}at an edge of its grid)" if choice.at_edge else ""


def of_unions(job: BoundTable, metrics: Path) -> Iterator[str]:
    """Yield a note on the fusions of a table: the smallest and the largest share of queries.

    The shares are over columns and seeds, for the smallest number of first docs that manifests in
    `metrics` record. A fusion without a record is left out.
    """
    shares: dict[int, dict[str, list[float]]] = {}
    for part, name in job.fused():
        for docs, share in list(proven.recorded(metrics / name).items())[:1]:
            shares.setdefault(docs, {}).setdefault(part, []).append(share)
    for docs, by_part in sorted(shares.items()):
        parts = "; ".join(f"{part} {_percentages(each)}" for part, each in by_part.items())
        yield (
            f"Queries for which a union's first {docs} docs provably have the scores of an exact "
            f"search, because no doc outside the lists can score higher: {parts}."
        )


def of_ranks(loaded: Loaded) -> Iterator[str]:
    """Yield a note on each average that is compared with another one: how alike they order rows."""
    job, names = loaded.job, {mean.id: mean.header for mean in loaded.job.entry.means}
    for mean in job.entry.means:
        if (other := mean.ranks_as) is None:
            continue
        rows = [row.id for row in job.entry.rows if not row.control]
        both = [r for r in rows if {(r, mean.id), (r, other)} <= loaded.scores.keys()]
        whole, sample = ([loaded.scores[row, name] for row in both] for name in (other, mean.id))
        made = ranks.agreement(whole, sample, job.tests)
        what = f"{mean.header} beside {names[other]}, {len(both)} rows"
        if made is None:
            yield f"{what}: too few, or all level, to say whether both order rows alike."
            continue
        yield (
            f"{what}: Kendall's tau-b of their orders is {made.tau:.2f} (95% {made.low:.2f} to "
            f"{made.high:.2f}); {made.alike} of {made.pairs} pairs have the same order. The "
            f"interval is of {job.tests.bootstrap} draws of the queries within each collection, "
            "of both averages apart. A draw adds noise of its own, so that the interval lies low."
        )


def of_vectors(job: BoundTable, metrics: Path) -> Iterator[str]:
    """Yield a note on the dense rows with several vectors a text: how many hits the others win.

    The shares are over columns and seeds. A run without a record is left out.
    """
    shares: dict[str, list[float]] = {}
    for part, name in job.of_several_vectors():
        if (share := winners.recorded(metrics / name)) is not None:
            shares.setdefault(part, []).append(share)
    if shares:
        parts = (f"{p} ({job.vectors[p]} vectors) {_percentages(s)}" for p, s in shares.items())
        yield (
            f"Of the first {winners.FIRST} docs of a list, so many score by another vector than "
            f"the first of a text or passage: {'; '.join(parts)}."
        )


def _percentages(shares: list[float]) -> str:
    low, high = (f"{100 * bound(shares):.1f}" for bound in (min, max))
    return f"{low}%" if low == high else f"{low} to {high}%"


def of_arithmetic(manifests: Sequence[Path]) -> Iterator[str]:
    """Yield a note per precision and device, with its trainings, encodings and scores."""
    named: dict[str, dict[str, None]] = {}
    for path in manifests:
        if used := manifest.precision_on_device(manifest.read(path)["spec"]):
            named.setdefault(used, {})[_computed(path)] = None
    for arithmetic, names in sorted(named.items()):
        yield f"Matrix products in {arithmetic}: {', '.join(sorted(names))}."


def of_released(manifests: Sequence[Path]) -> Iterator[str]:
    """Yield what each released encoder is and how it is read, and whose other vectors are."""
    for path in manifests:
        made = manifest.read(path)
        if given := made["artefact"].get("given"):
            yield f"{(PATHS.query_embeddings.parse(path) or {}).get('model', path.name)}: {given}."
        if read := made["artefact"].get("read"):
            at = f" at {str(made['spec']['revision'])[:8]}" if made["spec"].get("revision") else ""
            name = (PATHS.checkpoint.parse(path) or {}).get("model", path.name)
            yield f"{name}, released and not trained here: {made['spec']['start']}{at}, {read}."


def _computed(path: Path) -> str:
    if parts := PATHS.checkpoint.parse(path):
        return f"training of {parts['model']}"
    if parts := PATHS.query_embeddings.parse(path):
        return f"encoding by {parts['model']}"
    parts = PATHS.pairs.manifest.parse(path) or {}
    return f"scores of {parts.get('reranker', path.name)}"
