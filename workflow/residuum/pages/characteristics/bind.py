"""Bind tables of dataset characteristics to a scale, and find the files to count.

Usage: `bind_characteristics(registry, "roc-table2", hub)`; its inputs:
`CharacteristicsInputs(registry, paths, hub).files(wildcards)`.
"""

from residuum.config.registry import Registry, SplitId
from residuum.pages.characteristics.entry import Characteristics
from residuum.pages.characteristics.job import OF_CORPUS, PAIRS, TRAINED, BoundCharacteristics
from residuum.pages.inputs import PageInputs, ref_of
from residuum.wiring.availability import Hub, why_no_export
from residuum.wiring.base import Wildcards
from residuum.wiring.memo import memoised
from residuum.wiring.paths import Template, folder_of

OF_FOLDS = (TRAINED, PAIRS, "test_queries")


@memoised
def bind_characteristics(registry: Registry, page: str, hub: Hub) -> BoundCharacteristics:
    """Bind a table of characteristics: its splits, and why splits cannot be exported."""
    table, compares = registry.entry(page, Characteristics), registry.comparability(page)
    split_ids = {column.id: registry.binding(column.role) for column in table.columns}
    bound = {name: split_id for name, split_id in split_ids.items() if split_id}
    folds = {name: _folds(registry, split_id) for name, split_id in bound.items()}
    trained = {
        name: split
        for name, split_id in bound.items()
        if table.asks(TRAINED, PAIRS) and not folds[name]
        if (split := registry.datasets[split_id.dataset].own.train)
    }
    corpus = [None] if table.asks(*OF_CORPUS) else []
    reasons = {
        name: why_no_export(registry, dataset, *corpus, split, trained.get(name, split), hub=hub)
        for name, (dataset, split) in bound.items()
    }
    return BoundCharacteristics(
        id=page,
        entry=table,
        splits={name: ref_of(split_id) for name, split_id in split_ids.items()},
        absent={column: why for column, why in reasons.items() if why},
        trained={name: f"{bound[name].dataset}/{split}" for name, split in trained.items()},
        folds={name: n for name, n in folds.items() if n and table.asks(*OF_FOLDS)},
        scale=registry.config.scale,
        comparable=compares.comparable,
        reason=compares.reason,
        but=compares.but,
    )


def _folds(registry: Registry, split_id: SplitId) -> int:
    """Return the number of folds of a split; 0 if models are trained on another split."""
    dataset = registry.datasets[split_id.dataset]
    by_folds = dataset.own.train in (None, split_id.split)
    return len(dataset.splits[split_id.split].folds) if by_folds else 0


class CharacteristicsInputs(PageInputs):
    """Inputs and options of the stage characteristics."""

    def _bound(self, wildcards: Wildcards) -> BoundCharacteristics:
        return bind_characteristics(self.registry, wildcards.page, self.hub)

    def _splits(self, wildcards: Wildcards) -> dict[str, SplitId]:
        page = self._bound(wildcards)
        columns = [column for column in page.entry.columns if page.not_counted(column) is None]
        return {column.id: self.registry.bound_split(column.role) for column in columns}

    def _trained(self, wildcards: Wildcards, template: Template) -> dict[str, str]:
        """Return a file of each column's training split, if the column's collection names it."""
        page, counted = self._bound(wildcards), self._splits(wildcards)
        split_ids = {name: SplitId(*at.split("/")) for name, at in page.trained.items()}
        return {n: self.fill(template, p) for n, p in split_ids.items() if n in counted}

    def _corpora(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the corpora to count, by column; none if no row counts docs."""
        if not self._bound(wildcards).entry.asks(*OF_CORPUS):
            return {}
        return {n: self.fill(self.paths.corpus, p) for n, p in self._splits(wildcards).items()}

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the files to count: queries, qrels, training splits' files and corpora."""
        split_ids = self._splits(wildcards).values()
        templates = (self.paths.queries, self.paths.qrels)
        files = [self.fill(template, split_id) for template in templates for split_id in split_ids]
        pairs = templates if self._bound(wildcards).entry.asks(PAIRS) else templates[:1]
        more = [path for form in pairs for path in self._trained(wildcards, form).values()]
        more += self._corpora(wildcards).values()
        return list(dict.fromkeys([*files, *more]))

    def options(self, wildcards: Wildcards) -> str:
        """Return `--split`, `--train` and `--corpus` with COLUMN=FOLDER for all counted files."""
        split_ids = self._splits(wildcards).items()
        named = {
            "split": {
                name: self.fill(self.paths.queries, split_id) for name, split_id in split_ids
            },
            "train": self._trained(wildcards, self.paths.queries),
            "corpus": self._corpora(wildcards),
        }
        return " ".join(
            f"--{option} {name}={folder_of(path)}"
            for option, paths in named.items()
            for name, path in paths.items()
        )
