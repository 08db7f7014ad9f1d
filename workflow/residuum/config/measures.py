"""Measures: names that ir_measures reads, and entries of this project's own tables.

Usage: `reads("AnswerAccuracy@20")`, `words("RR@10")`, `parse("nDCG@10")`.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from residuum.cli.errors import ResiduumError
from residuum.code.tables import OpenTable

if TYPE_CHECKING:
    import ir_measures
    import polars as pl


class Own(NamedTuple):
    """A measure of this project, written `Name@k`. A larger mean is better, unless its columns are
    not compared (`compared: false`).

    `values` takes a run, judgements or answers, and the names to compute. It returns a frame of
    query_id, measure, value for every query, sorted by query_id.
    """

    words: str  # its name in full, as pages print it
    values: "Callable[..., pl.DataFrame]"
    same: str = ""  # of a measure by answers: the equal measure on judgements made from answers


BY_JUDGEMENTS: OpenTable[Own] = OpenTable(
    {
        "BioASQ_AP": "residuum.tuning.bioasq:AP",
        "BioASQ_F1": "residuum.tuning.bioasq:F1",
        "BioASQ_GMAP": "residuum.tuning.bioasq:GMAP",
        "BioASQ_P": "residuum.tuning.bioasq:P",
        "BioASQ_R": "residuum.tuning.bioasq:R",
        "Holes": "residuum.tuning.holes:HOLES",
    },
    "measure",
)
BY_ANSWERS: OpenTable[Own] = OpenTable(
    {"AnswerAccuracy": "residuum.tuning.evaluation:ANSWER_ACCURACY"}, "measure"
)
MEANS: OpenTable[Callable[[Sequence[float]], float]] = OpenTable(  # means that are not arithmetic
    {"BioASQ_GMAP": "residuum.tuning.bioasq:geometric"}, "measure with a mean of its own"
)
MOST = {"cutoff": 1_000_000, "rel": 10_000}  # largest values of ir_measures' parameters
WORDS = {
    "AP": "Average precision",
    "P": "Precision",
    "R": "Recall",
    "RR": "Reciprocal rank",
    "Success": "Success",
    "nDCG": "Normalised discounted cumulative gain",
}


def project_measure(measure: str) -> str | None:
    """Return the name of a measure of this project, such as AnswerAccuracy, or None."""
    name = measure.partition("@")[0]
    return name if name in BY_JUDGEMENTS or name in BY_ANSWERS else None


def reads(measure: str) -> Literal["judgements", "answers"]:
    """Return the input of a measure beside the run: judgements, or answers with docs' texts."""
    return "answers" if project_measure(measure) in BY_ANSWERS else "judgements"


def cutoff(measure: str) -> int | None:
    """Return the cutoff of a measure, or None if it reads the whole list.

    Raises ResiduumError for a name that is no measure.
    """
    if (name := project_measure(measure)) is None:
        params = parse(measure).params  # docs that nobody judged leave a list before it is cut
        return None if params.get("judged_only") else params.get("cutoff")
    if match := re.fullmatch(r"\w+@([1-9]\d*)", measure):
        return int(match[1])
    raise ResiduumError(f"cannot read the measure '{measure}': write such as {name}@20.")


def at(measure: str, cutoff: int | str) -> str:
    """Return a measure with another cutoff: `R(rel=2)@1000` at 10 is `R(rel=2)@10`."""
    return re.sub(r"@\d+$", f"@{cutoff}", measure)


def by_judgements(measure: str) -> str:
    """Return the measure that gives the same values on judgements made from the answers."""
    if reads(measure) == "judgements":
        return measure
    return f"{BY_ANSWERS[str(project_measure(measure))].same}@{cutoff(measure)}"


def is_hit(measure: str) -> bool:
    """Say whether a measure is 1 for a query with a relevant doc in the list, and 0 otherwise."""
    name = project_measure(measure)
    return name == "AnswerAccuracy" or (name is None and parse(measure).NAME == "Success")


def of_first(measure: str) -> bool:
    """Say whether the rank of the first relevant doc alone decides a value, as for RR@k."""
    return is_hit(measure) or (project_measure(measure) is None and parse(measure).NAME == "RR")


def mean(measure: str, values: Iterable[float]) -> float:
    """Return the mean of a measure over queries, exactly rounded: their order has no effect."""
    numbers, name = list(values), project_measure(measure)
    return MEANS[name](numbers) if name and name in MEANS else math.fsum(numbers) / len(numbers)


def is_tested(measure: str) -> bool:
    """Say whether tests apply: the measure's mean over queries is the arithmetic mean."""
    return project_measure(measure) not in MEANS


def level(measure: str) -> int:
    """Return the least relevance that a measure counts as relevant; 1 by default."""
    return 1 if project_measure(measure) else int(parse(measure).params.get("rel", 1))


def parse(measure: str) -> "ir_measures.measures.Measure":
    """Read an ir_measures name. Raises ResiduumError with similar names for an unknown name."""
    import ir_measures

    if measure != measure.strip():
        raise ResiduumError(f"cannot read the measure {measure!r}: white space around its name.")
    try:
        parsed = ir_measures.parse_measure(measure)
        parsed.validate_params()  # type: ignore[no-untyped-call]
    except (NameError, ValueError, SyntaxError, AssertionError) as error:
        message = re.sub(r"invalid param (\w+)=<object.*", r"it needs a \1", str(error))
        near = _close(re.split(r"[@(]|\d+$", measure)[0])
        raise ResiduumError(f"cannot read the measure '{measure}': {message}. {near}") from None
    for name, most in MOST.items():
        if name in parsed.params and not 1 <= int(parsed.params[name]) <= most:
            text = f"its {name} must lie between 1 and {most}"
            raise ResiduumError(f"cannot read the measure '{measure}': {text}.")
    return parsed


def _close(name: str) -> str:
    from ir_measures.measures import registry

    if name in registry:
        return "A measure is written as in nDCG@10, AP(rel=2)@1000, RR."
    names = {
        known.casefold(): known for known in [*reversed(registry), *BY_JUDGEMENTS, *BY_ANSWERS]
    }
    if near := difflib.get_close_matches(name.casefold(), list(names), n=3, cutoff=0.5):
        return f"Close: {', '.join(names[known] for known in near)}."
    return "Known, among others: AP, nDCG, P, R, RR, Rprec."


def fault(measure: str, fitting: Sequence[str]) -> str | None:
    """Return why a measure does not fit a key, or None.

    `fitting` lists the inputs, judgements or answers, that a measure of this key may read.
    """
    try:
        cutoff(measure)
    except ResiduumError as error:
        return str(error)
    if project_measure(measure) is None and (name := parse(measure).NAME) not in WORDS:
        import ir_measures

        providers: Any = ir_measures.DefaultPipeline  # has no types
        if not providers.supports(parse(measure)):
            return f"'{measure}': no provider that ir_measures has here computes {name}"
    if not is_tested(measure):
        text = (
            "tests compare arithmetic means, and its mean is another; `residuum compare` prints it"
        )
        return f"'{measure}': {text}"
    if reads(measure) not in fitting:
        return f"'{measure}' is by {reads(measure)}; measures of this key: by {', '.join(fitting)}"
    return None


def words(measure: str) -> str:
    """Write a measure in full: RR@10 is `Reciprocal rank at 10 (RR@10)`."""
    match = re.fullmatch(r"(\w+)(?:\([^)]*\))?(?:@(\w+))?", measure)
    name = match[1] if match else ""
    table = BY_ANSWERS if name in BY_ANSWERS else BY_JUDGEMENTS
    text = table[name].words if name in table else WORDS.get(name)
    if not match or not text:
        return measure
    return f"{text}{f' at {match[2]}' if match[2] else ''} ({measure})"
