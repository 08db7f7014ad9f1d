"""Identifiers keep to docs/glossary.md: its column "not" names no thing that it is about."""

import ast
import re
from functools import cache

import pytest

from conftest import ROOT

PACKAGE = ROOT / "workflow" / "residuum"
ROW = re.compile(r"^\| (?!word )([^|]+) \| [^|]* \| ([^|]+) \|$", re.M)
BANNED = {  # a word, or several with a space between: `two-tower` and `two_tower` are one
    re.sub(r"\W+", " ", word).strip().lower(): meant
    for meant, banned in ROW.findall((ROOT / "docs" / "glossary.md").read_text())
    for word in banned.split(",")
}
# Words of that column that code needs for another thing than the glossary's.
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
    "ann": "Python's AnnAssign", "bag of words": "Anserini's queries",
    "base model": "pydantic's, and transformers'", "benchmark": "Snakemake's, of a job",
    "bucket": "of hashes", "contains": "Python's", "place": "a position", "probe": "of a card",
    "subwords": "of a tokenizer",
}  # fmt: skip
ROOMS_OF_SPLITS = ("config/registry.py", "wiring")


def identifiers(path):
    """Yield the names that a module binds or reads, and its own."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or ""
        elif isinstance(node, ast.Attribute):
            yield node.attr


def parts_of(name):
    """Return the parts of an identifier, of `AHead_ofTwo2` a, head, of, two and 2."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def terms(name):
    """Return the parts of an identifier and all rows of them, also without the s of a plural."""
    parts = parts_of(name)
    rows = {
        " ".join(parts[start:end])
        for start in range(len(parts))
        for end in range(start + 1, len(parts) + 1)
    }
    return rows | {row.removesuffix("s") for row in rows}


@cache
def words(path):
    return {term for name in {*identifiers(path)} for term in terms(name)}


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_parts_of_identifiers_are_read():
    assert parts_of("TwoTower_ANNIndex2docs") == ["two", "tower", "ann", "index", "2", "docs"]
    assert {"two tower", "ann", "2 doc"} <= terms("TwoTower_ANNIndex2docs") & {*BANNED, "2 doc"}
    assert {"qid", "base model"} <= terms("qids") | terms("_base_models")


def test_the_glossary_bans_words_and_says_what_they_would_mean():
    assert {"place", "qid", "retriever", "ann", "ground truth"} <= {*BANNED}
    assert OTHERWISE.keys() <= {*BANNED}


def test_each_word_that_is_needed_otherwise_is_used():
    assert not OTHERWISE.keys() - set().union(*map(words, MODULES))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_no_identifier_is_a_word_that_the_glossary_bans(path):
    used = words(path) & (BANNED.keys() - OTHERWISE.keys())
    assert not used, {word: f"write: {BANNED[word]}" for word in used}


def test_a_split_is_called_a_split_where_splits_are_bound():
    for room in ROOMS_OF_SPLITS:
        place = PACKAGE / room
        for path in [place] if place.is_file() else sorted(place.glob("*.py")):
            assert "place" not in words(path), path
