"""Identify the processor that computes, and pin the kernels that libraries choose for it.

Usage: `machine.pin("portable")` before torch is imported; `machine.cpu()` for a manifest. ATen, MKL
and oneDNN choose kernels by the processor's instructions. Kernels differ in the order of their
sums. A model trained on another kind of processor is therefore another model.
"""

import os
import platform
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown

# Kernels that every x86-64 processor has: PyTorch's without vector extensions, oneDNN's of SSE4.1.
# MKL's mode COMPATIBLE (conditional numerical reproducibility) covers processors of other makers.
# All three must be set: a library without a setting goes by the processor.
ARITHMETIC: dict[str, dict[str, str]] = {
    "native": {},
    "portable": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    },
}
STEERING = (*ARITHMETIC["portable"], "MKL_ENABLE_INSTRUCTIONS")
# In ATen's order of preference (aten/src/ATen/native/DispatchStub.cpp), best first.
INSTRUCTIONS = {
    "avx512": {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"},
    "avx2": {"avx2", "fma"},
}


class Cpu(BaseModel):
    """A processor's model, its best instructions, and the set variables that choose kernels."""

    model: str
    instructions: str
    settings: dict[str, str]

    def __str__(self) -> str:
        settings = [f"{name}={value}" for name, value in self.settings.items()]
        return " ".join([f"{self.model} ({self.instructions})", *settings])


def pin(arithmetic: str) -> None:
    """Set the environment variables of an arithmetic; libraries read them at their first use."""
    if arithmetic not in ARITHMETIC:
        raise ResiduumError(unknown("arithmetic", arithmetic, ARITHMETIC))
    os.environ.update(ARITHMETIC[arithmetic])


def cpu() -> Cpu:
    """Return the processor's model and instructions, and the set variables."""
    model, instructions = _processor()
    settings = {name: os.environ[name] for name in STEERING if name in os.environ}
    return Cpu(model=model, instructions=instructions, settings=settings)


@cache
def _processor() -> tuple[str, str]:
    """Return model and instructions from Linux's /proc/cpuinfo, elsewhere from Python."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    pairs = (line.partition(":")[::2] for line in reversed(lines))
    facts = {name.strip(): value.strip() for name, value in pairs}
    flags = set(facts.get("flags", "").split())
    best = (name for name, needed in INSTRUCTIONS.items() if needed <= flags)
    model = facts.get("model name") or platform.processor() or "unknown"
    return model, next(best, platform.machine())
