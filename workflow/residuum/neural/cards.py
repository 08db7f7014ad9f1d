"""NVIDIA's cards: which ones this machine shows to CUDA, and which ones a process takes.

Usage: `cards.usable(cards.build())` before jobs start; a job calls `cards.take()` before torch
looks for a device. `python -m residuum.neural.cards 4 torchrun ...` starts a training in several
processes and takes four cards for it. This module does not import torch: Snakemake's own process,
which starts in two seconds, uses it too.
"""

import ctypes
import importlib.util
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from residuum.cli.errors import ResiduumError

# A run's cards for its jobs, each as often as jobs may share it; empty: it found none and said so.
NAMES = "RESIDUUM_CARDS"
VISIBLE = "CUDA_VISIBLE_DEVICES"
TOOL = "nvidia-smi"  # part of NVIDIA's driver
DRIVER = Path("/proc/driver/nvidia")
DRIVER_VERSION = Path("/sys/module/nvidia/version")
BUS = Path("/sys/bus/pci/devices")
NVIDIA, DISPLAY = "0x10de", "0x03"  # a PCI device's vendor; its class, of displays and 3D
# CUDA's major version and the first driver that runs all of its minor ones (NVIDIA's "CUDA
# compatibility", table 1).
FIRST_DRIVER = {11: 450, 12: 525, 13: 580}
ANSWER_S = 60  # the driver takes seconds to load when no process uses it
LOOK_S = 1.0  # between two looks for a free card
HOW = "docs/gpu.md says how"
MEND = f"Mend the driver (after an update: restart the machine): {HOW}"
_held: list[socket.socket] = []


class Cards(NamedTuple):
    """Cards as CUDA_VISIBLE_DEVICES names them, or the reason why there are none.

    `seen` says that the machine has a card, even if it is unusable. Then the user would want to
    know why. `numbered` says that CUDA numbers the cards in this order.
    """

    names: tuple[str, ...] = ()
    why: str = ""
    seen: bool = False
    numbered: bool = False


class Build(NamedTuple):
    """A build of torch: its version, and the CUDA and AMD HIP versions that it was built for."""

    version: str
    cuda: str | None
    hip: str | None = None


def build() -> Build | None:
    """Return this environment's build of torch from its version file, or None without torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    found = dict(re.findall(r"^(__version__|cuda|hip)\b[^=\n]*= *['\"]([^'\"]+)['\"]", text, re.M))
    return Build(found.get("__version__", ""), found.get("cuda"), found.get("hip"))


def possible() -> bool:
    """Say whether torch may find a card. It finds none without a driver, and need not be loaded.

    CUDA computes through the driver's library, ROCm through a device file of the kernel. A run that
    found no card sets RESIDUUM_CARDS to an empty string for its jobs.
    """
    if os.environ.get(NAMES) == "" or os.environ.get(VISIBLE) in ("", "-1"):
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Path("/dev/kfd").exists()
    return True


def usable(made: Build | None) -> Cards:
    """Return the cards that this machine shows and that a build of torch computes on.

    Without a build, return all cards that the machine shows. `why` is one line: what was found, and
    how to mend it.
    """
    cards = _shown()
    if not cards.names or made is None:
        return cards
    if made.cuda is None:
        why = f"torch {made.version} computes on CPUs alone. Install its build for CUDA: {HOW}"
        return Cards((), why, True)
    major = int(made.cuda.split(".")[0])
    if (newest := _newest_cuda()) is not None and newest >= major:
        return cards
    version = _read(DRIVER_VERSION)
    least = FIRST_DRIVER.get(major, 0)
    if version and int(version.split(".")[0]) < least:
        why = (
            f"the NVIDIA driver {version} is too old for torch {made.version}, which is built for "
            f"CUDA {made.cuda} and needs driver {least} or newer. Update the driver, or install "
            f"a build of torch for an older CUDA: {HOW}"
        )
        return Cards((), why, True)
    return cards


def _newest_cuda() -> int | None:
    """Return the major version of CUDA that the driver's library runs, or None without the library.

    A library of CUDA's forward compatibility may run a newer version than the kernel's driver.
    """
    version = ctypes.c_int()
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return version.value // 1000


def _shown() -> Cards:
    """Return the driver's cards that CUDA_VISIBLE_DEVICES leaves visible.

    A number becomes the card's own name where the order is certain, since two allocations of a
    scheduler may both call their card 0.
    """
    listed, visible = _listed(), os.environ.get(VISIBLE)
    if visible is None or not listed.names:
        return listed
    shown: list[str] = []
    for name in map(str.strip, visible.split(",")):
        full = [card for card in listed.names if card.startswith(name) and len(name) > len("GPU-")]
        if name.isdecimal() and int(name) < len(listed.names):
            shown.append(listed.names[int(name)] if listed.numbered else name)
        elif full:
            shown.append(full[0])
        else:
            break  # CUDA, too, ignores all cards from the first unknown name on
    if shown:
        return Cards(tuple(dict.fromkeys(shown)))
    hidden = f"{VISIBLE}={visible!r} shows none of the cards of this machine ({len(listed.names)})"
    return Cards((), f"{hidden}. Unset it, or name some of them", True)


def _listed() -> Cards:
    """Return all cards of the driver, with the parts of a divided card (MIG) in its place."""
    tool = shutil.which(TOOL)
    if tool is None:
        # Write the driver's files, ordered by their address on the bus, as the tool would print
        # them.
        texts = map(_read, sorted(DRIVER.glob("gpus/*/information")))
        facts = [dict(re.findall(r"^(Model|GPU UUID):\s*(.*\S)", text, re.M)) for text in texts]
        known = [card for card in facts if len(card) == 2 and "?" not in card["GPU UUID"]]
        if known:
            lines = [f"GPU 0: {card['Model']} (UUID: {card['GPU UUID']})\n" for card in known]
            return parse("".join(lines))
        if _on_bus():
            return Cards((), f"no NVIDIA driver: {TOOL} is not found. Install it: {HOW}", True)
        return Cards((), f"this machine shows no NVIDIA card ({TOOL} is not found)")
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        return Cards((), f"{TOOL} -L gave no answer in {ANSWER_S} seconds. {MEND}", True)
    except OSError:
        return Cards((), f"{TOOL} does not start. {MEND}", True)
    if (listed := parse(done.stdout)).names:
        return listed
    said = " ".join((done.stdout + done.stderr).split()) or "nothing"
    return Cards((), f"{TOOL} -L says: {said}. {MEND}", _on_bus())


def parse(listing: str) -> Cards:
    """Return the cards in what `nvidia-smi -L` prints, with a divided card's parts in its place.

    The tool lists cards by their address on the bus. CUDA numbers cards of one model in the same
    order. With several models CUDA puts the fastest card first, unless CUDA_DEVICE_ORDER says
    otherwise.
    """
    names: list[str] = []
    models = set()
    for kind, model, name in re.findall(r"^\s*(GPU|MIG) ([^(]*)\(UUID: ([^)]+)\)", listing, re.M):
        if kind == "MIG" and names and names[-1].startswith("GPU-"):
            names.pop()
        names.append(name)
        models.add(model.partition(":")[2] if kind == "GPU" else kind)
    by_place = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    return Cards(tuple(names), numbered="MIG" not in models and (by_place or len(models) == 1))


def _on_bus() -> bool:
    """Say whether an NVIDIA card is plugged in, with or without a driver."""
    vendors = (path for path in BUS.glob("*/vendor") if _read(path) == NVIDIA)
    return any(_read(path.with_name("class")).startswith(DISPLAY) for path in vendors)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def take(number: int = 1) -> None:
    """Take cards until this process ends, and let CUDA see no others. Wait while others hold them.

    The cards come from RESIDUUM_CARDS, which a run on this machine sets. Without that variable, as
    on a cluster, nothing is done. A process holds a slot of a card by binding a socket's name.
    Linux frees the name when the process ends in any way, and jobs of all users of the machine see
    it. Raises ResiduumError where the run named fewer cards than `number`.
    """
    slots = [name for name in os.environ.get(NAMES, "").split(",") if name]
    if not slots:
        return
    names = [*dict.fromkeys(slots)]
    if number > len(names):
        raise ResiduumError(
            f"{number} cards are requested, and this run has {len(names)}: {', '.join(names)}. "
            f"Set `gpus` to {len(names)} at most"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        probe.bind("")  # Linux chooses a name; where none can be bound, no job waits for ever
    waiting = False
    while not (taken := _hold(slots, number)):
        if not waiting:
            print(f"waiting for {number} of {len(names)} cards", file=sys.stderr, flush=True)
        waiting = True
        time.sleep(LOOK_S * random.uniform(0.5, 1.5))  # unequal, or processes may block each other
    os.environ[VISIBLE] = ",".join(taken)
    del os.environ[NAMES]  # child processes use the taken cards


def _hold(slots: list[str], number: int) -> list[str]:
    """Hold a slot of each of the `number` emptiest cards and return them; none if too few are free.

    The first slot of a card is the card's name alone, which a run without shared cards takes, too.
    """
    addresses: dict[str, list[str]] = {}
    for name in slots:
        before = addresses.get(name, [])
        more = f"/{len(before)}" if before else ""
        addresses[name] = [*before, f"\0residuum-card-{name}{more}"]
    locks: dict[str, socket.socket] = {}
    for name in sorted(addresses, key=lambda name: sum(map(_bound, addresses[name]))):
        if len(locks) < number and (lock := _locked(addresses[name])):
            locks[name] = lock
    if len(locks) == number:
        _held.extend(locks.values())
        return [*locks]
    for lock in locks.values():
        lock.close()
    return []


def _locked(addresses: list[str]) -> socket.socket | None:
    """Bind the first free one of some addresses; None if all are taken."""
    for address in addresses:
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with suppress(OSError):  # it is taken
            lock.bind(address)
            return lock
        lock.close()
    return None


def _bound(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(address)
        except OSError:
            return False
        return True


def main(number: str, *command: str) -> None:
    """Take cards and become a command, which holds them until it ends."""
    try:
        take(int(number))
    except ResiduumError as error:
        raise SystemExit(f"error: {error}") from None
    for lock in _held:
        lock.set_inheritable(True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
