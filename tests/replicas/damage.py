"""Replicas with one thing broken each, as a bad download or disk would leave them.

Usage: `damage.passage_without_tab(home)`; what is returned names the file, the member of an
archive and the line, counted from 1. Must not know how damage is found or said.
"""

import io
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from replicas import cord19, packing

LINE = 100  # the line that is broken, where lines are records

Edit = Callable[[bytes], bytes]


class Damage(NamedTuple):
    """What is broken: the file, the path within the archives that it is, the line."""

    file: Path
    member: str | None = None
    line: int | None = None


def half(path: Path) -> Damage:
    """Keep the first half of a file, as a download that broke off."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return Damage(path)


def flipped(path: Path) -> Damage:
    """Invert 16 bytes in the middle of a file: the length is right, the hash wrong."""
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 16] = bytes(255 - byte for byte in data[middle : middle + 16])
    path.write_bytes(data)
    return Damage(path)


def passage_without_tab(home: Path) -> Damage:
    """Write a passage of MS MARCO with a space where the tab should be."""
    path = home / "msmarco-passage" / "collectionandqueries.tar.gz"
    tab = _on_line(LINE, lambda line: line.replace(b"\t", b" "))
    path.write_bytes(_within(path.read_bytes(), ["collection.tsv"], tab))
    return Damage(path, "collection.tsv", LINE)


def doc_without_docno(home: Path) -> Damage:
    """Take the DOCNO line from the tenth doc of MS MARCO's; the line is that of its <DOC>."""
    path = home / "msmarco-document" / "collection.tsv.gz"
    lines = packing.gzip.decompress(path.read_bytes()).split(b"\n")
    at = [number for number, line in enumerate(lines) if line == b"<DOC>"][9]
    del lines[at + 1]
    packing.gz(path, b"\n".join(lines))
    return Damage(path, line=at + 1)


def article_without_docno(home: Path) -> Damage:
    """Take the DOCNO line from an article of the LA Times; the line is that of its <DOC>."""
    path = home / "disks45" / "corpus" / "LATIMES" / "LA123190"
    path.write_bytes(_on_line(2, lambda line: b"")(path.read_bytes()))
    return Damage(path, line=1)


def passage_of_two_columns(home: Path) -> Damage:
    """Write a passage of DPR's without its title."""
    path = home / "dpr-w100" / "docs.tsv.gz"
    cut = _on_line(LINE, lambda line: line.rpartition(b"\t")[0] + b"\n")
    packing.gz(path, cut(packing.gzip.decompress(path.read_bytes())))
    return Damage(path, line=LINE)


def questions_cut_short(home: Path) -> Damage:
    """Write DPR's dev questions as JSON that ends in the middle, in a sound gzip file."""
    path = home / "dpr-w100" / "nq-dev.json.gz"
    text = packing.gzip.decompress(path.read_bytes())
    packing.gz(path, text[: len(text) // 2])
    return Damage(path, line=text[: len(text) // 2].count(b"\n") + 1)


def question_without_answers(data: Path) -> Damage:
    """Write a test question of DPR's without its tab and answers."""
    path = data / "nq" / "nq-test.qa.csv"
    path.write_bytes(_on_line(7, lambda line: line.partition(b"\t")[0] + b"\n")(path.read_bytes()))
    return Damage(path, line=7)


def row_cut_short(home: Path) -> Damage:
    """Cut a row of CORD-19's metadata after its title; the line is where the row begins."""
    return _metadata_damaged(home, lambda line: b",".join(line.split(b",")[:3]) + b",A title\n")


def row_with_open_quote(home: Path) -> Damage:
    """Take the last quote from a row of CORD-19's metadata: its authors run on into the next."""
    return _metadata_damaged(home, lambda line: b"".join(line.rpartition(b'"')[::2]))


def row_without_uid(home: Path) -> Damage:
    """Empty the first column of a row of CORD-19's metadata."""
    return _metadata_damaged(home, lambda line: b"," + line.partition(b",")[2])


def metadata_in_latin_1(home: Path) -> Damage:
    """Write a row of CORD-19's metadata in Latin-1: its authors have letters with accents."""
    return _metadata_damaged(home, lambda line: line.decode().encode("latin-1"))


def _metadata_damaged(home: Path, edit: Edit) -> Damage:
    path = home / "cord19" / cord19.DATE / "metadata.csv"
    data = path.read_bytes()
    starts = [n for n, line in enumerate(data.split(b"\n"), 1) if b",PMC," in line[:120]]
    path.write_bytes(_on_line(starts[4], edit)(data))
    return Damage(path, line=starts[4])


def released(home: Path, broken: Damage) -> Damage:
    """Put the damaged metadata into the release as well; the damage is then of its member."""
    path = home / "cord19" / cord19.RELEASE
    member = f"{cord19.DATE}/metadata.csv"
    path.write_bytes(_within(path.read_bytes(), [member], lambda data: broken.file.read_bytes()))
    return Damage(path, member, broken.line)


def subset_cut_short(home: Path) -> Damage:
    """Keep half of a tar of parses within a CORD-19 release whose own tar is sound."""
    path = home / "cord19" / cord19.RELEASE
    member = f"{cord19.DATE}/comm_use_subset.tar.gz"
    path.write_bytes(_within(path.read_bytes(), [member], lambda data: data[: len(data) // 2]))
    return Damage(path, member)


def article_cut_short(home: Path) -> Damage:
    """Cut a file of the LA Times in the middle of its last doc, which begins on the line."""
    path = home / "disks45" / "corpus" / "LATIMES" / "LA123190"
    lines = path.read_bytes().splitlines(keepends=True)
    start = max(number for number, line in enumerate(lines, 1) if line == b"<DOC>\n")
    path.write_bytes(b"".join(lines[: start + 8]))
    return Damage(path, line=start)


def doc_in_latin_1(home: Path) -> Damage:
    """Write a byte into a passage of DPR's that is no UTF-8."""
    path = home / "dpr-w100" / "docs.tsv.gz"
    odd = _on_line(LINE, lambda line: line.replace(b" ", b" \xe9 ", 1))
    packing.gz(path, odd(packing.gzip.decompress(path.read_bytes())))
    return Damage(path, line=LINE)


def judgement_without_number(path: Path) -> Damage:
    """Write a word where the relevance of a judgement stands."""
    word = _on_line(LINE, lambda line: line.rsplit(None, 1)[0] + b" yes\n")
    path.write_bytes(word(path.read_bytes()))
    return Damage(path, line=LINE)


def query_without_tab(path: Path) -> Damage:
    """Write a query with a space where the tab should be."""
    path.write_bytes(_on_line(5, lambda line: line.replace(b"\t", b" "))(path.read_bytes()))
    return Damage(path, line=5)


def last_lines_cut(path: Path) -> Damage:
    """Cut a file of lines in the middle of one, as a copy to a full disk; name that line."""
    lines = path.read_bytes().splitlines(keepends=True)
    kept = b"".join(lines[:LINE])
    path.write_bytes(kept[: len(kept) - 1])
    return Damage(path, line=LINE)


def parse_without_json(home: Path, layout: str = "subsets") -> Damage:
    """Write the first PMC parse of a CORD-19 release as text that is no JSON."""
    path = home / "cord19" / cord19.RELEASE
    folder = "comm_use_subset" if layout == "subsets" else "document_parses"
    packed = f"{cord19.DATE}/{folder}.tar.gz"
    names = _members(_member(path.read_bytes(), packed))
    parse = next(name for name in names if "pmc_json" in name)
    path.write_bytes(_within(path.read_bytes(), [packed, parse], lambda data: b"<!DOCTYPE html>\n"))
    return Damage(path, f"{packed}/{parse}", 1)


def judgement_of_three_columns(path: Path) -> Damage:
    """Take the last column from a line of a qrels file."""
    path.write_bytes(
        _on_line(LINE, lambda line: line.rsplit(None, 1)[0] + b"\n")(path.read_bytes())
    )
    return Damage(path, line=LINE)


def without_newswire(home: Path) -> Damage:
    """Remove the licensed folder of disks 4 and 5."""
    shutil.rmtree(home / "disks45" / "corpus")
    return Damage(home / "disks45" / "corpus")


def without_one_file(home: Path) -> Damage:
    """Remove one of the 2,295 files of disks 4 and 5."""
    path = home / "disks45" / "corpus" / "LATIMES" / "LA123190"
    path.unlink()
    return Damage(path)


def _on_line(number: int, edit: Edit) -> Edit:
    def edited(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        lines[number - 1] = edit(lines[number - 1])
        return b"".join(lines)

    return edited


def _within(packed: bytes, path: list[str], edit: Edit) -> bytes:
    """Return a gzipped tar, of gzipped tars perhaps, with the member at the path edited."""
    if not path:
        return edit(packed)
    members = {name: _member(packed, name) for name in _members(packed)}
    members[path[0]] = _within(members[path[0]], path[1:], edit)
    return packing.tar_gz_bytes(members)


def _members(packed: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return tar.getnames()


def _member(packed: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        result = tar.extractfile(name)
        assert result is not None, name
        return result.read()
