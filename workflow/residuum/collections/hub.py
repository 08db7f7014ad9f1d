"""Find files of Hugging Face hub datasets in the hub's cache, or download them into it.

Usage: `obtained("hf://datasets/mteb/scifact@COMMIT/corpus.jsonl")`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from residuum.cli.errors import ResiduumError
from residuum.config import roots

_local = ContextVar("_local", default=False)


@contextmanager
def cached_only() -> Iterator[None]:
    """Forbid downloads and requests to the hub within the block."""
    token = _local.set(True)
    try:
        yield
    finally:
        _local.reset(token)


def obtained(name: str) -> Path:
    """Return the path of a file or folder of a hub dataset, downloading it if it is not cached.

    If the hub does not give it, that is a ResiduumError.
    """
    from huggingface_hub import snapshot_download

    address = roots.HUB.fullmatch(name)
    assert address is not None
    path, revision = address["path"] or "", address["revision"]
    patterns = [path, f"{path}.gz", f"{path}/*"] if path else None
    try:
        folder = snapshot_download(
            address["id"],
            repo_type="dataset",
            revision=revision,
            allow_patterns=patterns,
            local_files_only=_local.get(),
        )
    except Exception as error:  # the network or the hub can fail in any way
        text = " ".join(str(error).split())[:300]
        raise ResiduumError(
            f"{name}: the Hugging Face hub did not give it ({type(error).__name__}: {text}). Is "
            "the address right, the network up, and are you logged in where it asks for that? "
            "Or download it yourself into the folder of RESIDUUM_DATA and name that."
        ) from None
    return Path(folder, path)
