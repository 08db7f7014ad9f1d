"""Group the artefacts behind numbers for a page of their own, with a link key per group.

Usage: `kin = Provenance(graph, roots)`, then `kin.keys(cell.roots)` and `kin.groups`.
"""

from collections.abc import Iterable

from residuum.inspect import provenance
from residuum.pages.visible import visible
from residuum.site.text import brief, shortened, shown

LONG = 1500  # characters shown of a command


class Provenance:
    """The groups of artefacts behind some roots, sources last; each has a key for links."""

    def __init__(self, graph: provenance.Graph, roots: Iterable[str]) -> None:
        groups, self._numbers = provenance.grouped(provenance.ancestors(graph, roots))
        self.groups = {_key(number): group for number, group in enumerate(groups, 1)}

    def keys(self, roots: Iterable[str]) -> list[str]:
        """Return the keys of the groups that contain the given artefacts, each once."""
        return list(dict.fromkeys(_key(self._numbers[root]) for root in roots))

    def behind(self, keys: Iterable[str]) -> dict[str, list[str]]:
        """Return {key: [title, keys of parents]} for groups and all their ancestors."""
        reached, ahead = set[str](), list(keys)
        while ahead:
            key = ahead.pop()
            if key not in reached:
                reached.add(key)
                ahead += _parents(self.groups[key])
        return {
            key: [brief(group.title), *_parents(group)]
            for key, group in self.groups.items()
            if key in reached
        }


def artefact(group: provenance.Group) -> dict[str, object]:
    """Return the data that a page shows of a group, leaving out empty values."""
    facts = {shown(label): shown(text) for label, text in group.facts.items() if text}
    made = {
        "title": shown(brief(group.title)),
        "command": group.made and visible(shortened(group.command(), LONG)),
        "facts": facts,
        "code": group.made and group.code,
        "lacks": shown(group.lacks),
        "parents": _parents(group),
    }
    return {key: value for key, value in made.items() if value}


def _key(number: int) -> str:
    return f"a{number}"


def _parents(group: provenance.Group) -> list[str]:
    return list(map(_key, group.parents))
