"""Format texts of the command `residuum`: wrapped lines with a name, and settings as words.

Usage: `line("spec", listed({"bm25": {"k1": 0.6}}))`.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

WIDTH = 100
NUMBERED = re.compile(r"\b(seed|shard-)(\d+)")
HASH = re.compile(r"[0-9a-f]{64}")
LONG = 60  # characters shown of a value, unless `full` is true


class Finding(NamedTuple):
    """A checked item and its message; `good` is None if it could not be checked here."""

    what: str
    message: str
    good: bool | None

    def __str__(self) -> str:
        mark = {True: "ok", False: "FAULT", None: "absent"}[self.good]
        return f"{mark:<6} {self.what}: {self.message}"


def remade(results: Path) -> str:
    """Return the command that makes deleted files below a results folder again."""
    scale = results.resolve().name
    return f"snakemake --cores all --config scale={scale} -- {results}/FILE ... all"


def number(value: float) -> str:
    """Write a number to six significant digits, and a whole number without a point."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6g}"


def by_reason(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each reason once, followed by the names that it holds for; "" is no name."""
    reasons: dict[str, dict[str, None]] = {}
    for why, name in found:
        reasons.setdefault(why, {}).update({name: None} if name else {})
    for why, names in reasons.items():
        yield f"{why} ({', '.join(names)})" if names else why


def line(name: str, text: str, indent: int = 2) -> str:
    """Write a name and a wrapped text; further lines are indented below the text."""
    return wrapped(text or "none", f"{' ' * indent}{name:<10} ")


def wrapped(text: str, start: str = "", hang: int = 0) -> str:
    """Write a wrapped text behind `start`; further lines are indented by `hang`."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * (len(start) + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )


def together(paths: list[str]) -> str:
    """Write paths that differ by seed or shard together: seed{1,2,3}, shard-{00000..00017}."""
    numbers: dict[str, dict[str, None]] = {}
    for kind, number in (pair for path in paths for pair in NUMBERED.findall(path)):
        numbers.setdefault(kind, {})[number] = None

    def all_of(match: re.Match[str]) -> str:
        found = list(numbers[match[1]])
        unbroken = int(found[-1]) - int(found[0]) == len(found) - 1
        shown = f"{found[0]}..{found[-1]}" if unbroken and len(found) > 5 else ",".join(found)
        return match[1] + (f"{{{shown}}}" if len(found) > 1 else shown)

    return NUMBERED.sub(all_of, paths[0])


def listed(settings: dict[str, object], full: bool = False) -> str:
    """Write nested settings as `bm25.k1 0.6; k 1000`, leaving out empty values."""
    kept = ((key, short(item, full)) for key, item in flat(settings))
    return "; ".join(f"{key} {text}" for key, text in kept if text)


def short(item: object, full: bool = False) -> str:
    """Write a value for reading: hashes and long texts cut, numbers to six digits."""
    if isinstance(item, list):
        plain = all(isinstance(part, (str, int, float)) for part in item)
        text = " ".join(map(str, item)) if plain else f"({len(item)} entries)"
    elif isinstance(item, float) and not full:
        text = f"{item:.6g}"
    else:
        text = "" if item in (None, {}) else str(item)
    if full:
        return text
    cut = text[:12] if HASH.fullmatch(text) else text
    return cut if len(cut) <= LONG else f"{cut[: LONG - 3]}..."


def flat(value: object, key: str = "", lists: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the items of nested mappings, as ("bm25.k1", 0.9).

    A list is a value. With `lists`, a list of mappings is flattened too: ("shards.0.docs", 640).
    """
    if lists and isinstance(value, list) and all(isinstance(item, dict) for item in value):
        value = {str(position): item for position, item in enumerate(value)}
    if not isinstance(value, dict):
        yield key, value
        return
    for name, item in value.items():
        yield from flat(item, f"{key}.{name}" if key else str(name), lists)


def duration(seconds: float) -> str:
    """Write seconds for reading: 0.4 s, 12 s, 3:05, 2:07:10."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def amount(size: float) -> str:
    """Write bytes in a fitting unit: 8.5 GB, 220 kB."""
    for unit, worth in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= worth:
            return f"{size / worth:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"
