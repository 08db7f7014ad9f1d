"""Parse a plain scalar by the core schema of YAML 1.2: null, boolean, number or text.

Usage: `parse("010")` is 10, `parse("10:00")` and `parse("1_0")` are texts; `number("1_0")` is None.
"""

import re

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
