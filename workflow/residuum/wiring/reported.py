"""What Snakemake's own report shows: one file of each page, its paper, its labels and its caption.

Usage: `SHOWN = Reported(registry, report)`, with Snakemake's `report`, then `output:
**SHOWN.texts(PATHS.table.forms("md"))`. A mark on an output is no parameter: no job runs again.
Must not know rules, or how a page looks.
"""

from collections.abc import Callable, Mapping

from residuum.config.registry import Registry
from residuum.wiring.part import Wildcards
from residuum.wiring.paths import Template

CAPTIONS = "../workflow/report"  # as a file of rules/ sees it
LEDGER = "ledger"

Output = Mapping[str, str]
Labels = dict[str, str]
Mark = Callable[..., str]  # Snakemake's `report`


class Reported:
    """The outputs of a scale's pages, marked for the report."""

    def __init__(self, registry: Registry, mark: Mark) -> None:
        self._registry, self._mark = registry, mark

    def texts(self, forms: Mapping[str, Template]) -> Output:
        """Return a page's outputs with its Markdown marked, which its caption shows whole."""
        return self._page(forms, "md", "page.rst")

    def drawings(self, forms: Mapping[str, Template]) -> Output:
        """Return a page's outputs with its drawing marked; the caption shows the numbers."""
        return self._page(forms, "png", "drawing.rst")

    def ledger(self, forms: Mapping[str, Template]) -> Output:
        """Return the ledger's outputs with its Markdown marked, in a category of its own."""
        labels = {"page": LEDGER, "title": "every number and comparison, with its verdict"}
        mark = self._mark(
            forms["md"], caption=f"{CAPTIONS}/ledger.rst", category=LEDGER, labels=labels
        )
        return {**forms, "md": mark}

    def paper(self, wildcards: Wildcards) -> str:
        """Return the paper that a page belongs to: the report's category."""
        return wildcards.page.rpartition("-")[0]

    def kind(self, wildcards: Wildcards) -> str:
        """Return the kind of a page: the report's subcategory."""
        return str(self._registry.pages[wildcards.page].kind)

    def labels(self, wildcards: Wildcards) -> Labels:
        """Return what stands beside a page in the report's list: its name and its title."""
        title = str(self._registry.pages[wildcards.page].title)
        return {"page": wildcards.page.rpartition("-")[2], "title": title}

    def _page(self, forms: Mapping[str, Template], shown: str, caption: str) -> Output:
        mark = self._mark(
            forms[shown],
            caption=f"{CAPTIONS}/{caption}",
            category=self.paper,
            subcategory=self.kind,
            labels=self.labels,
        )
        return {**forms, shown: mark}
