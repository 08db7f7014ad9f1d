"""Read YAML strictly by the core schema of version 1.2, and write it for any reader.

Usage: `yamls.load("k: 010")` is {"k": 10}; `yamls.read(path)`; `yamls.dump(value)`;
`yamls.lines(value, ["k"])` returns line numbers of keys. All YAML of the project is read here. A
mapping that is read records the file and line of each of its keys, and a list the lines of its
items.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, NamedTuple

import yaml

from residuum.cli import scalars

MOST_NESTED = 50  # nesting levels of mappings and lists
TAG = "tag:yaml.org,2002:"
TEXT = f"{TAG}str"
PLAIN = "!plain"  # tag of a scalar without quotes or tag
KINDS: dict[str, type | UnionType] = {
    "null": type(None),
    "bool": bool,
    "int": int,
    "float": int | float,
}


class Spot(NamedTuple):
    """Where a key stands: a file, and a line from 1, or 0 if it stands in no line.

    `by` names what brought the key there, such as `budget triplet`; "" means its own file.
    """

    file: str
    line: int
    by: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.by} ({where})" if self.by else where


class Keys(dict[Any, Any]):
    """A mapping with the spots of its keys, including removed keys."""

    def __init__(
        self, items: Mapping[str, object] | None = None, spots: Mapping[Any, Spot] | None = None
    ) -> None:
        super().__init__(items or {})
        self.spots = dict(spots or {})


class Items(list[Any]):
    """A list with the lines of its items."""

    lines: tuple[int, ...] = ()


def spots_of(mapping: object) -> dict[Any, Spot]:
    """Return the spots of a mapping's keys; {} for a mapping that was not read from a file."""
    return mapping.spots if isinstance(mapping, Keys) else {}


# libyaml, if built in, reads several times as fast. mypy cannot follow a computed base.
class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
    """PyYAML's parser with the core schema; a repeated key is a fault."""

    file = ""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag of an untagged node."""
        plain = kind is yaml.ScalarNode and implicit[0]
        return PLAIN if plain else str(super().resolve(kind, value, implicit))

    def construct_object(self, node: yaml.Node, deep: bool = True) -> object:
        """Construct a value directly; without aliases, no value can hold itself."""
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.tag == TEXT else _value(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{TAG}seq":
            items = Items(self.construct_object(item) for item in node.value)
            items.lines = tuple(map(_line, node.value))
            return items
        if isinstance(node, yaml.MappingNode) and node.tag == f"{TAG}map":
            return self._mapping(node)
        raise _no_kind(node)

    def _mapping(self, node: yaml.MappingNode) -> Keys:
        made = Keys()
        for key_node, value_node in node.value:
            key, line = self.construct_object(key_node), _line(key_node)
            if not isinstance(key, str | int | float):
                raise yaml.YAMLError(f"line {line}: a key must be plain text; quote any braces")
            if key in made:
                first = _line(next(k for k, _ in node.value if k.value == key_node.value))
                text = f"key '{key}' is given twice, first in line {first}"
                raise yaml.YAMLError(f"line {line}: {text}")
            made[key] = self.construct_object(value_node)
            made.spots[key] = Spot(self.file, line)
        return made


def _value(node: yaml.ScalarNode) -> object:
    """Return null, a boolean, a number, or text; a tag that does not fit is a fault."""
    try:
        value = scalars.parse(node.value)
    except ValueError:
        text = f"a number of {len(node.value)} digits, which no key takes"
        raise yaml.YAMLError(f"line {_line(node)}: {text}") from None
    if node.tag == PLAIN:
        return value
    kind = node.tag.removeprefix(TAG)
    truth = isinstance(value, bool)  # Python counts bool as int
    if kind not in KINDS or truth != (kind == "bool") or not isinstance(value, KINDS[kind]):
        raise _no_kind(node)
    return float(value) if kind == "float" and isinstance(value, int) else value


def _no_kind(node: yaml.Node) -> yaml.YAMLError:
    tag = node.tag.replace(TAG, "!!")
    return yaml.YAMLError(f"line {_line(node)}: the tag {tag} does not fit; leave it out")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class _Dumper(yaml.SafeDumper):
    """PyYAML's dumper for YAML 1.1; it also quotes text that YAML 1.2 reads as a number."""

    # Here, and not by a call below, which every module that imports this one would rest on.
    yaml_multi_representers: ClassVar[dict[Any, Any]] = {
        **yaml.SafeDumper.yaml_multi_representers,
        dict: yaml.SafeDumper.represent_dict,
        list: yaml.SafeDumper.represent_list,
    }

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag that a reader would give a plain text."""
        older: Any = super()
        tag = str(older.resolve(kind, value, implicit))
        scalar = kind is yaml.ScalarNode and implicit[0] and tag == TEXT
        return PLAIN if scalar and not isinstance(scalars.parse(value), str) else tag


def read(path: Path) -> Any:
    """Return the content of a file, which callers must not change; each mapping is a `Keys`.

    A fault raises ValueError with the file and the line.
    """
    if not path.is_file():
        raise ValueError(f"{path}: not a file that can be read")
    try:
        return load(path.read_bytes().decode("utf-8-sig"), str(path))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 ({error})") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


@cache  # many files may share a base
def load(text: str, file: str = "") -> Any:
    """Return the content of YAML text, which callers must not change.

    A fault raises ValueError with its line. Faults include aliases, repeated keys, and nesting of
    more than 50 levels.
    """
    try:
        _refuse_unbounded(text)
        loader = _Loader(text)
        loader.file = file
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ValueError(f"not valid YAML: {' '.join(str(error).split())}") from None


def _refuse_unbounded(text: str) -> None:
    """Refuse YAML that may grow without bound: aliases, and nesting that is too deep."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError(f"line {line}: an alias (*{event.anchor}); write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_NESTED:
            raise yaml.YAMLError(f"line {line}: nested more than {MOST_NESTED} levels deep")


def lines(value: object, keys: Iterable[object]) -> list[int]:
    """Return the lines of nested keys of a value that was read, as far as the keys exist.

    Lines count from 1. A list's item is named by its index, or by its `id`.
    """
    found: list[int] = []
    for key in map(str, keys):
        named = next((part for part in _parts(value) if part[0] == key), None)
        if named is None:
            break
        _, line, value = named
        found.append(line)
    return found


def _parts(value: object) -> Iterator[tuple[str, int, object]]:
    """Yield name, line and value of each part of a mapping or list; an item's id is a name too."""
    if isinstance(value, Keys):
        yield from ((str(key), value.spots[key].line, part) for key, part in value.items())
    elif isinstance(value, Items):
        for number, (line, item) in enumerate(zip(value.lines, value, strict=True)):
            yield str(number), line, item
            if isinstance(item, Keys) and "id" in item:
                yield str(item["id"]), line, item


def lines_of(text: str, *keys: str) -> tuple[range, bool] | None:
    """Return the lines of a nested key, and whether its value has brackets or braces.

    Lines count from 0. Blank lines and comments at the end are left out: they belong to the next
    key. The result is None if the text lacks the key. A mapping in braces raises ValueError.
    """
    node, lines = yaml.compose(text, Loader=_Loader), range(0)
    for key in keys:
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            raise ValueError("one mapping in braces; write its keys one a line")
        found = next((pair for pair in node.value if pair[0].value == key), None)
        if found is None:
            return None
        (at, node), column = found, found[0].start_mark.column
        stop = node.end_mark.line + (node.end_mark.column > column)
        lines = range(at.start_mark.line, stop)
    written = text.splitlines()
    while lines and not written[lines[-1]].partition("#")[0].strip():
        lines = lines[:-1]
    return lines, bool(getattr(node, "flow_style", False))


def read_otherwise(path: Path) -> dict[str, object]:
    """Return {key: value} where Snakemake, by YAML 1.1, reads another value than YAML 1.2.

    A value that Snakemake reads as text is left out, because the core schema is applied later.
    """
    made, older = read(path), yaml.load(path.read_bytes().decode("utf-8-sig"), yaml.SafeLoader)
    keys = made if isinstance(made, dict) else {}
    return {key: older[key] for key in keys if not _alike(made[key], older.get(key))}


def _alike(value: object, older: object) -> bool:
    if isinstance(value, dict) and isinstance(older, dict):
        return value.keys() == older.keys() and all(_alike(value[k], older[k]) for k in value)
    if isinstance(value, list) and isinstance(older, list):
        return len(value) == len(older) and all(map(_alike, value, older))
    return isinstance(older, str) or (type(value), value) == (type(older), older)


def dump(value: object, one_line: bool = False) -> str:
    """Write a value with its keys in order: a key per line, or all in one line with braces."""
    text = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=one_line,
        width=10**6,
    )
    return text.removesuffix("...\n").strip() if one_line else str(text)
