"""What all entries share: strictness, the form of ids, small number types, fields of open kinds."""

from importlib import import_module
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

ID = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
Id = Annotated[str, Field(pattern=ID)]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    # Deferred, because the classes of an open table import the modules that name the table.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Kinds:
    """Annotation of a field that holds an entry of an open table, given as `module:NAME`.

    The value's `kind` chooses the class that checks it; a kind alone stands for an entry without
    parameters. The table is imported when the first value is checked.
    """

    def __init__(self, table: str) -> None:
        self.table = table

    def classes(self) -> dict[str, type[Strict]]:
        """Return the class of each kind."""
        module, _, name = self.table.partition(":")
        return dict(getattr(import_module(module), name))

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        choices = {kind: handler.generate_schema(form) for kind, form in self.classes().items()}
        entry = core_schema.tagged_union_schema(choices, "kind")
        return core_schema.no_info_before_validator_function(_spelt_out, entry)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"enum": sorted(self.classes())}]}


def _spelt_out(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value
