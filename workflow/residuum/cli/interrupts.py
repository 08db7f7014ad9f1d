"""End a command on Ctrl-C, SIGTERM or SIGHUP without a traceback.

The package calls `quiet` before it loads anything else. `command.main` works inside `caught`. The
command `residuum` calls `unwind`.
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


def quiet() -> None:
    """Let Ctrl-C end a command at once and without a traceback, while its packages load."""
    if COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def caught() -> Iterator[None]:
    """Let Ctrl-C be an exception inside, so that unfinished files are deleted.

    An exception that nothing else catches ends the process with status 130.
    """
    loading = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    try:
        if loading:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        if loading:
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
