# The whole of residuum: public collections in, significance-tested tables and a ledger out.
# snakemake --cores all                        the scale that config/config.yaml names
# snakemake --cores all --config scale=smoke   another one; every key of config.yaml works so
from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/data.smk"
include: "rules/lexical.smk"
include: "rules/negatives.smk"
include: "rules/pretrain.smk"
include: "rules/train.smk"
include: "rules/dense.smk"
include: "rules/fusion.smk"
include: "rules/evaluate.smk"
include: "rules/significance.smk"
include: "rules/tables.smk"
include: "rules/ledger.smk"


rule all:
    """Make the tables of the chosen papers and the ledger."""
    default_target: True
    input:
        tables=TABLES_MD,
        ledger=LEDGER,


onstart:
    hold_lock()


onsuccess:
    print(driver.show(finished_pages()))
