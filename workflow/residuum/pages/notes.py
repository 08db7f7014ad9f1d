"""Notes that pages of several kinds share: tests, residual splits, folds, whether models learned.

Usage: `[tests_note(tests), *remarks(named, alpha)]` under a page with comparisons.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from residuum.config.schema.tests import Tests
from residuum.config.specs import RunId
from residuum.pages.jobs import Bound, Judged
from residuum.paired import Comparison
from residuum.paired.classical import CONSTANT
from residuum.paired.comparisons import near_alpha
from residuum.tuning.learned import Learned

SHARED = (
    "The seeds share what was made once: a backbone, a start, a reranker. Neither the spread over "
    "seeds nor p over seeds covers what another backbone, start or reranker would give."
)
Named = Sequence[tuple[str, Comparison]]
PREFLIGHT = ("gap", "gap_where_active", "gap_where_active_at_most", "gap_sd", "margin")


def tests_note(tests: Tests, column: str = "column", table: str = "table", only: str = "") -> str:
    """Return a sentence on how the comparisons of a page are tested.

    `column` and `table` are the words for these families. `only` names the tested pairs, if not all
    pairs are tested.
    """
    paper = "all tables of the paper with these tests"
    family = {"column": f"each {column}", "table": f"each {table}", "paper": paper}[tests.family]
    flips = f", {tests.resamples} sign flips, seed {tests.seed}" * (tests.test == "permutation")
    return (
        f"Test: {tests.test} (paired, two-sided{flips}), alpha {tests.alpha}, {only}"
        f"correction {tests.correction}, family: {family}."
    )


def remarks(tests: Named, alpha: float) -> Iterator[str]:
    """Yield remarks on the named comparisons of a page; nothing if all are unremarkable."""
    if exact := sum(row.method.startswith("exact,") for _, row in tests):
        yield (
            f"Exact p in {exact} of {len(tests)} comparisons: so few queries differ that all sign "
            "flips were enumerated."
        )
    yield from _near(tests, alpha)
    yield from _over_seeds(tests, alpha)
    if constant := _names(tests, lambda row: row.method.endswith(CONSTANT)):
        yield (
            "Every query differs by the same amount, so t is infinite and p is 0, however few "
            f"queries there are: {constant}. A permutation test gives a p here."
        )
    if turned := _names(tests, lambda row: row.disagrees):
        yield (
            "Significant, but the test favours the system with the lower mean, so no marker is "
            f"set: {turned}."
        )


def _names(tests: Named, fits: Callable[[Comparison], bool]) -> str:
    return "; ".join(name for name, row in tests if fits(row))


def _near(tests: Named, alpha: float) -> Iterator[str]:
    near = []
    for name, row in tests:
        error = row.p_error * row.p_adjusted / (row.p or 1)  # scaled as p was by the correction
        if near_alpha(row.p_adjusted, error, alpha):
            near.append(f"{name} (p {row.p_adjusted:.4f} ± {error:.4f})")
    if near:
        yield (
            "p lies within two Monte-Carlo standard errors of alpha, so other resamples could "
            f"decide otherwise: {'; '.join(near)}."
        )


def _over_seeds(tests: Named, alpha: float) -> Iterator[str]:
    several = [row for _, row in tests if row.seeds_agreeing and row.significant]
    if not several:
        return
    holding = sum(row.holds_over_seeds is True for row in several)
    agreeing = sorted(Counter(str(row.seeds_agreeing) for row in several).items())
    alone = ", ".join(f"{shown.replace('/', ' of ')} for {count}" for shown, count in agreeing)
    yield (
        f"Over seeds: {holding} of {len(several)} significant comparisons between rows with seeds "
        f"hold if seeds count as random too (p < {alpha}, corrected alike). Seeds that agree when "
        f"tested alone: {alone}."
    )
    if turning := _names(tests, lambda row: row.significant and bool(row.seeds_near_alpha)):
        yield (
            "The p of a seed lies within two Monte-Carlo standard errors of alpha, so the count of "
            f"seeds that agree may change: {turning}."
        )
    if failing := _names(tests, lambda row: row.significant and row.holds_over_seeds is False):
        yield f"Significant for these models only, not over seeds: {failing}."


def one_training(runs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a note on the rows with a single training, which no other seed confirms."""
    alone = {name: seeds[0] for name, seeds in runs.items() if len(seeds) == 1}
    if single := [name for name, run in alone.items() if RunId.parse(run).seed is not None]:
        yield (
            f"Trained once: {', '.join(single)}. Their comparisons hold for these models; results "
            "of other seeds are not known."
        )


def reason_of_all(reasons: Iterable[str]) -> str:
    """Return the one reason of all pages why numbers compare, or where each page has its reason."""
    distinct = {*reasons}
    each = "each page says why its numbers compare with the paper's, or do not."
    return distinct.pop() if len(distinct) == 1 else each


def of_scale(job: Bound) -> Iterator[str]:
    """Yield why a page's numbers compare with its paper's or do not, and what alone does not."""
    yield f"Scale {job.scale}: {job.reason}"
    if isinstance(job, Judged):
        whys = dict.fromkeys(job.but.values())
        parts = {why: [name for name, other in job.but.items() if other == why] for why in whys}
        yield from (
            f"Not comparable: {', '.join(names)}: {why.rstrip('.')}."
            for why, names in parts.items()
        )


def of_runs(job: Bound) -> Iterator[str]:
    """Yield notes on docs that leave runs on residual splits, and on models trained by folds."""
    for split_ref, rounds in job.residual.items():
        if earlier := [name for name in rounds if name != split_ref]:
            yield (
                f"{split_ref} is residual: docs that {' or '.join(earlier)} judged for a query are "
                "removed from its runs before the cut at k, whatever their relevance."
            )
    if itself := [split_ref for split_ref, rounds in job.residual.items() if split_ref in rounds]:
        yield (
            f"The doc with a query's own id is removed from the query's list on "
            f"{', '.join(itself)}, before the cut at k."
        )
    for model, folds in job.by_folds.items():
        yield (
            f"{model} is trained once for each of {', '.join(folds)}, on the queries of the other "
            "folds. Each query is answered by the training that has not seen it."
        )


def of_learning(verdicts: Mapping[str, Learned]) -> Iterator[str]:
    """Yield a note for each model and seed with a verdict on whether it learned."""
    for name, made in verdicts.items():
        means = ", ".join(f"{other} {mean:.4g}" for other, mean in made.means.items())
        at = f"{made.measure} over {made.examples} held-out examples of {made.split_ref}"
        verdict = "learned" if made.learned else "not learned"
        yield (
            f"{name.replace('/', ' ')}: {verdict}; {at}: {means}; better on {made.better}, "
            f"worse on {made.worse}.{_before(made.preflight)}{_course(made.course)}"
        )


def _course(course: Mapping[str, tuple[float, float]]) -> str:
    """Write how far a loss that makes vectors orthogonal got: its cos^2, first and last."""
    if not course:
        return ""
    parts = (
        f"{name.removeprefix('ortho_')} {first:.3g} to {last:.3g}"
        for name, (first, last) in course.items()
    )
    return (
        f" cos² to BM25's vectors, mean of the first and the last tenth of the steps: "
        f"{', '.join(parts)}; two random vectors of d dimensions have 1/d."
    )


def _before(facts: Mapping[str, float]) -> str:
    if "loss_of_equal_scores" not in facts:
        return ""
    parts = [f"{name.replace('_', ' ')} {facts[name]:.3g}" for name in PREFLIGHT if name in facts]
    if "negatives_above" in facts:
        parts.append(f"{facts['negatives_above']:.0%} of the negatives above their positive")
    loss = f"loss {facts['loss']:.3g}, of equal scores {facts['loss_of_equal_scores']:.3g}"
    turned = facts.get("gap_where_active_at_most", 1) <= 0
    warning = " Active triplets have no gap to widen: equal scores give the least hinge loss."
    seen = f" First {facts['examples']:,.0f} examples at step 0: {', '.join([*parts, loss])}."
    times = facts.get("times_equal_scores")
    far = f" The loss is {times:.0f} times that of equal scores." if times else ""
    return seen + warning * turned + far
