"""Python's garbage collector, where much is made that stays. Usage: `with uncollected(): ...`."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(freeze: bool = True) -> Iterator[None]:
    """Collect no garbage inside, nor, unless told otherwise, look later at what was made there.

    The collector looks at all objects again and again while they become more: a fifth of the
    seconds in which torch and transformers load, and a quarter of those of a generated collection.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if freeze:
            gc.freeze()
        if collecting:
            gc.enable()
