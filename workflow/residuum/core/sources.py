"""Which source files a stage's results depend on: its module and what it imports of residuum.

Usage: `sources("residuum.fusion")`. Rules list these as inputs, because Snakemake does not
see imports; manifests hash them. Reads import statements only, so nothing heavy is loaded.
Must not know any stage.
"""

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
ENTRY = r"residuum(\.\w+)+:\w+"  # of an open table, which is imported when it is used


@cache
def sources(module: str) -> tuple[Path, ...]:
    """Return the files of `module` and of all residuum modules it imports, sorted.

    Imports inside functions count too. Raises ValueError for a module that is not there.
    """
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _file(name)
            waiting.extend(_imports(found[name]))
    return tuple(sorted(found.values()))


def _file(module: str) -> Path:
    path = _candidate(module)
    if path is None:
        raise ValueError(f"no module {module} under {PACKAGE}")
    return path


def _candidate(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.startswith("residuum.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("residuum"):
            names += _members(str(node.module), [alias.name for alias in node.names])
        elif isinstance(node, ast.Constant) and re.fullmatch(ENTRY, str(node.value)):
            names.append(str(node.value).partition(":")[0])
    return names


def _members(module: str, names: list[str]) -> list[str]:
    """`from residuum.core import files` means the module, `from x import f` means x."""
    modules = [f"{module}.{name}" for name in names if _candidate(f"{module}.{name}")]
    return modules if len(modules) == len(names) else [*modules, module]
