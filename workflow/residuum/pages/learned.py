"""Notes of a page on the models behind it: whether they learned, and their pre-flight.

Usage: `captions += notes(read_all(paths))`.
"""

from collections.abc import Iterator, Mapping

from residuum.pages.figure.job import BoundFigure
from residuum.pages.grids import why_not_learned
from residuum.tuning.learned import Learned

SHOWN = ("gap", "gap_where_active", "gap_where_active_at_most", "gap_sd", "margin")


def notes(verdicts: Mapping[str, Learned]) -> Iterator[str]:
    """Yield a note for each model and seed with a verdict on whether it learned."""
    for name, of in verdicts.items():
        means = ", ".join(f"{other} {mean:.4g}" for other, mean in of.means.items())
        at = f"{of.measure} over {of.examples} held-out examples of {of.split_ref}"
        word = "learned" if of.learned else "not learned"
        yield (
            f"{name.replace('/', ' ')}: {word}; {at}: {means}; better on {of.better}, worse on "
            f"{of.worse}.{_before(of.preflight)}"
        )


def _before(facts: Mapping[str, float]) -> str:
    """Describe the pre-flight; "" without a pre-flight."""
    if "loss_of_equal_scores" not in facts:
        return ""
    parts = [f"{name.replace('_', ' ')} {facts[name]:.3g}" for name in SHOWN if name in facts]
    if "negatives_above" in facts:
        parts.append(f"{facts['negatives_above']:.0%} of the negatives above their positive")
    loss = f"loss {facts['loss']:.3g}, of equal scores {facts['loss_of_equal_scores']:.3g}"
    turned = facts.get("gap_where_active_at_most", 1) <= 0
    warning = " Active triplets have no gap to widen: a hinge loss is least at equal scores."
    seen = f" First {facts['examples']:,.0f} examples at step 0: {', '.join([*parts, loss])}."
    return seen + warning * turned


def _why(job: BoundFigure, series: str, verdicts: Mapping[str, Learned]) -> str | None:
    return why_not_learned(job, job.runs.get(series, []), job.splits[series], verdicts)


def labelled(job: BoundFigure, verdicts: Mapping[str, Learned]) -> tuple[BoundFigure, list[str]]:
    """Return the figure with `(not learned)` in labels, and the series that learned, for tests."""
    every = job.entry.series
    faulty = [s.id for s in every if _why(job, s.id, verdicts)]
    labels = [f"{s.label} (not learned)" if s.id in faulty else s.label for s in every]
    pairs = zip(every, labels, strict=True)
    series = [one.model_copy(update={"label": label}) for one, label in pairs]
    tested = [one.id for one in every if one.id not in faulty]
    figure = job.entry.model_copy(update={"series": series})
    return job.model_copy(update={"entry": figure}), tested
