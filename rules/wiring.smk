# What all rules share: paths, resources, wildcards, and the wiring, which decides (see
# workflow/residuum/wiring). Nothing here makes a file. A rule says its log; its benchmark is named
# alike, and its environment is envs/base.yaml unless it names another (wiring/driver.py).
import sys
from pathlib import Path
from shlex import quote

HOME = Path(workflow.current_basedir).parent  # the main Snakefile may be workflow/Snakefile
sys.path.insert(0, str(HOME / "workflow"))
from residuum.wiring import driver, options
from residuum.wiring.base import decided_by
from residuum.wiring.paths import ANSWERS, folder_of, recorded

with driver.in_snakemakes_words():
    WIRING = driver.Wiring(config, workflow)

PATHS, ONLY = WIRING.paths, WIRING.constraints
RESOURCES, ESTIMATES = WIRING.resources, WIRING.estimates
ENVS = f"{HOME}/envs"
NEURAL = f"{ENVS}/{RESOURCES.neural_env}.yaml"

SHOWN = WIRING.reported(report)

shell.prefix(WIRING.shell_prefix())


wildcard_constraints:
    dataset=ONLY.dataset,
    split="[a-z0-9_-]+",
    index="[^/]+",
    model=ONLY.model,
    seed=ONLY.seed,
    shard=r"\d{5}",
    k=r"\d+(-[a-z0-9-]+)?",
    page=ONLY.page,
    reranker="[^/]+",
    run=ONLY.run,
    grouping="[^/]+",
    fidelity="[^/]+",
    sweep="[^/]+",
    other=ONLY.other,


resource_scopes:
    batch="local",


report: "../workflow/report/workflow.rst"
