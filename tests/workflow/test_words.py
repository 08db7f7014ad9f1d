"""Identifiers keep to docs/glossary.md: its column "not" names no thing that it is about."""

import ast
import re

import pytest

from conftest import ROOT

PACKAGE = ROOT / "workflow" / "residuum"
ROW = re.compile(r"^\| (?!word )([^|]+) \| [^|]* \| ([^|]+) \|$", re.M)
BANNED = {
    word.strip(): meant
    for meant, words in ROW.findall((ROOT / "docs" / "glossary.md").read_text())
    for word in words.split(",")
    if re.fullmatch(r"[A-Za-z]{3,}", word.strip())
}
# Words of that column that code needs for another thing than the one which the glossary bans.
OTHERWISE = {
    "model": "a checkpoint", "system": "what makes a run", "score": "of a doc for a query",
    "output": "an option's path", "results": "the folder", "step": "of a training", "found": "any",
    "parent": "of a process, a path or an artefact", "group": "of queries, rows or processes",
    "label": "what a page calls a row", "absent": "of cells", "pool": "of negatives",
    "gap": "of a page, or of scores", "product": "of two vectors", "missing": "of lines or files",
    "version": "of a package", "grade": "of a generated relevance", "cast": "of a type",
    "union": "of types, or of lists", "worker": "a thread", "sweep": "of efforts",
    "baseline": "a row that others are compared with", "there": "any", "here": "any",
    "chunks": "of any sequence", "chunk": "of any sequence", "task": "of a hub, or a thread",
    "gain": "of a measure", "expected": "of docs", "computed": "of neural parts",
    "sampling": "of tokens", "docno": "TREC's tag", "predictions": "of tokens",
    "bucket": "of hashes", "document": "a page of Wikipedia", "profile": "Snakemake's",
    "lossless": "of a copy",
    "contains": "Python's", "probe": "of a card", "subwords": "of a tokenizer",
    "place": "a position",
}  # fmt: skip
ROOMS_OF_SPLITS = ("config/registry.py", "wiring")


def identifiers(path):
    """Yield the names that a module binds or reads."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute):
            yield node.attr


def words(path):
    """Return the words of a module's identifiers, without the s of a plural."""
    parts = (re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name) for name in identifiers(path))
    every = {part.lower() for some in parts for part in some}
    return every | {word.removesuffix("s") for word in every}


def test_the_glossary_bans_words_and_says_what_they_would_mean():
    assert {"place", "qid", "retriever"} <= {*BANNED} and {*OTHERWISE} >= {"place"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_identifier_is_a_word_that_the_glossary_bans(path):
    used = words(path) & (BANNED.keys() - OTHERWISE.keys())
    assert not used, {word: f"write: {BANNED[word]}" for word in used}


def test_a_split_is_called_a_split_where_splits_are_bound():
    for room in ROOMS_OF_SPLITS:
        place = PACKAGE / room
        for path in [place] if place.is_file() else sorted(place.glob("*.py")):
            assert "place" not in words(path), path
