"""The parent process: it loads packages once, then forks a child for every job.

`start()` starts a parent for jobs on tables and one for neural jobs, for each number of threads
that a rule has; all are idle until their first job. A child ends with the job's shell, and all end
with Snakemake. A kept child (see jobs.py) takes the next job of the same stage. A parent takes over
the environment of its first job, because imports read variables. It declines jobs with another
environment, and all jobs if imports have started threads or opened a GPU, which a child cannot use
then. A child inherits residuum's modules as their files are when its job arrives, see ahead.py.
"""

import atexit
import gc
import importlib
import itertools
import marshal
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ as READY
from selectors import DefaultSelector
from subprocess import DEVNULL
from typing import NoReturn

from residuum.preload import jobs
from residuum.preload.ahead import Ahead

COMMON = """numpy polars threadpoolctl typer typer._click.decorators typer._adapters tqdm dis shlex
    pydantic.fields pydantic.main pydantic.plugin._loader pydantic.root_model pydantic.types
    pydantic.type_adapter"""
TABLES = f"{COMMON} yaml ir_measures pytrec_eval scipy.stats"
NEURAL = f"""{COMMON} polars._utils.parquet faiss safetensors.torch torch.optim
    transformers.models.auto.modeling_auto transformers.models.auto.tokenization_auto
    transformers.models.bert.modeling_bert transformers.models.bert.tokenization_bert
    transformers.models.align"""
PACKAGES = {"tables": TABLES.split(), "neural": NEURAL.split()}
RENAMED = "transformers.conversion_mapping"  # builds a table when the first model is loaded
PREFIX = "residuum-"
OURS = re.compile(rf"({'|'.join(PACKAGES)})-\d+|\d+\.\d+\.\d+")  # a folder's sockets, records
FOLDER = "RESIDUUM_PRELOAD"  # variable with the folder of the sockets
MOST_OF_NAME = 107 - len("/residuum-12345678/tables-1024")  # bytes of the folder's path
KEPT_SECONDS = 60  # after which an idle child ends
# Threads that importing Polars starts, which a fork may lose. jemalloc handles forks itself. The
# other thread waits for spilled files, which a parent never has, because it computes nothing.
IDLE = {"jemalloc_bg_thd", "polars-ooc-clea"}


def start(threads: Iterable[int] = (1,)) -> None:
    """Start the parents, and set RESIDUUM_PRELOAD to the folder of their sockets.

    `threads` are the numbers of threads of the rules, with which packages are loaded. Jobs of other
    numbers start by themselves.

    Only Linux 5.3 and later lets a child end with its parent, and a process wait for children and
    sockets together. On other systems nothing is started.
    """
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return
    place = _place()
    _drop_dead(place)
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=place)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[FOLDER] = folder
    for name in (f"{kind}-{number}" for kind in PACKAGES for number in sorted({*threads})):
        command = [sys.executable, "-X", "utf8", "-m", __name__, name, folder, str(os.getpid())]
        variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        parent = subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL, env=variables)
        atexit.register(parent.wait)  # adds its CPU time to the starter's
        atexit.register(parent.kill)


def _place() -> Path:
    """Return the folder of temporary files, or /tmp if its path is too long for a socket.

    A socket's path has at most 107 bytes (sun_path of unix(7)).
    """
    usual = tempfile.gettempdir()
    return Path("/tmp" if len(os.fsencode(usual)) > MOST_OF_NAME else usual)


def _drop_dead(place: Path) -> None:
    """Delete the folders of parents that were killed together with their starter.

    No process listens at their sockets. A folder younger than a minute stays, because its parent
    may be about to listen.
    """
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or another process deletes it
            found, names = folder.lstat(), os.listdir(folder)
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            old = time.time() - found.st_mtime > KEPT_SECONDS
            sockets = [folder / name for name in names if name.partition("-")[0] in PACKAGES]
            if ours and old and all(map(OURS.fullmatch, names)) and not any(map(_listens, sockets)):
                shutil.rmtree(folder)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(1)
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
    return True


def main(name: str, folder: str, starter: str) -> None:
    """Serve until the starting process ends; then delete the folder."""

    def end(*_: object) -> NoReturn:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    jobs.die_with(int(starter), signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # children handle the terminal's signal
    # Python 3.12 warns of any thread at a fork, and `_settled` knows which ones may be lost.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/{name}")
        listener.listen(64)
        Parent(listener, Path(folder), PACKAGES[name.partition("-")[0]]).serve()


class Child:
    """A forked process: its current job, if any, and its counts before this job."""

    def __init__(self, process: int, channel: socket.socket, did: tuple[str, str]) -> None:
        self.process, self.channel, self.did = process, channel, did
        self.handle = os.pidfd_open(process)
        self.counts, self.idle_since = jobs.NOTHING, 0.0
        self.connection: socket.socket | None = None
        self.record = Path()

    def start(self, connection: socket.socket, record: Path) -> None:
        """Begin the record of a job, see benchmarks.py."""
        self.connection, self.record = connection, record
        record.write_text(" ".join(map(str, self.counts)) + "\n")

    def end(self, status: int, seconds: float, rss: float) -> None:
        """End the record with the job's usage, and tell its client the exit status.

        `seconds` is the CPU time of the process since its start.
        """
        if self.connection:
            with suppress(OSError), self.record.open("a") as file:  # Snakemake may have ended
                file.write(f"{seconds - self.counts[0]} {rss}\n")
            _answer(self.connection, status)
            self.connection = None


class Parent:
    """The loop of a parent process: a child per connection, until either of them ends."""

    def __init__(self, listener: socket.socket, folder: Path, packages: list[str]) -> None:
        self.folder, self.packages = folder, packages
        self.environment: dict[str, str] | None = None
        self.path: list[str] = sys.path[1:]  # without the folder that this process started in
        self.ahead = Ahead()
        self.idle: list[Child] = []  # the longest idle first
        self.given = itertools.count(1)
        self.waiting = DefaultSelector()
        self.waiting.register(listener, READY, lambda: self._take(listener.accept()[0]))

    def serve(self) -> NoReturn:
        """Fork for jobs, report their ends, kill children that lost a client or idled too long."""
        while True:
            ready = self.waiting.select(KEPT_SECONDS if self.idle else None)
            for key, _ in ready[:1]:  # only one, as it may end children that others wait for
                key.data()
            while self.idle and time.monotonic() - self.idle[0].idle_since > KEPT_SECONDS:
                os.kill(self.idle.pop(0).process, signal.SIGKILL)

    def _take(self, connection: socket.socket) -> None:
        try:
            request, streams = jobs.receive(connection)
        except (OSError, ValueError, TypeError, EOFError):
            connection.close()
            return
        if self.environment is None:
            self._load(request.environment)
        child = None
        if self.environment == request.environment and threading.active_count() == 1:
            child = self._kept(request, streams) or self._fork(request, streams)
        if child:
            self._give(child, connection, request)
        else:
            _answer(connection, -1)
        for stream in streams:
            os.close(stream)

    def _load(self, environment: dict[str, str]) -> None:
        """Take over the first job's environment, then load the packages.

        OpenBLAS starts its threads when it is loaded, so that it gets one here (jobs.py `_widen`).
        """
        os.environ.clear()
        os.environ.update({**environment, jobs.BLAS: "1"})
        self.environment = environment
        sys.path[:] = [*environment.get("PYTHONPATH", "").split(os.pathsep), *self.path]
        gc.disable()  # a sixth of the time: imports free next to nothing, and `ahead` freezes them
        for package in self.packages:
            with suppress(ImportError):  # a job that needs it reports the error
                importlib.import_module(package)
        with suppress(Exception):  # absent, or different in another version
            sys.modules[RENAMED].get_checkpoint_conversion_mapping("bert")
        del os.environ[jobs.BLAS]
        if jobs.BLAS in environment:
            os.environ[jobs.BLAS] = environment[jobs.BLAS]
        gc.enable()

    def _kept(self, request: jobs.Request, streams: list[int]) -> Child | None:
        """Send a job to an idle child, if any, that has run its stage in its folder."""
        for child in reversed(self.idle):
            if child.did == (request.module, request.folder):
                with suppress(OSError):  # the child has just ended
                    jobs.send(child.channel, request, streams)
                    self.idle.remove(child)
                    return child
        return None

    def _fork(self, request: jobs.Request, streams: list[int]) -> Child | None:
        """Fork a child that becomes the job, unless imports started threads or opened a GPU."""
        self.ahead.prepare(request.module, request.folder)
        if lost := _lost_by_forks():
            self.environment = {}  # declines all jobs
            text = f"what {request.module} imports has {lost}: jobs start by themselves"
            print(f"warning: {text}", file=sys.stderr, flush=True)
            return None
        parent, (channel, far_end) = os.getpid(), socket.socketpair()
        process = os.fork()
        if not process:
            jobs.become(request, streams, parent, far_end)
        far_end.close()
        child = Child(process, channel, (request.module, request.folder))
        self.waiting.register(child.handle, READY, lambda: self._ended(child))
        self.waiting.register(child.channel, READY, lambda: self._heard(child))
        return child

    def _give(self, child: Child, connection: socket.socket, request: jobs.Request) -> None:
        """Assign a job to a child, and kill the child if the job's client disconnects."""

        def lost() -> None:  # clients send nothing after the request
            self._unwatch(child)
            child.connection = None
            connection.close()
            os.kill(child.process, signal.SIGKILL)

        child.start(connection, self.folder / f"{request.shell}.{child.process}.{next(self.given)}")
        self.waiting.register(connection, READY, lost)

    def _heard(self, child: Child) -> None:
        """Record that a child has finished its job and waits for the next."""
        told = child.channel.recv(1024)
        if not told:  # the child ends, which its handle reports
            self.waiting.unregister(child.channel)
            child.channel.close()
            return
        if child.connection is None:  # the client was lost, and the child is ending
            return
        used = jobs.Used(*marshal.loads(told))
        self._unwatch(child)
        child.end(0, used.counts[0], used.rss)
        child.counts, child.idle_since = used.counts, time.monotonic()
        self.idle.append(child)

    def _ended(self, child: Child) -> None:
        _, status, used = os.wait4(child.process, 0)
        code = os.waitstatus_to_exitcode(status)
        self.waiting.unregister(child.handle)
        os.close(child.handle)
        if child in self.idle:
            self.idle.remove(child)
        self._unwatch(child)
        seconds = used.ru_utime + used.ru_stime
        child.end(code if code >= 0 else 128 - code, seconds, used.ru_maxrss)

    def _unwatch(self, child: Child) -> None:
        if child.connection:
            self.waiting.unregister(child.connection)


def _answer(connection: socket.socket, status: int) -> None:
    """Send a job's exit status (-1: declined) to its client, unless the client has disconnected."""
    with connection, suppress(OSError):
        connection.sendall(status.to_bytes(4, "big", signed=True))


def _lost_by_forks() -> str:
    """Say what imports did that a forked child would not have; "" if nothing."""
    if _opened_card():
        return "opened a GPU"
    return "" if _settled() else "started threads"


def _opened_card(files: Path = Path("/proc/self/fd")) -> bool:
    """Say whether this process has a device file of NVIDIA's driver open, as CUDA's start opens.

    Windows' subsystem for Linux has another device for it.
    """
    for file in files.iterdir():
        with suppress(OSError):  # the one that lists them has been closed
            if os.readlink(file).startswith(("/dev/nvidia", "/dev/dxg")):
                return True
    return False


def _settled() -> bool:
    """Say whether no thread runs that a fork would lose; new threads are named after a while."""
    for _ in range(100):
        tasks = set(Path("/proc/self/task").iterdir()) - {Path(f"/proc/self/task/{os.getpid()}")}
        with suppress(OSError):  # a thread has just ended
            if {(task / "comm").read_text().strip() for task in tasks} <= IDLE:
                return True
        time.sleep(0.02)
    return False


if __name__ == "__main__":
    main(*sys.argv[1:])
