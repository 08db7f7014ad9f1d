"""What a process does with memory that it has given back. Usage: `memory.keep(memory.MODEST)`."""

import ctypes

# mallopt's numbers (glibc, malloc.h): memory at the heap's end, and blocks that a mapping of their
# own gets and loses, go back to the system above these sizes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
NO_TRIM = 2**31 - 1
MODEST = 2**26  # bytes of a block; larger ones are few, and what they leave would stay
HIGHEST = 2**25  # the upper limit of M_MMAP_THRESHOLD by its manual, which some versions hold to


def keep(largest: int) -> None:
    """Keep what blocks of at most so many bytes give back: new pages cost more than much work does.

    A C library other than glibc has its own way, and is left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # Either ends glibc's own adapting, so that the second one alone would make it worse.
    if mallopt and (mallopt(M_MMAP_THRESHOLD, largest) or mallopt(M_MMAP_THRESHOLD, HIGHEST)):
        mallopt(M_TRIM_THRESHOLD, NO_TRIM)
