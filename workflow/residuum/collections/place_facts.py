"""Vocabulary and docs of the generated places, and checks of a recipe.

Usage: `refuse(recipe)` before places are drawn, `Doc(...).names()`, `lexicon(spec)` for the other
forms of a concept.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from residuum.collections import worlds
from residuum.collections.adverse import Lexicon
from residuum.collections.worlds import Attribute, Concept, Key, Topic
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.adverse import Forms as OtherForms
from residuum.config.schema.base import Strict
from residuum.config.schema.generated import FOLDS, GeneratedSource

LISTED = 6


class Words(Strict):
    """The layout of words/places.yaml; all concepts of a kind have the same number of forms."""

    attributes: list[Attribute]
    types: list[Concept]
    modifiers: list[Concept]
    features: list[Concept]
    name_starts: tuple[list[str], list[str]]
    name_ends: tuple[list[str], list[str]]
    values: list[str]
    patterns: dict[str, list[str]]


words: Words = entries.parse(packaged("collections/words/places.yaml"), Words)
patterns = words.patterns

Forms = tuple[int, ...]  # a text's form of: attribute, type, two modifiers, feature
_CONCEPTS = (words.attributes[0].forms, words.types[0], *words.modifiers[:2], words.features[0])
SIZES = [len(concept) for concept in _CONCEPTS]


class Doc(NamedTuple):
    """A text and what it names; a passage states the first attribute of its first place."""

    kind: str
    text: str
    places: tuple[int, ...]
    attributes: tuple[int, ...]
    forms: Forms

    def names(self) -> list[Key]:
        """Return the keys of all places and of the attribute that a passage states."""
        stated = self.attributes[: self.kind == "passage"]
        return [*(("place", place) for place in self.places), *(("attribute", a) for a in stated)]

    @property
    def topic(self) -> Topic:
        """Return the first place and attribute: stated, asked for, or named first."""
        return {"place": self.places[0], "attribute": self.attributes[0]}


def refuse(recipe: GeneratedSource) -> None:
    """Raise ValueError with all faults of a recipe, if it has any."""
    worlds.refuse("the generated collection", _faults(recipe))


def _faults(recipe: GeneratedSource) -> Iterator[ValueError]:
    entities, attributes, most = recipe.entities, len(words.attributes), len(names())
    if not LISTED <= entities <= most:
        yield worlds.fault(
            f"entities: {entities} requested, {LISTED} to {most} possible; change entities"
        )
    if recipe.passages > entities * attributes:
        yield worlds.fault(
            f"passages: {recipe.passages} requested, {entities} entities with {attributes} "
            f"attributes give {entities * attributes}; lower passages or raise entities"
        )
    if recipe.stubs and not recipe.passages:
        yield worlds.fault(
            f"stubs: {recipe.stubs} requested, but no passage to ask about; raise passages"
        )
    train = round(recipe.train_share * recipe.passages)
    queries = recipe.tune + recipe.dev + recipe.judged + recipe.questions + recipe.topics
    if recipe.train_pairs and not train:
        yield worlds.fault(
            f"train_pairs: {recipe.train_pairs} requested, but train_share {recipe.train_share} "
            f"of {recipe.passages} passages is none; raise train_share or passages"
        )
    if queries > recipe.passages - train:
        yield worlds.fault(
            f"tune + dev + judged + questions + topics: {queries} queries requested, "
            f"{recipe.passages - train} passages lie outside the train share; lower one of the "
            "five or train_share, or raise passages"
        )
    if 0 < recipe.topics < len(FOLDS):
        yield worlds.fault(
            f"topics: {recipe.topics} requested, too few for {len(FOLDS)} folds; give none, or "
            f"{len(FOLDS)} at least"
        )


def names() -> list[str]:
    """Return every two-word place name, each once."""
    syllables = zip(words.name_starts, words.name_ends, strict=True)
    return [" ".join(name) for name in product(*(map("".join, product(*s)) for s in syllables))]


def with_article(phrase: str) -> str:
    """Return a phrase after "a" or "an"; "uni..." takes "a", as in "university"."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith("uni")
    return f"{'an' if vowel else 'a'} {phrase}"


def lexicon(spec: OtherForms) -> Lexicon:
    """Return synonyms for this collection: the other forms of each concept, in order."""
    attributes = (attribute.forms for attribute in words.attributes)
    return Lexicon([*attributes, *words.types, *words.modifiers, *words.features])
