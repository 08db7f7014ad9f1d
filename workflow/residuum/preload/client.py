"""Replace `python` in a job's shell: have a parent fork the job, and end with its status.

Usage: `python -I -S client.py $$ -m residuum.fusion fuse ...`, where $$ is the process id of the
shell. RESIDUUM_PRELOAD names the folder of the parents' sockets. A command that no parent takes is
started by Python itself. This file must import neither residuum nor anything slow, because every
job starts it.
"""

import _socket
import array
import marshal
import os
import sys

# Stages whose jobs load torch, and the verbs of other stages that load it.
NEURAL = {
    "dense",
    "encode",
    "pretrain",
    "questions",
    "release",
    "rerank",
    "sweep",
    "termweights",
    "train",
    "learning score",
}
THREADS = "OMP_NUM_THREADS"  # Snakemake sets it to the rule's threads
VOLATILE = {"_", "SHLVL", "OLDPWD"}  # variables that shells change


def main() -> None:
    """Run the command after the shell's process id, forked or started."""
    shell, *words = sys.argv[1:]
    status = _forked(int(shell), words) if words[:1] == ["-m"] else None
    if status is None:
        os.execvp("python", ["python", *words])
    os._exit(status)


def served_by(words: list[str]) -> str:
    """Return the name of the parent for a job; `words` are the job's words from `-m` on."""
    stage = words[1].removeprefix("residuum.")
    kind = "neural" if {stage, " ".join([stage, *words[2:3]])} & NEURAL else "tables"
    return f"{kind}-{os.environ.get(THREADS, 1)}"


def _forked(shell: int, words: list[str]) -> int | None:
    """Return the exit status of a forked job, or None if no parent takes the job."""
    path = os.path.join(os.environ["RESIDUUM_PRELOAD"], served_by(words))
    parent = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        parent.connect(path)
    except OSError:
        return None
    environment = {name: value for name, value in os.environ.items() if name not in VOLATILE}
    request = marshal.dumps((shell, words[1], words[2:], os.getcwd(), environment))
    streams = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
    parent.sendmsg([len(request).to_bytes(4, "big")], streams)
    parent.sendall(request)
    answer = parent.recv(4)  # waits for the job's end
    if not answer:
        sys.stderr.write("error: the process that forked this job is gone; run it again\n")
        return 1
    status = int.from_bytes(answer, "big", signed=True)
    return None if status == -1 else status


if __name__ == "__main__":
    main()
