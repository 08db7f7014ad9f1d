"""A SLURM cluster of several nodes on one machine, set up and torn down.

Usage: `with Cluster(folder, nodes=2) as cluster: ...`. As root on Debian or Ubuntu; what is missing
of slurm-wlm and munge is installed. Each node is a slurmd of its own that has this machine's cores.
Memory is watched by polling, as where there are no control groups; a node says that it has 64 GB,
since rules request more than their jobs at `smoke` use.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

PACKAGES = ["slurm-wlm", "munge"]
CONFIG = Path("/etc/slurm/slurm.conf")  # the one place where every command of a job looks
MARK = "# made by residuum's tests/cluster"
PORT = 16810  # of the controller; nodes have those above it
NAME = "residuum-test"
TEXT = """{mark}
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MinJobAge=3600
SlurmdTimeout=30
KillWait=5
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=5,batch_sched_delay=0
"""
NODE = (
    "NodeName={name} NodeAddr=127.0.0.1 NodeHostname={host} Port={port} CPUs={cores} "
    "RealMemory={mb}"
)


class Job(NamedTuple):
    """A job that runs: its number, its node."""

    number: str
    node: str


class Cluster:
    """A controller and nodes, up within the `with`."""

    def __init__(self, folder: Path, nodes: int = 2, cores: int | None = None, mb: int = 64_000):
        self.folder, self.nodes = folder, [f"node{n}" for n in range(1, nodes + 1)]
        self.cores, self.mb = cores or os.cpu_count() or 1, mb

    def __enter__(self) -> Self:
        """Start it, and wait until all nodes are idle."""
        _install()
        if CONFIG.exists() and MARK not in CONFIG.read_text():
            raise SystemExit(f"{CONFIG} is of a cluster that stands: run this on another machine")
        self.folder.mkdir(parents=True)
        (self.folder / "state").mkdir()
        CONFIG.parent.mkdir(exist_ok=True)
        try:
            CONFIG.write_text(self._config())
            _start_munge()
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self) -> None:
        run("slurmctld", "-c")
        for node in self.nodes:
            run("slurmd", "-N", node)
        for _ in range(60):
            if run("sinfo", "-h", "-o", "%D %t").split() == [str(len(self.nodes)), "idle"]:
                return
            time.sleep(0.5)
        raise SystemExit(f"the nodes do not come up: see {self.folder}/*.log")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Cancel what runs, stop all processes, and leave no configuration behind."""
        subprocess.run(["scancel", "--full", "--signal=KILL", "--me"], check=False)
        self._stop()

    def _stop(self) -> None:
        for path in [*self.folder.glob("slurmd.*.pid"), self.folder / "slurmctld.pid"]:
            with suppress(OSError):  # it never came up, or has gone
                os.kill(int(path.read_text()), signal.SIGTERM)
        CONFIG.unlink(missing_ok=True)

    def _config(self) -> str:
        host = socket.gethostname().partition(".")[0]
        lines = [TEXT.format(mark=MARK, name=NAME, host=host, port=PORT, folder=self.folder)]
        for number, name in enumerate(self.nodes, 1):
            port = PORT + number
            lines.append(NODE.format(name=name, host=host, port=port, cores=self.cores, mb=self.mb))
        lines.append(f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES State=UP\n")
        return "\n".join(lines)

    def resume(self) -> None:
        """Take nodes back that were set down."""
        for node in run("sinfo", "-h", "-N", "-t", "down", "-o", "%N").split():
            run("scontrol", "update", f"nodename={node}", "state=resume")

    def job_of(self, command: str, seconds: float = 600) -> Job:
        """Wait until a process whose words hold `command` runs in a job; stop it, return the job.

        It is stopped so that whatever is done to the job comes in the middle of it.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for process in _processes(command):
                os.kill(process, signal.SIGSTOP)
                number = _job_of(process)
                return Job(number, run("squeue", "-h", "-j", number, "-o", "%N").strip())
            time.sleep(0.05)
        raise SystemExit(f"no job came to {command} in {seconds:.0f} s")


def state_of(job: str) -> str:
    """Return the state of a job, ended ones too."""
    return run("squeue", "-h", "--states=all", "-j", job, "-o", "%T").strip()


def jobs() -> dict[str, int]:
    """Return how many jobs of the cluster there have been, tasks of arrays one by one, by state."""
    states = run("squeue", "-h", "--states=all", "--array", "-o", "%T").split()
    return {state: states.count(state) for state in sorted({*states})}


def processes_left(command: str) -> list[int]:
    """Return the processes whose words hold `command`."""
    return list(_processes(command))


def _job_of(process: int) -> str:
    """Return the job of a cluster of this kind that a process is of; nothing of other processes."""
    try:
        text = Path(f"/proc/{process}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""
    values = dict(line.split("=", 1) for line in text.split("\0") if "=" in line)
    own = values.get("SLURM_CLUSTER_NAME") == NAME
    return values.get("SLURM_JOB_ID", "") if own else ""


def _processes(command: str) -> list[int]:
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:  # it has ended
            continue
        process = int(path.parent.name)
        if re.match(rf"\S*python\S* (-X \S+ )?{re.escape(command)}", words) and _job_of(process):
            processes.append(process)
    return processes


def run(*command: str) -> str:
    """Run a command of SLURM and return what it prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _install() -> None:
    if os.geteuid():
        raise SystemExit("a cluster of one's own needs root")
    if not all(map(shutil.which, ("slurmctld", "slurmd", "munged"))):
        for words in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
            subprocess.run(["apt-get", *words], check=True, stdout=subprocess.DEVNULL)


def _start_munge() -> None:
    if subprocess.run(["munge", "-n"], capture_output=True).returncode == 0:
        return
    for folder in ("/run/munge", "/var/log/munge", "/var/lib/munge"):
        Path(folder).mkdir(exist_ok=True)
        shutil.chown(folder, "munge", "munge")
    as_munge = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    subprocess.run([*as_munge, shutil.which("munged") or "munged"], check=True)
