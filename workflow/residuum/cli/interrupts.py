"""What signals do to a command: Ctrl-C, SIGTERM and SIGHUP end it without a traceback.

Usage: importing this module, the package's first, makes Ctrl-C quiet while the others load;
`command.main` then works inside `caught`, and the command `residuum` calls `unwind`.
"""

import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 1.0  # seconds in which signals are one: `timeout` sends it to its child and to the group
# `python -m residuum...` or the script of an installed package. Whoever imports residuum keeps what
# Ctrl-C does there.
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
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: what it has not finished goes too.

    A stage leaves them alone. It ends at once in whatever library it is, and its next run deletes
    what it left, since that writes to the same place.
    """
    last = -math.inf

    def end(number: int, _: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > AT_ONCE:
            raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, end)
