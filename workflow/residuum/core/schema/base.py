"""What all entries share: strictness, the form of ids, small number types."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

ID = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
Id = Annotated[str, Field(pattern=ID)]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class Strict(BaseModel):
    """Base of all entries: unknown keys are faults, values do not change after loading."""

    # Deferred, because the classes of an open table import the modules that name the table.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
