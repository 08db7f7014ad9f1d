"""Explain where two results folders first differ for a cell, and how its value changed.

Usage: `residuum explain clear/table1/bm25/dev-rr --against other/results/mini`. Provenance is
compared from the sources to the cell by manifests, then runs and values are compared.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from residuum.artefacts import trec
from residuum.artefacts.manifest import FOLDER
from residuum.cli.errors import ResiduumError
from residuum.inspect.addressing import PATHS, Cell, find
from residuum.inspect.explaining import changed, values
from residuum.inspect.provenance import Artefact, Graph, ancestors, artefact_of
from residuum.inspect.text import flat, line, short

SHOWN = 5
SOURCES = {"corpus": "corpus", "queries.tsv": "topics", "qrels.trec": "qrels"}


class Difference(NamedTuple):
    """A difference between two provenances: its kind, its key, and both values."""

    path: str
    kind: str  # parameter, inputs, data, manifest or absent
    key: str
    value: object
    other: object


def compared(results: Path, against: Path, address: str, deep: bool = False) -> str:
    """Describe the first and later differences in the provenance of a cell, and their effect.

    Files that differ from their manifests come first; `deep` is described in `explaining.explain`.
    """
    a, b = find(results, address), find(against, address)
    # Where a folder lacks a manifest, the other folder's manifest continues the walk.
    kin = ancestors(a.graph, a.roots, b.graph)
    others = ancestors(b.graph, b.roots, a.graph)
    lines = [f"{a.address}: {a.results} against {b.results}", ""]
    if kin or others:
        splits = [cell.line.split_ref or "nothing" for cell in (a, b)]
        unlike = differences(kin, others)
        first = _first(unlike, kin, others)
        if splits[0] != splits[1]:
            first = f"another collection: measured on {_against(*splits)}"
        also = [line("also", text) for text in changes(kin, others) if unlike]
        lines += [*_damaged(a, deep), *_damaged(b, deep)]
        lines += [line("first", first), *_later(unlike), *also, ""]
    return "\n".join([*lines, *_outcome(a, b, kin, others)])


def _damaged(cell: Cell, deep: bool) -> list[str]:
    found, skipped = changed(cell, deep)
    lines = [line("changed", f"{cell.results}: {text}") for text in found]
    return [*lines, *([line("by size", f"{cell.results}: {skipped}")] if skipped else [])]


def first_difference(
    graph: Graph, roots: Iterable[str], other: Graph, others: Iterable[str]
) -> str:
    """Describe the first difference between the provenances of two sets of artefacts."""
    kin, theirs = ancestors(graph, roots, other), ancestors(other, others, graph)
    return _first(differences(kin, theirs), kin, theirs)


def differences(kin: list[Artefact], others: list[Artefact]) -> list[Difference]:
    """Return all differences between two provenances, in order from the sources on.

    Compared per artefact: input bytes, parameters, inputs' names, facts. `changes` compares code
    and what varies between machines (command, versions, commit).
    """
    ours, theirs = ({artefact.path: artefact for artefact in each} for each in (kin, others))
    result: list[Difference] = []
    for path in (path for path in ours if path in theirs):
        result += [each for each in _between(ours[path], theirs[path]) if each not in result]
    result += [Difference(p, "absent", "", "made", "not made") for p in ours if p not in theirs]
    lost = [path for path in theirs if path not in ours]
    return result + [Difference(path, "absent", "", "not made", "made") for path in lost]


def differing(value: object, other: object) -> list[tuple[str, object, object]]:
    """Return (key, value, other value) wherever two mappings differ; a missing value is None."""
    a, b = (dict(flat(mapping, lists=True)) for mapping in (value, other))
    return [(k, a.get(k), b.get(k)) for k in dict.fromkeys([*a, *b]) if a.get(k) != b.get(k)]


def _between(a: Artefact, b: Artefact) -> Iterator[Difference]:
    if not (a.manifest and b.manifest):
        if a.manifest or b.manifest:
            lacks = (artefact.lacks or "a manifest" for artefact in (a, b))
            yield Difference(a.path, "manifest", a.path, *lacks)
        return
    for path, digest in sorted(a.manifest.inputs.items()):
        other = b.manifest.inputs.get(path, digest)
        # A manifest's hash covers more than its artefact, so manifests are not compared here.
        is_file = "." in path.rpartition("/")[2] and not path.endswith(FOLDER)
        if is_file and digest != other:
            yield Difference(artefact_of(path), "data", f"sha256 of {path}", digest, other)
    only = (" ".join(sorted({*x.parents} - {*y.parents})) for x, y in ((a, b), (b, a)))
    parents, other_parents = ({"made from": names} for names in only)
    for kind, value, other_value in (
        ("parameter", a.manifest.spec, b.manifest.spec),
        ("inputs", parents, other_parents),
        ("data", a.manifest.artefact, b.manifest.artefact),
    ):
        yield from (Difference(a.path, kind, *each) for each in differing(value, other_value))
    for path, record in a.files.items():
        if (of_b := b.files.get(path, record)) != record:
            yield Difference(a.path, "data", f"sha256 of {path}", record.sha256, of_b.sha256)


def changes(kin: list[Artefact], others: list[Artefact]) -> list[str]:
    """Describe the differences in code and environments, each once."""
    theirs = {artefact.path: artefact.manifest for artefact in others}
    changed: dict[str, tuple[str, object, object]] = {}
    pairs = ((artefact.path, artefact.manifest, theirs.get(artefact.path)) for artefact in kin)
    for path, a, b in pairs:
        if not (a and b):
            continue
        if a.code != b.code:
            changed.setdefault(a.module, (f"code of {a.module}", a.sha256, b.sha256))
        if a.cpu != b.cpu and a.cpu and b.cpu:
            changed.setdefault("cpu", (f"{_verb(path)} on another kind of CPU:", a.cpu, b.cpu))
        for key, x, y in differing(a.environment, b.environment):
            if key not in ("command", "path") and not key.startswith("cpu."):
                changed.setdefault(key, (key.removeprefix("packages."), x, y))
    return [f"{what} {_against(x, y, 'absent')}" for what, x, y in changed.values()]


def _verb(path: str) -> str:
    place = f"{path}/{FOLDER}"
    return "trained" if PATHS.checkpoint.parse(place) or PATHS.backbone.parse(place) else "made"


def _against(value: object, other: object, absent: str = "none") -> str:
    return f"{short(value) or absent} against {short(other) or absent}"


def _first(unlike: list[Difference], kin: list[Artefact], others: list[Artefact]) -> str:
    """Describe the first difference; changed data with equal parameters names code or packages."""
    if not unlike:
        causes = "; ".join(changes(kin, others))
        equal = "nothing differs in the manifests: same sources, parameters, code and environment"
        return f"everything made is equal; {causes} differ without effect" if causes else equal
    text = _described(unlike[0])
    if unlike[0].kind != "data":
        return text
    changed = [artefact for artefact in kin if artefact.path == unlike[0].path]
    if changed[0].manifest is None:
        return (
            f"{text} ({'its manifest is missing' if changed[0].lacks else 'a file from outside'})"
        )
    unknown = "same code, same versions; it was edited since, or its making is not repeatable"
    causes = "; ".join(changes(changed, others)) or unknown
    return f"{text}, with equal parameters and sources: {causes}"


def _described(difference: Difference) -> str:
    """Describe a difference: the artefact, its role (corpus, topics, qrels, index), both values."""
    path, kind, key, value, other = difference
    names = (key.rpartition("/")[2], path.rpartition("/")[2])
    source = next((f"{SOURCES[name]} of " for name in names if name in SOURCES), "")
    if kind == "data" and PATHS.index.parse(f"{path}/{FOLDER}"):
        source = "index statistics of "
    words = {"parameter": f"parameter {key}: ", "inputs": "made from other files: "}
    what = words.get(kind, f"{key}: " if kind == "data" else "")
    return f"{source}{path}: {what}{_against(value, other)}"


def _later(unlike: list[Difference]) -> list[str]:
    """Describe later differences: parameters and missing manifests in full, the rest as a count."""
    once = {(d.kind, d.key, str(d.value), str(d.other)): d for d in reversed(unlike)}
    later = [d for d in unlike[1:] if d in once.values()]
    shown = [d for d in later if d.kind in ("parameter", "manifest")][:SHOWN]
    lines = [line("then", _described(difference)) for difference in shown]
    if rest := len(later) - len(shown):
        lines.append(line("then", f"{rest} more facts or files that differ further on"))
    return lines


def _outcome(a: Cell, b: Cell, kin: list[Artefact], others: list[Artefact]) -> list[str]:
    """Describe how a cell's value, its runs and its per-query values differ."""
    x, y = a.line.measured, b.line.measured
    if x is None or y is None:
        absent = [cell for cell in (a, b) if cell.line.measured is None]
        texts = [f"not run in {cell.results}: {cell.line.not_run}" for cell in absent]
        if x is y and a.line.not_run == b.line.not_run:
            texts = [f"not run in either: {a.line.not_run}"]
        return [line("cell", "; ".join(texts))]
    lines = [line("cell", f"{x:.6g} against {y:.6g} ({y - x:+.4g})")]
    measured = [path for made in kin if made.path in a.roots for path in made.parents]
    theirs = {artefact.path for artefact in others}
    both = [path for path in measured if path in theirs and PATHS.run.parse(path)]
    lines += [line("run", _run(path, a.results, b.results)) for path in both]
    try:
        return lines + _deltas(values(a), values(b))
    except ResiduumError as error:
        return [*lines, line("queries", f"cannot be compared: {error}")]


def _run(path: str, results: Path, against: Path) -> str:
    """Count the queries with different lists, and those that differ only in the order of ties."""
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
    """Return a row per query: docs and scores in rank order, and sorted (doc, score) pairs."""
    run = trec.read_run(path).with_columns(pl.format("{} {}", "doc_id", "score").alias("scored"))
    lists = run.group_by("query_id", maintain_order=True)
    return lists.agg("doc_id", "score", pl.col("scored").sort()).sort("query_id")


def _deltas(a: pl.DataFrame, b: pl.DataFrame) -> list[str]:
    """Name the queries whose values changed most; a count or a depth has no query values."""
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
