"""Seconds of work on a device, after a warm-up, and what a profile counts in it.

Usage: `rate = 512 / median(rounds(work, setting))`. Must not know what is measured.
"""

import re
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

from gpu.records import Records
from gpu.setting import Setting

MOST = 7  # rounds
LAUNCHES = re.compile(r"^(cudaLaunch|cuLaunch|cudaGraphLaunch)")
WAITS = ("cudaStreamSynchronize", "cudaEventSynchronize")
ITEMS = "aten::_local_scalar_dense"  # a value that the CPU reads
ATTENTION = re.compile(r"attention|attn|flash|fmha", re.IGNORECASE)
CASTS = "aten::_to_copy"
LARGEST, NAMED = 8, 100  # kernels that a profile names; characters of a name


def rounds(work: Callable[[], object], setting: Setting, seconds: float = 3.0) -> list[float]:
    """Return the seconds of each round of some work, at least one, until their sum is reached.

    Of tiny models there is one round.
    """
    taken: list[float] = []
    while not taken or (sum(taken) < setting.pick(seconds, 0) and len(taken) < MOST):
        setting.synchronise()
        start = time.perf_counter()
        work()
        setting.synchronise()
        taken.append(time.perf_counter() - start)
    return taken


def typical(work: Callable[[], object], setting: Setting, seconds: float = 3.0) -> float:
    """Return the median seconds of the rounds of some work that is warm."""
    return median(rounds(work, setting, seconds))


def profile(work: Callable[[], object], setting: Setting) -> dict[str, Any]:
    """Return counts of some work that is warm.

    On a card: kernels launched, waits of the CPU for the card, copies to the host, casts, the
    kernels of attention by name, the largest kernels, and the share of the time that it computed.
    On a CPU: operations and casts, and the operations of attention.
    """
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiled

    card = setting.device == "cuda"
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if card else [])]
    with profiled(activities=kinds):  # the first one of a process starts what traces a card
        setting.synchronise()
    setting.synchronise()
    with profiled(activities=kinds) as seen:
        start = time.perf_counter()
        work()
        setting.synchronise()
        wall = time.perf_counter() - start
    return counted(seen.key_averages(), wall if card else None)


def counted(events: Iterable[Any], seconds: float | None) -> dict[str, Any]:
    """Return what a profile's events count, of a card if it took so many seconds."""
    own = list(events)
    kernels = [event for event in own if str(event.device_type) == "DeviceType.CUDA"]
    counts = {event.key: event.count for event in own if event not in kernels}
    found: dict[str, Any] = {"casts": counts.get(CASTS, 0), "items": counts.get(ITEMS, 0)}
    if seconds is None:
        found["operations"] = sum(n for key, n in counts.items() if key.startswith("aten::"))
        found["attention"] = {key: n for key, n in counts.items() if ATTENTION.search(key)}
        return found
    if not kernels:
        raise RuntimeError("the profile holds no kernel: torch cannot trace this card here")
    kernels.sort(key=lambda kernel: -kernel.self_device_time_total)
    busy = sum(kernel.self_device_time_total for kernel in kernels)
    found["launches"] = sum(n for key, n in counts.items() if LAUNCHES.search(key))
    found["waits"] = {key: counts[key] for key in WAITS if key in counts}
    found["copies"] = {k.key: k.count for k in kernels if k.key.startswith("Memcpy")}
    found["attention"] = {k.key[:NAMED]: k.count for k in kernels if ATTENTION.search(k.key)}
    found["busy"] = round(busy / 1e6 / seconds, 4)
    largest = kernels[:LARGEST]
    found["largest"] = {k.key[:NAMED]: round(k.self_device_time_total / busy, 4) for k in largest}
    return found


def record_profile(
    setting: Setting, records: Records, name: str, work: Callable[[], object], units: int = 1
) -> None:
    """Record the profile of some work that has so many units: a number of each, all else as facts.

    The work is done twice before: layers are recorded when a shape of batch comes again.
    """
    with records.part(f"{name}: profile"):
        work()
        work()
        found = profile(work, setting)
        key = "launches" if "launches" in found else "operations"
        records.add(f"{name}: {key}", found[key] / units, key, profile=found, units=units)
        records.add(f"{name}: casts", found["casts"] / units, "casts")
        records.add(f"{name}: values that the CPU reads", found["items"] / units, "values")
        if key == "launches":
            records.add(f"{name}: waits of the CPU", sum(found["waits"].values()) / units, "waits")
            records.add(f"{name}: part of the time that the card computes", found["busy"])
        by = ", ".join(found["attention"]) or "no kernel of its own"
        records.add(f"{name}: attention by", by)
