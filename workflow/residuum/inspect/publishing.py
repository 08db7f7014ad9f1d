"""Who publishes results, and under which licence: what a bundle and a log's entry state.

Usage: `statement("Ada Example", "CC-BY-4.0", date.today())`.
"""

import re
from datetime import date

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError

LICENCE = re.compile(r"[A-Za-z0-9.+-]+|https?://\S+")


class Published(BaseModel):
    """Who made and publishes results, when, and under which licence: of SPDX, or an address."""

    by: str
    licence: str
    day: date


def statement(by: str | None, licence: str | None, day: date) -> Published | None:
    """Return what a publisher states; None if nothing. Only one of both is a ResiduumError."""
    if by is None and licence is None:
        return None
    if not (by and by.strip() and licence):
        raise ResiduumError(
            "a published bundle names its publisher and its licence: "
            "--by 'Ada Example' --licence CC-BY-4.0"
        )
    if not LICENCE.fullmatch(licence):
        raise ResiduumError(
            f"--licence '{licence}': no licence has this name. Give its short name at spdx.org, as "
            "CC-BY-4.0, or the address of its text"
        )
    return Published(by=" ".join(by.split()), licence=licence, day=day)
