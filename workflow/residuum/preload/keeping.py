"""What a job says of its process: keep it for the next job, or do not work in a kept one.

Usage: `keeping.keep()` once something is started that is dear and of use to others, such as a JVM;
`keeping.leave_kept()` where what an earlier job has started would not do. jobs.py reads and heeds
it; a process that nobody forked ends as ever. Must not import residuum.
"""

import os

KEPT = "RESIDUUM_KEPT"  # set where an earlier job has run in this process
ANEW = 75  # the exit status of a job that asks for a process of its own
wanted = False


def keep() -> None:
    """Let the next job of this stage run in this process, once this one has ended well."""
    global wanted
    wanted = True


def leave_kept() -> None:
    """End, to be started anew in a process of its own, if this job runs in a kept one."""
    if KEPT in os.environ:
        raise SystemExit(ANEW)
