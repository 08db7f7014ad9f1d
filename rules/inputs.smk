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


def code(module):
    """Return the sources behind a module: an input of every rule that runs it."""
    return [os.path.relpath(path) for path in sources(module)]


def folder(path):
    """Return the folder of an artefact that its manifest stands for."""
    return str(Path(str(path)).parent)


def at(template, place):
    """Fill a path template for a split."""
    return template.format(dataset=place.dataset, split=place.split)


def here(wildcards):
    """Return the split that a rule's wildcards name."""
    return _registry.Place(wildcards.dataset, wildcards.split)


def system_of(wildcards):
    """Return the id of the system that makes a run."""
    return wildcards.run.partition(".seed")[0]


def seed_of(wildcards):
    """Return the seed of a run as text, empty for an unseeded one."""
    return wildcards.run.partition(".seed")[2]


def entry_of(wildcards):
    """Return the system that makes a run, with the scale's budgets."""
    return REGISTRY.system(system_of(wildcards))


def system_spec(wildcards):
    """Return the spec of the system that a rule makes, as JSON."""
    return _registry.spec(entry_of(wildcards))


def runs_at(system, place):
    """Return the runs of all seeds of a system on a split."""
    return [RUN.format(run=run, **place._asdict()) for run in REGISTRY.runs(system)]


def index_of(dataset, lexical, seed):
    """Return the manifest of the Lucene index that a lexical system searches."""
    system = REGISTRY.systems[lexical]
    weighted = f"@{system.weights}.seed{seed}" if system.weights else ""
    return INDEX.format(dataset=dataset, index=system.index().index_id() + weighted)


def run_index(wildcards):
    """Return the index behind a lexical run."""
    return index_of(wildcards.dataset, system_of(wildcards), seed_of(wildcards))


def index_form(wildcards):
    """Return the form of the index that an index id names, as JSON."""
    forms = [REGISTRY.systems[name].index() for name in REGISTRY.of_kind("lexical")]
    wanted = wildcards.index.partition("@")[0]
    return _registry.spec(next(form for form in forms if form.index_id() == wanted))


def index_weights(wildcards):
    """Return the term weights that an index is made of; none for one of texts."""
    model, _, seed = wildcards.index.partition("@")[2].partition(".seed")
    return [WEIGHTS.format(dataset=wildcards.dataset, model=model, seed=seed)] if model else []


def swept_measure(wildcards):
    """Return the measure by which an RM3 sweep chooses on a split."""
    measure = REGISTRY.swept_measure(system_of(wildcards), here(wildcards))
    if measure is None:
        raise WorkflowError(
            f"{system_of(wildcards)}: rm3_sweep.measures names no role that "
            f"{wildcards.dataset}/{wildcards.split} plays at this scale; add one there"
        )
    return measure


def negatives_spec(wildcards):
    """Return what negatives mines by: how they are drawn, by which system, what is positive."""
    model = REGISTRY.model(wildcards.model)
    place = REGISTRY.place(model.train_on)
    system = getattr(model.negatives, "system", None)
    return driver.canonical(
        {
            "negatives": model.negatives.model_dump(mode="json"),
            "system": (
                REGISTRY.system(system).model_dump(mode="json", exclude=_registry.FOR_READERS)
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
    return [index_of(REGISTRY.place(model.train_on).dataset, system, "")] if system else []


def negatives_run(wildcards):
    """Return the run of the dense system that negatives are mined from too, at the first seed."""
    dense = REGISTRY.mined_dense(wildcards.model)
    place = REGISTRY.place(REGISTRY.models[wildcards.model].train_on)
    run = dense and REGISTRY.run(dense, REGISTRY.seeds[0])
    return [RUN.format(run=run, **place._asdict())] if run else []


def text_of(wildcards):
    """Return the corpora that a backbone is made from or adapted to."""
    roles = REGISTRY.models[wildcards.backbone].corpora
    return [at(CORPUS, REGISTRY.place(role)) for role in roles]


def corpus_options(wildcards, input):
    """Return the command-line options that name those corpora."""
    return " ".join(f"--corpus {folder(path)}" for path in input.corpora)


def trained_on(template):
    """Return an input function: a file of the split that a model is trained on."""
    return lambda w: at(template, REGISTRY.place(REGISTRY.models[w.model].train_on))


def start_cast(wildcards):
    """Return what plays the backbone of the model that a rule makes."""
    name = dict(wildcards.items()).get("model") or wildcards.backbone
    role = REGISTRY.models[name].backbone
    cast = REGISTRY.backbone(role)
    if cast is None:
        raise WorkflowError(f"{REGISTRY.scale_file}: backbones: nothing plays {role}")
    return cast


def start_inputs(wildcards):
    """A start that the graph makes is an input; of a local one, its files are."""
    return cast_inputs(start_cast(wildcards))


def cast_inputs(cast):
    """Return the files of a model that stand on this machine or are made by the graph."""
    if isinstance(cast, schema.FromModel):
        return [made_by(cast)]
    if isinstance(cast, schema.FromPath):
        return sorted(str(p) for p in Path(cast.path).rglob("*") if p.is_file())
    return []


def start_argument(wildcards):
    """Return the value of --start, and --revision for a hub model."""
    return cast_argument(start_cast(wildcards))


def cast_argument(cast):
    """Return how a command names a model: a folder, or a hub id with its revision."""
    if isinstance(cast, schema.FromModel):
        return folder(made_by(cast))
    if isinstance(cast, schema.FromPath):
        return quote(cast.path)
    return f"{cast.hub} --revision {cast.revision}"


def made_by(cast):
    """Return the manifest of a model that the graph makes once, to stand for a released one."""
    if hasattr(REGISTRY.models[cast.model], "corpora"):
        return BACKBONE.format(backbone=cast.model)
    return CHECKPOINT.format(model=cast.model, seed=cast.seed)


def searched_queries(wildcards):
    """Return the queries of the splits of a dataset that runs are made for, or mined from."""
    splits = REGISTRY.searched(wildcards.dataset)
    for name in REGISTRY.models_of("cross-encoder") + REGISTRY.models_of("dual-encoder"):
        dense = REGISTRY.mined_dense(name)
        place = REGISTRY.cast(REGISTRY.models[name].train_on)
        mined = dense and REGISTRY.trained_for(dense) == wildcards.model
        if mined and place and place.dataset == wildcards.dataset and place.split not in splits:
            splits.append(place.split)
    return [QUERIES.format(dataset=wildcards.dataset, split=split) for split in splits]


def split_options(wildcards, input):
    """Return the command-line options that name those splits and their files."""
    return " ".join(f"--split {Path(path).parent.name}={path}" for path in input.queries)


def model_behind(template):
    """Return an input function: what the model of a dense system made."""
    return lambda w: template.format(
        dataset=w.dataset, model=REGISTRY.trained_for(system_of(w)), seed=seed_of(w)
    )


def other_runs(wildcards):
    """Return the runs whose docs are scored: those of all seeds of the other system."""
    return runs_at(wildcards.other, here(wildcards))


def run_options(wildcards, input):
    """Return the command-line options that name several runs."""
    return " ".join(f"--run {path}" for path in input.runs)
