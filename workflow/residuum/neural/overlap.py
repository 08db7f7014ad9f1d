"""Work beside work: a thread that makes what comes next, and one that takes away what is done.

Usage: `for part in ahead(parts): ...`; `with behind(keep) as put: put(batch, values)`. A card then
waits neither for texts to be read and cut into tokens, nor for vectors to be kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
AHEAD = 2  # items that are made before they are asked for
BEHIND = 4  # that wait to be taken away


def ahead(items: Iterable[T], depth: int = AHEAD) -> Iterator[T]:
    """Yield the items, of which a thread makes the next ones; its errors are raised here."""
    rest, end = iter(items), object()

    def following() -> Any:
        return next(rest, end)

    pool = ThreadPoolExecutor(1)
    try:
        waiting = deque(pool.submit(following) for _ in range(depth))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(following))
            yield item
    finally:  # where who asks ends early, what was not begun is left out
        pool.shutdown(cancel_futures=True)


@contextmanager
def behind(work: Callable[..., object], depth: int = BEHIND) -> Iterator[Callable[..., None]]:
    """Give what has a thread do `work(*arguments)`, one call after another.

    The caller waits where `depth` calls are not done. An error of the work is raised at a later
    call, or at the end of the block, which is reached once all is done.
    """
    waiting: deque[Future[object]] = deque()
    with ThreadPoolExecutor(1) as pool:

        def put(*arguments: Any) -> None:
            if len(waiting) >= depth:
                waiting.popleft().result()
            waiting.append(pool.submit(work, *arguments))

        yield put
        for one in waiting:
            one.result()
