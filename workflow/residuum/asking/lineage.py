"""What an artefact descends from: the graph that the manifests of a results folder make.

Usage: `graph = read(Path("results/mini")); ancestors(graph, ["metrics/data/dev/bm25.tsv"])`.
Reads manifests only. Must not know tables, measures, or how a difference is worded.
"""

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from residuum.core import files
from residuum.core.errors import ResiduumError
from residuum.wiring.paths import MANIFEST, Paths

FOLDER, BESIDE = "manifest.json", MANIFEST
SPLIT, QRELS = (
    Path(path).name for path in (Paths().queries, Paths().qrels)
)  # the manifest of the first stands for both
SECTIONS = ("artefact", "spec", "inputs", "code")
VARIES = "environment"
NO_MANIFEST, NO_FILE = "no manifest", "neither file nor manifest"
AGAIN = "run snakemake --cores all again"

Graph = Mapping[str, "Artefact"]


class Artefact(NamedTuple):
    """A file or folder below results, its manifest, and what it was made from.

    `inputs` are {path: sha256}; `parents` the artefacts that these belong to. A file from outside
    the results folder has no manifest and no inputs; one of the folder that should have a manifest
    says under `lacks` what is not there.
    """

    path: str
    record: dict[str, Any]
    inputs: dict[str, str]
    parents: tuple[str, ...]
    lacks: str = ""


class Difference(NamedTuple):
    """A place where two lineages differ: what kind, under which key, and both values."""

    path: str
    kind: str  # parameter, inputs, data, manifest or absent
    key: str
    here: Any
    there: Any


def read(results: Path) -> dict[str, Artefact]:
    """Read every manifest below a results folder into {path: artefact}, sorted by path.

    Paths are relative to the folder, wherever it lies now and whatever it was called. What
    manifests name and has none itself is there too, without a record.
    """
    results = Path(results)
    graph, unreadable = read_what_can_be(results)
    if unreadable:
        raise ResiduumError(f"{unreadable[0]}; delete it, then {AGAIN}")
    if not graph:
        raise ResiduumError(f"{results}: no manifests; is it a results folder, results/<scale>?")
    return graph


def read_what_can_be(results: Path) -> tuple[dict[str, Artefact], list[str]]:
    """Read as `read` does; return the manifests that cannot be read as complaints, not errors."""
    records, unreadable = {}, []
    for path in _manifests(results):
        try:
            records[_stands_for(path, results)] = _record(path)
        except ResiduumError as error:
            unreadable.append(str(error))
    prefix = _prefix(records)
    lacking = dict(_lacking(results, records, prefix))
    known = {*records, *lacking}
    found = {path: _artefact(path, record, prefix, known) for path, record in records.items()}
    found |= {path: Artefact(path, {}, {}, (), what) for path, what in lacking.items()}
    return dict(sorted(found.items())), unreadable


def _manifests(results: Path) -> Iterator[Path]:
    for path in sorted(results.rglob("*manifest.json")):
        parts = path.relative_to(results).parts
        if parts[0] != "work" and not any(part.startswith(".") for part in parts):
            yield path


def _stands_for(path: Path, results: Path) -> str:
    if path.name == FOLDER:
        return path.parent.relative_to(results).as_posix()
    artefact = path.with_name(path.name.removesuffix(BESIDE)).relative_to(results)
    return (artefact.parent if artefact.name == SPLIT else artefact).as_posix()


def _record(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(files.read_bytes(path))
    except ValueError as error:
        raise ResiduumError(f"{path}: cannot be read as a manifest ({error})") from None
    whole = isinstance(found, dict) and all(isinstance(found.get(s), dict) for s in SECTIONS)
    if not whole or not {"module", "sha256"} <= set(found["code"]):
        raise ResiduumError(f"{path}: no manifest of residuum (needs {', '.join(SECTIONS)})")
    return found


def _prefix(records: Mapping[str, dict[str, Any]]) -> str:
    """Find what stood before the paths when they were recorded, such as `results/mini/`."""
    seen: Counter[str] = Counter()
    for record in records.values():
        for key in record["inputs"]:
            parts = key.split("/")
            tails = (("/".join(parts[i:]), i) for i in range(len(parts)))
            start = next((i for tail, i in tails if _owner(tail, records)), None)
            if start is not None:
                seen["".join(f"{part}/" for part in parts[:start])] += 1
    return seen.most_common(1)[0][0] if seen else ""


def _owner(path: str, known: Container[str]) -> str | None:
    """Return the artefact that a path is, or lies in."""
    names = (path, path.removesuffix(BESIDE), str(PurePosixPath(path).parent))
    return next((name for name in names if name in known), None)


def _home(path: str) -> str:
    """Return the artefact that a path belongs to, by its name alone."""
    artefact = PurePosixPath(path.removesuffix(BESIDE))
    return str(artefact.parent if artefact.name in (FOLDER, SPLIT, QRELS) else artefact)


def _lacking(
    results: Path, records: Mapping[str, dict[str, Any]], prefix: str
) -> Iterator[tuple[str, str]]:
    """Yield what manifests name below the results folder that has no manifest, and what it lacks.

    Where paths were recorded relative to the folder, only a file that is there counts as below it.
    """
    for key in dict.fromkeys(key for record in records.values() for key in record["inputs"]):
        name = key.removeprefix(prefix)
        there = (results / _home(name)).exists()
        below = key.startswith(prefix) if prefix else there
        if below and not _owner(name, records):
            yield _home(name), NO_MANIFEST if there else NO_FILE


def _artefact(path: str, record: dict[str, Any], prefix: str, known: Container[str]) -> Artefact:
    record = _relative(record, prefix)
    inputs = record["inputs"]
    parents = dict.fromkeys(_owner(name, known) or name for name in inputs)
    return Artefact(path, record, inputs, tuple(parents))


def _relative(value: Any, prefix: str) -> Any:
    """Take the prefix off every path in a record, the command line apart."""
    if isinstance(value, dict):
        return {
            _relative(key, prefix): item if key == VARIES else _relative(item, prefix)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_relative(item, prefix) for item in value]
    return value.removeprefix(prefix) if isinstance(value, str) and prefix else value


def ancestors(graph: Graph, roots: Iterable[str]) -> list[Artefact]:
    """Return the roots and all that they descend from, sources first, each once."""
    done: dict[str, Artefact] = {}
    waiting = [(root, False) for root in reversed(list(roots))]
    while waiting:
        path, entered = waiting.pop()
        found = graph.get(path, Artefact(path, {}, {}, ()))
        if entered:
            done.setdefault(path, found)
        elif path not in done:
            waiting.append((path, True))
            waiting += [(parent, False) for parent in reversed(found.parents)]
    return list(done.values())


def filled(graph: Graph, other: Graph) -> dict[str, Artefact]:
    """Return a graph whose artefacts without a manifest descend from what the other says."""
    found = dict(graph)
    for path, artefact in other.items():
        own = graph.get(path, Artefact(path, {}, {}, (), NO_FILE))
        if not own.record and artefact.record:
            found[path] = own._replace(parents=artefact.parents)
    return found


def flat(value: Any, key: str = "", lists: bool = False) -> dict[str, Any]:
    """Write nested mappings as {"bm25.k1": 0.9}.

    A list is a value; with `lists`, one of mappings is taken apart: {"shards.0.docs": 640}.
    """
    if lists and isinstance(value, list) and all(isinstance(item, dict) for item in value):
        value = {str(position): item for position, item in enumerate(value)}
    if not isinstance(value, dict):
        return {key: value}
    found: dict[str, Any] = {}
    for name, item in value.items():
        found |= flat(item, f"{key}.{name}" if key else str(name), lists)
    return found


def differing(here: Any, there: Any) -> list[tuple[str, Any, Any]]:
    """Return (key, value here, value there) wherever two mappings differ; absent is None."""
    a, b = flat(here, lists=True), flat(there, lists=True)
    keys = dict.fromkeys([*a, *b])
    return [(key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key)]


def differences(here: list[Artefact], there: list[Artefact]) -> list[Difference]:
    """Return all differences of two lineages, walking from the sources to the last artefact.

    Within an artefact: its parameters, what it was made from, its facts and bytes. What varies
    between machines (command, versions, commit) and the code do not count: see `changed`.
    """
    others = {artefact.path: artefact for artefact in there}
    bytes_here, bytes_there = _bytes(here), _bytes(there)
    found: list[Difference] = []
    for a in here:
        if (b := others.get(a.path)) is not None:
            found += _between(a, b, bytes_here.get(a.path, {}), bytes_there.get(a.path, {}))
    alone = {a.path for a in here} ^ set(others)
    paths = [a.path for a in (*here, *there) if a.path in alone]
    return found + [Difference(path, "absent", "", *_sides(path, others)) for path in paths]


def _sides(path: str, there: Mapping[str, Artefact]) -> tuple[str, str]:
    return ("not made", "made") if path in there else ("made", "not made")


def _between(
    a: Artefact, b: Artefact, here: dict[str, str], there: dict[str, str]
) -> Iterator[Difference]:
    if a.record and b.record:
        yield from _between_records(a, b)
    elif a.record or b.record:
        yield Difference(a.path, "manifest", a.path, *(x.lacks or "a manifest" for x in (a, b)))
    for key in sorted(set(here) & set(there)):
        if here[key] != there[key]:
            yield Difference(a.path, "data", f"sha256 of {key}", here[key], there[key])


def _between_records(a: Artefact, b: Artefact) -> Iterator[Difference]:
    sections = [("parameter", "spec"), ("data", "artefact")]
    parameters, facts = (
        [Difference(a.path, kind, *d) for d in differing(a.record[s], b.record[s])]
        for kind, s in sections
    )
    yield from parameters
    only = (sorted(set(x.parents) - set(y.parents)) for x, y in ((a, b), (b, a)))
    mine, theirs = only
    if mine or theirs:
        yield Difference(a.path, "inputs", "made from", " ".join(mine), " ".join(theirs))
    yield from facts


def _bytes(lineage: list[Artefact]) -> dict[str, dict[str, str]]:
    """Return {artefact: {file: sha256}} as those that read the files recorded them.

    A manifest says more than what it stands for, so its hash is left out.
    """
    known = {artefact.path: artefact for artefact in lineage}
    found: dict[str, dict[str, str]] = {}
    for artefact in lineage:
        for path, digest in artefact.inputs.items():
            owner = _owner(path, known)
            if owner and not path.endswith(FOLDER) and _is_file(path):
                found.setdefault(owner, {})[path] = digest
    return found


def _is_file(path: str) -> bool:
    return "." in PurePosixPath(path).name


def changed(here: list[Artefact], there: list[Artefact]) -> list[tuple[str, Any, Any]]:
    """Return (what, here, there) for code and environments that differ, each once."""
    others = {artefact.path: artefact for artefact in there}
    found: dict[str, tuple[str, Any, Any]] = {}
    for a in here:
        if (b := others.get(a.path)) is None or not (a.record and b.record):
            continue
        if (code := a.record["code"]) != b.record["code"]:
            module, mine, theirs = code["module"], code["sha256"], b.record["code"]["sha256"]
            found.setdefault(module, (f"code of {module}", mine, theirs))
        for key, x, y in differing(_environment(a), _environment(b)):
            found.setdefault(key, (key.removeprefix("packages."), x, y))
    return list(found.values())


def _environment(artefact: Artefact) -> dict[str, Any]:
    kept = artefact.record.get(VARIES, {})
    return {key: value for key, value in kept.items() if key != "command"}
