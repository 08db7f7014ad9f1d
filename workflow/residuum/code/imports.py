"""What an import binds in a module, and which modules it runs.

Usage: `imported(node)`, `loaded(node)`. Must not know whether there are such modules.
"""

import ast

Imports = dict[str, str]  # `module` or `module:name`, by the name that an import binds


def imported(node: ast.AST) -> Imports:
    """Return what an import binds."""
    if isinstance(node, ast.Import):
        return {
            alias.asname or (root := alias.name.partition(".")[0]): alias.name
            if alias.asname
            else root
            for alias in node.names
        }
    if isinstance(node, ast.ImportFrom):
        return {a.asname or a.name: f"{node.module}:{a.name}" for a in node.names}
    return {}


def loaded(node: ast.AST) -> list[str]:
    """Return the modules that an import runs; of a name from a module, perhaps one of its own."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def unclear(node: ast.AST) -> str:
    """Write an import that cannot be followed: a relative one, or of all names."""
    odd = isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*")
    return ast.unparse(node) if odd else ""
