"""The cells that a paper prints: a number with its markers, a change, or a tick.

Usage: `PrintedCell.parse("0.308 ^1-4").value`.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from residuum.config.schema.base import Strict

TICK = "\N{CHECK MARK}"
UNITS = {"": 1, "K": 1_000, "M": 1_000_000}


class PrintedCell(Strict):
    """A reported cell: a number, the row indices it beats and whether it has an arrow; or a tick.

    A number with a sign is a change from another row. A number with a K or an M is cut or rounded
    at this unit.
    """

    value: float | None  # None for a tick
    digit: float = 1.0  # the unit of the last printed digit: 0.1 in 56.2, 100 in 6.9K
    beats: list[int] = Field(default=[])
    below: bool = False
    signed: bool = False

    @classmethod
    def parse(cls, text: str) -> "PrintedCell":
        """Read `0.308 ^1-4`, `0.241 ↓`, `+0.05`, `8.8M` or `✓`; ValueError for other texts."""
        if text == TICK:
            return cls(value=None)
        match = re.fullmatch(r"([+-]?\d+(?:\.(\d+))?)([KM]?)(?: \^([0-9,-]+))?( ↓)?", text)
        if not match:
            raise ValueError(f"cannot read the cell '{text}'")
        ranges = [part.partition("-") for part in (match[4] or "").split(",") if part]
        beats = [i for first, _, last in ranges for i in range(int(first), int(last or first) + 1)]
        signed = match[1][0] in "+-"
        unit, places = UNITS[match[3]], len(match[2] or "")
        return cls(
            value=round(float(match[1]) * unit, 12),
            digit=unit / 10**places,
            beats=beats,
            below=bool(match[5]),
            signed=signed,
        )

    @property
    def tick(self) -> bool:
        """Say whether the paper prints a tick instead of a number."""
        return self.value is None


def _readable(text: str) -> str:
    PrintedCell.parse(text)
    return text


PrintedText = Annotated[str, AfterValidator(_readable)]
