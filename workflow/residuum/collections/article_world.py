"""What the generated articles are about, drawn from a seed before any text is written.

Usage: `world = draw_world(rng, recipe)`, then `draw_articles(rng, world)` gives the facts of every
doc: what a study found and where it says so, what a review covers, what a notice only names.

It must not know sentences, topics or grades.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from residuum.collections import article_lexicon as lex
from residuum.collections.wordlists import Concept
from residuum.collections.world import Zipf, pick, sample, shuffled, zipf

if TYPE_CHECKING:
    from residuum.core.schema import GeneratedArticles

USED, ELSEWHERE, ASIDE = 0.5, 0.4, 0.5
COVERED = 4


class Condition(NamedTuple):
    """An invented illness: what it is called and how it shows."""

    forms: Concept
    course: str
    symptoms: tuple[str, ...]


class Agent(NamedTuple):
    """An invented drug: what it is called and what it is."""

    forms: Concept
    kind: str


class World(NamedTuple):
    """Concepts by position; the first form of each is the usual one in this collection."""

    recipe: GeneratedArticles
    conditions: list[Condition]
    agents: list[Agent]
    aspects: list[Concept]
    populations: list[Concept]


class Facts(NamedTuple):
    """What a doc states of its condition, and what it names without stating anything.

    A study states its aspect, population and agent (none outside therapy) from the title on; only
    its body states `told`, pairs of condition and aspect, and `used`, pairs of condition and
    agent. A review covers the aspects in `told`. A notice names all and states nothing. Of `other`,
    a condition, and of `aside`, an aspect, nothing is said unless `told` has it.
    """

    kind: str
    condition: int
    aspect: int
    population: int
    agent: int | None
    told: tuple[tuple[int, int], ...]
    used: tuple[tuple[int, int], ...]
    other: int
    aside: int | None


def possible_conditions() -> int:
    """How many conditions the lexicon can name without two sharing a name."""
    return min(len(lex.STEMS), len(lex.SURNAMES))


def possible_agents() -> int:
    """How many agents the lexicon can name without two sharing a name."""
    return min(len(lex.ONSETS), len(lex.TRADE_NAMES))


def draw_world(rng: Random, recipe: GeneratedArticles) -> World:
    """The conditions and agents of a collection, and which form of each concept is usual."""
    conditions, agents = _conditions(rng, recipe.conditions), _agents(rng, recipe.agents)
    aspects = [tuple(shuffled(rng, aspect.forms)) for aspect in lex.ASPECTS]
    populations = [tuple(shuffled(rng, forms)) for forms in lex.POPULATIONS]
    return World(recipe, conditions, agents, aspects, populations)


def _conditions(rng: Random, count: int) -> list[Condition]:
    signs = [(look, part) for look in lex.LOOKS for part in lex.PARTS]
    parts = zip(
        sample(rng, lex.STEMS, count),
        sample(rng, lex.SURNAMES, count),
        sample(rng, signs, count),
        strict=True,
    )
    return [_condition(rng, *part) for part in parts]


def _condition(rng: Random, stem: str, surname: str, sign: tuple[str, str]) -> Condition:
    names = (
        stem + pick(rng, lex.SUFFIXES),
        f"{surname} {pick(rng, lex.HEADS)}",
        f"{sign[0]} {sign[1]} {pick(rng, lex.AILMENTS)}",
    )
    symptoms = tuple(sample(rng, lex.SYMPTOMS, 3))
    return Condition(tuple(shuffled(rng, names)), pick(rng, lex.COURSES), symptoms)


def _agents(rng: Random, count: int) -> list[Agent]:
    onsets, trade_names = sample(rng, lex.ONSETS, count), sample(rng, lex.TRADE_NAMES, count)
    numbers = sample(rng, range(101, 1000), count)
    return [
        Agent(
            tuple(shuffled(rng, (onset + pick(rng, lex.ENDS), trade_name, _code(rng, number)))),
            pick(rng, lex.CLASSES),
        )
        for onset, trade_name, number in zip(onsets, trade_names, numbers, strict=True)
    ]


def _code(rng: Random, number: int) -> str:
    return f"{pick(rng, lex.LETTERS)}-{number}"


class Frequencies(NamedTuple):
    """How frequent each concept is; which of them are frequent is drawn."""

    conditions: Zipf
    aspects: Zipf
    populations: Zipf
    agents: Zipf


def draw_articles(rng: Random, world: World) -> list[Facts]:
    """The facts of all docs, in an order that tells nothing about their kind."""
    recipe = world.recipe
    tables = (world.conditions, world.aspects, world.populations, world.agents)
    frequent = Frequencies(*(zipf(rng, len(table)) for table in tables))
    studies = [_study(rng, frequent) for _ in range(recipe.articles)]
    reviews = [_review(rng, frequent) for _ in range(recipe.reviews)]
    notices = [_notice(rng, frequent) for _ in range(recipe.notices)]
    return shuffled(rng, studies + reviews + notices)


def _study(rng: Random, frequent: Frequencies) -> Facts:
    """A study of one aspect, whose body tells another and, at times, one of another condition."""
    aspect, side, elsewhere, aside = frequent.aspects.draw_distinct(rng, 4)
    base = _named(rng, frequent, "study", aspect)
    told, used = [(base.condition, side)], []
    if rng.random() < ELSEWHERE:
        told.append((base.other, elsewhere))
    if rng.random() < USED:
        used.append((base.condition, frequent.agents.draw(rng)))
    named = aside if rng.random() < ASIDE else None
    return base._replace(told=tuple(told), used=tuple(used), aside=named)


def _review(rng: Random, frequent: Frequencies) -> Facts:
    """A paper that covers several aspects of a condition and has none of its own."""
    covered = frequent.aspects.draw_distinct(rng, COVERED)
    base = _named(rng, frequent, "review", covered[0])
    return base._replace(told=tuple((base.condition, aspect) for aspect in covered))


def _notice(rng: Random, frequent: Frequencies) -> Facts:
    return _named(rng, frequent, "notice", frequent.aspects.draw(rng))


def _named(rng: Random, frequent: Frequencies, kind: str, aspect: int) -> Facts:
    condition, other = frequent.conditions.draw_distinct(rng, 2)
    population, agent = frequent.populations.draw(rng), frequent.agents.draw(rng)
    tries = kind == "notice" or lex.ASPECTS[aspect].family == lex.THERAPY
    return Facts(kind, condition, aspect, population, agent if tries else None, (), (), other, None)
