"""Full's whole graph, with all papers, on replicas of their collections.

PYTHONPATH=workflow:tests python tests/replicas/whole.py FOLDER [--papers roc mebert]

The suite runs parts of it; the whole takes too long for it. The collections, the hub and a copy of
the project are written into FOLDER, and the same command goes on after an interruption. Prints how
many verdicts the ledger has of each kind. Exit status 1 if a job fails.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

import polars as pl

import wordnets
from projects import choose, copy_project, invoke
from replicas import hub, msmarco_passage, pubmed, writing
from replicas.test_replica_bioasq import World

PAPERS = ["clear", "dualrm", "roc", "mebert", "bioasq", "lexical-baselines", "released"]


def write(folder: Path) -> None:
    """Write the replicas, the files got by hand, and a hub with models of their words."""
    home, data, world = folder / "irds", folder / "data", World()
    replicas = writing.write_all(home, data)
    msmarco_passage.write_weights(replicas["msmarco-passage"], data)
    wordnets.write(data / "wordnet" / "dict", wordnets.OF_PLACES)
    pubmed.write_collection(data, world.docs, world.questions, world.gold)
    texts = [" ".join(map(str, doc.values())) for r in replicas.values() for _, doc in r.docs]
    texts += [f"{doc['title']} {doc['abstract']}" for doc in world.docs]
    texts += [text for own in world.questions.values() for _, text in own]
    hub.write(folder / "hf", texts)


def main() -> int:
    """Write what is missing, run the graph, and count the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--papers", nargs="+", default=PAPERS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    project = folder / "project"
    if not project.is_dir():
        partial = folder / "partial"
        shutil.rmtree(folder, ignore_errors=True)
        partial.mkdir(parents=True)
        write(folder)
        choose(copy_project(partial), *PAPERS)
        partial.rename(project)
    chosen = f"papers=[{','.join(options.papers)}]"
    given = {
        "IR_DATASETS_HOME": str(folder / "irds"),
        "RESIDUUM_DATA": str(folder / "data"),
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    status, output = invoke(project, "all", env=os.environ | given, scale="replica", config=chosen)
    print(output[-4000:])
    if not status:
        ledger = pl.read_csv(project / "results" / "replica" / "ledger.tsv", separator="\t")
        print(ledger.group_by("verdict").len().sort("len", descending=True))
    return status


if __name__ == "__main__":
    sys.exit(main())
