"""Full's whole graph, with all papers, on replicas of their collections.

PYTHONPATH=workflow:tests python tests/replicas/whole.py FOLDER [--papers roc mebert]

The suite runs parts of it; the whole takes too long for it. The collections, the hub and a copy of
the project are written into FOLDER, which must be new. The same command goes on after an
interruption. Prints how many verdicts the ledger has of each kind. Exit status 1 if a job fails.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

import polars as pl

import wordnets
from projects import copy_project, invoke
from replicas import bioasq, hub, msmarco_passage, writing

PAPERS = ["clear", "dualrm", "roc", "mebert", "bioasq", "lexical-baselines", "released"]


def write(folder: Path) -> None:
    """Write the replicas, the files got by hand, the hub and the project, whole or not at all."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    home, data, world = partial / "irds", partial / "data", bioasq.World()
    replicas = writing.write_all(home, data)
    msmarco_passage.write_weights(replicas["msmarco-passage"], data)
    wordnets.write(data / "wordnet" / "dict", wordnets.OF_PLACES)
    world.write(data)
    texts = [" ".join(map(str, doc.values())) for r in replicas.values() for _, doc in r.docs]
    hub.write(partial / "hf", [*texts, *world.texts()])
    (partial / "project").mkdir()
    copy_project(partial / "project")
    partial.rename(folder)


def main() -> int:
    """Write what is missing, run the graph, and count the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--papers", nargs="+", default=PAPERS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    project = folder / "project"
    if not folder.exists():
        write(folder)
    if not project.is_dir():
        parser.error(f"{folder} holds other things: name a new folder")
    homes = {"IR_DATASETS_HOME": str(folder / "irds"), "RESIDUUM_DATA": str(folder / "data")}
    env = os.environ | hub.offline(folder / "hf") | homes
    chosen = f"papers=[{','.join(options.papers)}]"
    status, output = invoke(project, "all", env=env, scale="replica", config=chosen)
    print(output[-4000:])
    if not status:
        ledger = pl.read_csv(project / "results" / "replica" / "ledger.tsv", separator="\t")
        print(ledger.group_by("verdict").len().sort("len", descending=True))
    return status


if __name__ == "__main__":
    sys.exit(main())
