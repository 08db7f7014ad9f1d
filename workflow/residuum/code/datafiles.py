"""Files of the package that its code names, such as `Path(__file__).with_name("words") / "x.yaml"`.

Usage: `DataFiles(path, statements, dotted).parts(tree)`. Must not know what the files hold.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from residuum.code.normal import Dotted, chain


class DataFiles:
    """Files and folders of the package that a module names, starting at `Path(__file__)`."""

    def __init__(self, path: Path, body: list[ast.stmt], dotted: Dotted) -> None:
        self.path, self.dotted = path, dotted
        self.named: dict[str, Path] = {}
        for node in body:
            if isinstance(node, ast.Assign) and (found := self._value(node.value)):
                self.named |= {n.id: found for n in node.targets if isinstance(n, ast.Name)}

    def parts(self, node: ast.AST) -> Iterator[ast.AST | Path]:
        """Yield the nodes of a tree: paths and names as long as they can be, not their parts."""
        path = None if isinstance(node, ast.Name) else self._value(node)
        yield path or node
        if path is None and not (isinstance(node, ast.expr) and chain(node)):
            for child in ast.iter_child_nodes(node):
                yield from self.parts(child)

    def _value(self, node: ast.AST) -> Path | None:
        """Return the path that an expression stands for; None if that shows when it runs only."""
        match node:
            case ast.Name(id=name):
                return self.named.get(name)
            case ast.Call(func=function, args=[ast.Name(id="__file__")]):
                return self.path if self.dotted(function) == "pathlib.Path" else None
            case ast.Call(func=ast.Attribute(value=of, attr="resolve"), args=[]):
                return self._value(of)
            case ast.Call(func=ast.Attribute(value=of, attr="with_name"), args=[ast.Constant(n)]):
                return path.with_name(str(n)) if (path := self._value(of)) else None
            case ast.Attribute(value=of, attr="parent"):
                return path.parent if (path := self._value(of)) else None
            case ast.Subscript(
                value=ast.Attribute(value=of, attr="parents"), slice=ast.Constant(n)
            ):
                return path.parents[int(str(n))] if (path := self._value(of)) else None
            case ast.BinOp(left=of, op=ast.Div(), right=ast.Constant(value=str(n))):
                return path / n if (path := self._value(of)) else None
        return None
