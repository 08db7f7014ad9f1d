"""Where code is chosen by kind: unions of schema classes, and open tables.

Usage: `found = choices(tree, dotted)`, which also takes the members and entries out of the tree, so
that a new one changes no statement. Must not know which kinds a job has.
"""

import ast
from typing import NamedTuple

from residuum.code.normal import Dotted, chain

TABLE = "residuum.code.tables.OpenTable"
FIELD = "residuum.code.tables.Kinds"  # annotates a field that holds an entry of a table
KEY = "kind"


class Choices(NamedTuple):
    """Members of unions as names, and entries of tables as (kind, `module:name`).

    An empty kind is any; an empty target is not written out.
    """

    members: list[tuple[str, ...]]
    entries: list[tuple[str, str]]


def choices(tree: ast.AST, dotted: Dotted) -> Choices:
    """Take the members of unions by kind and the entries of open tables out of a tree."""
    taker = _Taker(dotted)
    taker.visit(tree)
    return taker.found


def kinds(node: ast.stmt) -> tuple[str, ...]:
    """Return the kinds of a schema class: the values of its `kind: Literal[...]`."""
    for field in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(field, ast.AnnAssign) and chain(field.target) == [KEY]:
            return tuple(filter(None, map(text, ast.walk(field.annotation))))
    return ()


class _Taker(ast.NodeTransformer):
    """Notes members and entries, and leaves their union or table empty."""

    def __init__(self, dotted: Dotted) -> None:
        self.dotted, self.found = dotted, Choices([], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Read `OpenTable({"a": "module:name"})` and `Kinds("module:TABLE")`."""
        name = self.dotted(node.func.value if isinstance(node.func, ast.Subscript) else node.func)
        if name in (TABLE, FIELD):
            given = node.args[0] if node.args else None
            if isinstance(given, ast.Dict):
                entries = zip(map(text, given.keys), map(text, given.values), strict=True)
                node.args[0] = ast.Constant(None)
            else:
                entries = zip([""], [text(given) if name == FIELD else ""], strict=True)
            self.found.entries.extend(entries)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Read `Annotated[A | B, Field(discriminator="kind")]`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if self.dotted(node.value) == "typing.Annotated" and any(map(_by_kind, parts[1:])):
            parts[0] = self._others(parts[0])
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Read `field: A | B = Field(discriminator="kind")`."""
        if node.value is not None and _by_kind(node.value):
            node.annotation = self._others(node.annotation)
        return self.generic_visit(node)

    def _others(self, union: ast.expr) -> ast.expr:
        """Note the members that are names; return what else the union has."""
        parts = list(_flat(union, self.dotted))
        self.found.members.extend(tuple(names) for part in parts if (names := chain(part)))
        return ast.Tuple([part for part in parts if not chain(part)], ast.Load())


def _by_kind(node: ast.expr) -> bool:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return any(k.arg == "discriminator" and text(k.value) == KEY for k in keywords)


def _flat(union: ast.expr, dotted: Dotted) -> list[ast.expr]:
    if isinstance(union, ast.BinOp):
        return [*_flat(union.left, dotted), *_flat(union.right, dotted)]
    if isinstance(union, ast.Subscript) and dotted(union.value) == "typing.Union":
        return union.slice.elts if isinstance(union.slice, ast.Tuple) else [union.slice]
    return [union]


def text(node: ast.AST | None) -> str:
    """Return the text that a constant is; empty for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
