"""Step 3: training steps a second of CLEAR and of DPR, and what a step makes the card do.

Steps of the package's own learners and optimiser, as `residuum.train` takes them, by batch; and
what it costs to ask for determinism, strictly or with a warning alone.
"""

import time
from functools import partial
from typing import Any

import numpy as np
import torch

from gpu import product
from gpu.records import Records
from gpu.setting import Setting
from gpu.timing import record_profile, typical

AT_ONCE = 10  # steps of a round, so that the card may run behind
PROFILED = 3  # steps
OWN = 28  # CLEAR's batch
HOW = {"learning_rate": 1e-5, "steps": 100_000, "epochs": None}
GROUPS = {"clear": 1, "dpr": 8}  # negatives of a pair


def measure(setting: Setting, records: Records) -> None:
    """Record rates and profiles in the device's own precision, and one rate in fp32."""
    base = (("clear", OWN), ("dpr", 128), ("clear", 128), ("clear", 8))
    for name, batch in setting.pick(base, (("clear", 4), ("dpr", 4))):
        with records.part(f"{name}, batch {batch}"):
            _learning(setting, records, name, batch)
    if setting.device == "cuda":
        made = _learner(setting, "clear", OWN, "fp32")
        _rate(setting, records, f"clear, batch {OWN}, fp32", made, product.stepper(made))
        with records.part(f"clear, batch {OWN}, layers compiled"):
            _compiled(setting, records)


def _compiled(setting: Setting, records: Records) -> None:
    """Record the rate with layers that torch compiles, and the seconds that this takes."""
    made = _learner(setting, "clear", OWN, "auto")
    product.compile_layers(made)
    step, start = product.stepper(made), time.perf_counter()
    _several(step, 2)
    torch.cuda.synchronize()
    name = f"clear, batch {OWN}, layers compiled"
    records.add(f"{name}: seconds of the first steps", time.perf_counter() - start, "s")
    _rate(setting, records, name, made, step)


def _learning(setting: Setting, records: Records, name: str, batch: int) -> None:
    """Record the rate of a model's steps; of CLEAR as its paper trains it also their profile."""
    made = _learner(setting, name, batch, "auto")
    step, own = product.stepper(made), f"{name}, batch {batch}"
    _rate(setting, records, own, made, step)
    if name == "clear" and batch in (OWN, 4):
        work = partial(_several, step, PROFILED)
        record_profile(setting, records, f"{own}, a step", work, PROFILED)
        _determinism(setting, records, own, step)


def _learner(setting: Setting, name: str, batch: int, precision: str) -> Any:
    model = product.spec(setting, name, group=GROUPS[name], training={**HOW, "batch_size": batch})
    return product.learner(setting, model, setting.chosen(precision))


def _rate(setting: Setting, records: Records, name: str, made: Any, step: Any) -> None:
    """Record the rate of steps after some that warm up; the backward pass is twice the forward."""
    if setting.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    count = setting.pick(AT_ONCE, 1)
    work = partial(_several, step, count)
    work()
    flop = 3 * np.mean([setting.shape.flop(product.lengths(made, n)) for n in range(count)])
    facts = {"flop": float(flop), "precision": made.start.device.precision}
    records.add(name, count / typical(work, setting, 2.5), "steps/s", **facts)
    if setting.device == "cuda":
        records.add(f"{name}: memory", torch.cuda.max_memory_allocated() / 2**30, "GiB")


def _several(step: Any, count: int) -> None:
    for _ in range(count):
        step()


def _determinism(setting: Setting, records: Records, own: str, step: Any) -> None:
    """Record the rate with and without deterministic kernels, or why they cannot be had."""
    asked = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    count = setting.pick(AT_ONCE, 1)
    for name, on in (("deterministic, strictly", True), ("any kernels", False)):
        torch.use_deterministic_algorithms(on, warn_only=False)
        try:
            step()
            rate = count / typical(partial(_several, step, count), setting, 1.5)
            records.add(f"{own}, {name}", rate, "steps/s")
        except RuntimeError as error:
            records.add(f"{own}, {name}", f"refused: {str(error)[:200]}")
    torch.use_deterministic_algorithms(asked, warn_only=warned)
