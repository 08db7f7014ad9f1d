"""Progress and an estimate for long work: a bar on a terminal, a line now and then in a log.

Usage: `for doc in track(docs, "encode", total=n): ...`. Must not know any stage.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_subject = ""
SECONDS_BETWEEN_LINES = 10.0


def about(arguments: list[str]) -> None:
    """Name the work by its `--output`: several jobs share one terminal."""
    global _subject
    if "--output" in arguments[:-1]:
        _subject = f"{arguments[arguments.index('--output') + 1]}: "


def track(items: Iterable[T], what: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Yield the items and report on standard error how far the work is.

    `total` counts items; without it the estimate is left out.
    """
    if sys.stderr.isatty():
        from tqdm import tqdm

        yield from tqdm(items, desc=what, total=total, unit=unit)
        return
    yield from _lines(items, f"{_subject}{what}", total, unit)


def _lines(items: Iterable[T], what: str, total: int | None, unit: str) -> Iterator[T]:
    start = last = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            print(_line(what, done, total, unit, now - start), file=sys.stderr, flush=True)
    print(f"{what}: {done} {unit} in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def _line(what: str, done: int, total: int | None, unit: str, elapsed: float) -> str:
    rate = done / elapsed
    if not total:
        return f"{what}: {done} {unit}, {rate:.1f} {unit}/s"
    left = (total - done) / rate
    return f"{what}: {done}/{total} {unit}, {rate:.1f} {unit}/s, about {left:.0f} s left"
