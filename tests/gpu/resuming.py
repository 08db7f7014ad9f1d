"""Step 4: CLEAR by its command, whole, and killed in the middle and resumed: the same bytes?

On a card equal bytes are promised as far as its kernels are deterministic; a difference is recorded
with the first step at which the logs differ, and the kernels that torch warns of.
"""

import hashlib
import re
import shutil
import time
from pathlib import Path

from gpu import product
from gpu.launching import STOPPED, launch
from gpu.records import Records
from gpu.setting import Setting

WARNED = re.compile(r"(\S+) does not have a deterministic implementation")
LIMIT = 80.0  # seconds of a training
TRIES = 3


def measure(setting: Setting, records: Records) -> None:
    """Record the seconds of a training, and whether a killed one ends with its files."""
    steps = setting.pick(150, 24)
    how = {"learning_rate": 2e-5, "steps": steps, "epochs": None}
    model = product.spec(setting, "clear", training=how)
    folder = setting.scratch / "trained"
    folder.mkdir()
    whole, killed = folder / "whole", folder / "killed"
    words = {output: product.train_words(setting, model, output) for output in (whole, killed)}
    start = time.monotonic()
    _check(launch(words[whole], setting.log, setting.forks).wait(LIMIT))
    seconds = time.monotonic() - start
    records.add(f"{steps} steps by the command", seconds, "s")
    if (said := product.seconds_said(setting.log, whole)) is not None:
        records.add("the steps alone", said, "s")
    saving = ["--save-every", str(setting.pick(2, 0))]
    _kill(setting, [*words[killed], *saving], killed)
    start = time.monotonic()
    _check(launch(words[killed], setting.log, setting.forks).wait(LIMIT))
    seconds = time.monotonic() - start
    records.add("the same, killed once it had saved a state: the rest", seconds, "s")
    records.add("files of the resumed training", compared(whole, killed))
    if operations := {*WARNED.findall(setting.log.read_text(errors="replace"))}:
        records.add("operations without a deterministic kernel", ", ".join(sorted(operations)))


def _kill(setting: Setting, words: list[str], output: Path) -> None:
    """Kill a training once it has saved a state; one that was faster is begun again."""
    state = output.with_name(f"{output.name}.work") / "state.pt"
    for _ in range(TRIES):
        status = launch(words, setting.log, setting.forks).wait(LIMIT, enough=state.is_file)
        if state.is_file():
            return
        if status:
            _check(status)
        shutil.rmtree(output, ignore_errors=True)
    raise RuntimeError(f"{TRIES} trainings ended, or took {LIMIT:.0f} s, before they were killed")


def _check(status: int | None) -> None:
    if status is STOPPED:
        raise RuntimeError(f"a training was stopped after {LIMIT:.0f} s")
    if status:
        raise RuntimeError(f"a training ended with status {status}; the log says why")


def compared(one: Path, other: Path) -> str:
    """Say whether two checkpoints have the same files, or where they part."""
    own, others = digests(one), digests(other)
    if own == others:
        return f"equal, all {len(own)}"
    apart = sorted(name for name in own.keys() | others.keys() if own.get(name) != others.get(name))
    logs = [(folder / "training.tsv").read_text().splitlines() for folder in (one, other)]
    differing = (place for place, (a, b) in enumerate(zip(*logs, strict=False)) if a != b)
    step = next(differing, None)
    return f"different: {', '.join(apart)}; first step that differs: {step or 'none of the log'}"


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a checkpoint but its manifest, which names the command."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }
