"""What a replica holds: the docs, queries and judgements that a reader must find in its files.

Usage: `Replica(...)` is what each collection's `write` returns; `replica.counts()` are its pins.
Must not know how any collection is laid out.
"""

from collections import Counter
from types import SimpleNamespace
from typing import Any, NamedTuple

from residuum.collections import articles, worlds
from residuum.collections import places as invented


class Replica(NamedTuple):
    """The truth behind the files of one replica.

    `docs` are (doc_id, fields) in the order of the files, a doc that stands twice twice. Queries
    and qrels go by the collection's id in ir_datasets. `answers` of a question are given where
    the collection has them, with `holders`: the docs that hold one of them.
    """

    name: str
    docs: list[tuple[str, dict[str, Any]]]
    queries: dict[str, dict[str, str]]
    qrels: dict[str, list[tuple[str, str, int]]]
    answers: dict[str, dict[str, list[str]]] | None = None
    holders: dict[str, dict[str, set[str]]] | None = None

    def counts(self) -> dict[str, Any]:
        """Return docs, and per split queries, qrels and qrels by level, as a dataset pins them."""
        return {"docs": len(self.docs), "splits": {s: self._split(s) for s in self.queries}}

    def _split(self, split: str) -> dict[str, Any]:
        qrels = self.qrels.get(split, [])
        levels = dict(sorted(Counter(level for *_, level in qrels).items()))
        return {"queries": len(self.queries[split]), "qrels": len(qrels), "relevance": levels}


PLACES = {"seed": 1, "entities": 60, "passages": 540, "listings": 30, "stubs": 30,
          "train_pairs": 120, "train_share": 0.6, "tune": 20, "dev": 45, "judged": 20,
          "questions": 0, "question_pairs": 0, "question_tune": 0, "topics": 0,
          "shift": 0.5}  # fmt: skip
PAPERS = {"seed": 1, "articles": 200, "reviews": 10, "notices": 10, "conditions": 4, "agents": 6,
          "judged": 35, "gold": None, "shift": 0.25, "judged_before": 0.42}  # fmt: skip


def places(**changes: float) -> worlds.Generated:
    """Generate passages on invented places, 600 if nothing else is asked for, with queries."""
    return invented.generate(SimpleNamespace(**(PLACES | changes)))


def papers() -> worlds.Generated:
    """Generate 220 articles of an invented medicine, with 35 judged questions."""
    return articles.generate(SimpleNamespace(**PAPERS))
