"""Work in parallel threads: one makes the next items, another stores finished ones.

Usage: `for part in ahead(parts): ...`; `with behind(keep) as put: put(batch, values)`. A card then
waits neither for texts to be read and tokenised, nor for vectors to be stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
AHEAD = 2  # items made before they are requested
BEHIND = 4  # calls that may wait for the thread


def ahead(items: Iterable[T], depth: int = AHEAD) -> Iterator[T]:
    """Yield the items while a thread makes the next ones. Errors of the thread are raised here."""
    rest, end = iter(items), object()

    def following() -> Any:
        return next(rest, end)

    pool = ThreadPoolExecutor(1)
    try:
        waiting = deque(pool.submit(following) for _ in range(depth))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(following))
            yield item
    finally:  # if the caller stops early, items not yet begun are not made
        pool.shutdown(cancel_futures=True)


@contextmanager
def behind(work: Callable[..., object], depth: int = BEHIND) -> Iterator[Callable[..., None]]:
    """Yield a function that has a thread do `work(*arguments)`, one call after another.

    The caller waits while `depth` calls are unfinished. An error of the work is raised at a later
    call, or at the end of the block. The block ends after all calls.
    """
    waiting: deque[Future[object]] = deque()
    with ThreadPoolExecutor(1) as pool:

        def put(*arguments: object) -> None:
            if len(waiting) >= depth:
                waiting.popleft().result()
            waiting.append(pool.submit(work, *arguments))

        yield put
        for one in waiting:
            one.result()
