"""Reduce a statement to its normal form: its code without parts that change no result.

Usage: `NormalForm(statement, dotted).tree`; `dotted` writes a name as its import does. The form
omits docstrings, annotations that no code reads, and the words of messages and exceptions. With
`worded`, the words of exceptions stay, for code whose caller writes them into a result. Members of
unions by kind and entries of open tables are taken out, so that a new member changes no statement.
"""

import ast
import pickle
from collections.abc import Callable, Iterator

Dotted = Callable[[ast.expr], str]
Chain = tuple[str, ...]

# Functions that print texts for people, which no stage reads: the position of their first argument
# that is a message.
MESSAGES = {
    "print": 0,
    "typer.echo": 0,
    "warnings.warn": 0,
    "residuum.cli.progress.track": 1,
    "residuum.neural.resumable.log": 0,
}
RAISED = {"residuum.artefacts.columns.refuse": 3, "residuum.lucene.jvm.java_errors": 0}  # of errors
RAISED |= {"residuum.collections.worlds.fault": 0, "residuum.collections.editions.refuse": 2}
# Functions that receive an error of another library to classify it, not to print our words.
ASKED = {"residuum.neural.cudagraphs.out_of_memory"}
# Keyword arguments with texts of --help and of the JSON schemas of config/.
HELP = {
    "typer.Option": {"help", "metavar"},
    "typer.Argument": {"help", "metavar"},
    "pydantic.Field": {"description", "title"},
}
# Decorators that read no annotations; other decorators may.
BLIND = {
    *("property", "staticmethod", "classmethod", "functools.cache", "abc.abstractmethod"),
    *("contextlib.contextmanager", "pydantic.field_validator", "pydantic.model_validator"),
}
# Exceptions that only hold their words, which a handler may read by naming the exception.
WORDY = {"ValueError", "TypeError", "KeyError", "RuntimeError", "residuum.cli.errors.ResiduumError"}
WORDY |= {"pydantic.ValidationError.from_exception_data", "zlib.error"}
WRITTEN = "residuum.cli.errors.NotRun"  # its words are results, so they always count
TERMINAL = {"sys.stderr", "sys.stdout"}
# Node types that only build a message; `yield` or a subscript could pass a value on.
WITHIN_TEXTS = (
    *(ast.JoinedStr, ast.FormattedValue, ast.IfExp, ast.BoolOp, ast.Attribute),
    *(ast.List, ast.Tuple, ast.Starred, ast.ListComp, ast.GeneratorExp),
)
OF_TEXTS = {"str", "type", "len"}
TABLE = "residuum.code.tables.OpenTable"
FIELD = "residuum.code.tables.Kinds"  # annotates fields whose value is an open table's entry
KEY = "kind"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def chain(node: ast.AST) -> Chain:
    """Return the names of `a.b.c`, or () for any other expression."""
    if isinstance(node, ast.Attribute) and (before := chain(node.value)):
        return (*before, node.attr)
    return (node.id,) if isinstance(node, ast.Name) else ()


def called(node: ast.expr) -> ast.expr:
    """Return the callee of a call; for `OpenTable[int](...)`, without the type."""
    callee = node.func if isinstance(node, ast.Call) else node
    return callee.value if isinstance(callee, ast.Subscript) else callee


def text(node: ast.AST | None) -> str:
    """Return the text of a string constant, or "" for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


class NormalForm(ast.NodeTransformer):
    """The `tree` of a statement without parts that change no result, and notes on the statement.

    `verb` is a command's verb, and `kinds` are a schema class's kinds. `branches` are members of
    unions (with kind "") and entries of open tables as (kind, `module:name`). An entry that is not
    written out is "". `reads_errors` is true if words of an exception are used outside messages.
    """

    def __init__(self, statement: ast.stmt, dotted: Dotted, worded: bool = False) -> None:
        self.dotted, self.worded = dotted, worded
        self.verb: str | None = None
        self.kinds: tuple[str, ...] = ()
        self.branches: list[tuple[str, Chain | str]] = []
        self.silent: set[ast.AST] = set()  # arguments of messages
        self.asked: set[ast.AST] = set()  # errors of other libraries, as arguments of ASKED
        self.fields: set[ast.AST] = set()  # statements whose annotations a class may read
        copied = pickle.loads(pickle.dumps(statement))  # takes a fifth of copy.deepcopy's time
        self.tree: ast.Module = self.visit(ast.Module([copied], []))
        if not worded:
            for function in [n for n in ast.walk(self.tree) if isinstance(n, Function)]:
                self.silent |= _silenced(function, self.silent)
        self.reads_errors = any(map(self._reads_error, ast.walk(self.tree)))

    def _reads_error(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.ExceptHandler) or node.type is None:
            return isinstance(node, Function) and node.name in ("__exit__", "__aexit__")
        names = {name.id for part in node.body for name in _read(part, self.silent | self.asked)}
        return node.name in names and self.dotted(node.type) != WRITTEN

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if vars(node).get("body") == []:  # ast has no base class of nodes with a body
            vars(node)["body"] = [ast.Pass()]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_FunctionDef(self, node: Function) -> ast.AST:
        if all(self.dotted(called(d)) in BLIND for d in node.decorator_list):
            node.returns = None
            for argument in [n for n in ast.walk(node.args) if isinstance(n, ast.arg)]:
                argument.annotation = None
        for decorator in [d for d in node.decorator_list if isinstance(d, ast.Call)]:
            if chain(decorator.func)[1:] == ("command",):  # Typer's decorator
                named = text(decorator.args[0]) if decorator.args else ""
                self.verb = named or node.name.replace("_", "-")
                node.decorator_list.remove(decorator)
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Mark the fields of a class whose annotations its base or decorator may read."""
        if node.bases or node.decorator_list:
            self.fields |= set(node.body)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Take apart a field such as `field: A | B = Field(discriminator="kind")`."""
        if node in self.fields:
            if chain(node.target) == (KEY,):
                self.kinds = tuple(filter(None, map(text, ast.walk(node.annotation))))
            node.annotation = _Unquoted().visit(node.annotation)
            if node.value is not None and _by_kind(node.value):
                node.annotation = self._without_members(node.annotation)
            return self.generic_visit(node)
        if node.value is None:
            return None
        return self.generic_visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Take apart `Annotated[A | B, Field(discriminator="kind")]`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if self.dotted(node.value) == "typing.Annotated" and any(map(_by_kind, parts[1:])):
            parts[0] = self._without_members(parts[0])
        return self.generic_visit(node)

    def _without_members(self, union: ast.expr) -> ast.expr:
        """Record the union's members that are names; return the union's other members."""
        parts = list(self._flat(union))
        self.branches += [("", names) for part in parts if (names := chain(part))]
        return ast.Tuple([part for part in parts if not chain(part)], ast.Load())

    def _flat(self, union: ast.expr) -> Iterator[ast.expr]:
        if isinstance(union, ast.BinOp):
            yield from (*self._flat(union.left), *self._flat(union.right))
        elif isinstance(union, ast.Subscript) and self.dotted(union.value) == "typing.Union":
            yield from union.slice.elts if isinstance(union.slice, ast.Tuple) else [union.slice]
        else:
            yield union

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST]:
        """Drop the body under TYPE_CHECKING, which is never executed."""
        if chain(node.test)[-1:] != ("TYPE_CHECKING",):
            return self.generic_visit(node)
        return [self.visit(other) for other in node.orelse]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = node.msg if self.worded else None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if not self.worded:
            node.cause = None
            if isinstance(node.exc, ast.Call) and self.dotted(node.exc.func) in WORDY:
                node.exc = ast.Call(node.exc.func, [], [])
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = self.dotted(called(node))
        if name in (TABLE, FIELD):
            self._take_entries(node, name)
        node.keywords = [k for k in node.keywords if k.arg not in HELP.get(name, ())]
        self.generic_visit(node)
        if name in ASKED:
            self.asked |= set(node.args)
        elsewhere = [k for k in node.keywords if k.arg == "file"]
        first = {**MESSAGES, **({} if self.worded else RAISED)}.get(name)
        if first is not None and all(self.dotted(k.value) in TERMINAL for k in elsewhere):
            node.args[first:] = [_Texts().visit(argument) for argument in node.args[first:]]
            self.silent |= set(node.args[first:])
        return node

    def _take_entries(self, node: ast.Call, name: str) -> None:
        """Record the entries of `OpenTable({"a": "module:name"})`, or the table of a `Kinds`."""
        given = node.args[0] if node.args else None
        if isinstance(given, ast.Dict):
            self.branches += zip(map(text, given.keys), map(text, given.values), strict=True)
            node.args = [ast.Constant(None)]  # drops the entries' name in messages
        else:
            self.branches.append(("", text(given) if name == FIELD else ""))


def _by_kind(node: ast.expr) -> bool:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return any(k.arg == "discriminator" and text(k.value) == KEY for k in keywords)


class _Unquoted(ast.NodeTransformer):
    """Replaces a type that is quoted, such as `list["Row"]`, by its expression."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        name = chain(node.value)[-1:]
        if name == ("Annotated",) and isinstance(node.slice, ast.Tuple):
            node.slice.elts[0] = self.visit(node.slice.elts[0])
            return node
        return node if name == ("Literal",) else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.parse(text(node), mode="eval").body if text(node) else node


class _Texts(ast.NodeTransformer):
    """Empties the texts of a message, but not in a call's arguments, unless it works on texts."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return super().generic_visit(node) if _within_texts(node) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node


def _within_texts(node: ast.AST) -> bool:
    """Say whether a node of a message only puts texts together."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr == "join" and isinstance(function.value, ast.Constant)
    return isinstance(node, WITHIN_TEXTS) or getattr(function, "id", "") in OF_TEXTS


def _silenced(function: Function, silent: set[ast.AST]) -> set[ast.AST]:
    """Empty the texts of local names that only messages read; return the assigned values.

    In blocks that end with `raise`, these assignments are removed, because they are words of the
    exception.
    """
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Global | ast.Nonlocal | ast.ClassDef) for node in nodes):
        return set()  # other code may read a name
    blocks = [getattr(n, name, None) for n in nodes for name in ("body", "orelse", "finalbody")]
    ending = [b for b in blocks if isinstance(b, list) and b and isinstance(b[-1], ast.Raise)]
    assigned = [n for n in nodes if isinstance(n, ast.Assign) and _locals(n)]
    unread: set[ast.AST] = set()
    while True:
        read = {name.id for name in _read(function, silent | unread)}
        more = [n for n in assigned if n.value not in unread and not _locals(n) & read]
        if not more:
            break
        for node in more:
            node.value = _Texts().visit(node.value)
            unread.add(node.value)
        for block in ending:
            block[:] = [node for node in block if node not in more]
    return unread


def _locals(node: ast.Assign) -> set[str]:
    """Return the names that an assignment binds, or none if it has any other effect."""
    targets = [n for target in node.targets for n in ast.walk(target) if isinstance(n, ast.expr)]
    plain = all(isinstance(n, ast.Name | ast.Tuple) for n in targets)
    hands = (ast.Yield, ast.YieldFrom, ast.NamedExpr)
    if not plain or any(isinstance(n, hands) for n in ast.walk(node.value)):
        return set()
    return {n.id for n in targets if isinstance(n, ast.Name)}


def _read(node: ast.AST, silent: set[ast.AST], within: bool = False) -> Iterator[ast.Name]:
    """Yield the names that are read, except by silent nodes that only put them into a text."""
    within = within or node in silent
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and not within:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _read(child, silent, within and _within_texts(node))
