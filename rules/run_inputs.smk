# What fusion, evaluation and reranking read: input and params functions. Nothing here makes a file.


def fused(wildcards, split=None):
    """Return the inputs of a fusion on a split: both runs and the scores that each list lacks."""
    system, seed = entry_of(wildcards), seed_of(wildcards)
    place = {"dataset": wildcards.dataset, "split": split or wildcards.split}
    lexical, dense = REGISTRY.run(system.lexical, seed), REGISTRY.run(system.dense, seed)
    inputs = {"lexical": RUN.format(run=lexical, **place), "dense": RUN.format(run=dense, **place)}
    if system.missing.lexical == "true_score":
        inputs["lexical_on_dense"] = SCORES.format(run=lexical, other=system.dense, **place)
    if system.missing.dense == "true_score":
        inputs["dense_on_lexical"] = SCORES.format(run=dense, other=system.lexical, **place)
    return inputs


def tuned_at(system, place):
    """Return the split whose tuning file holds what was chosen for a run on a split."""
    entry = REGISTRY.system(system)
    return REGISTRY.place(entry.weight.tune_on) if entry.kind == "fusion" else place


def has_tuning(system):
    """Say whether something of a system is chosen: lambda, a rerank depth, RM3's parameters."""
    entry = REGISTRY.systems[system]
    if entry.kind == "fusion":
        return entry.weight.tune_on is not None
    return entry.kind == "rerank" or getattr(entry, "rm3_sweep", None) is not None


def named_folds(wildcards):
    """Return the queries of the folds that a split's dataset names; none where it names none."""
    folds = REGISTRY.datasets[wildcards.dataset].splits[wildcards.split].folds
    return [QUERIES.format(dataset=wildcards.dataset, split=fold) for fold in folds]


def fold_options(wildcards, input):
    """Return the command-line options that name those folds' queries."""
    return " ".join(f"--fold {path}" for path in input.folds)


def tuning_file(wildcards):
    """Return the tuning file of a fused run; none where lambda is fixed."""
    name = system_of(wildcards)
    if not has_tuning(name):
        return []
    return [at(TUNING.replace("{run}", wildcards.run), tuned_at(name, here(wildcards)))]


def fusion_options(wildcards, input):
    """Return the command-line options that name a fusion's runs, scores and tuning."""
    names = ["lexical", "dense", "lexical_on_dense", "dense_on_lexical", "tuning"]
    given = [(name.replace("_", "-"), input.get(name)) for name in names]
    return " ".join(f"--{name} {path}" for name, path in given if path)


def measure_options(wildcards):
    """Return the command-line options that name a split's measures."""
    named = (name.replace("'", "'\\''") for name in REGISTRY.measures(here(wildcards)))
    return " ".join(f"--measure '{name}'" for name in named)


def answer_texts(wildcards):
    """Return the answers and the corpus that measures by answers read; none without such."""
    if not any(measures.reads(name) == "answers" for name in REGISTRY.measures(here(wildcards))):
        return []
    return [at(ANSWERS, here(wildcards)), CORPUS.format(dataset=wildcards.dataset)]


def answer_options(wildcards, input):
    """Return the command-line options that name answers and corpus."""
    return f"--answers {input.texts[0]} --corpus {folder(input.texts[1])}" if input.texts else ""


def pipelines(wildcards):
    """Return the rerank systems that share a reranker and have what they need."""
    names = [n for n in REGISTRY.of_kind("rerank") if REGISTRY.reranker(n) == wildcards.reranker]
    return [n for n in names if not absence.reason(REGISTRY, n, here(wildcards), hub_reason)]


def reranked_runs(wildcards):
    """Return run id: (first-stage run, depths that are tried) of all that share a reranker."""
    place, runs = here(wildcards)._asdict(), {}
    for name in pipelines(wildcards):
        system = REGISTRY.system(name)
        for seed in REGISTRY.seeds_of(name):
            first = RUN.format(run=REGISTRY.run(system.first_stage, seed), **place)
            runs[REGISTRY.run(name, seed)] = (first, system.depth.grid)
    return runs


def first_stages(wildcards):
    """Return the runs whose docs a reranker scores on a split, each with its largest depth."""
    runs, deepest = reranked_runs(wildcards), {}
    if not runs:
        names = [
            n for n in REGISTRY.of_kind("rerank") if REGISTRY.reranker(n) == wildcards.reranker
        ]
        why = {absence.reason(REGISTRY, n, here(wildcards), hub_reason) for n in names}
        raise WorkflowError(f"{', '.join(names)} cannot be run: {'; '.join(sorted(why))}")
    for first, grid in runs.values():
        deepest[first] = max(*grid, deepest.get(first, 0))
    return deepest


def depth_options(wildcards):
    """Return the command-line options that name those runs and depths."""
    deepest = first_stages(wildcards)
    return " ".join(f"--run {path} --depth {depth}" for path, depth in deepest.items())


def swept_runs(wildcards):
    """Return the options that name the first-stage run of each run that shares a reranker."""
    runs = reranked_runs(wildcards)
    return " ".join(f"--run {name}={first}" for name, (first, _) in runs.items())


def sweep_spec(wildcards):
    """Return the depths of each run and the measures of a sweep on a split, as JSON."""
    grids = {name: sorted(grid) for name, (_, grid) in reranked_runs(wildcards).items()}
    asked = {REGISTRY.system(name).depth.measure for name in pipelines(wildcards)}
    for page in REGISTRY.chosen("figure"):
        if REGISTRY.cast(REGISTRY.pages[page].role) == here(wildcards):
            asked |= {panel.measure for panel in REGISTRY.pages[page].panels if panel.measure}
    return driver.canonical({"depths": grids, "measures": sorted(asked)})


def reranker_cast(wildcards):
    """Return what plays a reranker."""
    cast = REGISTRY.reranker_cast(wildcards.reranker)
    if cast is None:
        raise WorkflowError(f"{REGISTRY.scale_file}: rerankers: nothing plays {wildcards.reranker}")
    return cast


def reranker_argument(wildcards):
    """Return the options that name a reranker and how a released one reads a pair."""
    cast = reranker_cast(wildcards)
    reading = getattr(cast, "reading", None)
    told = f" --reading {quote(_registry.spec(reading))}" if reading else ""
    return f"--model {cast_argument(cast)}{told}"


def cut_inputs(wildcards):
    """Return what a reranked run is cut from: the first stage, the scores, the tuning sweep."""
    system = entry_of(wildcards)
    place, tune = here(wildcards), REGISTRY.place(system.depth.tune_on)
    first = REGISTRY.run(system.first_stage, seed_of(wildcards))
    reranker = REGISTRY.reranker(system_of(wildcards))
    return {
        "first": RUN.format(run=first, **place._asdict()),
        "scores": PAIRS.format(reranker=reranker, **place._asdict()),
        "tuning": SWEEP.format(reranker=reranker, **tune._asdict()),
    }


def external_source(wildcards):
    """Return the file of an external run."""
    path = absence.external_file(REGISTRY, system_of(wildcards), here(wildcards))
    if path is None:
        raise WorkflowError(
            f"{wildcards.run} has no file for {wildcards.dataset}/{wildcards.split}"
        )
    return str(path)
