"""End a command on Ctrl-C, SIGTERM or SIGHUP without a traceback.

Usage: importing this module, the package's first, makes Ctrl-C quiet while the others load;
`command.main` then works inside `caught`, and the command `residuum` calls `unwind`.
"""

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 1.0  # seconds within which repeated signals count once: `timeout` sends two
# True for `python -m residuum...` and for an installed package's script. A program that imports
# residuum keeps its own handling of Ctrl-C.
COMMAND = sys.argv[:1] == ["-m"] or any(name.endswith("/residuum") for name in sys.argv[:1])

if COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def caught() -> Iterator[None]:
    """Let Ctrl-C be an exception inside: what is not finished goes before the process ends.

    Where nothing else takes it, as while options are declared, it ends the process with status 130.
    """
    quiet = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    try:
        if quiet:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        if quiet:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def unwind() -> None:
    """Make SIGTERM and SIGHUP act as Ctrl-C, so that unfinished files are deleted.

    Stages do not use this. A stage ends at once, whichever library is running. Its next run writes
    to the same place, and deletes the unfinished files.
    """
    last = -math.inf

    def end(number: int, _: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > AT_ONCE:
            raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, end)
