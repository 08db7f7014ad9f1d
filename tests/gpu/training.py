"""Step 3: training steps a second of CLEAR and of DPR, and what a step makes the card do.

Steps of the package's own learners and optimiser, as `residuum.train` takes them, by batch; and
what they would be if the kernels of the layers were launched one by one, and in fp32.
"""

from functools import partial
from typing import Any

import numpy as np
import torch

from gpu import product
from gpu.records import Records
from gpu.setting import Setting
from gpu.timing import record_profile, typical
from residuum.neural import cudagraphs

AT_ONCE = 10  # steps of a round, so that the card may run behind
WARM = 4  # rounds, in which the shapes of batches are recorded
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
    if setting.device != "cuda":
        return
    for precision, most in (("auto", 0), ("fp32", cudagraphs.MOST)):
        cudagraphs.MOST, before = most, cudagraphs.MOST
        made = _learner(setting, "clear", OWN, precision)
        cudagraphs.MOST = before
        name = f"clear, batch {OWN}, {'fp32' if most else 'launched one by one'}"
        _rate(setting, records, name, made, product.stepper(made))


def _learning(setting: Setting, records: Records, name: str, batch: int) -> None:
    """Record the rate of a model's steps; of CLEAR as its paper trains it also their profile."""
    made = _learner(setting, name, batch, "auto")
    step, own = product.stepper(made), f"{name}, batch {batch}"
    _rate(setting, records, own, made, step)
    if name == "clear" and batch in (OWN, 4):
        work = partial(_several, step, PROFILED)
        record_profile(setting, records, f"{own}, a step", work, PROFILED)


def _learner(setting: Setting, name: str, batch: int, precision: str) -> Any:
    model = product.spec(setting, name, group=GROUPS[name], training={**HOW, "batch_size": batch})
    return product.learner(setting, model, setting.chosen(precision))


def _rate(setting: Setting, records: Records, name: str, made: Any, step: Any) -> None:
    """Record the rate of steps after some that warm up; the backward pass is twice the forward."""
    if setting.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    count = setting.pick(AT_ONCE, 1)
    work = partial(_several, step, count)
    _several(work, setting.pick(WARM, 1))
    flop = 3 * np.mean([setting.shape.flop(product.lengths(made, n)) for n in range(count)])
    facts = {"flop": float(flop), "precision": made.start.device.precision}
    records.add(name, count / typical(work, setting, 2.5), "steps/s", **facts)
    if setting.device == "cuda":
        records.add(f"{name}: memory", torch.cuda.max_memory_allocated() / 2**30, "GiB")
        records.add(f"{name}: reserved", torch.cuda.max_memory_reserved() / 2**30, "GiB")


def _several(step: Any, count: int) -> None:
    for _ in range(count):
        step()
