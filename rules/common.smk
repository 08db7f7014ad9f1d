# Wildcards, path templates and constants that rules share. Nothing here makes a file.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

HOME = Path(workflow.basedir)
sys.path.insert(0, str(HOME / "workflow"))
from residuum.core import driver, registry as _registry, schema
from residuum.core.errors import ResiduumError
from residuum.core.sources import sources

try:
    REGISTRY = _registry.load(Path("config"), config)
except ResiduumError as error:
    raise WorkflowError(str(error)) from None

# Jobs find the package by PYTHONPATH, so that a rule's environment holds dependencies only;
# without conda they run the Python that runs Snakemake.
_CONDA = "conda" in str(workflow.deployment_settings.deployment_method).lower()
_PATH = "" if _CONDA else f"export PATH='{Path(sys.executable).parent}':\"$PATH\"; "
shell.prefix(f"set -euo pipefail; export PYTHONPATH='{HOME / 'workflow'}'; {_PATH}")

ENVS = str(HOME / "envs")
RESULTS = f"results/{REGISTRY.config.scale}"
LOGS = f"{RESULTS}/logs"
TIMES = f"{RESULTS}/benchmarks"
MANIFEST = ".manifest.json"

CORPUS = f"{RESULTS}/data/{{dataset}}/corpus/manifest.json"
QUERIES = f"{RESULTS}/data/{{dataset}}/{{split}}/queries.tsv"
QRELS = f"{RESULTS}/data/{{dataset}}/{{split}}/qrels.trec"
INDEX = f"{RESULTS}/index/{{dataset}}/{{index}}/manifest.json"
TUPLES = f"{RESULTS}/training/{{model}}/tuples.jsonl.gz"
BACKBONE = f"{RESULTS}/backbones/{{backbone}}/manifest.json"
CHECKPOINT = f"{RESULTS}/models/{{model}}/seed{{seed}}/manifest.json"
QUERY_EMBEDDINGS = f"{RESULTS}/embeddings/{{dataset}}.queries/{{model}}/seed{{seed}}/manifest.json"
EMBEDDINGS = f"{RESULTS}/embeddings/{{dataset}}/{{model}}/seed{{seed}}/manifest.json"
RUN = f"{RESULTS}/runs/{{dataset}}/{{split}}/{{run}}.trec.gz"
SCORES = f"{RESULTS}/scores/{{dataset}}/{{split}}/{{run}}.on.{{other}}.trec.gz"
TUNING = f"{RESULTS}/tuning/{{dataset}}/{{run}}.json"
METRICS = f"{RESULTS}/metrics/{{dataset}}/{{split}}/{{run}}.tsv"
SIGNIFICANCE = f"{RESULTS}/significance/{{table}}.tsv"
TABLE = f"{RESULTS}/tables/{{table}}.tsv"
LEDGER = f"{RESULTS}/ledger.tsv"
LEDGER_MD = f"{RESULTS}/ledger.md"

COMPUTE = f"--threads {REGISTRY.scale.threads} --device {REGISTRY.config.device}"
PRECISION = f"--precision {REGISTRY.config.precision}"
ENCODING = driver.canonical(
    {"shard_docs": REGISTRY.scale.shard_docs, "batch_size": REGISTRY.scale.batch_size}
)
GPU = int(REGISTRY.config.device == "cuda")

TABLES = [t for t in REGISTRY.tables if t.partition("-")[0] in REGISTRY.config.papers]
TABLES_MD = [f"{RESULTS}/tables/{table}.md" for table in TABLES]


def either(names):
    """Write a wildcard constraint that matches one of the names."""
    return "|".join(names) or "(?!)"


wildcard_constraints:
    dataset=either(REGISTRY.datasets),
    split="[a-z0-9_-]+",
    model=either(REGISTRY.models),
    seed=r"\d+",
    table=either(REGISTRY.tables),
    run=r"[a-z0-9_-]+(\.seed\d+)?",
    other=r"[a-z0-9_-]+(\.seed\d+)?",
