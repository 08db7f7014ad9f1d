"""Control how a process keeps freed memory. Usage: `memory.keep(memory.MODEST)`."""

import ctypes

# Parameters of mallopt (glibc, malloc.h). Freed memory at the heap's end goes back to the system
# above the first size. Blocks above the second size get mappings of their own, which go back when
# freed.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
NO_TRIM = 2**31 - 1
MODEST = 2**26  # bytes; larger blocks are few, and would hold much memory
HIGHEST = 2**25  # M_MMAP_THRESHOLD's limit by its manual, which some versions enforce


def keep(largest: int) -> None:
    """Keep the memory of freed blocks up to `largest` bytes, because new pages are expensive.

    With C libraries other than glibc, nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # Setting either parameter ends glibc's own adaptation, so set both: the second alone is worse.
    if mallopt and (mallopt(M_MMAP_THRESHOLD, largest) or mallopt(M_MMAP_THRESHOLD, HIGHEST)):
        mallopt(M_TRIM_THRESHOLD, NO_TRIM)
