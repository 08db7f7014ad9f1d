"""Random numbers: every job derives its own from the spec's seed and a name.

`derive(1, "train", "clear")` is the same on every machine. Must not know any stage.
"""

import hashlib


def derive(seed: int, *names: str) -> int:
    """Return a 32-bit seed for one purpose, independent for different names.

    A hash rather than an offset, so that seed 2 of one purpose is never seed 1 of another.
    """
    text = "/".join([str(seed), *names])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
