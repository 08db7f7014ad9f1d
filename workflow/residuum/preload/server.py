"""A parent process: it loads packages once, then forks a child for every job.

`start()` starts one parent for tables and one for neural jobs, each idle until its first job. A
child dies with the job's shell, all die with Snakemake. The environment of the first job is the
parent's own, so that variables read on import hold; a job of another one is declined, and so are
all if importing has started threads. Must not import residuum before a fork.
"""

import atexit
import ctypes
import gc
import importlib
import marshal
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ as READY
from selectors import DefaultSelector
from subprocess import DEVNULL
from typing import NamedTuple, NoReturn

COMMON = """numpy polars typer typer._click.decorators typer._adapters tqdm dis shlex
    pydantic.fields pydantic.main pydantic.plugin._loader pydantic.root_model pydantic.types
    pydantic.type_adapter"""
TABLES = f"{COMMON} yaml ir_measures pytrec_eval scipy.stats"
NEURAL = f"""{COMMON} polars._utils.parquet faiss safetensors.torch torch.optim
    transformers.models.auto.modeling_auto transformers.models.auto.tokenization_auto
    transformers.models.bert.modeling_bert transformers.models.bert.tokenization_bert
    transformers.models.align"""
PACKAGES = {"tables": TABLES.split(), "neural": NEURAL.split()}
FOLDER = "RESIDUUM_PRELOAD"  # the variable that names the folder of the sockets
PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Threads that Polars' import starts. jemalloc's come through a fork by its own handlers; the other
# waits for spilled files, which a parent, that computes nothing, never has.
IDLE = {"jemalloc_bg_thd", "polars-ooc-clea"}


class Request(NamedTuple):
    """A job: its shell's process id, the words after `python -m`, folder and environment."""

    shell: int
    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]


def start() -> None:
    """Start the parents and name their sockets' folder in RESIDUUM_PRELOAD, for the shells.

    Linux alone lets a child die with its parent, and a process wait for children and for sockets
    together (5.3 and later); elsewhere nothing is started.
    """
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return
    folder = tempfile.mkdtemp(prefix="residuum-")  # short enough for a socket's name
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[FOLDER] = folder
    for name in PACKAGES:
        command = [sys.executable, "-X", "utf8", __file__, name, folder, str(os.getpid())]
        parent = subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL)
        atexit.register(parent.wait)  # after its end, so that its time counts as the starter's
        atexit.register(parent.kill)


def main(name: str, folder: str, starter: str) -> None:
    """Serve until the process that started this one ends; then take the folder away."""

    def end(*_: object) -> NoReturn:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    _die_with(int(starter), signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a child takes the terminal's, as any job does
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/{name}")
        listener.listen(64)
        Parent(listener, Path(folder), PACKAGES[name]).serve()


def _die_with(parent: int, by: signal.Signals) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:  # it ended before the signal was requested
        os.kill(os.getpid(), by)


class Parent:
    """The loop of a parent process: one child per connection, until either of them ends."""

    def __init__(self, listener: socket.socket, folder: Path, packages: list[str]) -> None:
        self.folder, self.packages = folder, packages
        self.environment: dict[str, str] | None = None
        self.waiting = DefaultSelector()
        self.waiting.register(listener, READY, lambda: self._take(listener.accept()[0]))

    def serve(self) -> NoReturn:
        """Fork for each job, pass on each end, kill what has lost its client."""
        while True:
            for key, _ in self.waiting.select()[:1]:  # one, as it may end what others wait for
                key.data()

    def _take(self, connection: socket.socket) -> None:
        try:
            head, streams, _, _ = socket.recv_fds(connection, 4, 3)
            data = connection.makefile("rb").read(int.from_bytes(head, "big"))
            request = Request(*marshal.loads(data))  # an EOFError where it is cut short
        except (OSError, ValueError, EOFError):
            connection.close()
            return
        if self.environment is None:
            self._load(request.environment)
        if self.environment == request.environment and threading.active_count() == 1:
            self._fork(connection, request, streams)
        else:
            _answer(connection, -1)
        for stream in streams:
            os.close(stream)

    def _load(self, environment: dict[str, str]) -> None:
        """Take over the environment of the first job, then load the packages."""
        os.environ.clear()
        os.environ.update(environment)
        self.environment = environment
        sys.path[:] = [p for p in sys.path if p != str(Path(__file__).parent)]
        sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
        for package in self.packages:
            with suppress(ImportError):  # a job that needs it says so
                importlib.import_module(package)
        if not _settled():
            self.environment = {}  # declines every job: a fork would lose the threads
        gc.collect()
        gc.freeze()

    def _fork(self, connection: socket.socket, request: Request, streams: list[int]) -> None:
        parent = os.getpid()
        child = os.fork()
        if not child:
            _become(request, streams, parent)
        handle = os.pidfd_open(child)
        record = self.folder / f"{request.shell}.{child}"  # see benchmarks.py
        record.touch()

        def lost() -> None:
            """A client sends nothing more: it has gone, and its job goes too."""
            self.waiting.unregister(connection)
            os.kill(child, signal.SIGKILL)

        def ended() -> None:
            _, status, used = os.wait4(child, 0)
            code = os.waitstatus_to_exitcode(status)
            with suppress(OSError):  # Snakemake has ended, and the folder with it
                record.write_text(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss}")
            self.waiting.unregister(handle)
            os.close(handle)
            with suppress(KeyError):  # a client that was lost
                self.waiting.unregister(connection)
            _answer(connection, code if code >= 0 else 128 - code)

        self.waiting.register(connection, READY, lost)
        self.waiting.register(handle, READY, ended)


def _answer(connection: socket.socket, status: int) -> None:
    """Tell a client how its job ended, -1 for declined, unless the client has gone meanwhile."""
    with connection, suppress(OSError):
        connection.sendall(status.to_bytes(4, "big", signed=True))


def _settled() -> bool:
    """Say whether no thread runs that a fork would lose; a new one takes its name after a while."""
    for _ in range(100):
        tasks = set(Path("/proc/self/task").iterdir()) - {Path(f"/proc/self/task/{os.getpid()}")}
        if {(task / "comm").read_text().strip() for task in tasks} <= IDLE:
            return True
        time.sleep(0.02)
    return False


def _become(request: Request, streams: list[int], parent: int) -> NoReturn:
    """Turn a forked child into the job, and end as Python would."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _die_with(parent, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        os.closerange(3, 256)
        os.chdir(request.folder)
        sys.path.insert(0, request.folder)
        sys.argv = [request.module, *request.arguments]
        status = _run(request.module)
    finally:
        os._exit(status)


def _run(module: str) -> int:
    code: object = 0
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
    threading._shutdown()  # type: ignore[attr-defined]  # Python ends with it
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


if __name__ == "__main__":
    main(*sys.argv[1:])
