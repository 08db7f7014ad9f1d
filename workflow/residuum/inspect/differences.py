"""Where the manifests behind an artefact of one results folder differ from those of another.

Usage: `differences(ancestors(graph, roots), ancestors(other, roots))`. Must not know tables,
measures, or how a difference is worded.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from residuum.inspect.provenance import FOLDER, Artefact, artefact_of, flat

Changed = tuple[str, Any, Any]  # a key, its value in this folder and in the other


class Difference(NamedTuple):
    """Where two provenances differ: what kind, under which key, and both values."""

    path: str
    kind: str  # parameter, inputs, data, manifest or absent
    key: str
    value: Any
    other: Any


def differing(value: Any, other: Any) -> list[Changed]:
    """Return (key, value, other value) wherever two mappings differ; absent is None."""
    a, b = (dict(flat(mapping, lists=True)) for mapping in (value, other))
    return [(k, a.get(k), b.get(k)) for k in dict.fromkeys([*a, *b]) if a.get(k) != b.get(k)]


def differences(kin: list[Artefact], others: list[Artefact]) -> list[Difference]:
    """Return all differences of two provenances, from the sources to the last artefact.

    Within an artefact: its parameters, what it was made from, its facts and bytes. What varies
    between machines (command, versions, commit) and the code do not count: see `changed`.
    """
    own, theirs = ({artefact.path: artefact for artefact in each} for each in (kin, others))
    read, read_there = _bytes(kin), _bytes(others)
    result: list[Difference] = []
    for path in (path for path in own if path in theirs):
        result += _between(own[path], theirs[path])
        pairs = differing(read.get(path, {}), read_there.get(path, {}))
        both = [(key, a, b) for key, a, b in sorted(pairs) if a and b]
        result += [Difference(path, "data", f"sha256 of {key}", a, b) for key, a, b in both]
    result += [Difference(p, "absent", "", "made", "not made") for p in own if p not in theirs]
    return result + [
        Difference(p, "absent", "", "not made", "made") for p in theirs if p not in own
    ]


def _between(a: Artefact, b: Artefact) -> Iterator[Difference]:
    if not (a.record and b.record):
        if a.record or b.record:
            lacks = (artefact.lacks or "a manifest" for artefact in (a, b))
            yield Difference(a.path, "manifest", a.path, *lacks)
        return
    for changed in differing(a.record["spec"], b.record["spec"]):
        yield Difference(a.path, "parameter", *changed)
    only = (sorted({*x.parents} - {*y.parents}) for x, y in ((a, b), (b, a)))
    if any(parents := [" ".join(names) for names in only]):
        yield Difference(a.path, "inputs", "made from", *parents)
    for changed in differing(a.record["artefact"], b.record["artefact"]):
        yield Difference(a.path, "data", *changed)


def _bytes(kin: list[Artefact]) -> dict[str, dict[str, str]]:
    """Return {artefact: {file: sha256}} as those that read the files recorded them.

    A manifest says more than the artefact that it belongs to, so its hash is left out.
    """
    digests: dict[str, dict[str, str]] = {}
    for artefact in kin:
        for path, digest in artefact.inputs.items():
            if "." in PurePosixPath(path).name and not path.endswith(FOLDER):
                digests.setdefault(artefact_of(path), {})[path] = digest
    return digests


def changed(kin: list[Artefact], others: list[Artefact]) -> list[Changed]:
    """Return (what, value, other value) for code and environments that differ, each once."""
    theirs = {artefact.path: artefact.record for artefact in others}
    changes: dict[str, Changed] = {}
    for record, other in ((a.record, theirs.get(a.path)) for a in kin):
        if not (record and other):
            continue
        if record["code"] != other["code"]:
            module, codes = record["code"]["module"], (record["code"], other["code"])
            changes.setdefault(module, (f"code of {module}", *(code["sha256"] for code in codes)))
        for key, x, y in differing(record["environment"], other["environment"]):
            if key not in ("command", "path"):
                changes.setdefault(key, (key.removeprefix("packages."), x, y))
    return list(changes.values())
