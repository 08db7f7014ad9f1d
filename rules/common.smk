# Wildcards, path templates and constants that rules share. Nothing here makes a file.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

HOME = Path(workflow.basedir)
sys.path.insert(0, str(HOME / "workflow"))
from residuum.core import (
    absence,
    casting,
    driver,
    loading,
    measures,
    registry as _registry,
    roots,
    schema,
)
from residuum.core.errors import ResiduumError
from residuum.core.sources import sources

try:
    REGISTRY = loading.load(Path("config"), config)
except ResiduumError as error:
    raise WorkflowError(str(error)) from None

# Jobs find the package by PYTHONPATH, so that a rule's environment holds dependencies only;
# without conda they run the Python that runs Snakemake.
_CONDA = "conda" in str(workflow.deployment_settings.deployment_method).lower()
_PATH = "" if _CONDA else f"export PATH='{Path(sys.executable).parent}':\"$PATH\"; "
_ENV = f"export PYTHONUTF8=1 PYTHONPATH='{HOME / 'workflow'}'"
shell.prefix(f"set -euo pipefail; {_ENV}; {_PATH}")

ENVS = str(HOME / "envs")
NEURAL = f"{ENVS}/neural{'-gpu' * (REGISTRY.config.device == 'cuda')}.yaml"
RESULTS = f"results/{REGISTRY.config.scale}"
LOGS = f"{RESULTS}/logs"
TIMES = f"{RESULTS}/benchmarks"
MANIFEST = ".manifest.json"

CORPUS = f"{RESULTS}/data/{{dataset}}/corpus/manifest.json"
QUERIES = f"{RESULTS}/data/{{dataset}}/{{split}}/queries.tsv"
QRELS = f"{RESULTS}/data/{{dataset}}/{{split}}/qrels.trec"
ANSWERS = f"{RESULTS}/data/{{dataset}}/{{split}}/answers.jsonl"
INDEX = f"{RESULTS}/index/{{dataset}}/{{index}}/manifest.json"
WEIGHTS = f"{RESULTS}/weights/{{dataset}}/{{model}}/seed{{seed}}/manifest.json"
TUPLES = f"{RESULTS}/training/{{model}}/tuples.jsonl.gz"
BACKBONE = f"{RESULTS}/backbones/{{backbone}}/manifest.json"
CHECKPOINT = f"{RESULTS}/models/{{model}}/seed{{seed}}/manifest.json"
QUERY_EMBEDDINGS = f"{RESULTS}/embeddings/{{dataset}}.queries/{{model}}/seed{{seed}}/manifest.json"
EMBEDDINGS = (
    f"{RESULTS}/embeddings/{{dataset}}/{{model}}/seed{{seed}}/shard-{{shard}}/manifest.json"
)
HITS = f"{RESULTS}/hits/{{dataset}}/{{model}}/seed{{seed}}/top{{k}}/shard-{{shard}}/manifest.json"
RUN = f"{RESULTS}/runs/{{dataset}}/{{split}}/{{run}}.trec.gz"
SCORES = f"{RESULTS}/scores/{{dataset}}/{{split}}/{{run}}.on.{{other}}.trec.gz"
PAIRS = f"{RESULTS}/rerank/{{dataset}}/{{split}}/{{reranker}}.trec.gz"
SWEEP = f"{RESULTS}/rerank/{{dataset}}/{{split}}/{{reranker}}.sweep.tsv"
TUNING = f"{RESULTS}/tuning/{{dataset}}/{{split}}/{{run}}.json"
METRICS = f"{RESULTS}/metrics/{{dataset}}/{{split}}/{{run}}.tsv"
SIGNIFICANCE = f"{RESULTS}/significance/{{page}}.tsv"
TABLE = f"{RESULTS}/tables/{{page}}.tsv"
CASES = f"{RESULTS}/cases/{{page}}.tsv"
FIGURE = f"{RESULTS}/figures/{{page}}.tsv"
LEDGER = f"{RESULTS}/ledger.tsv"
LEDGER_MD = f"{RESULTS}/ledger.md"
ABSENT = Path(f"{RESULTS}/absent.json")

COMPUTE = f"--threads {REGISTRY.scale.threads} --device {REGISTRY.config.device}"
PRECISION = f"--precision {REGISTRY.config.precision}"
BATCHES = f"--batch-size {REGISTRY.scale.batch_size}"
SHARD_MB = 4 * 1024 * REGISTRY.scale.shard_docs // 10**6  # float32 vectors of 1024 dimensions
GPU = int(REGISTRY.config.device == "cuda")
GPUS = REGISTRY.config.gpus  # of a training job, each with a process of its own
TORCHRUN = f"torchrun --standalone --nproc-per-node {GPUS} --no-python --" if GPUS > 1 else ""

TABLES = REGISTRY.chosen("table")
COUNTED = REGISTRY.chosen("characteristics")


def either(names):
    """Write a wildcard constraint that matches one of the names."""
    return "|".join(names) or "(?!)"


def runs_of(kind, swept=None):
    """Write a wildcard constraint that matches the run ids of all systems of a kind.

    `swept` keeps those with, or without, an RM3 sweep.
    """
    names = REGISTRY.of_kind(kind)
    if swept is not None:
        names = [n for n in names if (REGISTRY.systems[n].rm3_sweep is not None) == swept]
    return either([name + r"\.seed\d+" * REGISTRY.seeded(name) for name in names])


wildcard_constraints:
    dataset=either(REGISTRY.datasets),
    split="[a-z0-9_-]+",
    index="[^/]+",
    model=either(REGISTRY.models),
    seed=r"\d+",
    shard=r"\d{5}",
    k=r"\d+",
    page=either(REGISTRY.pages),
    reranker="[^/]+",
    run=r"[a-z0-9_-]+(\.seed\d+)?",
    other=either(REGISTRY.systems),
