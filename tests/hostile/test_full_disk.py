"""A disk without room, as a limit of file sizes that needs no root: one line, and nothing is lost.

Every library that writes meets it in a process of its own, because each says it in its own way.
"""

import os
import subprocess
import sys

import pytest

from conftest import ROOT
from residuum.artefacts import files
from residuum.cli.errors import ROOM, ResiduumError, full

LIMIT = 100_000  # bytes of a file
BEGIN = f"""
import resource, sys
from pathlib import Path
import typer
from residuum.artefacts import contracts, files, trec
from residuum.cli import command
app = command.app("")
resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))
@app.command("write")
def write(output: Path) -> None:
"""
WRITERS = {
    "text": "    files.write_text(output, 'x' * 10**6)",
    "gzip": """
    import os
    with files.whole(output) as part:
        files.write_gzip(part, [os.urandom(10**6)])""",
    "numpy": """
    import numpy
    with files.whole_directory(output) as part:
        contracts.write_vectors(part, ["d"] * 1000, numpy.zeros((1000, 64), numpy.float32))""",
    "polars": """
    import numpy, polars
    hits = polars.DataFrame({"query_id": ["q"] * 10**5, "doc_id": ["d"] * 10**5})
    trec.write_hits(output, hits.with_columns(score=numpy.random.rand(10**5)))""",
    "torch": """
    from torch import zeros
    from torch.nn import Linear
    from torch.optim import AdamW
    from residuum.neural.resumable import Saving, TrainingState
    model = Linear(400, 400)
    TrainingState(Saving(output), "mark").save(model, AdamW(model.parameters()), [])""",
    "safetensors": """
    from torch import zeros
    from safetensors.torch import save_file
    with files.whole_directory(output) as part:
        save_file({"weights": zeros(10**5)}, part / "model.safetensors")""",
}


@pytest.mark.parametrize("library", WRITERS)
def test_a_disk_without_room_is_one_line_and_what_stood_there_stays(tmp_path, library):
    kept = tmp_path / "made"
    into = kept / "state.pt" if library == "torch" else kept  # which saves into a folder
    if library in ("numpy", "safetensors", "torch"):
        kept.mkdir()
        (kept / "state.pt").write_text("whole")
    else:
        kept.write_text("whole")
    code = f"{BEGIN}{WRITERS[library]}\ncommand.main(app)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, "write", str(kept)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    message = f"error: {into}: cannot be written: the disk is full, or a quota or a limit of file"
    [line] = [line for line in done.stderr.splitlines() if line]
    assert line.startswith(message) and line.endswith(f" MB are free). {ROOM}")
    left = kept / "state.pt" if kept.is_dir() else kept
    assert left.read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert not kept.is_dir() or [path.name for path in kept.iterdir()] == ["state.pt"]


# Linux has this device, macOS has not; the parametrised test above needs none.
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_the_systems_own_error_is_one_of_them():
    with pytest.raises(OSError) as error, open("/dev/full", "wb", buffering=0) as handle:
        handle.write(b"x")
    assert full(error.value)


def test_other_errors_are_not_taken_for_it(tmp_path):
    assert not full(ValueError("unexpected pos in a text"))
    assert not full(FileNotFoundError(2, "No such file"))
    assert full(RuntimeError("basic_ios::clear: iostream error"))


def test_a_text_that_speaks_of_it_is_quoted(tmp_path):
    """As where a line of a corpus is refused while its shard is written."""

    def lines():
        try:
            raise ValueError("found 'File too large'")
        except ValueError as error:
            raise ResiduumError(f"docs.jsonl, line 3: {error}") from None
        yield b""

    with pytest.raises(ResiduumError, match=r"docs\.jsonl, line 3"):
        files.write_gzip(tmp_path / "part.gz", lines())
    assert not full(FileNotFoundError(2, "No such file or directory", "No space left on device"))
