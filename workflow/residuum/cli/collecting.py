"""Suspend Python's garbage collector. Usage: `with uncollected(): ...` around lasting objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(freeze: bool = True) -> Iterator[None]:
    """Collect no garbage in the block; with `freeze`, never examine the block's objects later.

    The collector repeatedly examines all objects while they grow in number. This takes a fifth of
    the time to load torch and transformers, and a quarter of the time to generate a collection.
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
