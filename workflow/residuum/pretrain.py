"""Make a small BERT from corpora (own vocabulary, LSA word embeddings), or adapt any BERT to them.

Command: `python -m residuum.pretrain backbone|adapt ...`. Adapt, killed and started again, goes on
from its last checkpoint and ends with the same bytes, on a card as far as docs/determinism.md says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pydantic
import typer

from residuum.artefacts import contracts, files, manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.backbones import Adapted, Backbone
from residuum.config.specs import derive
from residuum.neural import backbones, devices, fitting, processes
from residuum.neural.learners import ADAPTED, Start
from residuum.neural.pretrained import Source
from residuum.neural.resumable import SAVE_S, Saving
from residuum.neural.tokens import tokenise

if TYPE_CHECKING:
    from transformers import BertModel, BertTokenizer

app = command.app(__doc__)

Corpora = Annotated[list[Path], typer.Option(help="corpus folder, once for each of the spec's")]


@app.command("backbone")
def backbone(
    corpus: Corpora,
    spec: Annotated[str, typer.Option(help="JSON of Backbone")],
    output: command.Folder,
    threads: command.Threads = 1,
) -> None:
    """Make a backbone and write it as a Hugging Face directory."""
    from transformers import BertTokenizer

    form = command.parse_spec(Backbone, spec)
    corpus = command.each_once("--corpus", corpus, "the spec's corpora", form.corpora)
    devices.choose("cpu", "fp32", threads)
    devices.quiet()
    vocabulary = backbones.train_wordpiece(texts(corpus, "vocabulary"), form.vocabulary)
    numbered = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = BertTokenizer(vocab=numbered, model_max_length=form.max_length)
    tokenizer.add_tokens(list(backbones.MARKERS), special_tokens=True)
    model = make_model(form, len(tokenizer))
    dimensions = set_word_embeddings(model, tokenizer, corpus, form, threads)
    parameters = sum(weights.numel() for weights in model.parameters())
    facts = {"vocabulary": len(tokenizer), "parameters": parameters, "lsa_dimensions": dimensions}
    with files.whole_directory(output) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        made_by = {**form.model_dump(mode="json"), "threads": threads}
        inputs = [path / "manifest.json" for path in corpus]
        manifest.write(folder, facts, made_by, inputs, "residuum.pretrain")


@app.command("adapt")
def adapt(
    corpus: Corpora,
    start: command.Start,
    spec: Annotated[str, typer.Option(help="JSON of MaskedLanguage, NextText or InverseCloze")],
    work: command.Work,
    output: command.Folder,
    revision: command.Revision = None,
    pickled: command.Pickled = False,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    save_every: command.SaveEvery = SAVE_S,
) -> None:
    """Go on training a backbone on the docs of the corpora: hidden words, pairs, or spans."""
    form = command.parse_spec(pydantic.RootModel[Adapted], spec).root
    corpus = command.each_once("--corpus", corpus, "the spec's corpora", form.corpora)
    source = Source(start, revision, form.training.dropout, new_head=True, pickled=pickled)
    chosen = devices.choose(device, precision, threads, arithmetic, trains=True)
    begin = Start(source, chosen, form.seed)
    inputs = [path / "manifest.json" for path in corpus]
    with (
        processes.joined(begin.device.name),
        nullcontext() if processes.rank() else files.alone(work),
    ):
        learner = ADAPTED[form.kind](form, begin, texts(corpus, "tokens"))
        saving = Saving(work, save_every)
        fitting.run(learner, threads, inputs, saving, output, "residuum.pretrain")


def texts(corpora: Sequence[Path], what: str) -> Iterator[str]:
    """Stream the texts of several corpora, a corpus at a time."""
    docs = chain.from_iterable(map(contracts.read_corpus, corpora))
    return (text for _, text in track(docs, what, unit="docs"))


def make_model(spec: Backbone, vocabulary: int) -> BertModel:
    """Return a BertModel of the spec's shape, with weights drawn from the spec's seed."""
    from transformers import BertConfig, BertModel

    if spec.hidden % spec.heads:
        raise ResiduumError(
            f"--spec: hidden {spec.hidden} must be a multiple of heads {spec.heads}"
        )
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=spec.hidden,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        intermediate_size=spec.intermediate,
        max_position_embeddings=spec.max_length,
    )
    with devices.seeded(derive(spec.seed, "backbone")):
        return BertModel(config)


def set_word_embeddings(
    model: BertModel,
    tokenizer: BertTokenizer,
    corpora: Sequence[Path],
    spec: Backbone,
    threads: int,
) -> int:
    """Write LSA vectors into the word embeddings; return the number of dimensions they fill.

    Each vector gets the expected length of a random embedding, initializer_range times the root of
    the number of dimensions. Words and positions then have the same relative weight as in BERT.
    Special tokens, and tokens that the corpus lacks, keep their random embedding.
    """
    import torch

    table = model.embeddings.word_embeddings.weight
    docs = tokenise(tokenizer, texts(corpora, "word embeddings"), None, special=False)
    seed = derive(spec.seed, "lsa")
    vectors = backbones.token_vectors(docs, len(table), spec.hidden, seed, threads)
    dimensions = vectors.shape[1]
    known = torch.from_numpy(np.abs(vectors).sum(axis=1) > 0)
    length = model.config.initializer_range * dimensions**0.5
    with torch.no_grad():
        table[known, :dimensions] = torch.from_numpy(vectors)[known] * length
    return dimensions


if __name__ == "__main__":
    command.main(app)
