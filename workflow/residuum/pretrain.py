"""Make a small BERT from a corpus: its own vocabulary, and word embeddings that start from LSA.

python -m residuum.pretrain backbone --corpus DIR --spec JSON --threads 1 --output DIR

Must not know queries, losses or which models start from the backbone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from residuum.core import command, contracts, files, manifest, schema
from residuum.core.errors import ResiduumError
from residuum.core.progress import track
from residuum.core.seeds import derive
from residuum.neural import devices, lsa, wordpiece

app = command.app(__doc__)


@app.command("backbone")
def backbone(
    corpus: Annotated[Path, typer.Option(help="corpus folder")],
    spec: Annotated[str, typer.Option(help="JSON of schema.Backbone")],
    output: Annotated[Path, typer.Option(help="folder of the Hugging Face model")],
    threads: Annotated[int, typer.Option(help="CPU threads; the last digits depend on it")] = 1,
) -> None:
    """Make a backbone and write it as a Hugging Face directory."""
    form = command.parse_spec(schema.Backbone, spec)
    devices.choose("cpu", "fp32", threads)
    devices.quiet()
    tokenizer = make_tokenizer(corpus, form)
    model = make_model(form, len(tokenizer))
    dimensions = set_word_embeddings(model, _token_ids(corpus, tokenizer), form, threads)
    with files.whole_directory(output) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        manifest.write(
            folder / "manifest.json",
            artefact=_facts(model, len(tokenizer), dimensions),
            spec={**form.model_dump(mode="json"), "threads": threads},
            inputs=[corpus / "manifest.json"],
            module="residuum.pretrain",
        )


def make_tokenizer(corpus: Path, form: schema.Backbone) -> Any:
    """Learn a vocabulary from the corpus; return BERT's uncased tokenizer with the markers."""
    from transformers import BertTokenizer

    docs = track(contracts.read_corpus(corpus), "vocabulary", unit="docs")
    vocabulary = wordpiece.train((text for _, text in docs), form.vocabulary)
    numbered = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = BertTokenizer(vocab=numbered, model_max_length=form.max_length)
    tokenizer.add_tokens(list(wordpiece.MARKERS), special_tokens=True)
    return tokenizer


def make_model(form: schema.Backbone, vocabulary: int) -> Any:
    """Return a BertModel of the spec's shape, all weights drawn from the spec's seed."""
    from transformers import BertConfig, BertModel

    if form.hidden % form.heads:
        raise ResiduumError(
            f"--spec: hidden {form.hidden} must be a multiple of heads {form.heads}"
        )
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=form.hidden,
        num_hidden_layers=form.layers,
        num_attention_heads=form.heads,
        intermediate_size=form.intermediate,
        max_position_embeddings=form.max_length,
    )
    with devices.seeded(derive(form.seed, "backbone")):
        return BertModel(config)


def set_word_embeddings(
    model: Any, docs: Iterator[np.ndarray], form: schema.Backbone, threads: int
) -> int:
    """Put LSA vectors into the word embeddings; return how many dimensions they fill.

    Each has the length that a random embedding has on average, initializer_range times the
    root of its size, so that words and positions weigh what they weigh in BERT. Tokens that
    the corpus does not hold, the special ones among them, keep their random embedding.
    """
    import torch

    table = model.embeddings.word_embeddings.weight
    vectors = lsa.token_vectors(docs, len(table), form.hidden, derive(form.seed, "lsa"), threads)
    dimensions = vectors.shape[1]
    found = torch.from_numpy(np.abs(vectors).sum(axis=1) > 0)
    length = model.config.initializer_range * dimensions**0.5
    with torch.no_grad():
        table[found, :dimensions] = torch.from_numpy(vectors)[found] * length
    return dimensions


def _token_ids(corpus: Path, tokenizer: Any) -> Iterator[np.ndarray]:
    read = tokenizer.backend_tokenizer
    for _, text in track(contracts.read_corpus(corpus), "word embeddings", unit="docs"):
        yield np.array(read.encode(text, add_special_tokens=False).ids, dtype=np.int32)


def _facts(model: Any, vocabulary: int, dimensions: int) -> dict[str, Any]:
    parameters = sum(weights.numel() for weights in model.parameters())
    return {"vocabulary": vocabulary, "parameters": parameters, "lsa_dimensions": dimensions}


if __name__ == "__main__":
    command.main(app)
