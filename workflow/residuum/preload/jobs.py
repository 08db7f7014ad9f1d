"""Run a job inside a forked process, and run the next jobs if the process is kept.

A job asks for its process to be kept when it has started something expensive and reusable, see
keeping.py. If such a job succeeds, its process forgets residuum's modules and waits for another
job. That job imports the modules anew, so that no edited module is stale.
"""

import array
import atexit
import ctypes
import gc
import marshal
import os
import resource
import runpy
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from residuum.preload import keeping

PR_SET_PDEATHSIG = 1  # linux/prctl.h
BLAS = "OPENBLAS_NUM_THREADS"  # Snakemake sets it to the rule's threads
CHANNEL = 3  # file descriptor over which a kept process receives its next job


Counts = tuple[float, int, int]  # CPU seconds, bytes read, bytes written
NOTHING: Counts = (0.0, 0, 0)


class Request(NamedTuple):
    """A job: its shell's process id, its words after `python -m`, its folder and environment."""

    shell: int
    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]


class Used(NamedTuple):
    """What a process reports after a job: KB of memory, and its counts since its start."""

    rss: float
    counts: Counts


def receive(connection: socket.socket) -> tuple[Request, list[int]]:
    """Read a request and its standard streams; a truncated request raises EOFError."""
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as file:
        data = file.read(int.from_bytes(head, "big"))
    try:
        return Request(*marshal.loads(data)), streams
    except (EOFError, ValueError, TypeError):
        for stream in streams:
            os.close(stream)
        raise


def send(connection: socket.socket, request: Request, streams: list[int]) -> None:
    """Write a request as `receive` reads it; client.py does the same."""
    data = marshal.dumps(tuple(request))
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
    connection.sendmsg([len(data).to_bytes(4, "big")], rights)
    connection.sendall(data)


def die_with(parent: int, by: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), by)


def become(
    request: Request, streams: list[int], parent: int, channel: socket.socket | None = None
) -> NoReturn:
    """Turn a forked child into the job, and end it as Python would end.

    If the job asks to be kept, next jobs arrive through `channel`, if there is one.
    """
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with(parent, signal.SIGKILL)
        _attach(streams)
        _widen(int(os.environ.get(BLAS, 1)))
        following, path = None, list(sys.path)
        if channel:
            os.dup2(channel.detach(), CHANNEL, inheritable=False)
            following = socket.socket(fileno=CHANNEL)
        os.closerange(CHANNEL + 1 if following else CHANNEL, 256)
        while True:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(request.folder)
            sys.path[:] = [request.folder, *path]
            sys.argv = [request.module, *request.arguments]
            status = _run(request.module)
            if status == keeping.ANEW and os.environ.pop(keeping.KEPT, None):
                os.execvp("python", ["python", "-m", request.module, *request.arguments])
            kept = getattr(sys.modules.get("residuum.preload.keeping"), "wanted", False)
            if status or not kept or following is None:
                break
            _leave()
            following.sendall(marshal.dumps(tuple(Used(_most_memory(), _counts()))))
            request, streams = receive(following)
            _attach(streams)
            for stream in streams:
                os.close(stream)
            os.environ.clear()
            os.environ.update(request.environment | {keeping.KEPT: "1"})
    finally:
        os._exit(status)


def _widen(threads: int) -> None:
    """Let OpenBLAS compute with a job's threads, as if it had been loaded for the job.

    OpenBLAS itself takes no more threads than there are cores.
    """
    if (threads := min(threads, len(os.sched_getaffinity(0)))) > 1:
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads, user_api="blas")


def _attach(streams: list[int]) -> None:
    for target, stream in enumerate(streams):
        os.dup2(stream, target)


def _run(module: str) -> int:
    code: object = 0
    if not hasattr(sys.modules.get(module), "__path__"):  # a package's __main__ is run
        sys.modules.pop(module, None)  # it may be preloaded for other modules
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    # Python calls this at its own end: it waits for threads. typeshed lacks private names.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def _leave() -> None:
    """Release a finished job's streams (so that readers see their end), modules and objects."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    _attach([nowhere] * 3)
    os.close(nowhere)
    forget()
    gc.collect()


def forget() -> None:
    """Forget residuum's modules, so that the next import reads them again."""
    for name in [name for name in sys.modules if name.split(".")[0] == "residuum"]:
        del sys.modules[name]


def _counts() -> Counts:
    """Return CPU seconds, bytes read and bytes written by this process since its start."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(one.ru_utime + one.ru_stime for one in used)
    lines = (line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    bytes_of = {name: int(number) for name, number in lines}
    return seconds, bytes_of["read_bytes"], bytes_of["write_bytes"]


def _most_memory() -> float:
    """Return the peak memory in KB, and reset the kernel's peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    most = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    with suppress(OSError):  # kernels may forbid it: then peaks include earlier jobs
        Path("/proc/self/clear_refs").write_text("5")
    return float(most)
