"""What a module's top-level statements bind, use and come to; read without importing anything.

Usage: `read(path, "residuum.fusion").statements`. Kept under the hash of the module's text beside
Python's own caches, in __pycache__. Must not know which statements a result depends on.
"""

import ast
import hashlib
import pickle
import symtable
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import files
from residuum.code import choices, normal
from residuum.code.imports import Imports, imported, loaded, unclear
from residuum.code.normal import chain

PACKAGED = "residuum.config.roots.packaged"
# Decorators and calls that change nothing but what they return.
PURE = {*normal.BLIND, "dataclasses.dataclass", "functools.lru_cache", "functools.total_ordering"}
PURE |= {"enum.unique", "typing.overload", "residuum.cli.command.app", choices.TABLE}
PURE |= {
    f"residuum.config.{name}" for name in ("schema.base.Ref", "schema.base.Name", "measures.Own")
}
PURE |= {"residuum.config.measures.OWN.items", PACKAGED}
# What finds code by names that are made when it runs, or reads what a normal form leaves out.
OPAQUE = {"globals", "locals", "vars", "eval", "exec", "compile", "__import__", "sys.modules"}
OPAQUE |= {"importlib.import_module", "importlib.reload", "typing.get_type_hints", "sys.exc_info"}
OPAQUE |= {"traceback.format_exc", "inspect.getsource", "inspect.signature", "__file__"}
HIDDEN = {"__subclasses__", "__init_subclass__", "__annotations__", "__doc__", "__file__"}
Chain = tuple[str, ...]


class Form(NamedTuple):
    """The hash of a normal form, and the names that it uses of its module or of builtins."""

    sha256: str
    uses: tuple[Chain, ...]


class Statement(NamedTuple):
    """A top-level statement; `raised` and `heard` are classes of exceptions, see `normal`."""

    name: str
    line: int
    defines: bool  # a function or class, which may stand anywhere
    quiet: Form
    spoken: Form
    raised: tuple[Chain, ...]
    heard: tuple[Chain, ...]
    bases: tuple[Chain, ...]
    kinds: tuple[str, ...]  # of a schema class
    members: tuple[Chain, ...]  # of unions by kind
    entries: tuple[tuple[str, str], ...]  # of open tables: (kind, `module:name`)
    imports: Imports  # made inside
    loads: tuple[str, ...]  # modules that those import
    data: tuple[str, ...]  # files of the package
    verb: str | None
    opaque: str  # what cannot be followed


class Module(NamedTuple):
    """The statements of a module, what its names stand for, and what importing it does."""

    statements: tuple[Statement, ...]
    bindings: dict[str, list[int | str]]  # numbers of statements, or imports
    effects: tuple[int, ...]
    loads: tuple[str, ...]


def read(path: Path, name: str) -> Module:
    """Return what the statements of a module's file are; a SyntaxError names the file."""
    text = path.read_bytes()
    key = hashlib.sha256(_version() + text).hexdigest()
    kept = path.parent / "__pycache__" / f"{path.stem}.statements"
    try:
        found, module = pickle.loads(kept.read_bytes())
    except Exception:  # damaged bytes can spell any fault of an unpickler
        found = None
    if found == key:
        return Module(*module)
    made = _Reader(path, name, text).module()
    try:
        with files.whole(kept) as temporary:
            temporary.write_bytes(pickle.dumps((key, tuple(made))))
    except OSError:
        pass  # a folder that cannot be written: read again next time
    return made


@cache
def _version() -> bytes:
    """Return what else the statements depend on: this code and Python."""
    own = sorted(Path(__file__).parent.glob("*.py"))
    parts = [sys.version.encode(), *(path.read_bytes() for path in own)]
    return hashlib.sha256(b"\0".join(parts)).digest()


class _Reader:
    """Takes a module apart; the names are those of all its imports, wherever they stand."""

    def __init__(self, path: Path, name: str, text: bytes) -> None:
        self.name = name
        tree, *others = (ast.parse(text, str(path)) for _ in range(3))  # two are changed
        self.body = [node for node in tree.body if not _idle(node)]
        self.copies = zip(
            *([n for n in other.body if not _idle(n)] for other in others), strict=True
        )
        self.names = {n: target for node in ast.walk(tree) for n, target in imported(node).items()}
        self.own = {name for node in self.body for name in _bound(node)}
        typed = (imported(n) for top in tree.body if _typed(top) for n in ast.walk(top))
        self.typed = {n: f"typing:{n}" for found in typed for n in found}  # no value at run time
        self.bindings: dict[str, list[int | str]] = {}
        self.loads: list[str] = []

    def module(self) -> Module:
        """Return the module's statements, with what its names stand for."""
        statements: list[Statement] = []
        effects: list[int] = []
        for node, copies in zip(self.body, self.copies, strict=True):
            if isinstance(node, ast.Import | ast.ImportFrom) and not unclear(node):
                self._import([node])
                continue
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._import(_outside_functions(node))
            effects += [len(statements)] * self._acts(node)
            self._bind(dict.fromkeys(_bound(node), len(statements)))
            statements.append(self._statement(node, *copies))
        self._bind({n: target for n, target in self.typed.items() if n not in self.bindings})
        return Module(tuple(statements), self.bindings, tuple(effects), tuple(self.loads))

    def _import(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self._bind(imported(node))
            self.loads += loaded(node)

    def _bind(self, found: Mapping[str, int | str]) -> None:
        for name, target in found.items():
            self.bindings.setdefault(name, []).append(target)

    def dotted(self, node: ast.expr) -> str:
        """Write a name as its import does, such as `residuum.artefacts.trec.rank`; else empty."""
        first, *rest = chain(node) or [""]
        root = f"{self.name}.{first}" if first in self.own else self.names.get(first, first)
        return ".".join([root.replace(":", "."), *rest])

    def _statement(self, node: ast.stmt, copy: ast.stmt, other: ast.stmt) -> Statement:
        quiet = spoken = normal.normal(copy, self.dotted)
        found = choices.choices(quiet.tree, self.dotted)
        if quiet.raised:
            spoken = normal.normal(other, self.dotted, spoken=True)
            choices.choices(spoken.tree, self.dotted)
        within = list(ast.walk(spoken.tree))
        imports = {n: target for part in within for n, target in imported(part).items()}
        return Statement(
            name=",".join(_bound(node)),
            line=node.lineno,
            defines=isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef),
            quiet=(form := self._form(quiet.tree, imports)),
            spoken=self._form(spoken.tree, imports) if quiet.raised else form,
            raised=_classes(quiet.raised, form),
            heard=_classes(quiet.heard, form),
            bases=_classes(getattr(node, "bases", []), form),
            kinds=choices.kinds(node),
            members=tuple(found.members),
            entries=tuple(found.entries),
            imports=imports,
            loads=tuple(name for part in within for name in loaded(part)),
            data=tuple(self._data(within)),
            verb=next(_verbs(node), None),
            opaque=self._opaque(list(_whole(spoken.tree))),
        )

    def _form(self, tree: ast.Module, imports: Imports) -> Form:
        text = ast.unparse(tree)
        wanted = _globals(symtable.symtable(text, "", "exec"), self.own) | set(imports)
        names = {tuple(chain(n)) for n in _whole(tree) if isinstance(n, ast.expr)} - {()}
        uses = {name for name in names if name[0] in wanted}
        return Form(hashlib.sha256(text.encode()).hexdigest(), tuple(sorted(uses)))

    def _data(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        """Yield the names of files in calls such as `packaged("words.yaml")`."""
        for node in nodes:
            if isinstance(node, ast.Call) and self.dotted(node.func) == PACKAGED:
                yield choices.text(node.args[0])

    def _acts(self, node: ast.stmt) -> bool:
        """Say whether a statement may do more than bind its name."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            kept = [d for d in node.decorator_list if normal.verb_of(node.name, d) is None]
            return any(self.dotted(normal.called(d)) not in PURE for d in kept)
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            return True
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        stored = [t for target in targets for t in ast.walk(target)]
        calls = [n for n in ast.walk(node.value) if isinstance(n, ast.Call)] if node.value else []
        return any(isinstance(t, ast.Attribute | ast.Subscript) for t in stored) or any(
            self._ours(normal.called(call)) for call in calls
        )

    def _ours(self, callee: ast.expr) -> bool:
        """Say whether a call runs code of this package that may do more than return."""
        callee = callee.value if isinstance(callee, ast.Subscript) else callee
        name = self.dotted(callee)
        return name not in PURE and name.partition(".")[0] == self.name.partition(".")[0]

    def _opaque(self, parts: list[ast.AST]) -> str:
        """Name what cannot be followed without running it; empty where there is nothing."""
        named = [self.dotted(n) for n in parts if isinstance(n, ast.Name | ast.Attribute)]
        hidden = [name for name in named if name in OPAQUE or name.rpartition(".")[2] in HIDDEN]
        hidden += [n.attr for n in parts if isinstance(n, ast.Attribute) and n.attr in HIDDEN]
        hidden += [n.name for n in parts if isinstance(n, ast.FunctionDef) and n.name in HIDDEN]
        hidden += [f"{k.arg}=" for n in parts if isinstance(n, ast.ClassDef) for k in n.keywords]
        return next(iter([*hidden, *filter(None, map(unclear, parts))]), "")


def _whole(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree; of names such as `a.b.c` not their parts."""
    yield node
    if not (isinstance(node, ast.expr) and chain(node)):
        for child in ast.iter_child_nodes(node):
            yield from _whole(child)


def _idle(node: ast.stmt) -> bool:
    """Say whether a top-level statement does nothing where the module is imported."""
    main = isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return main or text or (_typed(node) and not getattr(node, "orelse", []))


def _typed(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and chain(node.test)[-1:] == ["TYPE_CHECKING"]


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a top-level statement binds in its module, imports left out."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Lambda):
        return []
    name = getattr(node, "id", None) if isinstance(getattr(node, "ctx", None), ast.Store) else None
    name = name or (getattr(node, "name", None) if not isinstance(node, ast.alias) else None)
    inner = [n for child in ast.iter_child_nodes(node) for n in _bound(child)]
    return list(dict.fromkeys([*([name] if name else []), *inner]))


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run where a module is imported."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def _verbs(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield from filter(None, (normal.verb_of(node.name, d) for d in node.decorator_list))


def _classes(nodes: list[ast.expr], form: Form) -> tuple[Chain, ...]:
    """Return the names of classes; an empty one for what a local name or a call stands for."""
    names = dict.fromkeys(tuple(chain(node)) for node in nodes)
    return tuple(name if name in form.uses else () for name in names)


def _globals(table: symtable.SymbolTable, own: Container[str]) -> set[str]:
    """Return the names that a statement looks up in its module, in all of its scopes.

    The body of a class looks there for what it has not bound itself yet.
    """
    inside = table.get_type() == "function"
    found = {s.get_name() for s in table.get_symbols() if _looked_up(s, inside, own)}
    return found.union(*(_globals(child, own) for child in table.get_children()))


def _looked_up(symbol: symtable.Symbol, inside: bool, own: Container[str]) -> bool:
    # Not is_global(), which takes a function that is called top for a module.
    if symbol.is_declared_global() or not (symbol.is_local() or symbol.is_free()):
        return True
    return not inside and symbol.is_referenced() and symbol.get_name() in own
