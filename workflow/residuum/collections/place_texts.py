"""The words of the generated collection, and the sentences that say or ask something of a place.

Usage: `statement(rng, place, attribute, forms)`, `question(...)` and so on; every one is a pattern
drawn from words/places.yaml. It must not know which docs there are, splits, grades or ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from residuum.collections.draws import another, pick, sample, shuffled
from residuum.collections.worlds import Concept, enumerated
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.base import Strict

WORDS = packaged("collections/words/places.yaml")
BY_NAME, BY_DESCRIPTION = 0.55, 0.25  # the rest of the queries give one word of the name
BOTH_MODIFIERS = 0.5


class Attribute(Strict):
    """What a passage can state: its family, surface forms and the words that go with it."""

    family: str
    forms: Concept
    collocates: list[str]


class Words(Strict):
    """The layout of words/places.yaml; concepts of one kind have equally many forms."""

    attributes: list[Attribute]
    types: list[Concept]
    modifiers: list[Concept]
    features: list[Concept]
    name_starts: tuple[list[str], list[str]]
    name_ends: tuple[list[str], list[str]]
    values: list[str]
    patterns: dict[str, list[str]]


words: Words = entries.parse(WORDS, Words)
patterns = words.patterns

Forms = tuple[int, ...]  # which form a text has of its attribute, type, two modifiers and feature
_KINDS = (words.attributes[0].forms, words.types[0], *words.modifiers[:2], words.features[0])
_SIZES = [len(concept) for concept in _KINDS]


class Place(NamedTuple):
    """A place: its name, and the concepts that describe it."""

    name: str
    type: Concept
    modifiers: tuple[Concept, ...]
    feature: Concept


def names() -> list[str]:
    """Every two-word name that can be made, each once."""
    firsts, seconds = (
        [start + end for start in starts for end in ends]
        for starts, ends in zip(words.name_starts, words.name_ends, strict=True)
    )
    return [f"{first} {second}" for first in firsts for second in seconds]


def draw_forms(rng: Random) -> Forms:
    """The forms of a doc."""
    return tuple([int(rng.random() * size) for size in _SIZES])


def shifted(rng: Random, forms: Forms, shift: float) -> Forms:
    """The forms of a query: each concept takes another form with the probability `shift`."""
    sizes = zip(_SIZES, forms, strict=True)
    return tuple([another(rng, n, f) if rng.random() < shift else f for n, f in sizes])


def _phrases(place: Place, attribute: Attribute, forms: Forms) -> tuple[str, str, list[str], str]:
    """The attribute, type, modifiers and feature in the words of one text."""
    stated, kind, one, two, feature = forms
    modifiers = [place.modifiers[0][one], place.modifiers[1][two]]
    return attribute.forms[stated], place.type[kind], modifiers, place.feature[feature]


def statement(rng: Random, place: Place, attribute: Attribute, forms: Forms) -> str:
    """What a passage says of its place, in answer to a query."""
    stated, kind, modifiers, feature = _phrases(place, attribute, forms)
    description = f"{_with_article(', '.join(shuffled(rng, modifiers)))} {kind}"
    return pick(rng, patterns["statements"]).format(
        attribute=stated,
        name=place.name,
        description=f"{description} with {_with_article(feature)}",
        value=pick(rng, words.values),
    )


def detail(rng: Random, place: Place, attribute: Attribute) -> str:
    """Three of the words that go with an attribute."""
    part = pick(rng, place.name.split())
    first, second, third = sample(rng, attribute.collocates, 3)
    pattern = pick(rng, patterns["details"])
    return pattern.format(part=part, first=first, second=second, third=third)


def listing(
    rng: Random, places: Sequence[Place], attributes: Sequence[Attribute], forms: Forms
) -> str:
    """A page that names places and attributes and describes the first place alone."""
    _, kind, modifiers, feature = _phrases(places[0], attributes[0], forms)
    return pick(rng, patterns["listings"]).format(
        type=kind,
        modifier=modifiers[0],
        feature=_with_article(feature),
        names=enumerated([place.name for place in places]),
        attributes=enumerated([pick(rng, attribute.forms) for attribute in attributes]),
    )


def question(rng: Random, place: Place, attribute: Attribute, forms: Forms) -> str:
    """What a query asks of a place, which it gives by name, by description or in part."""
    stated, kind, modifiers, feature = _phrases(place, attribute, forms)
    pattern, chance = pick(rng, patterns["queries"]), rng.random()
    if chance < BY_NAME:
        pointer = place.name
    elif chance < BY_NAME + BY_DESCRIPTION:
        description = pick(rng, patterns["descriptions"])
        used = sample(rng, modifiers, 2 if rng.random() < BOTH_MODIFIERS else 1)
        pointer = description.format(modifiers=" ".join(used), type=kind, feature=feature)
    else:
        part_pattern = pick(rng, patterns["parts"])
        pointer = part_pattern.format(part=pick(rng, place.name.split()), type=kind)
    return pattern.format(attribute=stated, place=pointer)


def _with_article(phrase: str) -> str:
    """The phrase after "a" or "an"; "university" is spoken with a consonant."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith("uni")
    return f"{'an' if vowel else 'a'} {phrase}"
