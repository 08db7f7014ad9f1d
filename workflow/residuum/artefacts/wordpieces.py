"""Load a model's wordpiece tokenizer through the Hugging Face library tokenizers.

Usage: `pieces = wordpieces.load(wordpieces.find("backbones/mini-bert", None))`. This needs neither
torch nor the model's weights.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from residuum.artefacts import intact
from residuum.cli.errors import ResiduumError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = "tokenizer.json"


def find(vocabulary: str, revision: str | None) -> Path:
    """Return the tokenizer file of a model folder or hub model; no such file: ResiduumError."""
    folder = Path(vocabulary)
    path = folder / TOKENIZER
    if folder.is_dir():
        intact.check_folder(folder)
    else:
        path = _of_hub(vocabulary, revision)
    if not path.is_file():
        raise ResiduumError(
            f"{vocabulary}: it has no {TOKENIZER}, which cuts texts into wordpieces. Save its "
            "tokenizer again with transformers' save_pretrained"
        )
    return path


def _of_hub(name: str, revision: str | None) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(name, TOKENIZER, revision=revision))
    except (OSError, ValueError) as error:  # the hub's own errors are of these types
        reason = str(error).strip().splitlines()[0]
        text = f"no {TOKENIZER} of '{name}': not a directory, and not to be had from the hub"
        raise ResiduumError(f"{text} ({reason})") from None


def load(tokenizer: Path) -> "Tokenizer":
    """Load a tokenizer with truncation and padding switched off."""
    from tokenizers import Tokenizer

    pieces = Tokenizer.from_file(str(intact.checked(tokenizer)))
    pieces.no_truncation()
    pieces.no_padding()
    return pieces
