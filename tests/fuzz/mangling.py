"""Bytes made from good ones by damage: flipped, cut, doubled, or with odd pieces put in.

Usage: `mangled(files)` is a strategy of hypothesis over the same files, of which one is damaged.
"""

from collections.abc import Mapping

from hypothesis import strategies as st

# What readers stumble over: ends of lines, quotes, markup, numbers that are none, half a character.
PIECES = [
    *(b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b" "),
    *(b'"', b"'", b"\\", b",", b":", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"#", b"-", b"|"),
    *(b"nan", b"inf", b"-1", b"1e999", b"1_0", b"010", b"9" * 40, b"true", b"null", b"~"),
    *(b"\xe2\x80\xa8", b"\xc2\x85", b"\x1f\x8b", b"PAR1", b"</DOC>", b"<DOC>", b"<top>", b"*a"),
    *(b"../", b"/etc", b"\\ud800", b"&amp;", b"<!ENTITY a 'b'>", b"%", b"!!python", b"<<: ", b"?"),
    *(b"[" * 3000, b'{"a":' * 3000, b"<a>" * 3000),
]


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw bytes that are the given ones but for some damage."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 60)))
        kind = draw(st.sampled_from(["put", "drop", "double", "cut", "flip", "move"]))
        if kind == "put":
            piece = draw(st.one_of(st.sampled_from(PIECES), st.binary(min_size=1, max_size=8)))
            data = data[:at] + piece + data[at:]
        elif kind == "drop":
            data = data[:at] + data[end:]
        elif kind == "double":
            data = data[:end] + data[at:end] * draw(st.integers(1, 3)) + data[end:]
        elif kind == "cut":
            data = data[:at]
        elif kind == "move":
            to = draw(st.integers(0, len(data)))
            piece, rest = data[at:end], data[:at] + data[end:]
            data = rest[:to] + piece + rest[to:]
        elif data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (1 << draw(st.integers(0, 7)))]) + data[at + 1 :]
    return data


@st.composite
def mangled(draw: st.DrawFn, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Draw the same files, of which one is damaged."""
    name = draw(st.sampled_from(sorted(files)))
    return {**files, name: draw(damaged(files[name]))}
