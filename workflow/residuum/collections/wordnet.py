"""Synonyms from WordNet's database files (its manual, wndb(5) and wninput(5)).

Usage: `WordNet(spec).synonyms_of("city")`. The folder is below the one that RESIDUUM_DATA names. An
inflected form that WordNet does not list has no synonyms.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from residuum.cli.errors import ResiduumError
from residuum.collections.adverse import WORD
from residuum.config import roots
from residuum.config.schema import adverse

STOP_WORDS = frozenset(
    roots.packaged("collections/words/stopwords.txt").read_text(encoding="utf-8").split()
)
OFFSET = re.compile(r"\d{8}")  # byte offset of a synset's line in its data file
SYNTAX = re.compile(r"\((?:a|p|ip)\)$")  # marks of an adjective's position
GET = "Get WordNet 3.x and unpack its `dict` folder there: https://wordnet.princeton.edu/download"


class WordNet:
    """The synsets of each lemma, most frequent sense first, by part of speech."""

    def __init__(self, spec: adverse.WordNet) -> None:
        """Read the database; missing, incomplete or damaged files raise ResiduumError."""
        folder = roots.data() / spec.folder
        if not folder.is_dir():
            raise ResiduumError(f"{folder}: no such folder. {GET}")
        paths = [roots.data() / name for name in spec.files()]
        if absent := [path.name for path in paths if not path.is_file()]:
            raise ResiduumError(f"{folder}: no {', '.join(absent)} in this folder. {GET}")
        self.parts = [_Part(folder, part) for part in adverse.WORDNET]

    def units(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the words of a lower-case text, except stop words and single characters."""
        found = WORD.finditer(text)
        return (word for word in found if len(word[0]) > 1 and word[0] not in STOP_WORDS)

    def synonyms_of(self, unit: str) -> Iterator[str]:
        """Yield the other lemmas of a word's synsets, in the order of synsets, then lemmas."""
        lemmas = (lemma for part in self.parts for lemma in part.lemmas(unit))
        return (lemma for lemma in dict.fromkeys(lemmas) if lemma != unit)


class _Part:
    """The index and the synsets of one part of speech."""

    def __init__(self, folder: Path, part: str) -> None:
        self.path, index = folder / f"data.{part}", folder / f"index.{part}"
        self.data, self.index = _whole(self.path), dict[str, list[str]]()
        for number, line in enumerate(_whole(index).splitlines(), start=1):
            if not line.startswith("  "):  # lines of the licence begin with spaces
                lemma, offsets = _entry(f"{index}, line {number}", line)
                self.index[lemma] = offsets
        for offsets in self.index.values():
            for offset in offsets:
                if not self.data.startswith(f"{offset} ", int(offset)):
                    raise _damaged(f"{self.path}, byte {offset}", "no synset starts here")

    def lemmas(self, word: str) -> Iterator[str]:
        """Yield the lower-case lemmas of a word's synsets; spaces separate the words of a lemma."""
        for offset in self.index.get(word, ()):
            line = self.data[int(offset) : self.data.index("\n", int(offset))]
            fields = line.split()
            try:
                count = int(fields[3], 16)
                lemmas = fields[4 : 4 + 2 * count : 2]
            except (ValueError, IndexError):
                raise _damaged(f"{self.path}, byte {offset}", line[:60]) from None
            if len(lemmas) != count:
                raise _damaged(f"{self.path}, byte {offset}", line[:60])
            for lemma in lemmas:
                yield SYNTAX.sub("", lemma).replace("_", " ").lower()


def _whole(path: Path) -> str:
    """Return a file decoded to a character per byte, because WordNet's offsets count bytes."""
    text = path.read_bytes().decode("latin-1")
    if not text.endswith("\n"):
        raise _damaged(str(path), "it ends within a line" if text else "it is empty")
    return text


def _entry(where: str, line: str) -> tuple[str, list[str]]:
    """Read `lemma pos synset_cnt p_cnt [ptr_symbol...] sense_cnt tagsense_cnt offset...`."""
    fields = line.split()
    try:
        synsets, pointers = int(fields[2]), int(fields[3])
    except (ValueError, IndexError):
        raise _damaged(where, line[:60]) from None
    offsets = fields[6 + pointers :]
    if len(offsets) != synsets or not synsets or not all(map(OFFSET.fullmatch, offsets)):
        raise _damaged(where, line[:60])
    return fields[0].replace("_", " "), offsets


def _damaged(where: str, found: str) -> ResiduumError:
    return ResiduumError(f"{where}: damaged, or no file of WordNet 3.x ({found}). {GET}")
