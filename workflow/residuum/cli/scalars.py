"""Parse a plain scalar by the core schema of YAML 1.2: null, boolean, number or text.

Usage: `parse("010")` is 10, `parse("10:00")` and `parse("1_0")` are texts; `number("1_0")` is None.
`identifier` and `finite` check values of tables of any origin.
"""

import math
import re
from typing import Any

from residuum.cli.errors import ResiduumError

TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
WORDS = {**TRUTHS, **dict.fromkeys(("", "~", "null", "Null", "NULL"))}
DIGITS = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
UNBOUNDED = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
STARTS = frozenset("-+.0123456789")  # first characters of numbers


def parse(text: str) -> bool | int | float | str | None:
    """Return the value of a plain scalar; it is the text itself if nothing else fits.

    An integer with more digits than Python parses raises ValueError.
    """
    if text[:1] not in STARTS:
        return WORDS.get(text, text)
    if (value := number(text)) is not None:
        return value
    if BASED.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    return float(text.replace(".", "")) if UNBOUNDED.fullmatch(text) else text


def number(text: str) -> int | float | None:
    """Return the number in decimal digits, with optional sign, point and exponent; else None.

    Python's `float` also accepts `1_0`, `nan` and other scripts' digits; here they give None.
    """
    if DIGITS.fullmatch(text):
        return int(text)
    return float(text) if DECIMAL.fullmatch(text) else None


def identifier(value: object, name: str, where: str) -> str:
    """Return an id as text; other values than texts without white space and whole numbers raise.

    The ResiduumError names the column and where the value stands.
    """
    text, kind = str(value), type(value).__name__
    if isinstance(value, str):
        if text.split() == [text]:
            return text
        raise ResiduumError(f"{where}: {name} {text!r} is empty or holds white space")
    if "int" in kind:
        return text
    raise ResiduumError(f"{where}: {name} is {text} ({kind}); ids are texts or whole numbers")


def finite(value: Any, name: str, where: str, whole: bool = False) -> float:
    """Return a number that is finite, and whole if asked for; another value raises ResiduumError.

    Of a text, the digits are those of `number`.
    """
    try:
        read = float("nan" if value is None else value)
        if isinstance(value, str) and number(value.strip()) is None:
            read = math.nan
    except (TypeError, ValueError):
        read = math.nan
    if not math.isfinite(read) or (whole and read != int(read)):
        kind = "a whole number" if whole else "a number"
        raise ResiduumError(f"{where}: {name} is {value}, and must be {kind}")
    return read
