# The whole of residuum: public collections in, significance-tested tables and a ledger out.
# snakemake --cores all                        the scale that config/config.yaml names
# snakemake --cores all --config scale=smoke   another one; every key of config.yaml works so
from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


STAGES = ["data", "lexical", "rm3", "negatives", "pretrain", "train", "termweights"]
STAGES += ["encode", "dense", "fusion", "rerank", "external", "evaluate", "significance"]
STAGES += ["tables", "characteristics", "cases", "figures", "ledger"]

for part in ["wiring", *STAGES]:

    include: f"rules/{part}.smk"


rule all:
    """Make the pages of the chosen papers and the ledger."""
    default_target: True
    input:
        pages=WIRING.pages.all,
        ledger=PATHS.ledger,


onstart:
    WIRING.start()


onsuccess:
    print(WIRING.finished())
