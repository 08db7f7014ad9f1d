"""The kind of CPU in a manifest, and the variables that pin the kernels of its libraries."""

import os
import platform
import subprocess
import sys
from typing import get_args

import pytest

from conftest import ROOT
from residuum.artefacts import machine
from residuum.cli.errors import ResiduumError
from residuum.config.schema.scales import Config

PINNED = {"ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA"}


def printed(code: str, **variables: str) -> str:
    """Return what a process prints in which no variable steers kernels but these."""
    left = {name: value for name, value in os.environ.items() if name not in machine.STEERING}
    env = {**left, "PYTHONPATH": str(ROOT / "workflow"), **variables}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    return (done.stdout or done.stderr.splitlines()[-1]).strip()


def test_the_instructions_are_those_that_torch_chooses_by():
    code = "import torch; print(torch.backends.cpu.get_cpu_capability().lower())"
    chosen, own = printed(code), machine.cpu().instructions
    assert own == (chosen if chosen in machine.INSTRUCTIONS else platform.machine())
    assert machine.cpu().model


def test_pinned_kernels_are_those_that_torch_then_takes():
    code = (
        "from residuum.artefacts import machine; machine.pin('portable'); import torch;"
        "print(torch.backends.cpu.get_cpu_capability(), machine.cpu().settings)"
    )
    result = printed(code, ATEN_CPU_CAPABILITY="avx2")
    assert result.startswith("DEFAULT {") and all(name in result for name in PINNED)


def test_kernels_cannot_be_pinned_once_torch_has_chosen_them():
    code = (
        "import torch; chosen = torch.backends.cpu.get_cpu_capability();"
        "from residuum.neural import devices; from residuum.cli.errors import ResiduumError\n"
        "try: print(devices.choose('cpu', 'fp32', 1, 'portable').arithmetic)\n"
        "except ResiduumError as error: print(chosen, error)"
    )
    assert printed(code, **machine.ARITHMETIC["portable"]) == "portable"
    refusal = (
        "torch computes with AVX2 already; set ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE"
    )
    if machine.cpu().instructions in machine.INSTRUCTIONS:
        assert printed(code, ATEN_CPU_CAPABILITY="avx2").startswith(f"AVX2 {refusal} ONEDNN_MAX")
    assert printed(code.replace("'portable'", "'native'")) == "native"


def test_an_unknown_arithmetic_is_refused():
    with pytest.raises(ResiduumError, match="no arithmetic 'avx2'; known: native, portable"):
        machine.pin("avx2")


def test_the_configuration_knows_the_same_ones_and_pins_cpus_alone():
    assert {*get_args(Config.model_fields["arithmetic"].annotation)} == {*machine.ARITHMETIC}
    assert {*machine.ARITHMETIC["portable"]} == PINNED
    with pytest.raises(ValueError, match="arithmetic: portable needs device: cpu, not cuda"):
        Config(scale="any", papers=["any"], arithmetic="portable", device="cuda")
