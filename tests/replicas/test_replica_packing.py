"""What is packed is unpacked by other decoders."""

import random
import subprocess

import pytest
import unlzw3

from replicas import packing


def uncompressed(data: bytes) -> bytes:
    """gzip reads what compress writes."""
    return subprocess.run(["gzip", "-dc"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    ("size", "alphabet"),
    [(0, 256), (1, 256), (2, 256), (3, 1), (600, 256), (30_000, 9), (200_000, 256)],
    ids=["empty", "one", "two", "run", "past 9 bits", "words", "full table"],
)
def test_compress_is_undone_by_gzip_and_by_the_decoder_of_ir_datasets(size, alphabet):
    data = bytes(random.Random(size).choices(range(alphabet), k=size))
    packed = packing.compress(data)
    assert uncompressed(packed) == data
    assert unlzw3.unlzw(packed) == data


def test_compress_writes_the_bytes_of_the_format():
    # magic, block mode with 16 bits; then 97, 98 and 257 ("ab") in nine bits each, low bit first:
    # 97 + (98 << 9) + (257 << 18) = 0x0404C461 in four bytes
    assert packing.compress(b"abab") == bytes([0x1F, 0x9D, 0x90, 0x61, 0xC4, 0x04, 0x04])


def test_packing_twice_gives_the_same_bytes(tmp_path):
    first = packing.tar_gz(tmp_path / "1.tar.gz", {"a/b": "text", "c": b"\x00"}).read_bytes()
    assert (
        packing.tar_gz(tmp_path / "2.tar.gz", {"a/b": "text", "c": b"\x00"}).read_bytes() == first
    )
    assert (
        packing.gz(tmp_path / "1.gz", "text").read_bytes()
        == packing.gz(tmp_path / "2.gz", "text").read_bytes()
    )
