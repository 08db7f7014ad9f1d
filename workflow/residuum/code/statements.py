"""Read a module's top-level statements, with what they bind and use, and import nothing.

Usage: `read(path, "residuum.fusion").statements`. Results are cached in __pycache__, by the hash of
the module's text.
"""

import ast
import dis
import hashlib
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from residuum.artefacts import files
from residuum.code import normal
from residuum.code.normal import Chain, NormalForm, called, chain, text

PACKAGED = "residuum.config.roots.packaged"
# Decorators and calls without effects besides their return value.
PURE = {*normal.BLIND, "dataclasses.dataclass", "functools.lru_cache", "functools.total_ordering"}
PURE |= {"enum.unique", "typing.overload", "residuum.cli.command.app", normal.TABLE}
PURE |= {"residuum.config.schema.base.Ref", "residuum.config.schema.base.Name", PACKAGED}
PURE |= {"residuum.config.measures.Own"}
# Its effect is on a process that a user interrupts, and on no result.
PURE |= {"residuum.cli.interrupts.quiet"}
# Names that find code by computed names, or that read what a normal form omits.
OPAQUE = {"globals", "locals", "vars", "eval", "exec", "compile", "__import__", "sys.modules"}
OPAQUE |= {"importlib.import_module", "importlib.reload", "typing.get_type_hints", "sys.exc_info"}
OPAQUE |= {"traceback.format_exc", "inspect.getsource", "inspect.signature", "__file__"}
HIDDEN = {"__subclasses__", "__init_subclass__", "__annotations__", "__doc__", "__file__"}
HIDDEN |= {"_what", "exception"}  # of open tables; an error without a handler's name
LOOKS_UP = {"LOAD_NAME", "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"}
LOOKS_UP |= {"LOAD_FROM_DICT_OR_GLOBALS"}  # Python 3.12
Imports = dict[str, str]  # bound name: `module` or `module:name`


class Form(NamedTuple):
    """The hash of a normal form, and the names of its module or of builtins that it uses."""

    sha256: str
    uses: tuple[Chain, ...]


@dataclass(frozen=True, eq=False)
class Statement:
    """A top-level statement; `NormalForm` describes `reads_errors`, `verb`, `kinds`, `branches`."""

    module: str
    name: str
    line: int
    defines: bool  # a function or class, whose order does not matter
    acts: bool  # does more than bind its name
    wordless: Form
    worded: Form
    reads_errors: bool
    verb: str | None
    kinds: tuple[str, ...]
    branches: list[tuple[str, Chain | str]]
    imports: Imports  # imports inside the statement
    data: list[str]  # data files of the package
    opaque: str  # code that cannot be followed


class Module(NamedTuple):
    """The statements of a module, and its names with the statements or imports behind each name."""

    statements: list[Statement]
    bindings: dict[str, list[Statement | str]]


def read(path: Path, name: str) -> Module:
    """Return the statements of a module's file; a SyntaxError names the file."""
    source = path.read_bytes()
    key = hashlib.sha256(b"\0".join([_version(), name.encode(), source])).hexdigest()
    kept = path.parent / "__pycache__" / f"{path.stem}.statements"
    with suppress(Exception):  # unpickling damaged bytes can raise anything
        kept_key, module = pickle.loads(kept.read_bytes())
        if kept_key == key:
            return Module(*module)
    module = _Reader(ast.parse(source, str(path)), name).module()
    with suppress(OSError), files.whole(kept) as temporary:  # a folder may be read-only
        temporary.write_bytes(pickle.dumps((key, tuple(module))))
    return module


@cache
def _version() -> bytes:
    """Return bytes that identify this package's code and the Python version, for the cache key."""
    sources = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return b"\0".join([sys.version.encode(), *sources])


class _Reader:
    """Reads a module's statements; `names` are the names of all its imports, at any depth."""

    def __init__(self, tree: ast.Module, name: str) -> None:
        self.name = name
        self.body = [node for node in tree.body if not _idle(node)]
        self.names = {n: target for node in ast.walk(tree) for n, target in imported(node).items()}
        self.binds = {node: _bound(node) for node in self.body}
        self.defined = {name for names in self.binds.values() for name in names}
        run = [imported(inner) for node in self.body for inner in _run_on_import(node)]
        self.bound = self.defined.union(*run)
        typed = [imported(n) for top in tree.body if _typed(top) for n in ast.walk(top)]
        self.typed = {name: f"typing:{name}" for names in typed for name in names}  # of no value
        self.bindings: dict[str, list[Statement | str]] = {}
        self.forms: dict[str, Form] = {}

    def module(self) -> Module:
        """Return the module's statements, and what its names stand for."""
        statements = []
        for node in self.body:
            for inner in _run_on_import(node):
                self._bind(imported(inner))
            if not isinstance(node, ast.Import | ast.ImportFrom) or unclear(node):
                statements.append(self._statement(node))
                self._bind(dict.fromkeys(self.binds[node], statements[-1]))
        self._bind({n: target for n, target in self.typed.items() if n not in self.bindings})
        return Module(statements, self.bindings)

    def _bind(self, targets: Mapping[str, Statement | str]) -> None:
        for name, target in targets.items():
            self.bindings.setdefault(name, []).append(target)

    def dotted(self, node: ast.expr) -> str:
        """Return a name as its import writes it, such as `residuum.artefacts.trec.rank`, or ""."""
        first, *rest = chain(node) or ("",)
        root = f"{self.name}.{first}" if first in self.defined else self.names.get(first, first)
        return ".".join([root.replace(":", "."), *rest])

    def _statement(self, node: ast.stmt) -> Statement:
        wordless, worded = (NormalForm(node, self.dotted, worded) for worded in (False, True))
        parts = list(ast.walk(worded.tree))
        calls = [part for part in parts if isinstance(part, ast.Call)]
        imports = {n: target for part in parts for n, target in imported(part).items()}
        return Statement(
            module=self.name,
            name=",".join(self.binds[node]),
            line=node.lineno,
            defines=isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef),
            acts=any(map(self._acts, wordless.tree.body)),
            wordless=self._form(wordless.tree, imports),
            worded=self._form(worded.tree, imports),
            reads_errors=wordless.reads_errors,
            verb=wordless.verb,
            kinds=wordless.kinds,
            branches=wordless.branches,
            imports=imports,
            data=[text(c.args[0]) for c in calls if self.dotted(c.func) == PACKAGED],
            opaque=self._opaque(list(_whole(worded.tree))),
        )

    def _form(self, tree: ast.Module, imports: Imports) -> Form:
        source = ast.unparse(tree)
        if source not in self.forms:
            code = compile(source, self.name, "exec", dont_inherit=True)
            required = {*_looked_up(code, self.bound), *imports}
            uses = sorted(name for n in _whole(tree) if (name := chain(n)) and name[0] in required)
            digest = hashlib.sha256(source.encode()).hexdigest()
            self.forms[source] = Form(digest, tuple(dict.fromkeys(uses)))
        return self.forms[source]

    def _acts(self, node: ast.stmt) -> bool:
        """Say whether a statement may do more than bind its name, such as call package code."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return any(self.dotted(called(d)) not in PURE for d in node.decorator_list)
        parts = list(ast.walk(node))
        stored = [n.ctx for n in parts if isinstance(n, ast.Attribute | ast.Subscript)]
        names = {self.dotted(called(n)) for n in parts if isinstance(n, ast.Call)} - PURE
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not names:
            return False  # it calls nothing but what is in PURE
        return (
            not isinstance(node, ast.Assign | ast.Pass)
            or any(isinstance(context, ast.Store) for context in stored)
            or any(name.partition(".")[0] == self.name.partition(".")[0] for name in names)
        )

    def _opaque(self, parts: list[ast.AST]) -> str:
        """Return a name that only running the code could follow, or "" if every name can be."""
        named = [self.dotted(n) for n in parts if isinstance(n, ast.Name | ast.Attribute)]
        hidden = [name for name in named if name in OPAQUE or name.rpartition(".")[2] in HIDDEN]
        hidden += [n.attr for n in parts if isinstance(n, ast.Attribute) and n.attr in HIDDEN]
        hidden += [n.name for n in parts if isinstance(n, ast.FunctionDef) and n.name in HIDDEN]
        for part in [n for n in parts if isinstance(n, ast.ClassDef)]:
            hidden += [f"{keyword.arg}=" for keyword in part.keywords]
        return next(iter([*hidden, *filter(None, map(unclear, parts))]), "")


def imported(node: ast.AST) -> Imports:
    """Return {bound name: import}; after `import a.b`, `a` stands for `a` and "a.b" for `a.b`."""
    if isinstance(node, ast.ImportFrom):
        return {a.asname or a.name: f"{node.module}:{a.name}" for a in node.names}
    names = node.names if isinstance(node, ast.Import) else []
    roots = (alias.name.partition(".")[0] for alias in names if not alias.asname)
    return {root: root for root in roots} | {a.asname or a.name: a.name for a in names}


def unclear(node: ast.AST) -> str:
    """Return an import that cannot be followed (relative, or of all names) as text, else ""."""
    odd = isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*")
    return ast.unparse(node) if odd else ""


def _whole(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree; a dotted name such as `a.b.c` counts as a single node."""
    yield node
    if not chain(node):
        for child in ast.iter_child_nodes(node):
            yield from _whole(child)


def _idle(node: ast.stmt) -> bool:
    """Say whether a top-level statement has no effect on import."""
    main = isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return main or constant or (_typed(node) and not getattr(node, "orelse", []))


def _typed(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and chain(node.test)[-1:] == ("TYPE_CHECKING",)


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a top-level statement binds in its module, without imports."""
    code = compile(ast.Module([node], []), "", "exec", dont_inherit=True)
    imports = {name for inner in _run_on_import(node) for name in imported(inner)}
    return [n for n in dict.fromkeys(_operands(code, {"STORE_NAME"})) if n not in imports]


def _run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that an import of the module executes."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _run_on_import(child)


def _looked_up(code: CodeType, bound: set[str]) -> set[str]:
    """Return the names that code looks up in its module (with names `bound`) or in builtins.

    The body of a class looks up there the names that it has not bound yet.
    """
    stored = {*_operands(code, {"STORE_NAME"})} - bound
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return ({*_operands(code, LOOKS_UP)} - stored).union(
        *(_looked_up(part, bound) for part in inner)
    )


def _operands(code: CodeType, operations: set[str]) -> list[str]:
    return [step.argval for step in dis.get_instructions(code) if step.opname in operations]
