"""The replica of PubMed and of BioASQ's task B: generated articles and the questions with gold.

Usage: `world = World()`, then `world.write(data)`. Must not know how anything reads the files.
"""

import hashlib
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import yaml

from conftest import ROOT
from replicas import pubmed
from residuum.collections.articles import generate

ENTRY = ROOT / "config" / "datasets" / "generated-pubmed-smoke.yaml"
BATCH, DEV = 4, 10  # questions of a test batch, and of those for development


class World:
    """The generated records as PubMed would have them, and BioASQ their questions."""

    def __init__(self) -> None:
        recipe = yaml.safe_load(ENTRY.read_text())["source"]
        recipe |= {"gold": SimpleNamespace(**recipe["gold"]), "judged": 0, "judged_before": 0}
        made = generate(SimpleNamespace(**recipe))
        self.docs = [{"pmid": self.pmid(doc_id), **fields} for doc_id, fields in made.docs]
        test = made.queries["test"]
        train = [*made.queries["train"], *made.queries["dev"]]  # the last are for development
        self.questions = {"training8b.json": [(self.hexed(q), text) for q, text in train]}
        for number in range(5):
            own = test[number * BATCH : (number + 1) * BATCH]
            name = f"8B{number + 1}_golden.json"
            self.questions[name] = [(self.hexed(q), text) for q, text in own]
        self.gold = defaultdict[str, list[str]](list)
        for split in ("train", "dev", "test"):
            for query, doc, _ in made.qrels[split]:
                self.gold[self.hexed(query)].append(self.pmid(doc))

    @staticmethod
    def pmid(doc_id: str) -> str:
        """Return the number that a generated doc has at PubMed."""
        return f"1{doc_id[1:]}"

    @staticmethod
    def hexed(query_id: str) -> str:
        """Return the number that a generated question has at BioASQ."""
        return hashlib.sha1(query_id.encode()).hexdigest()[:24]

    def write(self, data: Path) -> None:
        """Write PubMed's files and BioASQ's."""
        pubmed.write_collection(data, self.docs, self.questions, self.gold)

    def texts(self) -> list[str]:
        """Return the texts of docs and questions, whose words a stand-in of the hub knows."""
        docs = [f"{doc['title']} {doc['abstract']}" for doc in self.docs]
        return [*docs, *(text for own in self.questions.values() for _, text in own)]
