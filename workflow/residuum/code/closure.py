"""Compute which code decides a result: the statements that a verb reaches for a job's kinds.

Usage: `closure.sha256("residuum.fusion", "fuse", closure.kinds_of(spec))`, a parameter of every
rule and a part of every manifest. The walk starts at the verb's function. It follows each name to
the top-level statements that bind it, in any module of the package. A class counts as a whole. What
importing the reached modules executes counts too. Code that cannot be followed is refused.
"""

import builtins
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import yamls
from residuum.code import statements
from residuum.code.normal import Chain
from residuum.code.statements import Module, Statement

PACKAGE = Path(__file__).resolve().parents[1]
# Code that cannot change a byte of a result, with the reason.
APART = {
    "residuum.code": "finds out what is reached; entries of tables are followed",
    "residuum.config.roots:packaged": "a file counts where it is named",
    "residuum.cli.interrupts": "says how a command that is stopped ends",
    "residuum.cli.memory": "says what becomes of memory that was given back",
    "residuum.cli.outputs": "hands paths through, or raises",
    "residuum.cli.progress": "hands items through and says how far the work is",
    "residuum.artefacts.files:_room_for": "hands an error on, in other words where a disk is full",
    "residuum.artefacts.intact": "hands a path through, or raises",
    "residuum.artefacts.manifest:environment": "stands apart in manifests",
    "residuum.artefacts.manifest:command_line": "stands apart in manifests",
    "residuum.artefacts.manifest:made_by": "stands apart in manifests",
    "residuum.collections.faults:first": "looks for what broke a reader, for its message",
    "residuum.neural.resumable:log": "a line in a log",
}
# A measure's name is its kind: `--measure 'RR@10'`, or "RR@10" in JSON.
MEASURED = re.compile(r"""(?:--measure[ =]'?|"(?=\w+@\d+"))(\w+)""")
BUILTINS = frozenset([*dir(builtins), "__name__", "__file__"])
Kinds = frozenset[str]
Target = Statement | str  # a statement of the package, or a name outside, such as `math:floor`


def kinds_of(*texts: str) -> Kinds | None:
    """Return the kinds that JSON arguments and measures of a command name, or None."""
    kinds = set(MEASURED.findall(" ".join(texts)))

    def note(entry: dict[str, object]) -> None:
        if isinstance(kind := entry.get("kind"), str):
            kinds.add(kind)

    for text in texts:
        if text[:1] in ("{", "["):
            with suppress(ValueError):
                json.loads(text, object_hook=note)
    return frozenset(kinds) or None


class Step(NamedTuple):
    """What a statement adds to a walk: its line, the statements it uses, the modules it runs."""

    line: str
    uses: list[Statement]
    modules: list[str]


class Library:
    """The modules of a package, read when they are reached, and never imported.

    A missing module or name raises ValueError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self.modules: dict[str, Module | None] = {}
        self.resolved: dict[tuple[Statement, Chain], list[Target]] = {}
        self.hashes: dict[Path, str] = {}
        self.imported: dict[str, list[str]] = {}
        self.steps: dict[tuple[Statement, Kinds | None, bool], Step] = {}
        self.ran: dict[str, tuple[list[Statement], list[str]]] = {}

    def module(self, name: str) -> Module | None:
        """Return a module of the package, or None for any other name."""
        if name not in self.modules:
            path = self.path(name)
            self.modules[name] = statements.read(path, name) if path else None
        return self.modules[name]

    def path(self, name: str) -> Path | None:
        """Return the file of a module of the package, or None for any other name."""
        first, *rest = name.split(".")
        base = self.folder.joinpath(*rest)
        paths = [base / "__init__.py", *([base.with_suffix(".py")] if rest else [])]
        return next((p for p in paths if first == self.name and p.is_file()), None)

    def existing(self, name: str) -> Module:
        """Return a module of the package; ValueError if it does not exist."""
        if (module := self.module(name)) is None:
            raise ValueError(f"no module {name} under {self.folder}")
        return module

    def run_by(self, targets: Iterable[Target]) -> Iterator[str]:
        """Yield the package's modules that importing the targets executes, packages first."""
        for target in (one for one in targets if isinstance(one, str)):
            if target not in self.imported:
                parts = target.replace(":", ".").split(".")
                names = (".".join(parts[: end + 1]) for end in range(len(parts)))
                self.imported[target] = [name for name in names if self.module(name)]
            yield from self.imported[target]

    def executed(self, name: str) -> tuple[list[Statement], list[str]]:
        """Return the statements that importing a module executes, and the modules it imports."""
        if name not in self.ran:
            module = self.existing(name)
            acting = [statement for statement in module.statements if statement.acts]
            bound = (target for targets in module.bindings.values() for target in targets)
            self.ran[name] = acting, self._followed(bound)
        return self.ran[name]

    def _followed(self, targets: Iterable[Target]) -> list[str]:
        """Return the modules, each once, that importing the targets executes and a walk follows."""
        return [name for name in dict.fromkeys(self.run_by(targets)) if not _apart(name)]

    def step(self, statement: Statement, kinds: Kinds | None, worded: bool) -> Step:
        """Return what a statement adds to a walk for some kinds, which its branches alone need."""
        key = statement, kinds if statement.branches else None, worded
        if key not in self.steps:
            self.steps[key] = self._step(statement, kinds, worded)
        return self.steps[key]

    def _step(self, statement: Statement, kinds: Kinds | None, worded: bool) -> Step:
        if statement.opaque:
            raise self.refusal(statement, f"{statement.opaque} cannot be followed")
        form = statement.worded if worded else statement.wordless
        parts, used = [_name(statement), form.sha256], list[Target]()
        modules = [statement.module, *statement.imports.values()]
        for use in form.uses:
            targets = self.resolve(statement, use)
            parts.append(f"{'.'.join(use)}={'|'.join(map(_name, targets))}")
            used += targets
        for kind, branch in statement.branches:
            if not branch:
                raise self.refusal(statement, "write the entries of the table out")
            if isinstance(branch, str):
                targets = self.find(branch)
            else:
                targets = self.resolve(statement, branch)
            members = [target for target in targets if isinstance(target, Statement)]
            named = {kind} if kind else {kind for member in members for kind in member.kinds}
            if kinds is None or not named or named & kinds:
                parts.append(f"{kind}={'|'.join(map(_name, targets))}")
                used += targets
                # The schema of a field with an open table's entry imports all modules of the table.
                entries = (entry for member in members for _, entry in member.branches)
                modules += [e.partition(":")[0] for e in entries if isinstance(e, str)]
        parts += [f"{name}={self.data(statement, name)}" for name in statement.data]
        inside = dict.fromkeys(target for target in used if isinstance(target, Statement))
        uses = [target for target in inside if not _apart(_name(target))]
        return Step(" ".join(parts), uses, self._followed(modules))

    def refusal(self, statement: Statement, reason: object) -> ValueError:
        """Return an error with the file and line of a statement."""
        return ValueError(f"{self.path(statement.module)}, line {statement.line}: {reason}")

    def resolve(self, statement: Statement, use: Chain) -> list[Target]:
        """Return what a name used in a statement can stand for; usually a single target."""
        if (statement, use) not in self.resolved:
            first, rest = use[0], use[1:]
            bound = list(self.existing(statement.module).bindings.get(first, []))
            bound += [statement.imports[first]] if first in statement.imports else []
            if not bound and first not in BUILTINS:
                raise self.refusal(statement, f"nothing binds the name {first}")
            try:
                targets = [one for target in bound for one in self.find(target, rest)]
            except ValueError as error:
                raise self.refusal(statement, error) from None
            self.resolved[statement, use] = targets or [f"builtins.{first}"]
        return self.resolved[statement, use]

    def find(self, target: Target, rest: Chain = ()) -> list[Target]:
        """Return what `module`, `module:name` or an attribute of either stands for."""
        if isinstance(target, Statement):
            return [target]
        name, _, member = target.partition(":")
        if name.partition(".")[0] != self.name:
            return [target]
        module, attributes = self.existing(name), ((member,) if member else ()) + rest
        if not attributes or attributes[0] in ("__name__", "__file__"):
            return list(module.statements)
        first, rest = attributes[0], attributes[1:]
        if first in module.bindings:
            return [one for bound in module.bindings[first] for one in self.find(bound, rest)]
        if self.module(f"{name}.{first}"):
            return self.find(f"{name}.{first}", rest)
        raise ValueError(f"{name} has no {first}")

    def data(self, statement: Statement, name: str) -> str:
        """Return the hash of a data file that a statement names; for YAML, of its content."""
        path = self.folder / name
        if not path.is_file() or path.suffix == ".py":
            raise self.refusal(statement, f"'{name}' is not a file of data of the package")
        if path not in self.hashes:
            if path.suffix == ".yaml":
                data = json.dumps(yamls.read(path)).encode()
            else:
                data = path.read_bytes()
            self.hashes[path] = hashlib.sha256(data).hexdigest()
        return self.hashes[path]


class _Walk:
    """A walk over the statements reached from a start, with what their names stand for."""

    def __init__(self, library: Library, kinds: Kinds | None, worded: bool = False) -> None:
        self.library, self.kinds, self.worded = library, kinds, worded
        self.reached: dict[Statement, str] = {}
        self.run: set[str] = set()
        self.waiting: list[Statement] = []

    def follow(self, start: list[Statement]) -> dict[Statement, str]:
        """Walk from the start over all used statements; return {statement: its line}."""
        self.waiting += start
        while self.waiting:
            statement = self.waiting.pop()
            if statement not in self.reached:
                step = self.library.step(statement, self.kinds, self.worded)
                self.reached[statement] = step.line
                self.waiting += step.uses
                self._load(step.modules)
        return self.reached

    def _load(self, modules: Iterable[str]) -> None:
        """Queue the statements that importing modules executes."""
        for name in modules:
            if name not in self.run:
                self.run.add(name)
                acting, others = self.library.executed(name)
                self.waiting += acting
                self._load(others)


def _name(target: Target) -> str:
    return target if isinstance(target, str) else f"{target.module}:{target.name}"


def _apart(name: str) -> bool:
    """Say whether a module, or `module:name`, cannot change a result."""
    return any(name == one or name.startswith((f"{one}.", f"{one}:")) for one in APART)


INSTALLED = Library(PACKAGE)


def closure(
    module: str, verb: str | None = None, kinds: Kinds | None = None, library: Library = INSTALLED
) -> list[str]:
    """Return a line per statement that a verb reaches; None stands for all verbs or all kinds.

    A missing module or verb, and code that cannot be followed, raise ValueError. If any reached
    code writes an exception's words into the result, the words of all exceptions count.
    """
    every = library.existing(module).statements
    start = [s for s in every if s.verb and verb in (None, s.verb)]
    if verb is not None and not start:
        raise ValueError(f"{module} has no verb {verb}")
    reached = _Walk(library, kinds).follow(start or every)
    if any(statement.reads_errors for statement in reached):
        reached = _Walk(library, kinds, worded=True).follow(start or every)

    def place(statement: Statement) -> tuple[str, str, int]:
        """Return a sort key that ignores the order of functions and classes in a module."""
        return statement.module, statement.name if statement.defines else "", statement.line

    return [reached[statement] for statement in sorted(reached, key=place)]


@cache
def sha256(
    module: str, verb: str | None = None, kinds: Kinds | None = None, library: Library = INSTALLED
) -> str:
    """Return the SHA-256 of the code that a verb reaches, by default in this package."""
    lines = closure(module, verb, kinds, library)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
