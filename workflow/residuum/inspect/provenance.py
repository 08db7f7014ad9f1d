"""Read the graph of a results folder's manifests: what each artefact was made from.

Usage: `graph = read(Path("results/mini")); ancestors(graph, ["metrics/data/dev/bm25.tsv"])`. This
module reads manifests only.
"""

import json
import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import AliasPath, BaseModel, Field, ValidationError

from residuum.artefacts import files
from residuum.artefacts.machine import Cpu
from residuum.artefacts.manifest import FOLDER, FileRecord
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.inspect.text import LONG, NUMBERED, line, listed, together, wrapped
from residuum.wiring.paths import MANIFEST, Paths, Template

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SPLIT = [Path(path).name for path in (Paths().queries, Paths().qrels)]  # they share a manifest
NO_MANIFEST, NO_FILE = "no manifest", "neither file nor manifest"
MANIFESTS = ["**/*manifest.json"]
AGAIN = "run snakemake --cores all again"
CYCLE = 8  # artefacts named of a cycle


class Manifest(BaseModel):
    """A manifest as `residuum.artefacts.manifest` writes it, with the path it was written to."""

    artefact: dict[str, Any]
    spec: dict[str, object]
    inputs: dict[str, Sha256]
    files: dict[str, FileRecord] = Field(default={})  # empty in old manifests
    code: Any  # manifest.Code; fields below check two of its keys
    environment: dict[str, object]
    module: str = Field(validation_alias=AliasPath("code", "module"))
    sha256: Sha256 = Field(validation_alias=AliasPath("code", "sha256"))
    cpu: Cpu | None = Field(None, validation_alias=AliasPath("environment", "cpu"))
    written: PurePosixPath = Field(validation_alias=AliasPath("environment", "path"))


class Artefact(NamedTuple):
    """A file or folder below results, with its manifest and the artefacts it was made from.

    A file from outside the results folder has no manifest. `lacks` names what is missing: the
    manifest, or the file too. `folder` holds the manifest.
    """

    path: str
    manifest: Manifest | None = None
    parents: tuple[str, ...] = ()
    lacks: str = ""
    folder: str = ""

    @property
    def files(self) -> dict[str, FileRecord]:
        """Return the records of the artefact's own files, by path below results."""
        records = self.manifest.files if self.manifest else {}
        return {
            f"{self.folder}/{name}".removeprefix("./"): record for name, record in records.items()
        }


Made = dict[str, tuple[Manifest, set[str]]]  # path: manifest, its parents below results


class Graph(dict[str, Artefact]):
    """Artefacts by path; an unknown path is a file from outside the results folder."""

    def __missing__(self, path: str) -> Artefact:
        return Artefact(path)

    def manifest(self, path: str) -> Manifest:
        """Return an artefact's manifest; an artefact without a manifest raises ResiduumError."""
        if made := self[path].manifest:
            return made
        raise ResiduumError(f"{path}: no manifest, so what it was made from is not known; {AGAIN}")


def read(results: Path) -> Graph:
    """Read every manifest below a results folder into {path: artefact}, sorted by path.

    Paths are relative to `results`, wherever the folder was when they were written. Artefacts that
    a manifest names are included even without a manifest. A faulty manifest raises ResiduumError.
    """
    made: Made = {}
    for name in finished(results, MANIFESTS):
        try:
            made[name] = _manifest(results / name, name)
        except ResiduumError as error:
            raise ResiduumError(f"{results / name}: {error}; delete it, then {AGAIN}") from None
    if not made:
        raise ResiduumError(f"{results}: no manifests; is it a results folder, results/<scale>?")
    return _graph(results, made)


def readable(results: Path) -> tuple[Graph, dict[str, str]]:
    """Read every readable manifest; also return {path: fault} of the other manifests.

    It is apart from `read`, because results must not depend on the words of errors.
    """
    made: Made = {}
    faults: dict[str, str] = {}
    for name in finished(results, MANIFESTS):
        try:
            made[name] = _manifest(results / name, name)
        except ResiduumError as error:
            faults[name] = str(error)
    return _graph(results, made), faults


def refuse_unfinished(results: Path) -> None:
    """Raise ResiduumError for a results folder without a ledger."""
    if not (results / Paths().ledger).is_file():
        raise ResiduumError(
            f"{results}: no ledger.tsv, so its pages are not finished; name a results folder "
            "(--results results/<scale>) or run snakemake --cores all"
        )


def _graph(results: Path, made: Made) -> Graph:
    graph = Graph()
    for name, (manifest, _) in made.items():
        parents = dict.fromkeys(map(artefact_of, manifest.inputs))
        path, folder = artefact_of(name), str(PurePosixPath(name).parent)
        graph[path] = Artefact(path, manifest, tuple(parents), folder=folder)
    below = {name for _, inside in made.values() for name in inside}
    for name in below - set(graph):
        graph[name] = Artefact(name, lacks=NO_MANIFEST if (results / name).exists() else NO_FILE)
    _refuse_cycles(results, graph)
    return Graph(sorted(graph.items()))


def _refuse_cycles(results: Path, graph: Graph) -> None:
    """Raise ResiduumError if manifests say that an artefact was made from itself."""
    try:
        TopologicalSorter({path: artefact.parents for path, artefact in graph.items()}).prepare()
    except CycleError as error:
        around = error.args[1]  # each artefact is an input of the next
        shown = [*around[:CYCLE], "..."] if len(around) > CYCLE else around
        raise ResiduumError(
            f"{results}: manifests say that {around[0]} was made from itself: "
            f"{' -> '.join(shown)}. No job makes such a manifest. Get the results again, or delete "
            f"the artefact that was edited, then {AGAIN}"
        ) from None


def finished(folder: Path, patterns: Iterable[str]) -> list[str]:
    """Return the sorted files of a folder that match templates or patterns, except work files."""
    paths = {path for pattern in patterns for path in folder.glob(Template(pattern).pattern)}
    names = [path.relative_to(folder).as_posix() for path in sorted(paths) if path.is_file()]
    return [name for name in names if not re.match(r"work/|(.*/)?\.", name)]


def artefact_of(path: str) -> str:
    """Return the artefact that a path names, lies in, or is the manifest of."""
    artefact = PurePosixPath(path.removesuffix(MANIFEST))
    return str(artefact.parent if artefact.name in (FOLDER, *SPLIT) else artefact)


def _manifest(path: Path, name: str) -> tuple[Manifest, set[str]]:
    """Return a manifest with paths relative to results, and the artefacts among its inputs."""
    text = files.read_bytes(path)
    try:
        made = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise ResiduumError(describe("not a manifest of residuum", error).splitlines()[0]) from None
    if outside := [file for file in made.files if not files.stays(file)]:
        fault = f"files: {outside[0]} leads out of its folder"
        raise ResiduumError(f"not a manifest of residuum: {fault}")
    above, depth = made.written.parents, name.count("/")
    if depth >= len(above):
        raise ResiduumError(f"not a manifest of residuum: environment.path is no path of {name}")
    prefix = f"{above[depth]}/".removeprefix("./")
    below = [p.removeprefix(prefix) for p in made.inputs if p.startswith(prefix)]
    inside = set(map(artefact_of, filter(files.stays, below)))
    start = re.escape(json.dumps(prefix, ensure_ascii=False)[:-1])
    return Manifest.model_validate_json(re.sub(rf"(?<!\\){start}", '"', text.decode())), inside


def ancestors(graph: Graph, roots: Iterable[str], other: Graph | None = None) -> list[Artefact]:
    """Return the roots and all their ancestors, each once, sources first.

    For an artefact without a manifest, the manifest in the graph `other` is used, if there is one.
    """
    done: dict[str, Artefact] = {}
    for root in roots:
        ahead = [_followed(graph, root, other)]
        left = [iter(ahead[0].parents)]  # unvisited parents of each artefact on the path
        while ahead:
            parent = next((path for path in left[-1] if path not in done), None)
            if parent is None:
                done.setdefault(ahead[-1].path, ahead.pop())
                left.pop()
            else:
                ahead.append(_followed(graph, parent, other))
                left.append(iter(ahead[-1].parents))
    return list(done.values())


def _followed(graph: Graph, path: str, other: Graph | None) -> Artefact:
    artefact, elsewhere = graph[path], (other or graph)[path]
    if elsewhere.manifest and not artefact.manifest:
        return Artefact(path, parents=elsewhere.parents, lacks=artefact.lacks or NO_FILE)
    return artefact


# Facts that are not shown: other lines or the path show them, or no reader needs them.
ELSEWHERE = ("shards", "index", "shard")


class Group(NamedTuple):
    """Artefacts that differ only by seed or shard, with the facts recorded for them.

    `made` is the manifest of the first artefact; if it is None, `lacks` says what is missing.
    `facts` has a text per seed or shard, or a single text under "" if all agree. `parents` are
    group numbers, from 1.
    """

    title: str
    made: Manifest | None
    lacks: str
    facts: dict[str, str]
    parents: list[int]

    def command(self, full: bool = False) -> str:
        """Return the first artefact's command; long JSON is cut unless `full` is true."""
        assert self.made is not None
        whole = str(self.made.environment.get("command") or "not recorded")
        return whole if full else re.sub(rf"'\{{.{{{LONG},}}?\}}'(?= |$)", "'{...}'", whole)

    @property
    def code(self) -> str:
        """Return the module that made the artefacts, and the first 12 digits of its code's hash."""
        assert self.made is not None
        return f"{self.made.module} {self.made.sha256[:12]}"


def grouped(kin: list[Artefact], full: bool = False) -> tuple[list[Group], dict[str, int]]:
    """Return groups of the artefacts that `ancestors` returns, last first, and {path: number}."""
    alike: dict[tuple[str, str], list[Artefact]] = {}
    for artefact in reversed(kin):
        same = (NUMBERED.sub(r"\1*", artefact.path), artefact.lacks)
        alike.setdefault(same, []).append(artefact)
    numbers = {a.path: number for number, members in enumerate(alike.values(), 1) for a in members}
    made = (sorted(members, key=lambda artefact: artefact.path) for members in alike.values())
    return [_group(members, numbers, full) for members in made], numbers


def _group(members: list[Artefact], numbers: dict[str, int], full: bool) -> Group:
    first = members[0]
    parents = sorted({numbers[parent] for artefact in members for parent in artefact.parents})
    facts = dict(_facts(members, full)) if first.manifest else {}
    title = together([artefact.path for artefact in members])
    return Group(title, first.manifest, _lacks(first), facts, parents)


def _lacks(artefact: Artefact) -> str:
    if artefact.manifest:
        return ""
    if not artefact.lacks:
        return "a file from outside the results folder"
    gone = " and so is the file" * (artefact.lacks == NO_FILE)
    return f"its manifest is missing{gone}, so what it was made from is not known; {AGAIN}"


def _facts(members: Iterable[Artefact], full: bool) -> Iterator[tuple[str, str]]:
    """Yield (seeds or shards, facts as text) for each distinct text of facts."""
    facts: dict[str, list[str]] = {}
    for path, made in ((a.path, a.manifest) for a in members if a.manifest):
        kept = {key: fact for key, fact in made.artefact.items() if key not in ELSEWHERE}
        label = "/".join(match[0] for match in NUMBERED.finditer(path))
        facts.setdefault(listed(kept, full), []).append(label or path)
    for text, labels in facts.items():
        yield together(labels) if len(facts) > 1 else "", text


def described(kin: list[Artefact], full: bool = False) -> str:
    """Lay out the artefacts that `ancestors` returns; `full` leaves long values uncut."""
    groups, _ = grouped(kin, full)
    shown = ["Provenance"] if kin else []
    for number, group in enumerate(groups, 1):
        shown.append("\n".join([f"[{number}] {group.title}", *_lines(group, full)]))
    return "\n\n".join(shown)


def _lines(group: Group, full: bool) -> Iterator[str]:
    if group.made is None:
        yield wrapped(group.lacks, " " * 4)
        return
    yield line("command", group.command(full), 4)
    yield line("spec", listed(group.made.spec, full), 4)
    for label, text in group.facts.items():
        yield line("facts", f"{label}: {text}" if label else text, 4)
    yield line("code", group.code, 4)
    if group.parents:
        yield line("from", " ".join(f"[{number}]" for number in group.parents), 4)
