"""Who publishes results, under which licence and when: what a bundle and a reproduction state.

Usage: `published("Ada Example", "CC-BY-4.0", date(2026, 11, 28))`.
"""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, NamedTuple

from pydantic import BaseModel, StringConstraints, ValidationError

from residuum.cli.errors import ResiduumError

NEEDED = (
    "a published bundle names its publisher and its licence: --by 'Ada Example' --licence CC-BY-4.0"
)
Name = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$"
    ),
]
Licence = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9.+-]+|https?://\S+)$")]


class Published(BaseModel):
    """Who made and publishes results, when, and under which licence: of SPDX, or an address."""

    by: Name
    licence: Licence
    day: date


class Page(NamedTuple):
    """A published page, the job that made it, and those of its inputs that are published too."""

    name: str
    module: str
    command: str
    inputs: Sequence[str]
    files: Sequence[str]


def published(by: str | None, licence: str | None, day: date | None) -> Published | None:
    """Return what a publisher states, by default of today; None if nothing is stated.

    A publisher without a licence, or the reverse, is a ResiduumError.
    """
    if by is None and licence is None and day is None:
        return None
    if not (by and licence):
        raise ResiduumError(NEEDED)
    try:
        return Published(by=" ".join(by.split()), licence=licence, day=day or date.today())
    except ValidationError as error:
        fault = error.errors()[0]
    if fault["loc"] == ("by",):
        raise ResiduumError(f"--by '{by}': not a name of 1 to 200 characters in one line")
    raise ResiduumError(
        f"--licence '{licence}': neither a short name of spdx.org, as CC-BY-4.0, nor the address "
        "of a licence's text"
    )
