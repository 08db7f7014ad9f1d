"""The normal form of a statement: its code without what no result can depend on.

Usage: `form = normal(statement, dotted)`, where `dotted` writes a name as its import does. Left out
are docstrings, annotations that nothing reads, the words of exceptions and of messages; `spoken`
keeps those of exceptions, for code whose caller writes them into a result.
Must not know modules, nor how statements depend on one another.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

Dotted = Callable[[ast.expr], str]

# Functions whose texts people read on a terminal or in a log, and no stage does: the number of the
# first argument that is a message.
MESSAGES = {
    "print": 0,
    "typer.echo": 0,
    "warnings.warn": 0,
    "residuum.cli.progress.track": 1,
    "residuum.neural.resumable.log": 0,
}
# Keywords that hold the texts of --help and of the JSON schemas of config/.
HELP = {
    "typer.Option": {"help", "metavar"},
    "typer.Argument": {"help", "metavar"},
    "pydantic.Field": {"description", "title"},
}
# Decorators that read no annotation; any other one may.
BLIND = {
    *("property", "staticmethod", "classmethod", "functools.cache", "abc.abstractmethod"),
    *("contextlib.contextmanager", "pydantic.field_validator", "pydantic.model_validator"),
}
EXCEPTION = re.compile(r"(Error|Exception|Warning)$")
TERMINAL = {"sys.stderr", "sys.stdout"}
OF_TEXTS = {"join", "format", "replace", "split", "strip", "sub"}
WITHIN_TEXTS = (
    *(ast.IfExp, ast.BinOp, ast.BoolOp, ast.FormattedValue, ast.NamedExpr, ast.Starred),
    *(ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp),
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Normal(NamedTuple):
    """A normal form: the statement, the exceptions it makes, and those whose texts it reads."""

    tree: ast.Module
    raised: list[ast.expr]
    heard: list[ast.expr]


def normal(statement: ast.stmt, dotted: Dotted, spoken: bool = False) -> Normal:
    """Return a statement's normal form, which is made of its own nodes."""
    maker = _Maker(dotted, spoken)
    tree = maker.visit(ast.Module([statement], []))
    silent = maker.silent
    if not spoken:
        for function in [n for n in ast.walk(tree) if isinstance(n, Function)]:
            silent = silent | (unread := _unread(function, silent))
            _drop(function, unread)
    heard = [e for handler in _handlers(tree) for e in _heard(handler, silent)]
    return Normal(tree, maker.raised, heard)


def chain(node: ast.expr) -> list[str]:
    """Return the names of `a.b.c`; empty for what does not start with a name."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := chain(node.value)):
        return [*before, node.attr]
    return []


class _Maker(ast.NodeTransformer):
    """Takes away what no result depends on; `silent` are the ids of the arguments of messages."""

    def __init__(self, dotted: Dotted, spoken: bool) -> None:
        self.dotted, self.spoken = dotted, spoken
        self.raised: list[ast.expr] = []
        self.silent: set[int] = set()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        if all(self.dotted(called(d)) in BLIND for d in node.decorator_list):
            node.returns = None
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            for argument in filter(None, every):
                argument.annotation = None
        node.decorator_list = [d for d in node.decorator_list if verb_of(node.name, d) is None]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Keep the annotations of a class that its base or its decorator may read."""
        if not node.bases and not node.decorator_list:
            return self.generic_visit(node)
        fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
        for field in fields:
            field.value = self.visit(field.value) if field.value else None
            field.annotation = self.visit(_Unquoted().visit(field.annotation))
        node.body = [n for old in node.body if (n := old if old in fields else self.visit(old))]
        node.bases = [self.visit(base) for base in node.bases]
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.body = node.body or [ast.Pass()]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        return self.generic_visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST]:
        """Nothing under TYPE_CHECKING is run."""
        if chain(node.test)[-1:] != ["TYPE_CHECKING"]:
            return self.generic_visit(node)
        return [self.visit(other) for other in node.orelse]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        node.cause = None
        if isinstance(node.exc, ast.Call):
            node.exc = self._exception(node.exc)
            return node
        return self.generic_visit(node)

    def _exception(self, node: ast.Call) -> ast.expr:
        self.raised.append(node.func)
        if self.spoken:
            super().generic_visit(node)
            return node
        return ast.Call(self.visit(node.func), [], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = self.dotted(node.func)
        if EXCEPTION.search(name):
            return self._exception(node)
        node.keywords = [k for k in node.keywords if k.arg not in HELP.get(name, ())]
        self.generic_visit(node)
        if name in MESSAGES and _to_terminal(node, self.dotted):
            first = MESSAGES[name]
            node.args[first:] = [_Texts().visit(argument) for argument in node.args[first:]]
            self.silent |= {id(argument) for argument in node.args[first:]}
        return node


def called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def verb_of(name: str, decorator: ast.expr) -> str | None:
    """Return the verb that a Typer decorator makes of a function; None for another decorator."""
    if not isinstance(decorator, ast.Call) or chain(decorator.func)[1:] != ["command"]:
        return None
    first = decorator.args[0] if decorator.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return name.replace("_", "-")


def _to_terminal(node: ast.Call, dotted: Dotted) -> bool:
    return all(k.arg != "file" or dotted(k.value) in TERMINAL for k in node.keywords)


class _Unquoted(ast.NodeTransformer):
    """Writes a type that stands as a text, such as `list["Row"]`, as what it names."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        name = chain(node.value)[-1:]
        if name == ["Annotated"] and isinstance(node.slice, ast.Tuple):
            node.slice.elts[0] = self.visit(node.slice.elts[0])
            return node
        return node if name == ["Literal"] else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        text = isinstance(node.value, str)
        return ast.parse(str(node.value), mode="eval").body if text else node


class _Texts(ast.NodeTransformer):
    """Empties the texts of a message; keys, names and the arguments of other calls stay."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return super().generic_visit(node) if isinstance(node, WITHIN_TEXTS) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        super().generic_visit(node)
        node.values = [value for value in node.values if not isinstance(value, ast.Constant)]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr in OF_TEXTS:
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(argument) for argument in node.args]
        return node


def _unread(function: Function, silent: set[int]) -> set[int]:
    """Empty the texts of local names that only messages read; return the ids of their values."""
    kept = {n for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal)
            for n in node.names}  # fmt: skip
    assigned = list(_assigned(function))
    found: set[int] = set()
    while True:
        read = {n.id for n in _read(function, silent | found)} | kept
        unread = [n for n in assigned if (t := _targets(n)) and not t & read]
        if {id(n.value) for n in unread} <= found:
            return found
        for node in unread:
            node.value = _Texts().visit(node.value)
        found |= {id(node.value) for node in unread}


def _drop(function: Function, unread: set[int]) -> None:
    """Drop unread names from blocks that end with `raise`: they are words of what is raised."""
    blocks = [b for n in ast.walk(function) for name in ("body", "orelse", "finalbody")
              if isinstance(b := getattr(n, name, None), list)]  # fmt: skip
    for block in blocks:
        if block and isinstance(block[-1], ast.Raise):
            block[:] = [
                n for n in block if id(getattr(n, "value", None)) not in unread or _hands(n)
            ]


def _hands(node: ast.stmt) -> bool:
    """Say whether a statement hands a value to a caller or to another name besides."""
    return any(isinstance(n, ast.Yield | ast.YieldFrom | ast.NamedExpr) for n in ast.walk(node))


def _assigned(node: ast.AST) -> Iterator[ast.Assign]:
    """Yield the assignments to local names of a function: not those to attributes of a class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assign):
            yield child
        if not isinstance(child, ast.ClassDef):
            yield from _assigned(child)


def _targets(node: ast.Assign) -> set[str]:
    """Return the names that an assignment binds; none if it stores anything else."""
    parts = [p for t in node.targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names if all(isinstance(part, ast.Name) for part in parts) else set()


def _read(node: ast.AST, skipped: set[int]) -> Iterator[ast.Name]:
    if id(node) in skipped:
        return
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _read(child, skipped)


def _handlers(tree: ast.AST) -> list[ast.ExceptHandler]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]


def _heard(handler: ast.ExceptHandler, silent: set[int]) -> list[ast.expr]:
    """Return the classes whose caught exception a handler uses for more than messages."""
    names = {name.id for node in handler.body for name in _read(node, silent)}
    if handler.name not in names or handler.type is None:
        return []
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
