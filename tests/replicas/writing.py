"""All replicas at once, and the official queries and judgements laid over theirs.

Usage: `write_all(home, data)`, then IR_DATASETS_HOME=home and RESIDUUM_DATA=data;
`lay_official(home, shared)` where real collections lie. Must not know what reads them.
"""

import shutil
from pathlib import Path

from replicas import (
    beir,
    car,
    cord19,
    disks45,
    dpr_w100,
    kilt,
    msmarco_document,
    msmarco_passage,
    nfcorpus,
)
from replicas.truth import Replica

# The official file in the folder of real collections -> where ir_datasets looks for it.
OFFICIAL = {
    "msmarco-passage/dev/small/queries.tsv": "msmarco-passage/dev/small/queries.tsv",
    "msmarco-passage/dev/small/qrels": "msmarco-passage/dev/small/qrels",
    "msmarco-passage/trec-dl-2019/queries.tsv": "msmarco-passage/trec-dl-2019/queries.tsv",
    "msmarco-passage/trec-dl-2019/qrels": "msmarco-passage/trec-dl-2019/qrels",
    "msmarco-passage/trec-dl-2020/queries.tsv.gz": "msmarco-passage/trec-dl-2020/queries.tsv.gz",
    "msmarco-passage/trec-dl-2020/qrels": "msmarco-passage/trec-dl-2020/qrels",
    "cord19/trec-covid/round1/queries.xml": "cord19/trec-covid/round1/queries.xml",
    "cord19/trec-covid/round1/qrels": "cord19/trec-covid/round1/qrels",
    "cord19/trec-covid/round2/queries.xml": "cord19/trec-covid/round2/queries.xml",
    "cord19/trec-covid/round2/qrels": "cord19/trec-covid/round2/qrels",
    "trec-robust04/queries.gz": "disks45/04.testset.gz",
}


def write_all(home: Path, data: Path) -> dict[str, Replica]:
    """Write every replica; return what each holds, by its name in ir_datasets."""
    dpr = dpr_w100.write(home, data)
    replicas = [
        msmarco_passage.write(home),
        msmarco_document.write(home),
        dpr,
        kilt.write(home, data, dpr),
        disks45.write(home),
        cord19.write(home),
        nfcorpus.write(home),
        car.write(home),
        *beir.write(home),
        *beir.write_nano(home),
    ]
    return {replica.name: replica for replica in replicas}


def lay_official(home: Path, shared: Path) -> list[Path]:
    """Copy the official queries and judgements over the generated ones; return what was laid.

    The docs stay generated: the judgements of these files name docs that the replicas lack.
    """
    laid = []
    for source, target in OFFICIAL.items():
        (home / target).parent.mkdir(parents=True, exist_ok=True)
        laid.append(Path(shutil.copyfile(shared / "ir_datasets" / source, home / target)))
    return laid
