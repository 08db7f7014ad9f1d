"""Step 0: what machine this is, and what it can do at most: copies, matrix products.

A share of a ceiling that was measured says how good code is; one of a data sheet's, how good the
card was used.
"""

import os
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from gpu.records import Records
from gpu.setting import Setting
from gpu.timing import typical

PACKAGES = ("torch", "transformers", "tokenizers", "sentence-transformers", "numpy", "faiss-cpu")
PRODUCTS = 10  # one after another, so that a round is long beside its start


def measure(setting: Setting, records: Records) -> None:
    """Record names and versions, bandwidth, and the rates of products."""
    import torch

    setting.chosen()
    records.add("card", _card(setting.device))
    records.add("machine", f"{os.cpu_count()} cores, Python {platform.python_version()}")
    records.add("packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES))
    with records.part("copies"):
        _copies(setting, records)
    side, hidden = setting.pick(8192, 64), setting.shape.hidden
    square = (side, side, side)
    layer = (setting.pick(65_536, 64), hidden, 4 * hidden)  # 512 texts of 128 tokens
    types = {"fp32": torch.float32}
    if setting.device == "cuda":
        types |= {"bf16": torch.bfloat16}
    for precision, dtype in types.items():
        for shape, ceiling in ((square, True), (layer, False)):
            rate = _product(shape, dtype, setting)
            facts = {"ceiling": precision} if ceiling else {"flop": 1e12, "precision": precision}
            name = f"{precision} product {' x '.join(f'{n:,}' for n in shape)}"
            records.add(name, rate, "TFLOP/s", **facts)


def _copies(setting: Setting, records: Records) -> None:
    """Record the bandwidth of a card's memory and of its way to the host."""
    import torch

    count = setting.pick(2**28, 2**12)  # float32 values: 1 GiB
    one = torch.randn(count, device=setting.device)
    other, host = torch.empty_like(one), torch.empty(count)
    if setting.device == "cuda":
        records.add("memory", round(torch.cuda.mem_get_info()[1] / 2**30, 1), "GiB")
        host = host.pin_memory()
    size = 4 * count / 1e9
    moves: dict[str, tuple[Callable[[], object], float]] = {
        "copy, read and written": (lambda: other.copy_(one), 2 * size),
        "copy to the host": (lambda: host.copy_(one), size),
        "copy from the host": (lambda: other.copy_(host), size),
    }
    for name, (copy, moved) in moves.items():
        copy()
        records.add(name, moved / typical(copy, setting, 0.5), "GB/s")


def _product(shape: tuple[int, int, int], dtype: object, setting: Setting) -> float:
    """Return TFLOP/s of products of random matrices; float32 is not TF32."""
    import torch

    rows, inner, columns = shape
    left = torch.randn(rows, inner, device=setting.device, dtype=dtype)
    right = torch.randn(inner, columns, device=setting.device, dtype=dtype)
    made = torch.empty(rows, columns, device=setting.device, dtype=dtype)

    def work() -> None:
        for _ in range(PRODUCTS):
            torch.mm(left, right, out=made)

    work()
    return 2 * rows * inner * columns * PRODUCTS / typical(work, setting, 1.0) / 1e12


def _card(device: str) -> str:
    """Name a card and its driver."""
    import torch

    if device != "cuda":
        return f"none: {platform.processor() or platform.machine()}"
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(query, capture_output=True, text=True, timeout=10).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        driver = []
    number = driver[0] if driver else "unknown"
    return f"{torch.cuda.get_device_name()}, driver {number}, CUDA {torch.version.cuda}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
