"""What lets killed work go on: a fingerprint of everything it depends on, and saved training.

Usage: `saved = Saved(work, fingerprint(module, setting, inputs)); log = saved.restore(...)`.
Must not know losses, corpora or stages.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from residuum.core import files, manifest


def fingerprint(module: str, setting: Mapping[str, Any], inputs: Iterable[Path]) -> str:
    """Return a hash of the setting, the bytes of the inputs, the code behind it, the packages."""
    record = {
        "setting": dict(setting),
        "inputs": [files.sha256_of(Path(path)) for path in inputs],
        "code": manifest.made_by(module)["sha256"],
        "packages": manifest.environment()["packages"],
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def say(text: str) -> None:
    """Tell on standard error what becomes of earlier work."""
    print(text, file=sys.stderr, flush=True)


class Saved:
    """The state of a training run in one file, which is replaced whole at each saving."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.path = Path(folder) / "state.pt"
        self.fingerprint = fingerprint

    def keep(self, model: Any, optimizer: Any, log: list[dict[str, float]]) -> None:
        """Save model, optimiser and log; the log has one row per step done."""
        import torch

        state = {
            "fingerprint": self.fingerprint,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "log": log,
        }
        with files.whole(self.path) as temporary:
            torch.save(state, temporary)

    def restore(self, model: Any, optimizer: Any) -> list[dict[str, float]]:
        """Load the saved state into model and optimiser; return the log, empty if none fits."""
        state = self._read() if self.path.exists() else None
        if state is None:
            return []
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        say(f"{self.path}: going on after step {len(state['log'])}")
        return list(state["log"])

    def _read(self) -> dict[str, Any] | None:
        import torch

        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # damaged bytes can spell any fault of an unpickler
            say(f"{self.path}: cannot be read, starting afresh ({error})")
            return None
        if state.get("fingerprint") == self.fingerprint:
            return dict(state)
        say(f"{self.path}: made from other data, spec, seed or code, starting afresh")
        return None
