"""Where two results folders first differ for a cell, and what that did to its value.

Usage: `residuum explain clear/table1/bm25/dev-rr --against other/results/mini`. Walks from the
sources to the cell by the manifests, then compares runs and per-query values.
Must not know how anything was computed.
"""

from pathlib import Path

import polars as pl

from residuum.artefacts import trec
from residuum.cli.errors import ResiduumError
from residuum.inspect import provenance
from residuum.inspect.differences import Difference, changed, differences
from residuum.inspect.explaining import PATHS, Cell, find, values
from residuum.inspect.text import line, short

SHOWN = 5
SOURCES = {"corpus": "corpus", "queries.tsv": "topics", "qrels.trec": "qrels"}
KINDS = {
    "parameter": "parameter {key}: {values}",
    "inputs": "made from other files: {values}",
    "data": "{key}: {values}",
    "manifest": "{values}",
    "absent": "{values}",
}


def compared(results: Path, against: Path, address: str) -> str:
    """Describe where the provenance of a cell first differs, what else does, and the effect."""
    a, b = find(results, address), find(against, address)
    a, b = (  # so that both go on past a manifest that one folder lacks
        a._replace(graph=provenance.completed(a.graph, b.graph)),
        b._replace(graph=provenance.completed(b.graph, a.graph)),
    )
    lines = [f"{a.address}: {a.results} against {b.results}", ""]
    if a.roots or b.roots:
        differing = differences(a.kin, b.kin)
        lines.append(line("first", first(differing, a, b)))
        lines += [line("then", text) for text in _later(differing)]
        lines += [line("also", text) for text in _changes(a.kin, b.kin)] if differing else []
        lines.append("")
    return "\n".join([*lines, *outcome(a, b)])


def _against(value: object, other: object, absent: str = "none") -> str:
    return f"{short(value) or absent} against {short(other) or absent}"


def first(differing: list[Difference], a: Cell, b: Cell) -> str:
    """Describe the first difference; data without a parameter: by code or packages."""
    splits = [cell.line.split_ref or "nothing" for cell in (a, b)]
    if splits[0] != splits[1]:
        return f"another collection: measured on {_against(*splits)}"
    if not differing:
        changes = "; ".join(_changes(a.kin, b.kin))
        equal = "nothing differs: same sources, parameters, code and environment"
        return f"everything made is equal; {changes} differ without effect" if changes else equal
    difference, text = differing[0], _described(differing[0])
    if difference.kind != "data":
        return text
    artefact = a.graph.get(difference.path)
    if artefact is None or not artefact.record:
        missing = artefact is not None and artefact.lacks
        return f"{text} ({'its manifest is missing' if missing else 'a file from outside'})"
    kins = ([x for x in cell.kin if x.path == difference.path] for cell in (a, b))
    cause = "; ".join(_changes(*kins))
    unknown = "same code, same versions; it was edited since, or its making is not repeatable"
    return f"{text}, with equal parameters and sources: {cause or unknown}"


def _changes(kin: list[provenance.Artefact], others: list[provenance.Artefact]) -> list[str]:
    return [f"{what} {_against(x, y, 'absent')}" for what, x, y in changed(kin, others)]


def _described(difference: Difference) -> str:
    """Name an artefact, what it is (corpus, topics, qrels, index statistics), and the values."""
    path, kind, key = difference[:3]
    names = (key.rpartition("/")[2], path.rpartition("/")[2])
    source = next((SOURCES[name] for name in names if name in SOURCES), None)
    if PATHS.index.parse(f"{path}/manifest.json") and kind == "data":
        source = "index statistics"
    values = _against(difference.value, difference.other)
    name = f"{source} of {path}" if source else path
    return f"{name}: {KINDS[kind].format(key=key, values=values)}"


def _later(differing: list[Difference]) -> list[str]:
    """Describe later differences: parameters and lacking manifests in full, the rest counted."""
    once = {(d.kind, d.key, str(d.value), str(d.other)): d for d in reversed(differing)}
    later = [d for d in differing[1:] if d in once.values()]
    shown = [d for d in later if d.kind in ("parameter", "manifest")][:SHOWN]
    rest = len(later) - len(shown)
    more = [f"{rest} more facts or files that differ further on"] if rest else []
    return [*map(_described, shown), *more]


def outcome(a: Cell, b: Cell) -> list[str]:
    """Describe how the cell, its runs and its queries differ."""
    x, y = a.line.measured, b.line.measured
    if x is None or y is None:
        return [line("cell", _not_run(a, b))]
    lines = [line("cell", f"{x:.6g} against {y:.6g} ({y - x:+.4g})")]
    theirs = _runs(b)
    lines += [line("run", _run(path, a.results, b.results)) for path in _runs(a) if path in theirs]
    try:
        return lines + _deltas(values(a), values(b))
    except ResiduumError as error:
        return [*lines, line("queries", f"cannot be compared: {error}")]


def _not_run(a: Cell, b: Cell) -> str:
    """Name the folders in which a cell has no value, and why."""
    cells = [cell for cell in (a, b) if cell.line.measured is None]
    reasons = [cell.line.not_run for cell in cells]
    if len(cells) == 2 and reasons[0] == reasons[1]:
        return f"not run in either: {reasons[0]}"
    return "; ".join(f"not run in {cell.results}: {cell.line.not_run}" for cell in cells)


def _runs(cell: Cell) -> list[str]:
    kin = (cell.graph[root] for root in cell.roots if root in cell.graph)
    return [path for artefact in kin for path in artefact.parents if PATHS.run.parse(path)]


def _run(path: str, results: Path, against: Path) -> str:
    """Count the queries whose lists differ, and those where docs of equal score alone moved."""
    if not all((folder / path).is_file() for folder in (results, against)):
        return f"{path}: cannot be compared, it is not in both folders"
    try:
        a, b = (_lists(folder / path) for folder in (results, against))
    except ResiduumError as error:
        return f"{path}: cannot be compared: {error}"
    both = a.join(b, on="query_id", how="full", coalesce=True, suffix="_other")
    unlike = both.filter(pl.col("doc_id").ne_missing(pl.col("doc_id_other")))
    if unlike.is_empty():
        same = both.filter(pl.col("score").ne_missing(pl.col("score_other"))).height
        scores = f"; scores differ in {same}" if same else ""
        return f"{path}: the same docs in the same order for all {both.height} queries{scores}"
    tied = unlike.filter(pl.col("scored") == pl.col("scored_other")).height
    return (
        f"{path}: other docs or another order in {unlike.height} of {both.height} queries; in "
        f"{tied} of them docs of equal score changed places and no more (ties)"
    )


def _lists(path: Path) -> pl.DataFrame:
    """Return a row per query: its docs and scores as ranked, and which doc has which score."""
    run = trec.read_run(path).with_columns(pl.format("{} {}", "doc_id", "score").alias("scored"))
    lists = run.group_by("query_id", maintain_order=True)
    return lists.agg("doc_id", "score", pl.col("scored").sort()).sort("query_id")


def _deltas(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    """Name the queries whose values moved most; a count or a depth has none."""
    both = a.join(b, on="query_id", how="full", coalesce=True, suffix="_other")
    if both.is_empty():
        return []
    alone = both.null_count().sum_horizontal().item()
    lines = [line("queries", f"{alone} are in one folder only")] if alone else []
    delta = (pl.col("value_other") - pl.col("value")).abs()
    moved = both.filter(delta > 1e-12).sort([delta, "query_id"], descending=[True, False])
    listed = ", ".join(f"{q} {x:.4g} -> {y:.4g}" for q, x, y in moved.head(SHOWN).iter_rows())
    most = f"; most: {listed}" if listed else ""
    return [*lines, line("queries", f"{moved.height} of {both.height} have another value{most}")]
