"""What numbers were made from, for a page of its own: artefacts, seeds and shards together.

Usage: `kin = Provenance(graph, roots)`, then `kin.keys(cell.roots)` and `kin.groups`. Must not know
HTML, nor pages.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from residuum.inspect import provenance
from residuum.inspect.provenance import Artefact, Graph
from residuum.inspect.text import NUMBERED, listed, together
from residuum.pages.visible import visible
from residuum.site.text import brief, shown

LONG = 1500  # characters of a command that are shown
SPEC = re.compile(r"'\{.{120,}?\}'(?= |$)")  # JSON that its manifest has too


class Group(NamedTuple):
    """Artefacts that differ by seed or shard: what made them, and the groups they are made from."""

    key: str
    title: str
    command: str
    facts: dict[str, str]  # by seed or shard, or by "" where all have the same
    code: str
    lacks: str
    parents: list[str]

    def shown(self) -> dict[str, object]:
        """Return what a page shows of it, without what is empty."""
        facts = {shown(label): shown(text) for label, text in self.facts.items() if text}
        made = {
            "title": shown(self.title),
            "command": visible(self.command),
            "facts": facts,
            "code": self.code,
            "lacks": shown(self.lacks),
            "parents": self.parents,
        }
        return {key: value for key, value in made.items() if value}


class Provenance:
    """The groups behind some artefacts, sources last; each has a key that names it in links."""

    def __init__(self, graph: Graph, roots: Iterable[str]) -> None:
        kin = provenance.ancestors(graph, roots)
        alike: dict[str, list[Artefact]] = {}
        for artefact in reversed(kin):
            alike.setdefault(NUMBERED.sub(r"\1*", artefact.path), []).append(artefact)
        self._key = {a.path: f"a{n}" for n, own in enumerate(alike.values(), 1) for a in own}
        self.groups = {
            group.key: group
            for group in (self._group(sorted(own, key=lambda a: a.path)) for own in alike.values())
        }

    def keys(self, roots: Iterable[str]) -> list[str]:
        """Return the groups of some artefacts, each once."""
        return list(dict.fromkeys(self._key[root] for root in roots))

    def behind(self, keys: Iterable[str]) -> list[str]:
        """Return groups and all behind them, in the order of all groups."""
        reached, ahead = set[str](), list(keys)
        while ahead:
            key = ahead.pop()
            if key not in reached:
                reached.add(key)
                ahead += self.groups[key].parents
        return [key for key in self.groups if key in reached]

    def _group(self, own: list[Artefact]) -> Group:
        first, paths = own[0], [artefact.path for artefact in own]
        parents = dict.fromkeys(self._key[parent] for a in own for parent in a.parents)
        key, title = self._key[first.path], together(paths)
        if first.manifest is None:
            lacks = first.lacks or "a file from outside the results folder"
            return Group(key, brief(title), "", {}, "", lacks, [*parents])
        facts: dict[str, list[str]] = {}
        for path, made in ((a.path, a.manifest) for a in own if a.manifest):
            kept = {k: v for k, v in made.artefact.items() if k not in provenance.ELSEWHERE}
            label = "/".join(match[0] for match in NUMBERED.finditer(path)) or Path(path).name
            facts.setdefault(listed(kept), []).append(label)
        named = {together(labels) if len(facts) > 1 else "": text for text, labels in facts.items()}
        code = f"{first.manifest.module} {first.manifest.sha256[:12]}"
        command = str(first.manifest.environment.get("command") or "not recorded")
        return Group(key, title, _short(command), named, code, "", [*parents])


def _short(command: str) -> str:
    command = SPEC.sub("'{...}'", command)
    return command if len(command) <= LONG else f"{command[: LONG - 3]}..."
