"""Which code decides a result: the statements that a verb reaches, for the kinds of a job.

Usage: `closure.sha256("residuum.fusion", "fuse", closure.kinds_of(spec))`, a parameter of every
rule and part of every manifest. From the verb's function every name is followed to the top-level
statement that binds it, in any module of the package; classes count whole, and so does what merely
importing the modules does. What cannot be followed is refused. Must not know any stage.
"""

import builtins
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from residuum.code.names import Library, Node, Target
from residuum.code.statements import Chain, Form, Statement

PACKAGE = Path(__file__).resolve().parents[1]
# What cannot change a byte of a result, and why.
APART = {
    "residuum.code": "finds out what is reached",
    "residuum.code.tables": "an entry is followed to where it stands",
    "residuum.config.roots:packaged": "a file counts where it is named",
    "residuum.cli.progress": "hands items through and says how far the work is",
    "residuum.artefacts.manifest:environment": "stands apart in manifests",
    "residuum.artefacts.manifest:command_line": "stands apart in manifests",
    "residuum.artefacts.manifest:made_by": "stands apart in manifests",
    "residuum.collections.faults:first": "looks for what broke a reader, for its message",
    "residuum.neural.resumable:log": "a line in a log",
}
ANY = "builtins.Exception"


class Job(NamedTuple):
    """A verb of a stage and the kinds in its spec; None: all verbs, all kinds."""

    module: str
    verb: str | None = None
    kinds: frozenset[str] | None = None


def kinds_of(*texts: str) -> frozenset[str] | None:
    """Return every `kind` in the JSON among the arguments of a command; None where none has any."""
    found = {kind for text in texts if text[:1] in ("{", "[") for kind in _kinds(_parsed(text))}
    return frozenset(found) or None


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _kinds(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        if isinstance(kind := data.get("kind"), str):
            yield kind
        data = list(data.values())
    for part in data if isinstance(data, list) else []:
        yield from _kinds(part)


@cache
def sha256(module: str, verb: str | None = None, kinds: frozenset[str] | None = None) -> str:
    """Return one SHA-256 over the code of this package that a verb reaches."""
    return digest(_library(), Job(module, verb, kinds))


def digest(library: Library, job: Job) -> str:
    """Return one SHA-256 over a closure."""
    return hashlib.sha256("\n".join(closure(library, job)).encode()).hexdigest()


@cache
def _library() -> Library:
    return Library(PACKAGE)


def closure(library: Library, job: Job) -> list[str]:
    """Return a line for every statement that a job's verb reaches.

    A missing module or verb, and what cannot be followed, are a ValueError.
    """
    heard: set[str] = set()
    while True:
        walk = Walk(library, job.kinds, heard)
        walk.follow(start(library, job))
        if walk.heard <= heard:
            return walk.lines()
        heard = heard | walk.heard


def start(library: Library, job: Job) -> list[Node]:
    """Return the function of a verb, those of all verbs, or all of a module that has none."""
    statements = library.existing(job.module).statements
    verbs = [n for n, s in enumerate(statements) if s.verb]
    if job.verb is not None:
        verbs = [n for n in verbs if statements[n].verb == job.verb]
        if not verbs:
            raise ValueError(f"{job.module} has no verb {job.verb}")
    return [Node(job.module, n) for n in verbs or range(len(statements))]


class Walk:
    """The statements that are reached from a start, and what each of their names stands for.

    `spoken` are exceptions whose texts reach the result: what words them counts with its texts.
    """

    def __init__(self, library: Library, kinds: frozenset[str] | None, spoken: set[str]) -> None:
        self.library, self.kinds, self.spoken = library, kinds, spoken
        self.heard: set[str] = set()
        self.reached: dict[Node, str] = {}
        self.run: set[str] = set()
        self.waiting: list[Node] = []

    def follow(self, nodes: list[Node]) -> None:
        """Reach the nodes and all that they use."""
        self.waiting += nodes
        while self.waiting:
            node = self.waiting.pop()
            if node not in self.reached:
                self.reached[node] = ""
                self.load(node.module)
                self.reached[node] = self._line(node, self.library.statement(node))

    def load(self, name: str) -> None:
        """Count what importing a module does, and the packages around it."""
        for module in self.library.within(name) if name not in self.run else ():
            if module not in self.run and not _apart(module):
                self.run.add(module)
                self.waiting += self.library.effects(module)
                for other in self.library.existing(module).loads:
                    self.load(other)
        self.run.add(name)

    def _line(self, node: Node, statement: Statement) -> str:
        """Follow a statement; return its name and hash, what its names stand for, and its data."""
        if statement.opaque:
            raise ValueError(f"{self.library.where(node)}: {statement.opaque} cannot be followed")
        for name in statement.loads:
            self.load(name)
        for use in statement.heard:
            found = self.library.resolve(node, use) if use else []
            self.heard |= {self._name(t) if self._above(t) else ANY for t in found} or {ANY}
        form = self._form(node, statement)
        parts = [f"{'.'.join(use)}={self._targets(node, use)}" for use in form.uses]
        parts += [self._targets(node, use) for use in statement.members if self._chosen(node, use)]
        parts += [f"{kind}={self._entry(node, target)}"
                  for kind, target in statement.entries if self._named(kind)]  # fmt: skip
        parts += [f"{name}={self.library.data(node, name)}" for name in statement.data]
        return " ".join([f"{node.module}:{statement.name}", form.sha256, *parts])

    def _form(self, node: Node, statement: Statement) -> Form:
        """Choose the form with the texts of exceptions where something reads them."""
        spoken = self.spoken and any(self._spoken(node, use) for use in statement.raised)
        return statement.spoken if spoken else statement.quiet

    def _targets(self, node: Node, use: Chain) -> str:
        return self._add(self.library.resolve(node, use))

    def _add(self, targets: list[Target]) -> str:
        """Wait for nodes to be followed; name them, and what stands outside of the package."""
        nodes = [target for target in targets if isinstance(target, Node)]
        self.waiting += [n for n in nodes if not _apart(self._name(n))]
        return "|".join(map(self._name, targets))

    def _name(self, target: Target) -> str:
        if isinstance(target, str):
            return target
        return f"{target.module}:{self.library.statement(target).name}"

    def _named(self, kind: str) -> bool:
        return self.kinds is None or not kind or kind in self.kinds

    def _entry(self, node: Node, target: str) -> str:
        """Follow an entry of a table, or a table whose every entry's module is imported."""
        if not target:
            raise ValueError(f"{self.library.where(node)}: write the entries of the table out")
        found = self.library.find(target)
        for table in found:
            entries = self.library.statement(table).entries if isinstance(table, Node) else ()
            for _, other in entries:
                self.load(other.partition(":")[0])
        return self._add(found)

    def _chosen(self, node: Node, use: Chain) -> bool:
        """Say whether a member of a union counts: its kind is in the spec, or it has none."""
        found = [t for t in self.library.resolve(node, use) if isinstance(t, Node)]
        kinds = {kind for target in found for kind in self.library.statement(target).kinds}
        return self.kinds is None or not kinds or bool(kinds & self.kinds)

    def _spoken(self, node: Node, use: Chain) -> bool:
        """Say whether the text of an exception of a class reaches the result."""
        found = self.library.resolve(node, use) if use else []
        names = {name for target in found for name in self._above(target)}
        return bool(self.spoken & (names | {ANY} if names else self.spoken))

    def _above(self, target: Target) -> set[str]:
        """Return a class and those above it; empty for what is no class."""
        if isinstance(target, str):
            found = getattr(builtins, target.removeprefix("builtins."), Exception)
            return {target, *(f"builtins.{c.__name__}" for c in getattr(found, "__mro__", ()))}
        bases = self.library.statement(target).bases
        above = [t for use in bases if use for t in self.library.resolve(target, use)]
        return {self._name(target)}.union(*map(self._above, above)) if bases else set()

    def lines(self) -> list[str]:
        """Return the lines of what was reached; functions and classes may stand in any order."""

        def place(node: Node) -> tuple[str, str, int]:
            statement = self.library.statement(node)
            return (node.module, statement.name if statement.defines else "", node.number)

        return [self.reached[node] for node in sorted(self.reached, key=place)]


def _apart(name: str) -> bool:
    """Say whether a module, or a `module:name`, cannot change a result."""
    return any(name == one or name.startswith((f"{one}.", f"{one}:")) for one in APART)
