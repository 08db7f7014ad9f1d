"""End a command on Ctrl-C, SIGTERM or SIGHUP without a traceback.

Usage: importing this module first makes Ctrl-C quiet while other modules load. Then `command.main`
calls `catch`, and the command `residuum` calls `unwind`.
"""

import math
import signal
import sys
import time

AT_ONCE = 1.0  # seconds within which repeated signals count once: `timeout` sends two
# True for `python -m residuum...` and for an installed package's script. A program that imports
# residuum keeps its own handling of Ctrl-C.
COMMAND = sys.argv[:1] == ["-m"] or any(name.endswith("/residuum") for name in sys.argv[:1])

if COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def catch() -> None:
    """Make Ctrl-C an exception again, so that unfinished files are deleted before the end."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
