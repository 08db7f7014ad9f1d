"""Texts of others as a page may show them: nothing unseen, nothing that turns the text beside it.

Usage: `visible("a\u202eb")` is `aU+202Eb`. Markup is for the forms to escape.
"""

import re
import unicodedata

# What sets a direction for the text behind it, or for the whole line.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN = ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
PLAIN = re.compile(r"[ -~\n]*")


def visible(text: str) -> str:
    """Return a text of one or more lines; a tab is a space, what is unseen stands as U+202E."""
    return text if PLAIN.fullmatch(text) else "".join(map(_seen, text))


def _seen(char: str) -> str:
    if char in " \n\t":
        return "\n" if char == "\n" else " "
    unseen = char in TURNING or unicodedata.category(char) in UNSEEN
    return f"U+{ord(char):04X}" if unseen else char
