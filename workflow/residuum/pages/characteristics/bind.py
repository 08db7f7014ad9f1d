"""Tables of dataset characteristics: bound to a scale, and the files that they are counted of.

Usage: `bind_characteristics(registry, "roc-table2", hub)`; `Counts(registry, paths, hub)
.files(wildcards)`.
"""

from residuum.config.registry import Registry, SplitId
from residuum.pages.characteristics.entry import Characteristics
from residuum.pages.characteristics.job import OF_CORPUS, PAIRS, TRAINED, BoundCharacteristics
from residuum.wiring.availability import Hub, why_no_export
from residuum.wiring.base import Part, Wildcards
from residuum.wiring.memo import memoised as kept
from residuum.wiring.paths import Template, folder_of

OF_FOLDS = (TRAINED, PAIRS, "test_queries")


@kept
def bind_characteristics(registry: Registry, page: str, hub: Hub) -> BoundCharacteristics:
    """Bind a table of characteristics: its splits, and which of them cannot be exported."""
    table, (comparable, reason) = registry.entry(page, Characteristics), registry.comparability
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
        splits={
            name: "/".join(split_id) if split_id else None for name, split_id in split_ids.items()
        },
        absent={column: why for column, why in reasons.items() if why},
        trained={name: f"{bound[name].dataset}/{split}" for name, split in trained.items()},
        folds={name: n for name, n in folds.items() if n and table.asks(*OF_FOLDS)},
        scale=registry.config.scale,
        comparable=comparable,
        reason=reason,
    )


def _folds(registry: Registry, split_id: SplitId) -> int:
    """Return into how many folds a split is divided; 0 if other queries are trained on."""
    dataset = registry.datasets[split_id.dataset]
    by_folds = dataset.own.train in (None, split_id.split)
    return len(dataset.splits[split_id.split].folds) if by_folds else 0


class Counts(Part):
    """Inputs and options of the stage characteristics."""

    def _bound(self, wildcards: Wildcards) -> BoundCharacteristics:
        return bind_characteristics(self.registry, wildcards.page, self.hub)

    def _splits(self, wildcards: Wildcards) -> dict[str, SplitId]:
        page = self._bound(wildcards)
        columns = [column for column in page.entry.columns if page.not_counted(column) is None]
        return {column.id: self.registry.bound_split(column.role) for column in columns}

    def _trained(self, wildcards: Wildcards, template: Template) -> dict[str, str]:
        """Return a file of the training splits of collections that have some, by their columns."""
        page, counted = self._bound(wildcards), self._splits(wildcards)
        split_ids = {name: SplitId(*at.split("/")) for name, at in page.trained.items()}
        return {n: self.fill(template, p) for n, p in split_ids.items() if n in counted}

    def _corpora(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the corpora whose docs are counted, by their columns; none if no row asks."""
        if not self._bound(wildcards).entry.asks(*OF_CORPUS):
            return {}
        return {n: self.fill(self.paths.corpus, p) for n, p in self._splits(wildcards).items()}

    def files(self, wildcards: Wildcards) -> list[str]:
        """Return the queries, the qrels, the training queries and the corpora that are counted."""
        split_ids = self._splits(wildcards).values()
        templates = (self.paths.queries, self.paths.qrels)
        files = [self.fill(template, split_id) for template in templates for split_id in split_ids]
        pairs = templates if self._bound(wildcards).entry.asks(PAIRS) else templates[:1]
        more = [path for of in pairs for path in self._trained(wildcards, of).values()]
        more += self._corpora(wildcards).values()
        return list(dict.fromkeys([*files, *more]))

    def options(self, wildcards: Wildcards) -> str:
        """Return the options that name their folders, by the columns."""
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
