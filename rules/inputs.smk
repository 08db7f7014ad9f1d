# What rules read and by which parameters: input and params functions. Nothing here makes a file.
import os
from shlex import quote


def hold_lock():
    """Keep a second Snakemake out of this folder."""
    try:
        driver.hold_lock(Path(".snakemake/residuum.lock"))
    except ResiduumError as error:
        raise WorkflowError(str(error)) from None


def calm_scheduler():
    """Lift Snakemake's limit on job starts, which is there for clusters, where jobs run here.

    With it, each look of Snakemake 9's scheduler orders another one a second later: looks multiply
    with the jobs done, and took an eighth of two cores. (Tried with 9.27; where a Snakemake has no
    such attribute, this does nothing.)
    """
    if workflow.local_exec and hasattr(workflow.scheduler, "job_rate_limiter"):
        workflow.scheduler.job_rate_limiter = None


def source_files(wildcards):
    """Return the user's own files behind a corpus or split, so that editing them exports again.

    The pages leave out what has none; if a target asks for it all the same, the run stops here. It
    exits, because Snakemake takes an exception for a rule that does not fit, and would go on with
    what was made of other files before.
    """
    split = dict(wildcards.items()).get("split")
    root = roots.data()
    if why := absence.no_export(REGISTRY, wildcards.dataset, split):
        sys.exit(
            f"error: dataset {wildcards.dataset}: {why}\nPaths start at {root.resolve()} (set "
            "RESIDUUM_DATA to change that)."
        )
    return [str(root / name) for name in REGISTRY.datasets[wildcards.dataset].source_files(split)]


def export_mb(wildcards):
    """Return the memory of an export: judgements are held whole, 400 bytes for each."""
    dataset, split = REGISTRY.datasets[wildcards.dataset], dict(wildcards.items()).get("split")
    sample = getattr(dataset.source, "sample", None)
    read = [dataset.origin(split)] if split else (sample.keep if sample else [])
    pins = [
        sum(edition.splits[name].qrels for name in read if name in edition.splits)
        for edition in dataset.editions
    ]
    return 2000 + max(pins) * 400 // 10**6


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


def searched_queries(wildcards):
    """Return the queries of the splits of a dataset that a model searches: runs, and negatives."""
    searched = REGISTRY.searched(wildcards.dataset)
    splits = [s for s in searched if not absence.no_export(REGISTRY, wildcards.dataset, s)]
    splits += REGISTRY.mined(wildcards.dataset, wildcards.model, int(wildcards.seed))
    return [QUERIES.format(dataset=wildcards.dataset, split=split) for split in splits]


def split_options(wildcards, input):
    """Return the command-line options that name those splits and their files."""
    return " ".join(f"--split {Path(path).parent.name}={path}" for path in input.queries)


def model_behind(template):
    """Return an input function: what the model of a dense system made, each shard of it."""

    def paths(wildcards):
        system = system_of(wildcards)
        made = {"model": REGISTRY.trained_for(system), "seed": seed_of(wildcards)}
        made |= {"dataset": wildcards.dataset, "k": REGISTRY.system(system).k}
        shards = range(REGISTRY.shards(wildcards.dataset))
        return list(dict.fromkeys(template.format(shard=f"{n:05d}", **made) for n in shards))

    return paths


def folder_options(option, paths):
    """Return the command-line options that name the folders of several manifests."""
    return " ".join(f"--{option} {folder(path)}" for path in paths)


def other_runs(wildcards):
    """Return the runs whose docs are scored: those of all seeds of the other system."""
    return runs_at(wildcards.other, here(wildcards))


def run_options(wildcards, input):
    """Return the command-line options that name several runs."""
    return " ".join(f"--run {path}" for path in input.runs)


def window_option(wildcards):
    """Return the command-line option that has a dataset's docs read in passages."""
    windows = REGISTRY.datasets[wildcards.dataset].windows
    return f"--windows {quote(_registry.spec(windows))}" if windows else ""
