"""The nine steps of a measurement on a card, each in a process of its own under its time limit.

PYTHONPATH=workflow:tests python -m gpu.steps --output FOLDER [--device cpu --tiny] [--steps 2 7]

`tests/gpu/measure.sh` calls it; CONTRIBUTING.md says how. A step that fails or is too slow is
written as failed, and the next one begins. `--tiny` runs the same code on small models, on a CPU
forked from one process, to show that it runs; its numbers say nothing. Must not know what a step
measures.
"""

import argparse
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gpu.launching import STOPPED, launch
from gpu.records import Records

RESULTS, LOG = "results.jsonl", "log.txt"
LEAST = 5.0  # seconds without which no step is begun
OURS = ("residuum.cli.command", "residuum.neural.fitting", "residuum.neural.duals")


class Step(NamedTuple):
    """A step: its title, its module of this folder, and the seconds that it may take."""

    title: str
    module: str
    seconds: float


STEPS = {
    0: Step("Versions and ceilings", "ceilings", 45),
    1: Step("Parity of card and CPU", "parity", 80),
    2: Step("Encoding", "encoding", 90),
    3: Step("Training steps", "training", 75),
    4: Step("CLEAR by its command, killed and resumed", "resuming", 95),
    5: Step("Memory that ends", "capping", 30),
    6: Step("Cross-encoder", "pairs", 40),
    7: Step("Exact search", "searching", 45),
    8: Step("Encoding by its command", "commanding", 50),
}


def main() -> int:
    """Run the steps, or the one that `--run` names; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, required=True, help="folder of results and log")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--tiny", action="store_true", help="small models, to show that it runs")
    parser.add_argument("--steps", type=int, nargs="+", default=[*STEPS], choices=[*STEPS])
    parser.add_argument("--seconds", type=float, default=570, help="for all steps together")
    parser.add_argument("--run", type=int, choices=[*STEPS], help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run is not None:
        return run(given)
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / LOG).write_bytes(b"")
    drop(given.output / RESULTS, given.steps)
    forked = given.tiny and given.device == "cpu"
    if forked:
        _import_ahead()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # a step ends, too
    until, outcomes = time.monotonic() + given.seconds, []
    with tempfile.TemporaryDirectory(prefix="residuum-gpu-") as scratch:
        for number in given.steps:
            left = until - time.monotonic()
            outcomes.append(_step(number, left, given, Path(scratch), forked))
    return int(not all(outcomes))


def drop(path: Path, numbers: Sequence[int]) -> None:
    """Leave of an earlier run's results those of other steps; a line that was cut off goes."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = [line for line in text.splitlines(keepends=True) if line.endswith("}\n")]
    kept = [line for line in whole if json.loads(line)["step"] not in numbers]
    path.write_text("".join(kept), encoding="utf-8")


def _step(number: int, left: float, given: argparse.Namespace, scratch: Path, forked: bool) -> bool:
    """Run a step in a process within the seconds that are left; say whether it succeeded."""
    records, step = Records(given.output / RESULTS, number), STEPS[number]
    limit = min(step.seconds, left)
    if limit < LEAST:
        records.failed(f"not begun: {max(0.0, left):.0f} s of all were left")
        return False
    how = ["--device", given.device, *(["--tiny"] if given.tiny else [])]
    where = ["--output", str(given.output), "--scratch", str(scratch)]
    words = ["-m", "gpu.steps", "--run", str(number), *how, *where]
    start = time.monotonic()
    status = launch(words, given.output / LOG, forked, leads=True).wait(limit)
    taken = time.monotonic() - start
    if reason := failure(status, limit):
        records.failed(reason)
    records.add("seconds", round(taken, 2), "s", limit=step.seconds)
    print(f"step {number}, {step.title}: {taken:.1f} s, {reason or f'status {status}'}", flush=True)
    return status == 0


def failure(status: int | None, limit: float) -> str:
    """Return why a step's process ended, unless it ended by itself and has told that."""
    if status is STOPPED:
        return f"stopped after {limit:.0f} s"
    return f"ended by signal {-status}" if status < 0 else ""


def run(given: argparse.Namespace) -> int:
    """Measure one step in this process; an error becomes a record, and status 1."""
    records = Records(given.output / RESULTS, given.run)
    print(f"--- step {given.run}", flush=True)
    with records.part("step"):
        from gpu.setting import Setting

        setting = Setting(given.device, given.tiny, given.scratch, given.output / LOG)
        importlib.import_module(f"gpu.{STEPS[given.run].module}").measure(setting, records)
    return int(records.failures > 0)


def _import_ahead() -> None:
    """Load what forked steps import, which takes longer than most of them, once."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from residuum.preload.server import PACKAGES

    for name in (*PACKAGES["neural"], "pytest", "sentence_transformers", *OURS):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
