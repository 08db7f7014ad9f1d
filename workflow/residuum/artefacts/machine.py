"""The kind of processor that computes, and what pins the kernels that libraries choose by it.

Usage: `machine.pin("portable")` before torch is imported; `machine.cpu()` for a manifest. ATen, MKL
and oneDNN each choose kernels by the processor's instructions, and kernels sum in orders of their
own, so that a model trained on another kind of processor is another model.
"""

import os
import platform
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from residuum.cli.errors import ResiduumError, unknown

# The kernels that every x86-64 processor has: PyTorch's without vector extensions, the conditional
# reproducibility of Intel's oneMKL that "compatible" processors of other makers share, and
# oneDNN's of SSE4.1. Setting one or two leaves the third to the processor.
ARITHMETIC: dict[str, dict[str, str]] = {
    "native": {},
    "portable": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
    },
}
STEERING = (*ARITHMETIC["portable"], "MKL_ENABLE_INSTRUCTIONS")
# As ATen chooses (aten/src/ATen/native/DispatchStub.cpp), best first.
INSTRUCTIONS = {
    "avx512": {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"},
    "avx2": {"avx2", "fma"},
}


class Cpu(BaseModel):
    """A kind of processor: its model, its best instructions, the variables that steer kernels."""

    model: str
    instructions: str
    settings: dict[str, str]

    def __str__(self) -> str:
        settings = [f"{name}={value}" for name, value in self.settings.items()]
        return " ".join([f"{self.model} ({self.instructions})", *settings])


def pin(arithmetic: str) -> None:
    """Set the variables of an arithmetic; libraries read them once, when they first compute."""
    if arithmetic not in ARITHMETIC:
        raise ResiduumError(unknown("arithmetic", arithmetic, ARITHMETIC))
    os.environ.update(ARITHMETIC[arithmetic])


def cpu() -> Cpu:
    """Return the kind of the processor that computes, and the variables that are set."""
    model, instructions = _processor()
    settings = {name: os.environ[name] for name in STEERING if name in os.environ}
    return Cpu(model=model, instructions=instructions, settings=settings)


@cache
def _processor() -> tuple[str, str]:
    """Return model and instructions as Linux has them; elsewhere what Python knows."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    pairs = (line.partition(":")[::2] for line in reversed(lines))
    facts = {name.strip(): value.strip() for name, value in pairs}
    flags = set(facts.get("flags", "").split())
    best = (name for name, needed in INSTRUCTIONS.items() if needed <= flags)
    model = facts.get("model name") or platform.processor() or "unknown"
    return model, next(best, platform.machine())
