"""What a measure is: a name that ir_measures reads, or an entry of one table of ours.

Usage: `reads("AnswerAccuracy@20")`, `words("RR@10")`, `parse("nDCG@10")`. Must not know runs.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable

if TYPE_CHECKING:
    import ir_measures
    import polars as pl

Reads = Literal["judgements", "answers"]  # answers: and the texts of the docs


class Own(NamedTuple):
    """A measure of our own, written `Name@k`."""

    words: str  # for readers, as pages print it
    reads: Reads
    better: Literal["higher", "lower"] = "higher"


OWN = {"AnswerAccuracy": Own("Share of questions answered by the docs", "answers")}
# The function takes a run, what the measure reads, and the names to compute; it returns a frame of
# query_id, measure, value for every query. See residuum.evaluate.
VALUES: "OpenTable[Callable[..., pl.DataFrame]]" = OpenTable(
    {"AnswerAccuracy": "residuum.accuracy:values"}, "measure"
)
WORDS = {
    "AP": "Average precision",
    "P": "Precision",
    "R": "Recall",
    "RR": "Reciprocal rank",
    "Success": "Success",
    "nDCG": "Normalised discounted cumulative gain",
    **{name: entry.words for name, entry in OWN.items()},
}


def own(measure: str) -> str | None:
    """Return the entry of the table that a measure is of, such as AnswerAccuracy, or None."""
    name = measure.partition("@")[0]
    return name if name in OWN else None


def reads(measure: str) -> Reads:
    """Return what a measure is computed from, beside the run."""
    name = own(measure)
    return OWN[name].reads if name else "judgements"


def cutoff(measure: str) -> int | None:
    """Return the rank behind which a measure sees nothing, or None if it sees all.

    Raises ResiduumError for a name that is no measure.
    """
    if (name := own(measure)) is None:
        return parse(measure).params.get("cutoff")
    if match := re.fullmatch(r"\w+@([1-9]\d*)", measure):
        return int(match[1])
    raise ResiduumError(f"cannot read the measure '{measure}': write such as {name}@20.")


def parse(measure: str) -> "ir_measures.measures.Measure":
    """Read an ir_measures name; an unknown one is a ResiduumError that names what is close."""
    import ir_measures

    try:
        parsed = ir_measures.parse_measure(measure)
        parsed.validate_params()  # type: ignore[no-untyped-call]
    except (NameError, ValueError, SyntaxError, AssertionError) as error:
        message = re.sub(r"invalid param (\w+)=<object.*", r"it needs a \1", str(error))
        near = _close(re.split(r"[@(]|\d+$", measure)[0])
        raise ResiduumError(f"cannot read the measure '{measure}': {message}. {near}") from None
    return parsed


def _close(name: str) -> str:
    from ir_measures.measures import registry

    if name in registry:
        return "A measure is written as in nDCG@10, AP(rel=2)@1000, RR."
    names = {known.casefold(): known for known in [*reversed(registry), *OWN]}
    if near := difflib.get_close_matches(name.casefold(), list(names), n=3, cutoff=0.5):
        return f"Close: {', '.join(names[known] for known in near)}."
    return "Known, among others: AP, nDCG, P, R, RR, Rprec."


def fault(measure: str, fitting: Sequence[str], tuned: bool) -> str | None:
    """Return why a measure does not fit where those that read `fitting` do, or None.

    `tuned` says that what is tuned takes the largest value, so that more has to be better.
    """
    try:
        cutoff(measure)
    except ResiduumError as error:
        return str(error)
    if reads(measure) not in fitting:
        return f"'{measure}' is by {reads(measure)}; measures of this key: by {', '.join(fitting)}"
    name = own(measure)
    if tuned and name and OWN[name].better == "lower":
        return f"'{measure}' is better where it is lower, and what is tuned takes the largest value"
    return None


def words(measure: str) -> str:
    """Write a measure in full: RR@10 is `Reciprocal rank at 10 (RR@10)`."""
    match = re.fullmatch(r"(\w+)(?:\([^)]*\))?(?:@(\d+))?", measure)
    if not match or match[1] not in WORDS:
        return measure
    return f"{WORDS[match[1]]}{f' at {match[2]}' if match[2] else ''} ({measure})"
