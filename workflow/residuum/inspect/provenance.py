"""What an artefact was made from: the graph that the manifests of a results folder make.

Usage: `graph = read(Path("results/mini")); ancestors(graph, ["metrics/data/dev/bm25.tsv"])`.
Reads manifests only. Must not know tables, measures, or how a difference is worded.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.wiring.paths import MANIFEST, Paths

FOLDER = "manifest.json"
SPLIT = [Path(path).name for path in (Paths().queries, Paths().qrels)]  # one manifest for both
MADE = ("artefact", "spec", "inputs", "code")  # sections in which paths are below results
NO_MANIFEST, NO_FILE = "no manifest", "neither file nor manifest"
AGAIN = "run snakemake --cores all again"

Record = dict[str, Any]
Graph = Mapping[str, "Artefact"]


class Artefact(NamedTuple):
    """A file or folder below results, its manifest, and the artefacts that it was made from.

    A file from outside the results folder has no manifest; one of the folder that should have one
    says under `lacks` what is missing.
    """

    path: str
    record: Record
    parents: tuple[str, ...]
    lacks: str = ""

    @property
    def inputs(self) -> dict[str, str]:
        """Return {path: sha256} of the files that it was made from."""
        return dict(self.record.get("inputs", {}))


def read(results: Path) -> dict[str, Artefact]:
    """Read every manifest below a results folder into {path: artefact}, sorted by path.

    Paths are relative to the folder, wherever it lies now and whatever it was called. What
    manifests name and has none itself is included, without a record.
    """
    graph, unreadable = read_what_can_be(results)
    if unreadable:
        raise ResiduumError(f"{unreadable[0]}; delete it, then {AGAIN}")
    if not graph:
        raise ResiduumError(f"{results}: no manifests; is it a results folder, results/<scale>?")
    return graph


def read_what_can_be(results: Path) -> tuple[dict[str, Artefact], list[str]]:
    """Read as `read` does; return the manifests that cannot be read as messages, not errors."""
    graph: dict[str, Artefact] = {}
    unreadable = []
    below: set[str] = set()
    for path in sorted(results.rglob("*manifest.json")):
        name = path.relative_to(results).as_posix()
        if name.startswith("work/") or any(part.startswith(".") for part in name.split("/")):
            continue
        try:
            record, inside = _record(path, name)
        except ResiduumError as error:
            unreadable.append(str(error))
            continue
        parents = dict.fromkeys(map(artefact_of, record["inputs"]))
        graph[artefact_of(name)] = Artefact(artefact_of(name), record, tuple(parents))
        below |= inside
    for name in below - set(graph):
        lacks = NO_MANIFEST if (results / name).exists() else NO_FILE
        graph[name] = Artefact(name, {}, (), lacks)
    return dict(sorted(graph.items())), unreadable


def artefact_of(path: str) -> str:
    """Return the artefact that a path is, is the manifest of, or lies in."""
    artefact = PurePosixPath(path.removesuffix(MANIFEST))
    return str(artefact.parent if artefact.name in (FOLDER, *SPLIT) else artefact)


def _record(path: Path, name: str) -> tuple[Record, set[str]]:
    """Return a manifest with paths relative to the results folder, and its parents within that."""
    try:
        record = json.loads(files.read_bytes(path))
    except ValueError as error:
        raise ResiduumError(f"{path}: cannot be read as a manifest ({error})") from None
    sections = (*MADE, "environment")
    whole = isinstance(record, dict) and all(isinstance(record.get(s), dict) for s in sections)
    if not (
        whole and {"module", "sha256"} <= {*record["code"]} and "path" in record["environment"]
    ):
        raise ResiduumError(f"{path}: not a manifest of residuum (needs {', '.join(sections)})")
    written = PurePosixPath(record["environment"]["path"])
    prefix = f"{written.parents[name.count('/')]}/".removeprefix("./")
    inside = (key.removeprefix(prefix) for key in record["inputs"] if key.startswith(prefix))
    return record | {section: _relative(record[section], prefix) for section in MADE}, set(
        map(artefact_of, inside)
    )


def _relative(value: Any, prefix: str) -> Any:
    """Remove the prefix from every path in a section."""
    if isinstance(value, dict):
        return {key.removeprefix(prefix): _relative(item, prefix) for key, item in value.items()}
    if isinstance(value, list):
        return [_relative(item, prefix) for item in value]
    return value.removeprefix(prefix) if isinstance(value, str) else value


def ancestors(graph: Graph, roots: Iterable[str]) -> list[Artefact]:
    """Return the roots and all that they were made from, sources first, each once."""
    done: dict[str, Artefact] = {}
    waiting = [(root, False) for root in reversed(list(roots))]
    while waiting:
        path, entered = waiting.pop()
        artefact = graph.get(path, Artefact(path, {}, ()))
        if entered:
            done.setdefault(path, artefact)
        elif path not in done:
            waiting.append((path, True))
            waiting += [(parent, False) for parent in reversed(artefact.parents)]
    return list(done.values())


def completed(graph: Graph, other: Graph) -> dict[str, Artefact]:
    """Return a graph in which what has no manifest has the parents that it has in the other."""
    whole = dict(graph)
    for path, artefact in other.items():
        own = graph.get(path, Artefact(path, {}, (), NO_FILE))
        if artefact.record and not own.record:
            whole[path] = own._replace(parents=artefact.parents)
    return whole


def flat(value: object, key: str = "", lists: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the items of nested mappings, as ("bm25.k1", 0.9).

    A list is a value; with `lists`, one of mappings is taken apart: ("shards.0.docs", 640).
    """
    if lists and isinstance(value, list) and all(isinstance(item, dict) for item in value):
        value = {str(position): item for position, item in enumerate(value)}
    if not isinstance(value, dict):
        yield key, value
        return
    for name, item in value.items():
        yield from flat(item, f"{key}.{name}" if key else str(name), lists)
