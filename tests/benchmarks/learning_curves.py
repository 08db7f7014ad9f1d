"""How models learn, step by step: the curves that set the budgets of mini, or another scale.

PYTHONPATH=workflow python tests/benchmarks/learning_curves.py MODEL... [--steps 600] [--every 50]
[--scale mini]

Needs a finished `snakemake --config scale=mini` below the working directory. Each model is trained
with the scale's budget but for as many steps as given, with one seed, and its measure on the
candidates by which `learning:` judges it is printed at every so many steps. Constant rates only:
the first steps of a longer training are then those of a shorter one.
"""

import argparse
import shlex
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import yaml

from residuum import learning
from residuum.artefacts import trec
from residuum.config import loading
from residuum.neural import devices, fitting
from residuum.neural.devices import AdaptiveBatchSize
from residuum.neural.learners import KINDS, ContrastiveLearner, Start, relevance_of
from residuum.neural.optimisers import make_optimiser, take_step
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts, windows_of
from residuum.train import passages_of
from residuum.tuning.learned import by_ranks
from residuum.wiring.availability import all_available
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths, results_of

ROOT = Path(__file__).parents[2]


def option(words: str) -> str | None:
    """Return the value in `--windows VALUE`, or None for no words."""
    return next(iter(shlex.split(words)[1:]), None)


class Judge:
    """The candidates by which it is told whether a model learned, and the measure."""

    def __init__(self, models: Models, at: SimpleNamespace) -> None:
        paths = {name: Path(models.learned_on(getattr(models.paths, name))(at))
                 for name in ("queries", "qrels", "corpus")}  # fmt: skip
        paths["corpus"] = paths["corpus"].parent
        size = models.registry.scale.batch_size
        run, top = Path(models.candidates(at)), int(models.top(at))
        form = windows_of(option(models.judged_windows(at)))
        self.held = learning.held_out(run, top, **paths, batch_size=size, windows=form)
        self.qrels, self.measure = trec.read_qrels(paths["qrels"]), models.learned_by(at)

    def mean(self, learner: ContrastiveLearner) -> float:
        """Return the mean of the measure over the queries, as the model orders the candidates."""
        scores = pl.Series("trained", relevance_of(learner.encoder, self.held))
        learner.model.train()
        table = pl.DataFrame(self.held.candidates, schema=trec.PAIR, orient="row")
        table = table.with_columns(scores, start=pl.lit(0.0))
        return by_ranks(table, self.qrels, self.measure.strip("'"))[0].means["trained"]


def curve(models: Models, name: str, seed: int, steps: int, every: int) -> list[float]:
    """Train a model and return its means before the first step and at every so many."""
    at = SimpleNamespace(model=name, seed=str(seed))
    spec = models.registry.model(name)
    training = spec.training.model_copy(update={"steps": steps, "epochs": None})
    spec = spec.model_copy(update={"training": training})
    gate = models.gate(at)  # a list of its checkpoint's manifest, or of nothing
    source = Source(models.start(at), dropout=training.dropout, new_head=True,
                    gate=Path(gate[0]).parent if gate else None)  # fmt: skip
    answers = [Path(path) for path in models.passage_answers(at)]
    cut = passages_of(spec, option(models.windows(at)), *answers or [None])
    device = devices.choose("cpu", "auto", models.registry.scale.threads)
    start = Start(source, device, seed, passages=cut)
    corpus = Path(models.trained_on(models.paths.corpus)(at)).parent
    texts = Texts(Path(models.trained_on(models.paths.queries)(at)), corpus, name)
    [tuples] = models.tuples(at)
    learner = KINDS[spec.kind](spec, start, Path(tuples), texts)
    assert isinstance(learner, ContrastiveLearner), "only these rank candidates"
    judge, optimiser = Judge(models, at), make_optimiser(learner.model, training)
    sizes, rows = AdaptiveBatchSize("examples", "lengths"), slice(0, training.batch_size)
    means = [judge.mean(learner)]
    for step in range(steps):
        fitting.set_gradients(learner, sizes, rows, step)
        take_step(optimiser, training, learner.moment(step))
        if (step + 1) % every == 0:
            means.append(judge.mean(learner))
            print(f"{name} step {step + 1}: {means[-1]:.4f}", flush=True)
    return means


def main() -> None:
    """Print a row of Markdown for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", default="mini")
    given = parser.parse_args()
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()) | {"scale": given.scale}
    registry = loading.load(ROOT / "config", config)
    models = Models(registry, Paths(results_of(given.scale)), all_available)
    rows = []
    for name in given.models:
        means = curve(models, name, given.seed, given.steps, given.every)
        rows.append(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    print("| model |", " | ".join(map(str, range(0, given.steps + 1, given.every))), "|")
    print("|---" * (2 + given.steps // given.every) + "|")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
