"""Show progress and an estimate for long work: a bar on a terminal, lines in a log.

Usage: `for doc in track(docs, "encode", total=n): ...`.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_subject = ""
SECONDS_BETWEEN_LINES = 10.0
QUIET = "RESIDUUM_QUIET"  # if set, a job's output goes to its log only


def about(arguments: list[str]) -> None:
    """Use `--output` as the name of the work, because several jobs share a terminal."""
    global _subject
    if "--output" in arguments[:-1]:
        _subject = f"{arguments[arguments.index('--output') + 1]}: "


def track(items: Iterable[T], what: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Yield the items, and report progress on standard error.

    `total` is the number of items; without it, no time is estimated.
    """
    if sys.stderr.isatty():
        from tqdm import tqdm

        yield from tqdm(items, desc=what, total=total, unit=unit)
        return
    start = last = time.monotonic()
    name, done = f"{_subject}{what}", 0
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last, rate = now, done / (now - start)
            share = f"{done}/{total}" if total else f"{done}"
            left = f", about {(total - done) / rate:.0f} s left" if total else ""
            text = f"{name}: {share} {unit}, {rate:.1f} {unit}/s{left}"
            print(text, file=sys.stderr, flush=True)
    elapsed = time.monotonic() - start
    print(f"{name}: {done} {unit} in {elapsed:.1f} s", file=sys.stderr, flush=True)
