# What the papers' pages read, and what is absent: input and params functions. Makes no page.
import json
from functools import cache

from residuum.core import files
from residuum.pages import layout

ASKED = {}


@cache
def hub_reason(model, revision):
    """Return why a hub model cannot be had; a dry run plans as if all could.

    Jobs that a cluster starts as Snakemakes of their own follow what the first one found.
    """
    if workflow.dryrun:
        return None
    if workflow.remote_exec:
        return json.loads(ABSENT.read_text())[f"{model}@{revision}"]
    from residuum.neural import hub

    ASKED[f"{model}@{revision}"] = hub.missing(model, revision)
    return ASKED[f"{model}@{revision}"]


def made_pages(kind):
    """Return the chosen pages of a kind that can be made at this scale."""
    pages = REGISTRY.chosen(kind)
    return [p for p in pages if not casting.page_reason(REGISTRY, p, hub_reason)]


def page_spec(wildcards):
    """Return a page, cast for this scale, as JSON."""
    return casting.page_spec(REGISTRY, wildcards.page, hub_reason)


def job_of(wildcards):
    """Return a table, cast for this scale."""
    return casting.job_of(REGISTRY, wildcards.page, hub_reason)


def table_metrics(wildcards):
    """Return the metrics files of all cells of a table."""
    return sorted({f"{RESULTS}/metrics/{path}" for path in job_of(wildcards).metrics_files()})


def table_records(wildcards):
    """Return the manifests of those, which name the index, of a table that states its own."""
    return sorted({f"{RESULTS}/metrics/{path}" for path in job_of(wildcards).metrics_records()})


def tested_metrics(wildcards):
    """Return the metrics files of all tables whose tests are corrected with a table's."""
    pages = [wildcards.page, *REGISTRY.corrected_with(wildcards.page)]
    jobs = [casting.job_of(REGISTRY, page, hub_reason) for page in pages]
    return sorted({f"{RESULTS}/metrics/{path}" for job in jobs for path in job.metrics_files()})


def corrected_with(wildcards):
    """Return the command-line options that name the other tables of a family."""
    others = REGISTRY.corrected_with(wildcards.page)
    specs = [casting.page_spec(REGISTRY, page, hub_reason) for page in others]
    return " ".join(f"--together {quote(spec)}" for spec in specs)


def tuning_files(wildcards):
    """Return the tuning files behind the rows of a table that run at this scale."""
    job = job_of(wildcards)
    files = {}
    for row, column in job.there():
        if has_tuning(row.system):
            place = tuned_at(row.system, _registry.Place(*job.places[column.id].split("/")))
            for run in job.runs[row.id]:
                files[TUNING.format(run=run, **place._asdict())] = None
    return list(files)


def page_place(wildcards):
    """Return the split of a figure or of a case study."""
    return REGISTRY.place(REGISTRY.pages[wildcards.page].role)


def of_rerankers(template):
    """Return an input function: a file of each reranker behind a figure."""

    def paths(wildcards):
        page = REGISTRY.pages[wildcards.page]
        there = casting.figure_runs(REGISTRY, wildcards.page, hub_reason)
        names = [REGISTRY.reranker(s.system) for s in page.series if s.id in there]
        place = page_place(wildcards)._asdict()
        return [template.format(reranker=name, **place) for name in dict.fromkeys(names)]

    return paths


def case_runs(wildcards):
    """Return the runs of the lists of a case study, by the lists' names."""
    place = page_place(wildcards)._asdict()
    runs = casting.case_runs(REGISTRY, wildcards.page)
    return {f"list_{name}": RUN.format(run=run, **place) for name, run in runs.items()}


def case_options(wildcards, input):
    """Return the command-line options that name those runs."""
    lists = {k.removeprefix("list_"): path for k, path in input.items() if k.startswith("list_")}
    return " ".join(f"--list {name}={path}" for name, path in lists.items())


def counted_splits(wildcards):
    """Return the queries and qrels of the splits that a page of characteristics counts."""
    columns = REGISTRY.pages[wildcards.page].columns
    casts = {column.id: REGISTRY.cast(column.role) for column in columns}
    there = {n: c for n, c in casts.items() if c and not absence.no_export(REGISTRY, *c)}
    queries = {f"queries_{name}": at(QUERIES, cast) for name, cast in there.items()}
    return queries | {f"qrels_{name}": at(QRELS, cast) for name, cast in there.items()}


def counted_options(wildcards):
    """Return the command-line options that name those splits' folders."""
    named = {k: path for k, path in counted_splits(wildcards).items() if k.startswith("queries_")}
    return " ".join(
        f"--split {key.removeprefix('queries_')}={folder(path)}" for key, path in named.items()
    )


def ledger_specs(wildcards):
    """Return the ledger's options that give the spec of each page."""
    specs = [casting.page_spec(REGISTRY, page, hub_reason) for page in [*TABLES, *COUNTED]]
    return " ".join(f"--spec {quote(spec)}" for spec in specs)


def ledger_files(wildcards, input):
    """Return the ledger's options that name the tables, in the order of the specs, and tests."""
    parts = [f"--table {path}" for path in input.tables]
    return " ".join([*parts, *(f"--significance {path}" for path in input.tests)])


def wanted_pages(wildcards):
    """Return the pages of the chosen papers, as Markdown."""
    made = [TABLE.format(page=page) for page in [*TABLES, *COUNTED]]
    made += [FIGURE.format(page=page) for page in made_pages("figure")]
    made += [CASES.format(page=page) for page in made_pages("cases")]
    return [path.removesuffix("tsv") + "md" for path in made]


def finished_pages():
    """Return the pages to print at the end: those among the targets, or all without targets."""
    asked = set(workflow.dag_settings.targets or [])
    pages = [*wanted_pages(None), LEDGER_MD]
    return [page for page in pages if page in asked or not asked or asked & {"all"}]


def tell_absent():
    """Say on standard error what is not run at this scale, and why; keep it for a cluster's jobs."""
    reasons = {}
    for page in TABLES:
        job = casting.job_of(REGISTRY, page, hub_reason)
        reasons |= {why: None for cells in job.absent.values() for why in cells.values()}
    for page in COUNTED:
        spec = json.loads(casting.page_spec(REGISTRY, page, hub_reason))
        reasons |= dict.fromkeys(spec["absent"].values())
    for page in REGISTRY.chosen("figure", "cases"):
        if why := casting.page_reason(REGISTRY, page, hub_reason):
            reasons[f"{page}: {why}"] = None
    for why in reasons:
        print(f"not run: {why}", file=sys.stderr)
    files.write_text(ABSENT, json.dumps(ASKED, indent=1) + "\n")
