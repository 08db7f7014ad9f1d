"""What a model's id stands for: its entry, the split it is trained on, its rate, its folds."""

from functools import cached_property

from residuum.cli.errors import ResiduumError
from residuum.config.bindings import Bindings, SplitId
from residuum.config.schema.base import OWN, named_for
from residuum.config.schema.models import LexicalVectors, Model, OnPairs
from residuum.config.schema.negatives import Negatives
from residuum.config.schema.training import RateGrid
from residuum.config.specs import FixedId, Seed


class Trainings(Bindings):
    """Models by their ids: `clear`, `clear@nfcorpus.train`, `clear@rate-2e-05`, one for a fold."""

    @cached_property
    def trials(self) -> dict[str, tuple[RateGrid, float]]:
        """The trainings that choose a learning rate, by the model's id: `clear@rate-2e-05`."""
        trained = [model for model in self.models.values() if isinstance(model, OnPairs)]
        rates = [model.training.learning_rate for model in trained]
        grids = [grid for grid in rates if isinstance(grid, RateGrid)]
        return {
            str(FixedId(grid.of, f"rate-{rate:g}")): (grid, rate)
            for grid in grids
            for rate in grid.grid
        }

    def model(self, model: str) -> Model:
        """Return the entry of a model by its id, which may name its collection or its rate.

        A training for a fold keeps no snapshots.
        """
        entry = self.models[FixedId.parse(model).name]
        if not isinstance(entry, OnPairs):
            return entry
        training = entry.training
        if self.fold_of(model):
            training = training.model_copy(update={"snapshots": None})
        if model in self.trials:
            training = training.tried(self.trials[model][1])
        return entry.model_copy(update={"training": training})

    def rate_grid(self, model: str) -> RateGrid | None:
        """Return what chooses a model's learning rate, by its id; None for one that is given."""
        entry = self.model(model)
        if not (isinstance(entry, OnPairs) and entry.trained):
            return None
        rate = entry.training.learning_rate
        return rate if isinstance(rate, RateGrid) else None

    def tuples_of(self, model: str) -> str:
        """Return the id of the model whose tuples a model uses: its own, or the one it names.

        Those of a mix are of that id with each of its splits.
        """
        own = self._bare(model)
        own = own._replace(by=".".join(own.by.split(".")[:2]))  # those of all folds
        entry = self.models.get(own.name)
        shared = entry.negatives.same_as if isinstance(entry, OnPairs) else None
        return str(own._replace(name=shared)) if shared else str(own)

    def negatives(self, name: str) -> Negatives:
        """Return the negatives in a model's tuples; none for a model that learns from none."""
        model = self.models.get(FixedId.parse(self.tuples_of(name)).name)
        return model.negatives if isinstance(model, OnPairs) else Negatives()

    def model_for(self, name: str, dataset: str, fold: str | None = None) -> str:
        """Return the id of a model for a collection: `model@dataset.split` if it is its own.

        Given a fold it is `model@dataset.split.fold` if a training for each fold makes it.
        """
        if getattr(self.models[name], "train_on", None) != OWN:
            return name
        model = str(FixedId(name, ".".join(self.own_split(dataset, "train"))))
        return f"{model}.{fold}" if fold and self.folds(model) else model

    def model_ids(self) -> list[str]:
        """Return the ids of all models; collections may have one each."""
        own = [name for name, model in self.models.items() if getattr(model, "train_on", "") == OWN]
        of = [name for name, dataset in self.datasets.items() if dataset.own.train]
        shared = [name for name in self.models if name not in own]
        made = [self.model_for(name, dataset) for name in own for dataset in of]
        of_folds = [id_ for model in made if self.folds(model) for id_ in self.trainings(model)]
        return shared + made + of_folds + list(self.trials)

    def train_split(self, model: str) -> SplitId:
        """Return the split that a model, by its id, is trained on; of a mix, the largest share's.

        All splits of a mix are of one collection.
        """
        return next(iter(self.train_splits(model).values()))

    def train_splits(self, model: str) -> dict[str, SplitId]:
        """Return the splits that a model, by its id, is trained on, by their roles."""
        name, of = self._bare(model)
        if of:
            return {OWN: SplitId(*of.split(".")[:2])}
        return {role: self.bound_split(role) for role in self.entry(name, OnPairs).shares}

    def tuples_by_role(self, model: str) -> dict[str, str]:
        """Return the ids of the tuples that a model, by its id, is trained on, by their roles."""
        whole, split_ids = self.tuples_of(model), self.train_splits(model)
        if len(split_ids) == 1:
            return dict.fromkeys(split_ids, whole)
        return {
            role: str(FixedId(whole, ".".join(split_id))) for role, split_id in split_ids.items()
        }

    def tuples_ids(self) -> list[str]:
        """Return the ids of all tuples: of models, and of the splits of those of a mix."""
        mixes = [n for n, m in self.models.items() if isinstance(m, OnPairs) and m.mixed]
        bound = [n for n in mixes if all(map(self.binding, self.entry(n, OnPairs).shares))]
        return self.model_ids() + [of for n in bound for of in self.tuples_by_role(n).values()]

    def fold_of(self, model: str) -> str | None:
        """Return the fold whose queries a model, by its id, has not seen; None for most."""
        _, _, fold = [*self._bare(model).by.split("."), "", ""][:3]
        return fold or None

    def folds(self, model: str) -> list[str]:
        """Return the folds of the split that a model, by its id, is trained on, if it is its own.

        Each is then answered by a training on the others. What takes no step has seen none.
        """
        own = self._bare(model)
        if not own.by or not self.entry(own.name, OnPairs).trained:
            return []
        dataset, split = self.train_split(model)
        return self.datasets[dataset].splits[split].folds

    def trainings(self, model: str) -> list[str]:
        """Return the ids of the trainings that make a model: its own, or one for each fold."""
        folds = [] if self.fold_of(model) else self.folds(model)
        return [f"{model}.{fold}" for fold in folds] or [model]

    def answering(self, model: str, split: str) -> dict[str, str]:
        """Return the trainings that answer the queries of a split, each with the split of its own.

        Those for each fold answer the folded split and its folds; another one is a ResiduumError.
        """
        folds = self.folds(model)
        if not folds:
            return {model: split}
        dataset, whole = self.train_split(model)
        if split not in (whole, *folds):
            name = FixedId.parse(model).name
            text = f"{name} is trained for each fold of {dataset}/{whole} on the others"
            raise ResiduumError(f"{text}, and answers no query of another split: {split}")
        return {f"{model}.{fold}": fold for fold in folds if split in (whole, fold)}

    def learned_on(self, model: str) -> SplitId | None:
        """Return the split that tells whether a model, by its id, learned; None: it is not told."""
        entry = self.model(model)
        if not (self.scale.learning and isinstance(entry, OnPairs) and entry.trained):
            return None
        if model in self.trials:
            return self.binding(self.trials[model][0].role)
        dataset, split = self.train_split(model)
        if self.folds(model):
            return SplitId(dataset, self.fold_of(model) or split)
        tune = self.datasets[dataset].own.tune
        return SplitId(dataset, tune) if tune and self.datasets[dataset].judged(tune) else None

    def _bare(self, model: str) -> FixedId:
        """Return the id of a model without the rate that it is tried at."""
        return FixedId(FixedId.parse(model).name) if model in self.trials else FixedId.parse(model)

    def vectors_seed(self, model: str, seed: Seed | None) -> Seed | None:
        """Return the seed of a model's vectors in a run: the training's, or else its own."""
        entry = self.models[FixedId.parse(model).name]
        return entry.seed if isinstance(entry, LexicalVectors) else seed

    def fixed_by(self, model: str) -> str | None:
        """Return the model whose vectors a training reads beside its own; None without such."""
        fixed = getattr(self.models[FixedId.parse(model).name], "fixed", None)
        return fixed and str(fixed.model)

    def gate_of(self, model: str) -> str | None:
        """Return the model whose checkpoint is the fixed gate of another; None without one."""
        return self._gates[FixedId.parse(model).name]

    @cached_property
    def _gates(self) -> dict[str, str | None]:
        return {name: named_for(entry, "gate") for name, entry in self.models.items()}
