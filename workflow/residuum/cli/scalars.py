"""What a plain text stands for by the core schema of YAML 1.2: null, a truth, a number or a text.

Usage: `of("010")` is 10, `of("10:00")` and `of("1_0")` are texts; `number("1_0")` is None. Must not
know where a text stands.
"""

import re

TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
WORDS = {**TRUTHS, **dict.fromkeys(("", "~", "null", "Null", "NULL"))}
DIGITS = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
UNBOUNDED = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
STARTS = frozenset("-+.0123456789")  # of a number


def of(text: str) -> bool | int | float | str | None:
    """Return what a plain text stands for; the text itself where it is no more than that.

    An integer of more digits than Python reads is a ValueError.
    """
    if text[:1] not in STARTS:
        return WORDS.get(text, text)
    if (value := number(text)) is not None:
        return value
    if BASED.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    return float(text.replace(".", "")) if UNBOUNDED.fullmatch(text) else text


def number(text: str) -> int | float | None:
    """Return the number that decimal digits are, with a sign, a point or an exponent; else None.

    So `1_0`, `nan` and digits of other scripts, which Python's `float` reads, are none.
    """
    if DIGITS.fullmatch(text):
        return int(text)
    return float(text) if DECIMAL.fullmatch(text) else None
