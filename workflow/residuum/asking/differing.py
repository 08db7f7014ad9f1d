"""The first place where two results folders differ for a cell, and what that did to its value.

Usage: `residuum explain clear/table1/bm25/dev-rr --against other/results/mini`. Walks from the
sources to the cell by the manifests, then compares runs and per-query values.
Must not know how anything was computed.
"""

from pathlib import Path

import polars as pl

from residuum.asking import lineage
from residuum.asking.descent import line, short
from residuum.asking.explaining import PATHS, Asked, find, values
from residuum.core import trec
from residuum.core.errors import ResiduumError

SHOWN = 5
SOURCES = {"corpus": "corpus", "queries.tsv": "topics", "qrels.trec": "qrels"}
KINDS = {
    "parameter": "parameter {key}: {here} here, {there} there",
    "inputs": "made from other files: {here} here, {there} there",
    "manifest": "{here} here, {there} there",
    "data": "{key}: {here} here, {there} there",
    "absent": "{here} here, {there} there",
}


def compared(results: Path, other: Path, address: str) -> str:
    """Say where the lineages of a cell first differ, what else does, and what came of it."""
    here, there = _both(find(results, address), find(other, address))
    lines = [f"{here.address}: {here.results} (here) against {there.results} (there)", ""]
    if here.roots or there.roots:
        found = lineage.differences(here.kin, there.kin)
        lines.append(line("first", first(found, here, there)))
        lines += [line("then", text) for text in _others(found)]
        lines += [line("also", text) for text in _changes(here, there)] if found else []
        lines.append("")
    return "\n".join([*lines, *outcome(here, there)])


def _both(here: Asked, there: Asked) -> tuple[Asked, Asked]:
    """Let both lineages go on past a manifest that one folder lacks."""
    return (
        here._replace(graph=lineage.filled(here.graph, there.graph)),
        there._replace(graph=lineage.filled(there.graph, here.graph)),
    )


def first(found: list[lineage.Difference], here: Asked, there: Asked) -> str:
    """Word the first difference; data that differ by no parameter are laid to code or packages."""
    places = [asked.cell["split_ref"] or "nothing" for asked in (here, there)]
    if places[0] != places[1]:
        return f"another collection: measured on {places[0]} here, on {places[1]} there"
    changes = _changes(here, there)
    if not found:
        return (
            f"everything that was made agrees; {'; '.join(changes)} differ without effect"
            if changes
            else "nothing differs: same sources, parameters, code and environment"
        )
    difference = found[0]
    text = f"{_name(difference)}: {_worded(difference)}"
    if difference.kind != "data":
        return text
    known = here.graph.get(difference.path)
    if known is None or not known.record:
        what = "its manifest is missing" if known and known.lacks else "a file from outside"
        return f"{text} ({what})"
    return f"{text}, with equal parameters and sources{_cause(difference.path, here, there)}"


def _cause(path: str, here: Asked, there: Asked) -> str:
    changes = lineage.changed(*([a for a in x.kin if a.path == path] for x in (here, there)))
    if not changes:
        return ": same code, same versions; it was edited since, or its making is not repeatable"
    return ": " + "; ".join(_change(*change) for change in changes)


def _changes(here: Asked, there: Asked) -> list[str]:
    return [_change(*change) for change in lineage.changed(here.kin, there.kin)]


def _change(what: str, here: object, there: object) -> str:
    return f"{what} {short(here) or 'absent'} here, {short(there) or 'absent'} there"


def _name(difference: lineage.Difference) -> str:
    """Name an artefact and what it is: corpus, topics, qrels, index statistics."""
    path = difference.path
    if PATHS.index.parse(f"{path}/manifest.json") and difference.kind == "data":
        return f"index statistics of {path}"
    names = (difference.key.rpartition("/")[2], path.rpartition("/")[2])
    kind = next((SOURCES[name] for name in names if name in SOURCES), None)
    return f"{kind} of {path}" if kind else path


def _worded(difference: lineage.Difference) -> str:
    here, there = (short(v) or "none" for v in (difference.here, difference.there))
    return KINDS[difference.kind].format(key=difference.key, here=here, there=there)


def _others(found: list[lineage.Difference]) -> list[str]:
    """Word what differs later: parameters and lacking manifests in full, the rest counted."""
    said = {(d.kind, d.key, str(d.here), str(d.there)) for d in found[:1]}
    lines: list[str] = []
    rest = 0
    for d in found[1:]:
        one = (d.kind, d.key, str(d.here), str(d.there))
        if d.kind in ("parameter", "manifest") and one not in said and len(lines) < SHOWN:
            lines.append(f"{_name(d)}: {_worded(d)}")
        elif one not in said:
            rest += 1
        said.add(one)
    more = [f"{rest} more facts or files that differ further on"] if rest else []
    return lines + more


def outcome(here: Asked, there: Asked) -> list[str]:
    """Say how the cell, its runs and its queries differ."""
    a, b = here.cell["measured"], there.cell["measured"]
    if a is None or b is None:
        return [line("cell", _not_run(here, there))]
    lines = [line("cell", f"{a:.6g} here, {b:.6g} there ({b - a:+.4g})")]
    runs = [path for path in _runs(here) if path in _runs(there)]
    lines += [line("run", _run(path, here.results, there.results)) for path in runs]
    try:
        return lines + _deltas(values(here), values(there))
    except ResiduumError as error:
        return [*lines, line("queries", f"cannot be compared: {error}")]


def _not_run(here: Asked, there: Asked) -> str:
    """Say where a cell has no value, and why."""
    reasons = {
        place: asked.cell["not_run"]
        for place, asked in (("here", here), ("there", there))
        if asked.cell["measured"] is None
    }
    if len(reasons) == 1:
        return "; ".join(f"not run {place}: {reason}" for place, reason in reasons.items())
    if reasons["here"] == reasons["there"]:
        return f"not run in either: {reasons['here']}"
    return f"not run in either; here: {reasons['here']}; there: {reasons['there']}"


def _runs(asked: Asked) -> list[str]:
    kin = (asked.graph[root] for root in asked.roots if root in asked.graph)
    parents = [p for artefact in kin for p in artefact.parents]
    return [path for path in parents if PATHS.run.parse(path)]


def _run(path: str, here: Path, there: Path) -> str:
    """Count the queries whose lists differ, and those where docs of equal score alone moved."""
    if not all((folder / path).is_file() for folder in (here, there)):
        return f"{path}: cannot be compared, it is not in both folders"
    try:
        a, b = (_lists(folder / path) for folder in (here, there))
    except ResiduumError as error:
        return f"{path}: cannot be compared: {error}"
    both = a.join(b, on="query_id", how="full", coalesce=True, suffix="_there")
    unlike = both.filter(pl.col("doc_id").ne_missing(pl.col("doc_id_there")))
    if not unlike.height:
        same = both.filter(pl.col("score").ne_missing(pl.col("score_there"))).height
        scores = f"; scores differ in {same}" if same else ""
        return f"{path}: the same docs in the same order for all {both.height} queries{scores}"
    tied = unlike.filter(pl.col("scored") == pl.col("scored_there")).height
    return (
        f"{path}: other docs or another order in {unlike.height} of {both.height} queries; in "
        f"{tied} of them docs of equal score changed places and no more (ties)"
    )


def _lists(path: Path) -> pl.DataFrame:
    """Return a row per query: its docs and scores as ranked, and which doc has which score."""
    run = trec.read_run(path).with_columns(pl.format("{} {}", "doc_id", "score").alias("scored"))
    lists = run.group_by("query_id", maintain_order=True)
    return lists.agg("doc_id", "score", pl.col("scored").sort()).sort("query_id")


def _deltas(here: pl.DataFrame, there: pl.DataFrame) -> list[str]:
    """Name the queries whose values moved most; a count or a depth has none."""
    both = here.join(there, on="query_id", how="full", coalesce=True, suffix="_there")
    if both.is_empty():
        return []
    alone = both.null_count().sum_horizontal().item()
    lines = [line("queries", f"{alone} are in one folder only")] if alone else []
    moved = both.with_columns((pl.col("value_there") - pl.col("value")).alias("delta"))
    moved = moved.filter(pl.col("delta").abs() > 1e-12)
    largest = moved.sort([pl.col("delta").abs(), pl.col("query_id")], descending=[True, False])
    listed = ", ".join(f"{q} {a:.4g} -> {b:.4g}" for q, a, b, _ in largest.head(SHOWN).iter_rows())
    most = f"; most: {listed}" if listed else ""
    return [*lines, line("queries", f"{moved.height} of {both.height} have another value{most}")]
