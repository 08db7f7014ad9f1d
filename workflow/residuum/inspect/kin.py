"""What artefacts were made from, seeds and shards together: as groups, and as text.

Usage: `described(provenance.ancestors(graph, roots))`. Must not know tables or measures.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from residuum.inspect.provenance import AGAIN, NO_FILE, Artefact, Manifest
from residuum.inspect.text import LONG, NUMBERED, line, listed, together, wrapped

# Facts that another artefact's lines or the path show, or nobody reads.
ELSEWHERE = ("shards", "index", "shard")


class Group(NamedTuple):
    """Artefacts that differ by seed or shard, and what is known of them together.

    `made` is the first one's manifest; without one `lacks` says why nothing is known. `facts` are
    by seed or shard, or under "" where all have the same. `parents` are numbers of groups, from 1.
    """

    title: str
    made: Manifest | None
    lacks: str
    facts: dict[str, str]
    parents: list[int]

    def command(self, full: bool = False) -> str:
        """Return the command that made the first; long JSON of it only if it is to be `full`."""
        assert self.made is not None
        whole = str(self.made.environment.get("command") or "not recorded")
        return whole if full else re.sub(rf"'\{{.{{{LONG},}}?\}}'(?= |$)", "'{...}'", whole)

    @property
    def code(self) -> str:
        """Return the module that made them and the hash of its code, as far as it is read."""
        assert self.made is not None
        return f"{self.made.module} {self.made.sha256[:12]}"


def grouped(kin: list[Artefact], full: bool = False) -> tuple[list[Group], dict[str, int]]:
    """Return what `ancestors` returns as groups, last artefacts first, and each path's number."""
    alike: dict[tuple[str, str], list[Artefact]] = {}
    for artefact in reversed(kin):
        same = (NUMBERED.sub(r"\1*", artefact.path), artefact.lacks)
        alike.setdefault(same, []).append(artefact)
    numbers = {a.path: number for number, own in enumerate(alike.values(), 1) for a in own}
    made = (sorted(own, key=lambda artefact: artefact.path) for own in alike.values())
    return [_group(own, numbers, full) for own in made], numbers


def _group(own: list[Artefact], numbers: dict[str, int], full: bool) -> Group:
    first = own[0]
    parents = sorted({numbers[parent] for artefact in own for parent in artefact.parents})
    facts = dict(_facts(own, full)) if first.manifest else {}
    title = together([artefact.path for artefact in own])
    return Group(title, first.manifest, _lacks(first), facts, parents)


def _lacks(artefact: Artefact) -> str:
    if artefact.manifest:
        return ""
    if not artefact.lacks:
        return "a file from outside the results folder"
    gone = " and so is the file" * (artefact.lacks == NO_FILE)
    return f"its manifest is missing{gone}, so what it was made from is not known; {AGAIN}"


def _facts(own: Iterable[Artefact], full: bool) -> Iterator[tuple[str, str]]:
    """Yield for which seeds or shards a text of facts holds, and the text."""
    facts: dict[str, list[str]] = {}
    for path, made in ((a.path, a.manifest) for a in own if a.manifest):
        kept = {key: fact for key, fact in made.artefact.items() if key not in ELSEWHERE}
        label = "/".join(match[0] for match in NUMBERED.finditer(path))
        facts.setdefault(listed(kept, full), []).append(label or path)
    for text, labels in facts.items():
        yield together(labels) if len(facts) > 1 else "", text


def described(kin: list[Artefact], full: bool = False) -> str:
    """Lay out what `ancestors` returns; `full` keeps long arguments and values whole."""
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
