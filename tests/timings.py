"""Compare searches that run anew for their times with the runs: all lists must be equal."""

from residuum.artefacts import trec
from residuum.inspect import provenance
from residuum.inspect.searching import Sample, Watch


def phases_of_runs(results, split, *names):
    """Return the phases of the search that are timed, by run; every list is checked.

    Every second query is searched for, one at a time and all at once.
    """
    graph, phases = provenance.read(results), {}
    for name in names:
        path = results / "runs" / split / f"{name}.trec.gz"
        run = trec.read_run(path)
        queries = run["query_id"].unique().sort().to_list()[::2]
        for at_once in (1, None):
            watch = Watch(results, graph, queries, Sample(at_once=at_once, repeats=1))
            answer = watch.answer(path)
            made = answer.lists.select(trec.READ).sort("query_id", "rank")
            kept = run.filter(run["query_id"].is_in(queries)).sort("query_id", "rank")
            assert made.equals(kept), (name, at_once)
        phases[name] = {*answer.phases()}
    return phases
