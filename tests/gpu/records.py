"""What steps find: one JSON object a line, written as soon as it is known.

Usage: `Records(path, step).add("encode", 812.5, "texts/s", flop=2.2e10, precision="bf16")`. Facts
that `read.py` knows: `flop` of one unit and its `precision` (share of the card's limit), `beside`
(the name of a record of the same step that the value is divided by), `ceiling` (the precision whose
limit the value is). Must not know steps.
"""

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Records:
    """The file of all steps, and the step whose records are written; how many say of a failure."""

    def __init__(self, path: Path, step: int) -> None:
        self.path, self.step, self.failures = path, step, 0

    def add(self, name: str, value: float | str, unit: str = "", **facts: Any) -> None:
        """Append what was measured, in its unit, or found, in words."""
        self._write({"name": name, "value": value, "unit": unit, **facts})

    def failed(self, reason: str, name: str = "step") -> None:
        """Append why a step, or a part of it, gave no value."""
        self.failures += 1
        self._write({"name": name, "failed": " ".join(reason.split())[:400]})

    def skipped(self, name: str, reason: str) -> None:
        """Append why a part of a step has nothing to measure on this device."""
        self._write({"name": name, "skipped": reason})

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Let an error of a part of a step be a record, so that its other parts are measured."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.failed(f"{type(error).__name__}: {error}", name)

    def _write(self, record: dict[str, Any]) -> None:
        line = json.dumps({"step": self.step, **record}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
