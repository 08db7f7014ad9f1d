"""Train a model of any trained kind on tuples: dual encoder, term weights, cross-encoder.

Command: `python -m residuum.train train ...`. Killed and started again it goes on from its last
checkpoint and ends with the same bytes, on a card as far as docs/determinism.md says. On several
GPUs: torchrun --standalone --nproc-per-node N --no-python -- python -m residuum.train
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import pydantic
import typer

from residuum.artefacts import contracts, files, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError, unknown
from residuum.config.schema.base import named_for
from residuum.config.schema.models import DualEncoder, QuestionGenerator, Trained
from residuum.config.schema.training import RateGrid
from residuum.neural import devices, fitting, processes
from residuum.neural.batches import Fold
from residuum.neural.best import Passages
from residuum.neural.fixed import FixedVectors
from residuum.neural.learners import KINDS, Start
from residuum.neural.mixes import MixedTexts
from residuum.neural.pretrained import Source
from residuum.neural.resumable import SAVE_S, Saving, log
from residuum.neural.tokens import Texts, windows_of
from residuum.tuning.answers import Questions
from residuum.tuning.choosing import Record, read_folds

app = command.app(__doc__)


@app.command("train")
def train(
    tuples: Annotated[
        list[str],
        typer.Option(help="training tuples, .jsonl.gz; for a mix ROLE=TUPLES of each role"),
    ],
    corpus: command.Corpus,
    queries: Annotated[
        list[str],
        typer.Option(help="queries.tsv of the split; for a mix ROLE=QUERIES of each role"),
    ],
    start: command.Start,
    spec: Annotated[str, typer.Option(help="model as JSON, by a schema such as DualEncoder")],
    seed: Annotated[int, typer.Option(help="seed of batches, negatives and dropout")],
    work: command.Work,
    output: command.Folder,
    revision: command.Revision = None,
    pickled: command.Pickled = False,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    save_every: command.SaveEvery = SAVE_S,
    rate: Annotated[Path | None, typer.Option(help="record of the chosen learning rate")] = None,
    steps: Annotated[Path | None, typer.Option(help="record of the chosen number of steps")] = None,
    fixed: Annotated[
        list[Path] | None,
        typer.Option(help="folder of the docs' fixed vectors; repeat for each shard"),
    ] = None,
    fixed_queries: Annotated[
        list[str] | None,
        typer.Option(help="folder of the queries' fixed vectors; for a mix ROLE=FOLDER of each"),
    ] = None,
    gate: Annotated[Path | None, typer.Option(help="checkpoint of the fixed gate")] = None,
    fold: Annotated[
        list[str] | None,
        typer.Option(help="NAME=QUERIES: a fold of the split; repeat for each fold"),
    ] = None,
    held_out: Annotated[
        str | None, typer.Option(help="fold whose queries are left out of training")
    ] = None,
    spans: Annotated[
        list[Path] | None, typer.Option(help="corpus folder; repeat for each of spans.corpora")
    ] = None,
    windows: command.Windows = None,
    answers: Annotated[
        Path | None, typer.Option(help="answers of the split, for the passages that training reads")
    ] = None,
) -> None:
    """Train a model and write its checkpoint.

    With --held-out the model learns only from the pairs of the other folds' queries. With a mix of
    roles in `train_on`, every batch has a fixed number of pairs of each role.
    """
    model = command.parse_spec(pydantic.RootModel[Trained], spec).root
    model = with_choices(model, {"learning_rate": rate, "steps": steps})
    _check_gate(model, gate)
    dropout = model.training.dropout
    source = Source(start, revision, dropout, new_head=True, gate=gate, pickled=pickled)
    asked = files_of(model, "fixed-queries", fixed_queries) if fixed_queries else {}
    beside = beside_it(model, fixed or [], asked)
    pairs, texts = files_of(model, "tuples", tuples), files_of(model, "queries", queries)
    without, folds = fold_out(held_out, fold or [], [*texts.values()])
    chosen = devices.choose(device, precision, threads, arithmetic, trains=True)
    saving = Saving(work, save_every)
    cut = passages_of(model, windows, answers)
    begin = Start(source, chosen, seed, beside, without, corpora_of(model, spans or []), cut)
    inputs = [path for both in zip(pairs.values(), texts.values(), strict=True) for path in both]
    inputs += [corpus / "manifest.json", *filter(None, [rate, steps, gate, answers]), *folds]
    inputs += [path / "manifest.json" for path in begin.corpora]
    if beside:
        vectors = [*(fixed or []), *dict.fromkeys(path.parent for path in asked.values())]
        inputs += [path / "manifest.json" for path in vectors]
    with (
        processes.joined(begin.device.name),
        nullcontext() if processes.rank() else files.alone(work),
    ):
        named = {role: Texts(texts[role], corpus, str(path)) for role, path in pairs.items()}
        [one, *more] = pairs.values()
        if more:
            learner = KINDS[model.kind](model, begin, pairs, MixedTexts(named))
        else:
            learner = KINDS[model.kind](model, begin, one, *named.values())
        kept = {"held_out": left_out(one, without)} if without and not processes.rank() else {}
        kept |= {"windows": cut.windows.model_dump()} if cut else {}
        fitting.run(learner, threads, inputs, saving, output, "residuum.train", **kept)


def files_of(model: Trained, option: str, given: list[str]) -> dict[str, Path]:
    """Return {role: file} of a model's training roles, the largest share first."""
    roles = [*model.shares]
    if model.mixed:
        return command.named_paths(f"--{option}", given, roles)
    if len(given) > 1:
        text = f"train_on names one role, {roles[0]}, but {len(given)} files are given"
        raise ResiduumError(f"--{option}: {text}. Give one")
    return {roles[0]: Path(given[0])}


def fold_out(
    held_out: str | None, folds: list[str], queries: list[Path]
) -> tuple[Fold | None, list[Path]]:
    """Return the fold that a training holds out, or None, and the files of all folds.

    Each query of the split is in exactly one fold.
    """
    paths = dict(command.pairs(folds))
    files = [*paths.values()]
    if held_out is None and not paths:
        return None, files
    if len(queries) > 1:
        raise ResiduumError("--fold: a mix has no folds; leave them out")
    if held_out is None:
        raise ResiduumError("--fold: name the fold that is left out of training with --held-out")
    if held_out not in paths:
        raise ResiduumError(f"--held-out: {unknown('fold', held_out, paths)}")
    fold_of = read_folds(trec.read_queries(queries[0]), files)
    number = [*paths].index(held_out)
    query_ids = frozenset(query_id for query_id, fold in fold_of.items() if fold == number)
    return Fold(held_out, query_ids), files


def left_out(tuples: Path, fold: Fold) -> dict[str, object]:
    """Return, and log, how many pairs and queries remain for a training without the fold."""
    pairs = contracts.read_tuples(tuples)
    kept = [pair.query_id for pair in pairs if pair.query_id not in fold.queries]
    facts = {"pairs": len(pairs) - len(kept), "pairs_left": len(kept)}
    facts |= {"queries": len(fold.queries), "queries_left": len({*kept})}
    log(
        f"fold {fold.name} is held out: {len(kept)} of {len(pairs)} pairs are left, of "
        f"{len({*kept})} queries"
    )
    return {"fold": fold.name, **facts}


def beside_it(model: Trained, docs: list[Path], queries: dict[str, Path]) -> FixedVectors | None:
    """Return the fixed vectors beside a model's training, or None for other models.

    `queries` has the folder of each training role.
    """
    fixed = model.fixed if isinstance(model, DualEncoder) else None
    if fixed is None:
        return None
    if not docs or not queries:
        raise ResiduumError(f"fixed: give --fixed and --fixed-queries, made by {fixed.model}")
    return FixedVectors(docs, queries if model.mixed else next(iter(queries.values())), fixed.seed)


def corpora_of(model: Trained, folders: list[Path]) -> tuple[Path, ...]:
    """Return the folders of the corpora whose spans a generator writes, each once.

    Other models have none.
    """
    named = model.spans.corpora if isinstance(model, QuestionGenerator) and model.spans else []
    return tuple(command.each_once("--spans", folders, "the model's spans.corpora", named))


def passages_of(model: Trained, windows: str | None, answers: Path | None) -> Passages | None:
    """Return how training cuts docs into passages; None if it reads the start of each doc."""
    form = windows_of(windows)
    if form is None:
        return None
    if getattr(model, "passages", None) is None:
        raise ResiduumError(
            "--windows: its training reads no passages; give the model passages: best"
        )
    questions = Questions(contracts.read_answers(answers)) if answers else None
    return Passages(form, questions and questions.answered_by)


def _check_gate(model: Trained, gate: Path | None) -> None:
    named = named_for(model, "gate")
    if named and gate is None:
        raise ResiduumError(f"encoder.pooling.gate: give --gate, the checkpoint of {named}")
    if gate and not named:
        raise ResiduumError("--gate: the model names none in encoder.pooling.gate; leave it out")


def with_choices(model: Trained, records: Mapping[str, Path | None]) -> Trained:
    """Return the model with what rules chose, by the record of each key of `training`.

    A model that is not trained takes the first rate of a grid, and all steps of a curve.
    """
    chosen: dict[str, object] = {}
    for key, rule in model.training.rules.items():
        record = records[key]
        if not model.trained:
            chosen[key] = rule.grid[0] if isinstance(rule, RateGrid) else rule.most
        elif record is None:
            option = "rate" if isinstance(rule, RateGrid) else "steps"
            text = f"training.{key} has a rule: give --{option}, the record of its choice"
            raise ResiduumError(text)
        else:
            chosen[key] = Record.read(record).choices[0].setting[key]
    training = model.training.model_copy(update=chosen)
    return model.model_copy(update={"training": training})


if __name__ == "__main__":
    command.main(app)
