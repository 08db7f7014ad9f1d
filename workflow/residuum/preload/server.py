"""A parent process: it loads packages once, then forks a child for every job that asks.

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
import selectors
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
from subprocess import DEVNULL
from typing import NamedTuple, NoReturn

COMMON = "numpy polars typer typer._click.decorators typer._adapters tqdm symtable shlex"
COMMON += (
    " pydantic.fields pydantic.main pydantic.plugin._loader pydantic.root_model pydantic.types"
)
COMMON += " pydantic.type_adapter"
TABLES = f"{COMMON} yaml ir_measures pytrec_eval scipy.stats"
NEURAL = f"{COMMON} polars._utils.parquet faiss safetensors.torch torch.optim"
NEURAL += " transformers.models.auto.modeling_auto transformers.models.bert.modeling_bert"
NEURAL += " transformers.models.auto.tokenization_auto transformers.models.align"
NEURAL += " transformers.models.bert.tokenization_bert"
PACKAGES = {"tables": TABLES.split(), "neural": NEURAL.split()}
FOLDER = "RESIDUUM_PRELOAD"  # the variable that names the folder of the sockets
PR_SET_PDEATHSIG = 1  # linux/prctl.h
VOLATILE = {"_", "SHLVL", "OLDPWD"}  # what a shell changes by itself
# Threads that Polars' import starts. jemalloc's come through a fork by its own handlers; the other
# waits for spilled files, which a parent, that computes nothing, never has.
IDLE = {"jemalloc_bg_thd", "polars-ooc-clea"}


class Request(NamedTuple):
    """A job: its client's process id, the words after `python -m`, folder and environment."""

    client: int
    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]


def start() -> None:
    """Start the parents and name their sockets' folder in RESIDUUM_PRELOAD, for the shells.

    Linux alone has the signal by which a child dies with its parent; elsewhere nothing is started.
    """
    if sys.platform != "linux":
        return
    folder = tempfile.mkdtemp(prefix="residuum-")  # short enough for a socket's name
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[FOLDER] = folder
    for name in PACKAGES:
        command = [sys.executable, "-X", "utf8", __file__, name, folder, str(os.getpid())]
        atexit.register(_stop, subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL))


def _stop(parent: subprocess.Popen[bytes]) -> None:
    """Wait for a parent's end, so that its time and its jobs' count as that of their starter."""
    parent.kill()
    parent.wait()


def main(name: str, folder: str, starter: str) -> None:
    """Serve until the process that started this one ends."""
    _die_with(int(starter))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a child takes the terminal's, as any job does
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/{name}")
        listener.listen(64)
        Parent(listener, Path(folder), PACKAGES[name]).serve()


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the signal was requested
        os._exit(1)


class Parent:
    """The loop of a parent process: one child per connection, until either of them ends."""

    def __init__(self, listener: socket.socket, folder: Path, packages: list[str]) -> None:
        self.listener, self.folder, self.packages = listener, folder, packages
        self.environment: dict[str, str] | None = None
        self.children: dict[int, tuple[int, socket.socket]] = {}  # child: client, connection
        self.waiting = selectors.DefaultSelector()
        self.waiting.register(listener, selectors.EVENT_READ)
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.waiting.register(ended, selectors.EVENT_READ)

    def serve(self) -> NoReturn:
        """Fork for each job, pass on each end, kill what has lost its client."""
        while True:
            for key, _ in self.waiting.select():
                if key.fileobj is self.listener:
                    self._take(self.listener.accept()[0])
                elif isinstance(key.fileobj, socket.socket):
                    self._lost(key.fileobj)
                else:
                    os.read(key.fd, 4096)
                    self._reap()

    def _take(self, connection: socket.socket) -> None:
        try:
            request, streams = _receive(connection)
        except (OSError, ValueError, EOFError):
            connection.close()
            return
        if self.environment is None:
            self._load(request.environment)
        if self.environment == _lasting(request.environment) and threading.active_count() == 1:
            self._fork(connection, request, streams)
        else:
            _answer(connection, -1)
        for stream in streams:
            os.close(stream)

    def _load(self, environment: dict[str, str]) -> None:
        """Take over the environment of the first job, then load the packages."""
        os.environ.clear()
        os.environ.update(environment)
        self.environment = _lasting(environment)
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
        self.children[child] = (request.client, connection)
        (self.folder / str(request.client)).write_text(str(child))  # see benchmarks.py
        self.waiting.register(connection, selectors.EVENT_READ)

    def _lost(self, connection: socket.socket) -> None:
        """Kill the child of a client that has gone; a client sends nothing else."""
        self.waiting.unregister(connection)
        for child, (_, other) in self.children.items():
            if other is connection:
                os.kill(child, signal.SIGKILL)

    def _reap(self) -> None:
        while self.children:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            client, connection = self.children.pop(child)
            (self.folder / str(client)).unlink(missing_ok=True)
            if connection in self.waiting.get_map():
                self.waiting.unregister(connection)
            code = os.waitstatus_to_exitcode(status)
            _answer(connection, code if code >= 0 else 128 - code)


def _answer(connection: socket.socket, status: int) -> None:
    """Tell a client how its job ended, -1 for declined, unless the client has gone meanwhile."""
    with connection, suppress(OSError):
        connection.sendall(status.to_bytes(4, "big", signed=True))


def _settled() -> bool:
    """Say whether no thread runs that a fork would lose; a new one takes its name after a while."""
    for _ in range(100):
        if not _threads() - IDLE:
            return True
        time.sleep(0.02)
    return False


def _threads() -> set[str]:
    """Return the names of this process's threads but the first."""
    others = [path for path in Path("/proc/self/task").iterdir() if path.name != str(os.getpid())]
    return {(path / "comm").read_text().strip() for path in others}


def _receive(connection: socket.socket) -> tuple[Request, list[int]]:
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    size, data = int.from_bytes(head, "big"), b""
    while len(data) < size:
        data += connection.recv(size - len(data)) or _end()
    return Request(*marshal.loads(data)), streams


def _end() -> NoReturn:
    raise EOFError("a client ended before its request did")


def _lasting(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in VOLATILE}


def _become(request: Request, streams: list[int], parent: int) -> NoReturn:
    """Turn a forked child into the job, and end as Python would."""
    status = 1
    try:
        _die_with(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
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
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code: object = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(code, int | None):
        return code or 0
    print(code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    main(*sys.argv[1:])
