# Released encoders, taken in as checkpoints: no training, no seed.


rule release_encoder:
    """Read a released encoder as its own files say, and keep it with the results."""
    input:
        start=WIRING.models.released_files,
    output:
        ONLY.models(PATHS.checkpoint, "released-encoder").only("seed", ONLY.released),
    log:
        PATHS.log("release/{model}.seed{seed}"),
    conda:
        NEURAL
    resources:
        **RESOURCES.cpu(ESTIMATES.release, mem_mb=6000),
    params:
        **decided_by("residuum.release", "encoder", WIRING.models.reads),
        start=WIRING.models.released,
        folder=options.output_folder,
    shell:
        "python -m residuum.release encoder --start {params.start} --spec {params.spec:q} "
        "--output {params.folder} 2>&1 | tee {log}"
