"""What stands in a cell that a paper prints: a number with its markers, a change, or a tick.

Usage: `PrintedCell.parse("0.308 ^1-4").value`. Must not know tables.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from residuum.config.schema.base import Strict

TICK = "\N{CHECK MARK}"


class PrintedCell(Strict):
    """A reported cell: its number, the row indices it beats, whether an arrow marks it; or a tick.

    A number with a sign is a change from another row.
    """

    value: float | None  # None of a tick
    beats: list[int] = Field(default=[])
    below: bool = False
    signed: bool = False

    @classmethod
    def parse(cls, text: str) -> "PrintedCell":
        """Read `0.308 ^1-4`, `0.241 ↓`, `0.307`, `+0.05` or `✓`; others raise ValueError."""
        if text == TICK:
            return cls(value=None)
        match = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)(?: \^([0-9,-]+))?( ↓)?", text)
        if not match:
            raise ValueError(f"cannot read the cell '{text}'")
        ranges = [part.partition("-") for part in (match[2] or "").split(",") if part]
        beats = [i for first, _, last in ranges for i in range(int(first), int(last or first) + 1)]
        signed = match[1][0] in "+-"
        return cls(value=float(match[1]), beats=beats, below=bool(match[3]), signed=signed)

    @property
    def tick(self) -> bool:
        """Say whether the paper prints a tick in place of a number."""
        return self.value is None


def _readable(text: str) -> str:
    PrintedCell.parse(text)
    return text


PrintedText = Annotated[str, AfterValidator(_readable)]
