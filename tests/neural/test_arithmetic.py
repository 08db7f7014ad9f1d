"""Portable arithmetic gives the same model whatever kernels the processor would be given.

Another processor is simulated by the variables that keep MKL, ATen, oneDNN, OpenBLAS and the C
library from newer instructions, set from outside, in processes of their own.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from residuum.artefacts import contracts, files, machine
from tiny_models import model_spec, write_problem

OLDER = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "OPENBLAS_CORETYPE": "Prescott",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL",
}
CODE = """
import sys
from pathlib import Path
from residuum import encode, train
arithmetic, model, spec = sys.argv[1:]
how = {"device": "cpu", "arithmetic": arithmetic}
texts = Path("queries.tsv")
train.train(["tuples.jsonl.gz"], Path("corpus"), [str(texts)], "start", spec, 1,
            Path(f"{model}.work"), Path(model), **how)
encode.encode_queries([f"dev={texts}"], Path(model), 8, Path(f"{model}.vectors"), **how)
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wide = {"hidden": 64, "intermediate": 256, "heads": 4}  # wide enough for vectors
    return write_problem(tmp_path_factory.mktemp("toy"), **wide)


def trained(toy: Path, arithmetic: str, name: str, **variables: str) -> tuple[str, bytes]:
    """Train five steps and encode in a process of these variables; return both results."""
    spec = model_spec(steps=5, batch_size=16, dropout=0.0)
    left = {key: value for key, value in os.environ.items() if key not in machine.STEERING}
    env = {**left, "PYTHONPATH": str(ROOT / "workflow"), **variables}
    words = [sys.executable, "-c", CODE, arithmetic, name, spec]
    subprocess.run(words, cwd=toy, env=env, check=True, capture_output=True)
    vectors = contracts.read_vectors(toy / f"{name}.vectors" / "dev")[1]
    return files.sha256(toy / name / "model.safetensors"), np.asarray(vectors).tobytes()


def test_portable_arithmetic_gives_equal_bytes_on_a_simulated_older_processor(toy: Path) -> None:
    assert trained(toy, "portable", "one") == trained(toy, "portable", "two", **OLDER)


def test_native_arithmetic_does_not_where_there_are_vector_instructions(toy: Path) -> None:
    """The simulation is one: else the test above would pass with nothing pinned."""
    if machine.cpu().instructions not in machine.INSTRUCTIONS:
        pytest.skip("no AVX2 here: nothing older than this processor can be simulated")
    plain = {**OLDER, "ATEN_CPU_CAPABILITY": "default"}
    assert trained(toy, "native", "three") != trained(toy, "native", "four", **plain)
