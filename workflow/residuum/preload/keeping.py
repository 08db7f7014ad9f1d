"""Let a job ask to keep its process for the next job, or refuse to run in a kept process.

Usage: `keeping.keep()` after starting something expensive and reusable, such as a JVM.
`keeping.leave_kept()` where an earlier job's state would not do. jobs.py acts on both. In a process
that was not forked, they change nothing. This file must not import residuum.
"""

import os

KEPT = "RESIDUUM_KEPT"  # set if an earlier job has run in this process
ANEW = 75  # exit status that asks for a new process
wanted = False


def keep() -> None:
    """Let the next job of this stage run in this process, if this job succeeds."""
    global wanted
    wanted = True


def leave_kept() -> None:
    """End a job in a kept process, so that it is started again in a process of its own."""
    if KEPT in os.environ:
        raise SystemExit(ANEW)
