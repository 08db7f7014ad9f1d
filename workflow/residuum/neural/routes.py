"""Modules of a released model for docs and for queries, which a Router of its files may part.

Usage: `docs, queries = routes.of(read, refused)`, with a function that reads a JSON file of it.
Source: `Router` of sentence-transformers 6.2 (base/modules/router.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.neural.hub import MODULES

ROUTERS = ("Router", "Asym")  # its present name, and its name before version 5
FILES = ("router_config.json", "config.json")  # its present settings, and those before version 5
TASKS = ("document", "query")
TEXT = "text"  # what is read; a route may be that of images


class Module(NamedTuple):
    """A module: its class, and its folder within the model, "" if it lies beside."""

    type: str
    path: str

    @property
    def name(self) -> str:
        """The class without its module."""
        return self.type.rpartition(".")[2]


Refused = Callable[[str], ResiduumError]  # the error that refuses a model, by the reason


def of(read: Callable[[str], Any], refused: Refused) -> tuple[list[Module], list[Module]]:
    """Return the modules that read docs, and those that read queries; the same without a Router.

    `read` returns the content of a JSON file, an empty object if there is none. Raises what
    `refused` makes for files that say nothing of a side.
    """
    listed = read(MODULES)
    if not (isinstance(listed, list) and all(isinstance(one, dict) for one in listed)):
        raise refused(f"{MODULES} holds no list of modules")
    modules = [Module(str(one.get("type", "")), str(one.get("path") or "")) for one in listed]
    if not modules or modules[0].name not in ROUTERS:
        return modules, modules
    path = modules[0].path
    file = next(
        (name for some in FILES if read(name := joined(path, some))), joined(path, FILES[0])
    )
    told = read(file)
    docs, queries = (_route(told, task, path, file, refused) for task in TASKS)
    return [*docs, *modules[1:]], [*queries, *modules[1:]]


def _route(told: Any, task: str, path: str, file: str, refused: Refused) -> list[Module]:
    """Return the modules of a task's route, as `Router._resolve_route` finds it for texts."""
    types, structure, asked = _settings(told, file, refused)
    keys = ((task, TEXT), (task, None), (None, TEXT), (None, None))
    route = next((asked[key] for key in keys if key in asked), None)
    route = route or next((name for name in (task, TEXT) if name in structure), None)
    if route not in structure:
        raise refused(f"{file}: no route for {task}; it has {', '.join(structure) or 'none'}")
    if lacking := [name for name in structure[route] if name not in types]:
        raise refused(f"{file}: types names no class of {lacking[0]}")
    return [Module(types[name], joined(path, name)) for name in structure[route]]


def _settings(
    told: Any, file: str, refused: Refused
) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]], Mapping[object, str]]:
    """Return a Router's classes by folder, folders by route, and routes by (task, modality)."""
    try:
        types = {str(name): str(kind) for name, kind in told["types"].items()}
        structure = {str(name): [*map(str, some)] for name, some in told["structure"].items()}
        mapped = dict(told.get("parameters") or {}).get("route_mappings") or {}
        asked = {ast.literal_eval(key): str(route) for key, route in mapped.items()}
    except (LookupError, TypeError, AttributeError, ValueError, SyntaxError, MemoryError):
        raise refused(f"{file} does not name the modules of routes") from None
    return types, structure, asked


def joined(path: str, name: str) -> str:
    """Return a file's or a folder's name within a folder of the model."""
    return f"{path}/{name}" if path else name
