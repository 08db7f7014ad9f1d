"""Read the YAML files below config/ as entries of a schema, and collect every fault.

Usage: `Folder(Path("config/systems")).entry("clear", System)` loads an entry, and
`.at("clear", "k")` gives the file and the line of a value.
`parse(Path("config/systems/clear.yaml"), System)` loads the entry of a path. A file holds one
entry, whose id is the file's name, or several entries below `entries:`, each under its id.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from residuum.artefacts import yamls
from residuum.cli.command import describe
from residuum.cli.errors import unknown
from residuum.config.origins import brought, without
from residuum.config.schema.base import ID

MOST_SHOWN = 200  # characters of an invalid name in a message
WHOLE = ("train_on",)  # keys whose mapping is replaced whole: its shares add up to 1
EITHER = {"epochs": "steps", "steps": "epochs"}  # a training has one of the two
SEVERAL = "entries"  # the one key of a file that holds several entries
Value = TypeVar("Value")
NAMED = "small letters, digits, - and _ only"


class Location(NamedTuple):
    """Where an entry is written: a file, and its id there if the file holds several."""

    path: Path
    inside: str = ""

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.inside or self.path.stem

    def read(self) -> Any:
        """Return the entry as written, with the spots of its keys. The caller may change it."""
        made = yamls.read(self.path)
        if self.inside:
            made = next(entry for name, entry in made[SEVERAL].items() if str(name) == self.inside)
        return yamls.Keys(made, yamls.spots_of(made)) if isinstance(made, dict) else made

    def line(self, *keys: object) -> int:
        """Return the line of a nested key, or of the innermost written key above it."""
        first = min(
            (spot.line for spot in yamls.spots_of(yamls.read(self.path)).values()), default=1
        )
        return [first, *yamls.lines(yamls.read(self.path), [*self._above, *keys])][-1]

    def has(self, *keys: object) -> bool:
        """Say whether a nested key is written in the entry."""
        written = [*self._above, *keys]
        return len(yamls.lines(yamls.read(self.path), written)) == len(written)

    def at(self, *keys: object) -> str:
        """Return file and line of a key, and the entry's id if the file holds several entries."""
        return f"{self.path}:{self.line(*keys)}" + (f": {self.inside}" if self.inside else "")

    def text(self) -> str:
        """Return the entry's lines: its whole file, or its part with the comment above it."""
        text = self.path.read_text(encoding="utf-8-sig")
        found = yamls.lines_of(text, SEVERAL, self.inside) if self.inside else None
        if found is None:
            return text
        lines, start = text.splitlines(), found[0].start
        while lines[start - 1].lstrip().startswith("#"):
            start -= 1
        return textwrap.dedent("\n".join(lines[start : found[0].stop]) + "\n")

    @property
    def _above(self) -> list[str]:
        return [SEVERAL, self.inside] if self.inside else []


def ordered(by_id: Mapping[str, Value]) -> dict[str, Value]:
    """Sort by id: jobs see the order of entries, so the order of files must not decide it."""
    return dict(sorted(by_id.items(), key=lambda item: f"{item[0]}.yaml"))


_loaded: dict[tuple[Any, ...], tuple[Any, Any]] = {}


class Folder:
    """The entries in the files of a folder: the location of each id.

    `unread` lists the files that cannot be read, `again` the entries whose id is taken already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unread: list[Path] = []  # without the faults, whose words jobs must not rest on
        self.again: list[Location] = []
        locations: dict[str, Location] = {}
        for file in sorted(path.glob("*.yaml")):
            try:
                held = _held(file)
            except ValueError:
                self.unread.append(file)
                continue
            for location in held:
                if locations.setdefault(location.id, location) is not location:
                    self.again.append(location)
        self.locations = ordered(locations)

    def __contains__(self, name: str) -> bool:
        return name in self.locations

    def may_hold(self, name: str) -> bool:
        """Say whether the folder has an entry, or an unreadable file that may hold it."""
        return name in self or any(_may_hold(file, name) for file in self.unread)

    def file(self, name: str) -> Path:
        """Return the file of an entry, or ID.yaml for an entry that does not exist."""
        location = self.locations.get(name)
        return location.path if location else self.path / f"{name}.yaml"

    def located(self, name: str) -> Location:
        """Return the location of an entry. Raises ValueError with the reason if it is not found."""
        if name in self:
            return self.locations[name]
        for file in self.unread:
            if _may_hold(file, name):
                _held(file)  # raises what is wrong with it
        file = self.file(name)
        why = f"it holds no entry '{name}'" if file.is_file() else "not a file that can be read"
        raise ValueError(f"{file}: {why}")

    def at(self, name: str, *keys: object) -> str:
        """Return the start of a message: file and line of a value, with the base if it is there.

        An entry that no file holds gives the file ID.yaml.
        """
        if name not in self:
            return str(self.file(name))
        location = self.locations[name]
        data = location.read()
        base = self.locations.get(str(data.get("base"))) if isinstance(data, dict) else None
        if base is None or location.has(*keys):
            return location.at(*keys)
        return f"{location.at(*keys)} (base: {base.id}, {base.path}:{base.line(*keys)})"

    def entry(self, name: str, form: type[Value]) -> Value:
        """Load an entry; raise ValueError with all its faults, each with file, line and key.

        An entry with `base:` is laid over the base, which has no base itself.
        """
        entry: Value = self.checked(name, self.stated(name, form), form)
        return entry

    def stated(self, name: str, form: object) -> Any:
        """Return an entry as files state it, laid over its base, with the spots of its keys."""
        location = self.located(name)
        data = location.read()
        if not isinstance(data, dict) or "base" not in data:
            return data
        base, data, where = str(data["base"]), without(data, "base"), location.at("base")
        under = self.locations[base].read() if base in self else None
        if isinstance(under, dict) and "base" in under:
            text = f"'{base}' has a base itself, '{under['base']}'; name one that has none"
            raise ValueError(f"{where}: base: {text[:MOST_SHOWN]}")
        if not isinstance(under, dict):
            entries = {other: written.read() for other, written in self.locations.items()}
            whole = [n for n, e in entries.items() if isinstance(e, dict) and "base" not in e]
            text = unknown(f"entry of {self.path} without a base", base[:MOST_SHOWN], whole)
            raise ValueError(f"{where}: base: {text}")
        self.checked(base, under, form)  # reports the base's faults as its own, not as this entry's
        return merge(brought(under, f"base {base}"), data)

    def loaded(self, name: str, form: Any) -> tuple[Any, Any]:
        """Return an entry as files state it, and validated. Neither may be changed.

        Both are kept: another load, as of the next scale that is checked, reads what is edited.
        """
        location = self.located(name)
        data = location.read()
        base = str(data.get("base")) if isinstance(data, dict) else ""
        written = [self.locations[one] for one in (name, base) if one in self]
        key = (form, *((one, id(yamls.read(one.path))) for one in written))  # which keeps texts
        if key not in _loaded:
            stated = self.stated(name, form)
            _loaded[key] = stated, self.checked(name, stated, form)
        return _loaded[key]

    def checked(self, name: str, data: object, form: Any, laid_over: str = "") -> Any:
        """Validate an entry's data; faults name the budgets in `laid_over` as another origin."""
        try:
            return _adapter(form).validate_python(data)
        except ValidationError as error:
            lines = describe("", error, data).splitlines()
            faults = [line.removeprefix(": ") for line in lines]
            keys = (fault.partition(": ")[0].split(".") for fault in faults)
            placed = [self.at(name, *key) + laid_over for key in keys]
            text = "\n".join(map("{}: {}".format, placed, faults))
            raise ValueError(text) from None


def _held(file: Path) -> list[Location]:
    """Return the location of each entry of a file. Raises ValueError for a file with a fault."""
    if not re.fullmatch(ID, file.stem):
        text = f"a file's name is its id: {NAMED}"
        raise ValueError(f"{repr(str(file))[1:-1]}: {text}")
    made = yamls.read(file)
    if not isinstance(made, dict) or SEVERAL not in made:
        return [Location(file)]
    if others := [str(key) for key in made if key != SEVERAL]:
        where = f"{file}:{yamls.lines(made, others)[0]}: {others[0][:MOST_SHOWN]}"
        text = f"a file with `{SEVERAL}` has no other key; put an entry below it, under its id"
        raise ValueError(f"{where}: {text}")
    ids = [str(name) for name in made[SEVERAL]] if isinstance(made[SEVERAL], dict) else None
    odd = [name for name in ids or [] if not re.fullmatch(ID, name)]
    where = f"{file}:{yamls.lines(made, [SEVERAL, *odd[:1]])[-1]}: {SEVERAL}"
    if ids is None:
        raise ValueError(f"{where}: not a mapping; write each entry below its id")
    if odd:
        raise ValueError(f"{where}: {odd[0][:MOST_SHOWN]!r}: an id has {NAMED}")
    return [Location(file, name) for name in ids]


def _may_hold(file: Path, name: str) -> bool:
    """Say whether an unreadable file is named by an id, or has a line that begins with it."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    except OSError:
        text = ""
    return file.stem == name or re.search(rf"^ +{re.escape(name)}:", text, re.M) is not None


def faults_of(held: Folder) -> Iterator[str]:
    """Yield the faults of a folder's files: endings, unreadable files, repeated ids."""
    yield from (f"{path}: name it {path.stem}.yaml" for path in sorted(held.path.glob("*.yml")))
    for file in held.unread:
        try:
            _held(file)
        except ValueError as error:
            yield str(error)
    for location in held.again:
        first = held.locations[location.id].at()
        text = f"'{location.id}' is defined already, at {first}; give each id once"
        yield f"{location.at()}: {text}"


def load_folder(
    held: Folder,
    form: type[Value],
    faults: list[str],
    given: dict[str, object] | None = None,
) -> dict[str, Value]:
    """Load a folder's valid entries, {id: entry}, and append the faults of the others to `faults`.

    The entries as files state them, with the spots of their keys, are added to `given`.
    """
    given, entries = {} if given is None else given, dict[str, Value]()
    faults += faults_of(held)
    for name in held.locations:
        try:
            given[name], entries[name] = held.loaded(name, form)
        except ValueError as error:
            faults.append(str(error))
    return entries


def parse(path: Path, form: type[Value]) -> Value:
    """Load the entry FOLDER/ID.yaml from this file, or the entry ID from another file there.

    Raises ValueError with all faults, each with file, line and key.
    """
    return Folder(path.parent).entry(path.stem, form)


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> yamls.Keys:
    """Lay one nested mapping over another; None removes a key but keeps its spot.

    A mapping with another `kind` or `same_as` replaces the one below it whole. So do shares. Of two
    keys of EITHER the one that lies above takes the place of the other.
    """
    merged = {**base, **over}
    for key, value in over.items():
        under = base.get(key)
        if key in WHOLE or not isinstance(value, Mapping) or not isinstance(under, Mapping):
            continue
        if all(value[k] == under.get(k) for k in ("kind", "same_as") if k in value):
            merged[key] = merge(under, value)
    stated = {key for key, value in over.items() if value is not None}
    replaced = {other for key, other in EITHER.items() if key in stated and other in base} - stated
    gone = replaced | (over.keys() - stated)
    kept = {key: value for key, value in merged.items() if key not in gone}
    below = {key: spot for key, spot in yamls.spots_of(base).items() if key not in replaced}
    laid = {key: spot for key, spot in yamls.spots_of(over).items() if key in over}
    return yamls.Keys(kept, {**below, **laid})


def validate(name: str, data: object, form: Any) -> Any:
    """Check `data` against a schema; messages begin with `name`."""
    try:
        return _adapter(form).validate_python(data)
    except ValidationError as error:
        raise ValueError(describe(name, error, data)) from None


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    """Build the validator of a schema once: for a union, building takes longer than validating."""
    return TypeAdapter(form)
