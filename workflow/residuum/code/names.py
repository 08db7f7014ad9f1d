"""The modules of a package, and what a name in one of them stands for.

Usage: `Library(Path("workflow/residuum")).resolve(node, ("trec", "rank"))`. Modules are read when
they are reached, and never imported. Must not know which statements a result depends on.
"""

import builtins
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from residuum.artefacts import files
from residuum.code import statements
from residuum.code.statements import Chain, Module, Statement


class Node(NamedTuple):
    """A top-level statement by its module and number."""

    module: str
    number: int


BUILTINS = frozenset([*dir(builtins), "__name__", "__file__"])
Target = Node | str  # a statement of the package, or what stands outside, such as `math:floor`


class Library:
    """The modules of a package; what is missing or cannot be told is a ValueError."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self.modules: dict[str, Module | None] = {}
        self.resolved: dict[tuple[Node, Chain], list[Target]] = {}
        self.hashes: dict[Path, str] = {}

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

    def within(self, name: str) -> Iterator[str]:
        """Yield the modules of the package that importing a module runs: packages first."""
        parts = name.split(".")
        names = (".".join(parts[: end + 1]) for end in range(len(parts)))
        return (name for name in names if self.module(name))

    def existing(self, name: str) -> Module:
        """Return a module that must be there."""
        if (module := self.module(name)) is None:
            raise ValueError(f"no module {name} under {self.folder}")
        return module

    def statement(self, node: Node) -> Statement:
        """Return a statement."""
        return self.existing(node.module).statements[node.number]

    def effects(self, name: str) -> list[Node]:
        """Return the statements of a module that do more than bind a name."""
        return [Node(name, number) for number in self.existing(name).effects]

    def where(self, node: Node) -> str:
        """Write where a statement stands."""
        return f"{self.path(node.module)}, line {self.statement(node).line}"

    def resolve(self, node: Node, use: Chain) -> list[Target]:
        """Return what a name that a statement uses stands for: one thing, or what it may be."""
        if (node, use) not in self.resolved:
            self.resolved[node, use] = self._resolve(node, use)
        return self.resolved[node, use]

    def _resolve(self, node: Node, use: Chain) -> list[Target]:
        first, rest = use[0], use[1:]
        inside = self.statement(node).imports.get(first)
        bound = self.existing(node.module).bindings.get(first, [])
        if inside is None and not bound:
            if first in BUILTINS:
                return [f"builtins.{first}"]
            raise ValueError(f"{self.where(node)}: nothing binds the name {first}")
        try:
            found = self._bound(node.module, bound, rest)
            return [*found, *(self.find(inside, rest) if inside else [])]
        except ValueError as error:
            raise ValueError(f"{self.where(node)}: {error}") from None

    def _bound(self, module: str, bound: list[int | str], rest: Chain) -> list[Target]:
        found: list[Target] = []
        for target in bound:
            found += [Node(module, target)] if isinstance(target, int) else self.find(target, rest)
        return found

    def find(self, target: str, rest: Chain = ()) -> list[Target]:
        """Return what `module` or `module:name` stands for, and the attributes after it."""
        name, _, member = target.partition(":")
        if name.partition(".")[0] != self.name:
            return [target]
        module, attributes = self.existing(name), ((member,) if member else ()) + rest
        if not attributes or attributes[0] in ("__name__", "__file__"):
            return [Node(name, number) for number in range(len(module.statements))]
        first, rest = attributes[0], attributes[1:]
        if first in module.bindings:
            return self._bound(name, module.bindings[first], rest)
        if self.module(f"{name}.{first}"):
            return self.find(f"{name}.{first}", rest)
        raise ValueError(f"{name} has no {first}")

    def data(self, node: Node, name: str) -> str:
        """Return the hash of a file of the package that a statement names."""
        path = self.folder / name
        if not path.is_file() or path.suffix == ".py":
            raise ValueError(f"{self.where(node)}: '{name}' is not a file of data of the package")
        if path not in self.hashes:
            self.hashes[path] = _sha256(path)
        return self.hashes[path]


def _sha256(path: Path) -> str:
    """Return the hash of data: of what a YAML file says, without its comments and layout."""
    if path.suffix != ".yaml":
        return files.sha256(path)
    text = json.dumps(yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    return hashlib.sha256(text.encode()).hexdigest()
