"""Open tables: {kind: `module:name`}, where an entry is imported when it is first used.

Usage: `LOSSES: OpenTable[Loss] = OpenTable({"nll": "residuum.neural.losses:nll"}, "loss")`, then
`LOSSES[form.kind]`. A new kind needs a new entry only. Keys are the `kind` of specs, or names of
measures. residuum.code counts an entry for the jobs that name its key.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, TypeVar, Union, cast

from pydantic import BaseModel, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from residuum.cli.errors import ResiduumError, unknown

T = TypeVar("T")
USED: set[str] = set()  # kinds that this process has taken from any table


class OpenTable(Mapping[str, T]):
    """A mapping from kinds to objects at `module:name`; `what` is an entry's name in messages."""

    def __init__(self, entries: Mapping[str, str], what: str = "kind") -> None:
        self.entries, self._what = dict(entries), what

    def __getitem__(self, kind: str) -> T:
        """Import and return an entry; an unknown kind is a ResiduumError with the closest known."""
        if kind not in self.entries:
            raise ResiduumError(unknown(self._what, kind, self.entries))
        USED.add(kind)
        return cast(T, _standing_at(self.entries[kind]))

    def all(self) -> dict[str, T]:
        """Import and return every entry."""
        return {kind: cast(T, _standing_at(target)) for kind, target in self.entries.items()}

    def __contains__(self, kind: object) -> bool:
        """Say whether a kind has an entry, and import nothing."""
        return kind in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


class Kinds:
    """Annotation of a field whose value is checked by an entry of an open table `module:NAME`.

    The value's `kind` chooses the class that checks it. A kind alone stands for an entry without
    parameters. The table is imported when the first value is checked.
    """

    def __init__(self, table: str) -> None:
        self.table = table

    def classes(self) -> dict[str, type[BaseModel]]:
        """Return the schema class of each kind."""
        return cast(OpenTable[type[BaseModel]], _standing_at(self.table)).all()

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        union, annotated = cast(Any, Union), cast(Any, Annotated)  # hidden from type checkers
        entry = union[tuple(self.classes().values())]
        whole = BeforeValidator(lambda value: {"kind": value} if isinstance(value, str) else value)
        return handler.generate_schema(annotated[entry, Field(discriminator="kind"), whole])

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [handler(schema), {"enum": sorted(self.classes())}]}


def _standing_at(target: str) -> object:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
