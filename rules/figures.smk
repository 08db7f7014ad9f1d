# Figures as PDF and PNG, with the drawn data beside.


rule figures_draw:
    """Draw recall and accuracy at every rerank depth."""
    input:
        sweeps=of_rerankers(SWEEP),
        scored=of_rerankers(PAIRS + MANIFEST),
        code=code("residuum.figures"),
    output:
        tsv=FIGURE,
        md=FIGURE.replace(".tsv", ".md"),
        pdf=FIGURE.replace(".tsv", ".pdf"),
        png=FIGURE.replace(".tsv", ".png"),
        manifest=FIGURE + MANIFEST,
    log:
        f"{LOGS}/figures/{{page}}.log",
    benchmark:
        f"{TIMES}/figures/{{page}}.tsv"
    conda:
        f"{ENVS}/base.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        gpu=0,
    params:
        spec=page_spec,
        sweeps=lambda w, input: " ".join(f"--sweep {path}" for path in input.sweeps),
        scored=lambda w, input: " ".join(f"--scored {path}" for path in input.scored),
    shell:
        "python -m residuum.figures draw --spec {params.spec:q} {params.sweeps} "
        "{params.scored} --output {output.tsv} 2>&1 | tee {log}"
