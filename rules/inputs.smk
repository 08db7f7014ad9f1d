# What rules read and by which parameters: input and params functions. Nothing here makes a file.
import os
from shlex import quote


def hold_lock():
    """Keep a second Snakemake out of this folder."""
    try:
        driver.hold_lock(Path(".snakemake/residuum.lock"))
    except ResiduumError as error:
        raise WorkflowError(str(error)) from None


def source_files(wildcards):
    """Return the user's own files behind a corpus or split, so that editing them exports again.

    An absent one stops the run here, before Snakemake removes what was made from it.
    """
    split = dict(wildcards.items()).get("split")
    root = Path(os.environ.get("RESIDUUM_DATA", "data"))
    dataset = REGISTRY.datasets[wildcards.dataset]
    files = [root / name for name in dataset.source_files(split)]
    absent = [str(path) for path in files if not path.is_file()]
    if absent:
        raise WorkflowError(
            f"dataset {wildcards.dataset}: no such file: {', '.join(absent)}. Paths start at "
            f"{root.resolve()} (set RESIDUUM_DATA to change that).\nAccess: {dataset.access}"
        )
    return [str(path) for path in files]


def finished_pages():
    """Return the pages to print at the end: those among the targets, or all without targets."""
    asked = set(workflow.dag_settings.targets or [])
    pages = [*TABLES_MD, LEDGER_MD]
    return [page for page in pages if page in asked or not asked or asked & {"all"}]


def code(module):
    """Return the sources behind a module: an input of every rule that runs it."""
    return [os.path.relpath(path) for path in sources(module)]


def folder(path):
    """Return the folder of an artefact that its manifest stands for."""
    return str(Path(str(path)).parent)


def systems(kind):
    """Return the ids of all systems of one kind."""
    return [name for name, system in REGISTRY.systems.items() if system.kind == kind]


def at(template, place):
    """Fill a path template for a split."""
    return template.format(dataset=place.dataset, split=place.split)


def index_of(dataset, lexical):
    """Return the manifest of the Lucene index that a lexical system searches."""
    index = REGISTRY.systems[lexical].analysis.index_id()
    return INDEX.format(dataset=dataset, index=index)


def analysis_spec(wildcards):
    """Return the analysis that an index id names, as JSON."""
    analyses = (REGISTRY.systems[name].analysis for name in systems("lexical"))
    return _registry.spec(next(a for a in analyses if a.index_id() == wildcards.index))


def system_spec(wildcards):
    """Return the spec of the system that a rule makes, as JSON."""
    return _registry.spec(REGISTRY.systems[wildcards.system])


def negatives_spec(wildcards):
    """Return what negatives mines by: how they are drawn, by which system, what is positive."""
    model = REGISTRY.model(wildcards.model)
    place = REGISTRY.place(model.train_on)
    system = getattr(model.negatives, "system", None)
    return driver.canonical(
        {
            "negatives": model.negatives.model_dump(mode="json"),
            "system": (
                REGISTRY.systems[system].model_dump(mode="json", exclude={"label"})
                if system
                else None
            ),
            "positive_level": REGISTRY.datasets[place.dataset].splits[place.split].positive_level,
        }
    )


def negatives_index(wildcards):
    """Return the index that negatives are mined from; none for in-batch negatives."""
    model = REGISTRY.model(wildcards.model)
    system = getattr(model.negatives, "system", None)
    return [index_of(REGISTRY.place(model.train_on).dataset, system)] if system else []


def trained_on(template):
    """Return an input function: a file of the split that a model is trained on."""
    return lambda w: at(template, REGISTRY.place(REGISTRY.models[w.model].train_on))


def start_inputs(wildcards):
    """A backbone made by the graph is an input; of a local one, its files are."""
    cast = REGISTRY.backbone(REGISTRY.models[wildcards.model].backbone)
    if isinstance(cast, schema.FromModel):
        return [made_by(cast.model, wildcards.seed)]
    if isinstance(cast, schema.FromPath):
        return sorted(str(p) for p in Path(cast.path).rglob("*") if p.is_file())
    return []


def start_argument(wildcards):
    """Return the value of --start, and --revision for a hub model."""
    cast = REGISTRY.backbone(REGISTRY.models[wildcards.model].backbone)
    if isinstance(cast, schema.FromModel):
        return folder(made_by(cast.model, wildcards.seed))
    if isinstance(cast, schema.FromPath):
        return quote(cast.path)
    return f"{cast.hub} --revision {cast.revision}"


def made_by(model, seed):
    """Return the manifest of a checkpoint that the graph makes."""
    if REGISTRY.models[model].kind == "backbone":
        return BACKBONE.format(backbone=model)
    return CHECKPOINT.format(model=model, seed=seed)


def searched_queries(wildcards):
    """Return the queries of the splits of a dataset that runs are made for."""
    splits = REGISTRY.searched(wildcards.dataset)
    return [QUERIES.format(dataset=wildcards.dataset, split=split) for split in splits]


def split_options(wildcards, input):
    """Return the command-line options that name those splits and their files."""
    return " ".join(f"--split {Path(path).parent.name}={path}" for path in input.queries)


def model_behind(template):
    """Return an input function: what the model of a dense system made."""
    return lambda w: template.format(
        dataset=w.dataset, model=REGISTRY.systems[w.system].model, seed=w.seed
    )


def fused(dataset, split, wildcards):
    """Return the inputs of a fusion on one split: both runs and the scores each list lacks."""
    system = REGISTRY.systems[wildcards.system]
    lexical, dense = system.lexical, f"{system.dense}.seed{wildcards.seed}"
    place = {"dataset": dataset, "split": split}
    inputs = {"lexical": RUN.format(run=lexical, **place), "dense": RUN.format(run=dense, **place)}
    if system.missing.lexical == "true_score":
        inputs["lexical_on_dense"] = SCORES.format(run=lexical, other=dense, **place)
    if system.missing.dense == "true_score":
        inputs["dense_on_lexical"] = SCORES.format(run=dense, other=lexical, **place)
    return inputs


def tuning_place(wildcards):
    """Return the split on which a fusion chooses its lambda."""
    return REGISTRY.place(REGISTRY.systems[wildcards.system].weight.tune_on)


def tuning_inputs(wildcards):
    """Return what a fusion is tuned on."""
    place = tuning_place(wildcards)
    return {**fused(*place, wildcards), "qrels": at(QRELS, place)}


def tuning_file(wildcards):
    """Return the tuning file of a fused run."""
    run = f"{wildcards.system}.seed{wildcards.seed}"
    return TUNING.format(dataset=tuning_place(wildcards).dataset, run=run)


def fusion_options(wildcards, input):
    """Return the command-line options that name a fusion's runs and scores."""
    names = ["lexical", "dense", "lexical_on_dense", "dense_on_lexical"]
    given = [(name.replace("_", "-"), input.get(name)) for name in names]
    return " ".join(f"--{name} {path}" for name, path in given if path)


def measure_options(wildcards):
    """Return the command-line options that name a split's measures."""
    place = _registry.Place(wildcards.dataset, wildcards.split)
    return " ".join(f"--measure '{name}'" for name in REGISTRY.measures(place))


def table_metrics(wildcards):
    """Return the metrics files of all cells of a table."""
    job = REGISTRY.job(wildcards.table)
    return sorted({f"{RESULTS}/metrics/{path}" for path in job.metrics_files()})


def table_spec(wildcards):
    """Return a table, cast for this scale, as JSON."""
    return _registry.spec(REGISTRY.job(wildcards.table))


def tuning_files(wildcards):
    """Return the tuning files behind the fused rows that run at this scale."""
    fusions = {row.system for row in REGISTRY.tables[wildcards.table].rows} & set(systems("fusion"))
    return [
        TUNING.format(
            dataset=REGISTRY.place(REGISTRY.systems[name].weight.tune_on).dataset, run=run
        )
        for name in sorted(fusions)
        for run in REGISTRY.runs(name)
    ]


def ledger_arguments(wildcards, input):
    """Return the ledger's options: spec, table and tests of each table, in one order."""
    specs = [_registry.spec(REGISTRY.job(table)) for table in TABLES]
    parts = [f"--spec {quote(spec)}" for spec in specs]
    parts += [f"--table {path}" for path in input.tables]
    return " ".join([*parts, *(f"--significance {path}" for path in input.tests)])
