# The whole of residuum: public collections in, significance-tested tables and a ledger out.
# snakemake --cores all --config scale=smoke; every key of config/config.yaml works so
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "rules/wiring.smk"


STAGES = {path.stem for path in Path(workflow.current_basedir, "rules").glob("*.smk")} - {"wiring"}
for stage in sorted(STAGES):

    include: f"rules/{stage}.smk"


rule all:
    """Make the pages of the chosen papers, the ledger and the report."""
    default_target: True
    input:
        pages=WIRING.pages.all,
        timings=WIRING.page.figure.timed,
        ledger=PATHS.ledger,
        report=PATHS.report,


WIRING.complete(f"{ENVS}/base.yaml")


onstart:
    WIRING.start()


onsuccess:
    print(WIRING.finished())
