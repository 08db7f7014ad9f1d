"""Make foreign texts safe to show: no invisible characters, no changes of writing direction.

Usage: `visible("a\u202eb")` is `aU+202Eb`. Markdown and LaTeX escape their own markup.
"""

import re
import unicodedata

# Characters that set the direction of the text after them, or of the whole line.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN = ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
PLAIN = re.compile(r"[ -~\n]*")


def visible(text: str) -> str:
    """Return a text with invisible characters written as U+202E and tabs as spaces."""
    return text if PLAIN.fullmatch(text) else "".join(map(_seen, text))


def _seen(char: str) -> str:
    if char in " \n\t":
        return "\n" if char == "\n" else " "
    unseen = char in TURNING or unicodedata.category(char) in UNSEEN
    return f"U+{ord(char):04X}" if unseen else char
