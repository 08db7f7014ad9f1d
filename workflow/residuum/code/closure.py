"""Which code decides a result: the statements that a verb reaches, for the kinds of a job.

Usage: `closure.sha256("residuum.fusion", "fuse", closure.kinds_of(spec))`, a parameter of every
rule and part of every manifest. From the verb's function every name is followed to the top-level
statement that binds it, in any module of the package; classes count whole, and so does what merely
importing the modules does. What cannot be followed is refused.
"""

import builtins
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from residuum.artefacts import yamls
from residuum.code import statements
from residuum.code.normal import Chain
from residuum.code.statements import Module, Statement

PACKAGE = Path(__file__).resolve().parents[1]
# What cannot change a byte of a result, and why.
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
# A measure is of a kind by its name: `--measure 'RR@10'`, or "RR@10" in JSON.
MEASURED = re.compile(r"""(?:--measure[ =]'?|"(?=\w+@\d+"))(\w+)""")
BUILTINS = frozenset([*dir(builtins), "__name__", "__file__"])
Kinds = frozenset[str]
Target = Statement | str  # a statement of the package, or what stands outside, such as `math:floor`


def kinds_of(*texts: str) -> Kinds | None:
    """Return the kinds in the JSON among the arguments of a command, and of measures, or None."""
    kinds = set(MEASURED.findall(" ".join(texts)))

    def note(entry: dict[str, object]) -> None:
        if isinstance(kind := entry.get("kind"), str):
            kinds.add(kind)

    for text in texts:
        if text[:1] in ("{", "["):
            with suppress(ValueError):
                json.loads(text, object_hook=note)
    return frozenset(kinds) or None


class Library:
    """The modules of a package, read when they are reached and never imported.

    What is missing is a ValueError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self.modules: dict[str, Module | None] = {}
        self.resolved: dict[tuple[Statement, Chain], list[Target]] = {}
        self.hashes: dict[Path, str] = {}
        self.imported: dict[str, list[str]] = {}

    def module(self, name: str) -> Module | None:
        """Return a module of the package; None for what is no module of it."""
        if name not in self.modules:
            path = self.path(name)
            self.modules[name] = statements.read(path, name) if path else None
        return self.modules[name]

    def path(self, name: str) -> Path | None:
        """Return a module's file; None for what is no module of the package."""
        first, *rest = name.split(".")
        base = self.folder.joinpath(*rest)
        paths = [base / "__init__.py", *([base.with_suffix(".py")] if rest else [])]
        return next((p for p in paths if first == self.name and p.is_file()), None)

    def existing(self, name: str) -> Module:
        """Return a module of the package; a ValueError where there is none."""
        if (module := self.module(name)) is None:
            raise ValueError(f"no module {name} under {self.folder}")
        return module

    def run_by(self, targets: Iterable[Target]) -> Iterator[str]:
        """Yield the modules of the package that imports run: packages first."""
        for target in (one for one in targets if isinstance(one, str)):
            if target not in self.imported:
                parts = target.replace(":", ".").split(".")
                names = (".".join(parts[: end + 1]) for end in range(len(parts)))
                self.imported[target] = [name for name in names if self.module(name)]
            yield from self.imported[target]

    def refusal(self, statement: Statement, reason: object) -> ValueError:
        """Return an error that says where a statement stands."""
        return ValueError(f"{self.path(statement.module)}, line {statement.line}: {reason}")

    def resolve(self, statement: Statement, use: Chain) -> list[Target]:
        """Return what a name that a statement uses stands for: one thing, or what it may be."""
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
        """Return what a statement, `module` or `module:name` stands for, with attributes of it."""
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
        """Return the hash of a file that a statement names; of YAML, of what it says."""
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
    """The statements that are reached from a start, and what each of their names stands for."""

    def __init__(self, library: Library, kinds: Kinds | None, worded: bool = False) -> None:
        self.library, self.kinds, self.worded = library, kinds, worded
        self.reached: dict[Statement, str] = {}
        self.run: set[str] = set()
        self.waiting: list[Statement] = []

    def follow(self, start: list[Statement]) -> dict[Statement, str]:
        """Reach the statements of a start and all that they use; return the line of each."""
        self.waiting += start
        while self.waiting:
            statement = self.waiting.pop()
            if statement not in self.reached:
                self.reached[statement] = ""
                self._load([statement.module])
                self.reached[statement] = self._line(statement)
        return self.reached

    def _load(self, targets: Iterable[Target]) -> None:
        """Count what importing modules does, and the packages around them."""
        for name in self.library.run_by(targets):
            if name not in self.run and not _apart(name):
                self.run.add(name)
                module = self.library.existing(name)
                self.waiting += [statement for statement in module.statements if statement.acts]
                self._load(target for targets in module.bindings.values() for target in targets)

    def _line(self, statement: Statement) -> str:
        """Follow a statement; return its name and hash, what its names stand for, and its data."""
        library = self.library
        if statement.opaque:
            raise library.refusal(statement, f"{statement.opaque} cannot be followed")
        self._load(statement.imports.values())
        form = statement.worded if self.worded else statement.wordless
        parts = [_name(statement), form.sha256]
        for use in form.uses:
            parts.append(f"{'.'.join(use)}={self._reach(library.resolve(statement, use))}")
        for kind, branch in statement.branches:
            if not branch:
                raise library.refusal(statement, "write the entries of the table out")
            if isinstance(branch, str):
                targets = library.find(branch)
            else:
                targets = library.resolve(statement, branch)
            own = [target for target in targets if isinstance(target, Statement)]
            kinds = {kind} if kind else {kind for target in own for kind in target.kinds}
            if self.kinds is None or not kinds or kinds & self.kinds:
                parts.append(f"{kind}={self._reach(targets)}")
                # The schema of a field that holds an entry of a table imports all of its modules.
                entries = (entry for target in own for _, entry in target.branches)
                self._load(entry.partition(":")[0] for entry in entries if isinstance(entry, str))
        parts += [f"{name}={library.data(statement, name)}" for name in statement.data]
        return " ".join(parts)

    def _reach(self, targets: list[Target]) -> str:
        """Wait for statements to be followed; name them, and what stands outside of the package."""
        own = [target for target in targets if isinstance(target, Statement)]
        self.waiting += [statement for statement in own if not _apart(_name(statement))]
        return "|".join(map(_name, targets))


def _name(target: Target) -> str:
    return target if isinstance(target, str) else f"{target.module}:{target.name}"


def _apart(name: str) -> bool:
    """Say whether a module, or a `module:name`, cannot change a result."""
    return any(name == one or name.startswith((f"{one}.", f"{one}:")) for one in APART)


INSTALLED = Library(PACKAGE)


def closure(
    module: str, verb: str | None = None, kinds: Kinds | None = None, library: Library = INSTALLED
) -> list[str]:
    """Return a line for every statement that a verb reaches; None: all verbs, all kinds.

    A missing module or verb, and what cannot be followed, are a ValueError. Where the words of an
    exception reach the result, those of all count.
    """
    every = library.existing(module).statements
    start = [s for s in every if s.verb and verb in (None, s.verb)]
    if verb is not None and not start:
        raise ValueError(f"{module} has no verb {verb}")
    reached = _Walk(library, kinds).follow(start or every)
    if any(statement.reads_errors for statement in reached):
        reached = _Walk(library, kinds, worded=True).follow(start or every)

    def place(statement: Statement) -> tuple[str, str, int]:
        """Functions and classes may stand in any order."""
        return statement.module, statement.name if statement.defines else "", statement.line

    return [reached[statement] for statement in sorted(reached, key=place)]


@cache
def sha256(
    module: str, verb: str | None = None, kinds: Kinds | None = None, library: Library = INSTALLED
) -> str:
    """Return one SHA-256 over the code of a package, of this one, that a verb reaches."""
    lines = closure(module, verb, kinds, library)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
