"""Turn what a card gave into the tables of docs/performance.md.

PYTHONPATH=workflow:tests python -m gpu.read RESULTS.jsonl ... [--limit 165]

A share of the limit is that of the FLOP that a model needs, without padding (MFU): of what a plain
product reached in the same run, and of the card's data sheet. Of several files a step is taken from
the last that has it. What failed, or was not run, has a row that says so. Must not know how
anything was measured.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu.steps import STEPS

# NVIDIA's data sheets, dense, TFLOP/s; the first name that the card's holds. fp32 is not TF32.
LIMITS = {
    "H100 PCIe": {"bf16": 756.0, "fp32": 51.0},
    "H100 NVL": {"bf16": 835.0, "fp32": 60.0},
    "A100": {"bf16": 312.0, "fp32": 19.5},
    "H100": {"bf16": 989.0, "fp32": 67.0},
    "H200": {"bf16": 989.0, "fp32": 67.0},
}
HEADS = ("what", "figure", "unit", "of the measured limit", "of the data sheet", "ratio")
Record = Mapping[str, Any]
Limits = Mapping[str, float]  # TFLOP/s by precision


def main() -> None:
    """Print the tables of some files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--limit", type=float, help="TFLOP/s in bf16 of a card that is not known")
    given = parser.parse_args()
    print("\n".join(tables(records_of(given.files), given.limit)))


def records_of(files: Iterable[Path]) -> dict[int, list[Record]]:
    """Return the records of each step, of the last file that has any of it."""
    found: dict[int, list[Record]] = {}
    for path in files:
        own: dict[int, list[Record]] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                record = json.loads(line)
                own.setdefault(int(record["step"]), []).append(record)
            except (ValueError, KeyError, TypeError):
                reason = f"{path.name} line {number} is no record"
                own.setdefault(-1, []).append({"name": "file", "failed": reason})
        found |= own
    return found


def tables(records: Mapping[int, Sequence[Record]], limit: float | None = None) -> Iterator[str]:
    """Yield the lines of a table for each step, in Markdown."""
    first = records.get(0, [])
    card = next((str(record["value"]) for record in first if record["name"] == "card"), "unknown")
    measured = {r["ceiling"]: r["value"] for r in first if "ceiling" in r}
    sheet = {"bf16": limit} if limit else of_sheet(card)
    yield f"Measured on: {card}."
    for step in sorted({*STEPS, *records}):
        title = STEPS[step].title if step in STEPS else "no step of these"
        yield from ("", f"**{step}. {title}**", "", _row(HEADS), _row(["---"] * len(HEADS)))
        own = records.get(step, [{"name": "step", "value": "not run"}])
        values = {record["name"]: record.get("value") for record in own}
        for record in own:
            yield _row(cells(record, values, measured, sheet))


def of_sheet(card: str) -> Limits:
    """Return the limits of a card by its data sheet; none where it is not known."""
    return next((limits for name, limits in LIMITS.items() if name in card), {})


def cells(
    record: Record, values: Mapping[str, Any], measured: Limits, sheet: Limits
) -> tuple[str, ...]:
    """Return the cells of a record's row, given the values of its step by their names."""
    name = str(record["name"])
    for odd in ("failed", "skipped"):
        if odd in record:
            return name, f"{odd}: {record[odd]}", "", "", "", ""
    value = record["value"]
    if isinstance(value, str):
        return name, value, "", "", "", ""
    flop, precision = record.get("flop"), record.get("precision")
    if "ceiling" in record:
        flop, precision, measured = 1e12, record["ceiling"], {}
    shares = [_share(value, flop, limits.get(precision)) for limits in (measured, sheet)]
    beside, other = record.get("beside"), values.get(record.get("beside"))
    ratio = f"{value / other:.2f} ({beside})" if other else ""
    return name, figure(value), str(record["unit"]), *shares, ratio


def _share(rate: float, flop: float | None, limit: float | None) -> str:
    return f"{rate * flop / 1e12 / limit:.1%}" if flop and limit else ""


def figure(value: float) -> str:
    """Return a value with three digits, or all of a whole number."""
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _row(given: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in given)} |"


if __name__ == "__main__":
    main()
