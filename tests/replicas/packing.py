"""Files packed as the official downloads are: gzip, gzipped tar and Unix compress, byte-stable.

Usage: `gz(path, text)`, `tar_gz(path, {"collection.tsv": data})`, `compress(data)`. Python has no
encoder for the LZW of Unix compress, hence one here. Must not know any collection.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

LARGEST = 16  # bits of a code; what compress takes if nothing else is asked for
CLEAR = 256  # the code that empties the table; 257 is the first that the table gives out


def plain(path: Path, data: str | bytes) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def gz(path: Path, data: str | bytes) -> Path:
    """Write data gzipped."""
    return plain(path, gzip.compress(data.encode() if isinstance(data, str) else data, mtime=0))


def tar_gz(path: Path, members: Mapping[str, str | bytes]) -> Path:
    """Write a gzipped tar of the members, in their order."""
    return plain(path, tar_gz_bytes(members))


def tar_gz_bytes(members: Mapping[str, str | bytes]) -> bytes:
    """Return a gzipped tar of the members, in their order."""
    return gzip.compress(tar(members), mtime=0)


def tar(members: Mapping[str, str | bytes]) -> bytes:
    """Return a tar of the members, in their order."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def compress(data: bytes) -> bytes:
    """Return what `compress` makes of data: LZW with codes of 9 to 16 bits, table never emptied.

    Codes are packed low bit first. A decoder expects groups of eight codes to be filled up before
    the code grows by a bit; it grows after 256, 512, ... codes, so that they are full by then.
    """
    packed = bytearray([0x1F, 0x9D, 0x80 | LARGEST])
    bits, group, table = 9, [], {bytes([byte]): byte for byte in range(256)}
    following = CLEAR + 1
    word = b""
    for byte in data:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        group.append(table[word])
        if following < 1 << LARGEST:
            table[longer] = following
            following += 1
        word = bytes([byte])
        if following > 1 << bits and bits < LARGEST:
            packed += _pack(group, bits)
            group, bits = [], bits + 1
    if word:
        group.append(table[word])
    return bytes(packed + _pack(group, bits))


def _pack(codes: list[int], bits: int) -> bytes:
    """Return codes as bits, filled up to a byte."""
    packed = bytearray()
    for start in range(0, len(codes), 8):
        group = codes[start : start + 8]
        number = sum(code << (bits * i) for i, code in enumerate(group))
        packed += number.to_bytes(-(-len(group) * bits // 8), "little")
    return bytes(packed)
