"""What the generated articles are about, drawn from a seed before any text is written.

Usage: `world = draw_world(rng, recipe)`, then `draw_facts(rng, world)` gives the facts of every
doc: what a study states and where, what a review covers, what a notice only names. Concepts come
from words/articles.yaml. It must not know sentences, topics or grades.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from residuum.collections.draws import Zipf, pick, sample, shuffled, zipf
from residuum.collections.worlds import Concept, Key
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.base import Strict

if TYPE_CHECKING:
    from residuum.config.schema.sources import GeneratedArticles

WORDS = packaged("collections/words/articles.yaml")
USED, ELSEWHERE, ASIDE = 0.5, 0.4, 0.5
COVERED = 4
THERAPY = "therapy"  # a study of this family tries an agent
KINDS = ("condition", "aspect", "population", "agent")  # of what is named


class Aspect(Strict):
    """What a study can be about: its surface forms, a plain question and the words around it."""

    family: str
    forms: Concept
    question: str
    collocates: list[str]


class Words(Strict):
    """The layout of words/articles.yaml."""

    aspects: list[Aspect]
    populations: list[Concept]
    conditions: dict[str, list[str]]
    agents: dict[str, list[str]]
    settings: dict[str, list[str]]
    patterns: dict[str, list[str]]


words: Words = entries.parse(WORDS, Words)


class World(NamedTuple):
    """What can be named, by kind and position; the first form of each concept is the usual one.

    Of a condition there are its course and symptoms too, of an agent the class of its drug.
    """

    recipe: GeneratedArticles
    forms: dict[str, list[Concept]]
    courses: list[str]
    symptoms: list[list[str]]
    drugs: list[str]


class Facts(NamedTuple):
    """What a doc states of its condition, and what it names without stating anything.

    A study states its aspect, population and agent (none outside therapy) from the title on; only
    its body states `findings`, pairs of condition and aspect, and `uses`, pairs of condition and
    agent. A review covers the aspects in `findings`. A notice names all and states nothing. Of
    `other`, a condition, and of `aside`, an aspect, nothing is stated outside `findings`.
    """

    kind: str
    condition: int
    aspect: int
    population: int
    agent: int | None
    other: int
    findings: tuple[tuple[int, int], ...] = ()
    uses: tuple[tuple[int, int], ...] = ()
    aside: int | None = None

    def named(self) -> dict[str, int]:
        """What title and abstract are about, by kind."""
        every = zip(KINDS, self[1:5], strict=True)
        return {kind: position for kind, position in every if position is not None}

    def names(self) -> list[Key]:
        """What is named and can be asked for, the other condition too."""
        named = [("condition", self.condition), ("condition", self.other), ("aspect", self.aspect)]
        return named if self.agent is None else [*named, ("agent", self.agent)]


def faults(recipe: GeneratedArticles) -> Iterator[str]:
    """Two conditions and agents at least, so that a doc can name another; none without a name."""
    for key, names in (
        ("conditions", [words.conditions["stems"], words.conditions["surnames"]]),
        ("agents", [words.agents["onsets"], words.agents["trade_names"]]),
    ):
        count, most = getattr(recipe, key), min(map(len, names))
        if not 2 <= count <= most:
            yield f"{key}: {count} requested, 2 to {most} possible; change {key}"


def draw_world(rng: Random, recipe: GeneratedArticles) -> World:
    """The conditions and agents of a collection, and which form of each concept is usual."""
    conditions, courses, symptoms = zip(*_conditions(rng, recipe.conditions), strict=True)
    agents, drugs = zip(*_agents(rng, recipe.agents), strict=True)
    forms = {
        "condition": [*conditions],
        "agent": [*agents],
        "aspect": [tuple(shuffled(rng, aspect.forms)) for aspect in words.aspects],
        "population": [tuple(shuffled(rng, forms)) for forms in words.populations],
    }
    return World(recipe, forms, [*courses], [*symptoms], [*drugs])


def _conditions(rng: Random, count: int) -> Iterator[tuple[Concept, str, list[str]]]:
    table = words.conditions
    signs = [f"{look} {part}" for look in table["looks"] for part in table["parts"]]
    parts = [sample(rng, items, count) for items in (table["stems"], table["surnames"], signs)]
    for stem, surname, sign in zip(*parts, strict=True):
        first = stem + pick(rng, table["suffixes"])
        second = f"{surname} {pick(rng, table['heads'])}"
        third = f"{sign} {pick(rng, table['ailments'])}"
        symptoms = sample(rng, table["symptoms"], 3)
        yield tuple(shuffled(rng, (first, second, third))), pick(rng, table["courses"]), symptoms


def _agents(rng: Random, count: int) -> Iterator[tuple[Concept, str]]:
    table = words.agents
    onsets, brands = (sample(rng, table[key], count) for key in ("onsets", "trade_names"))
    numbers = sample(rng, range(101, 1000), count)
    for onset, brand, number in zip(onsets, brands, numbers, strict=True):
        names = (onset + pick(rng, table["ends"]), brand, f"{pick(rng, table['letters'])}-{number}")
        yield tuple(shuffled(rng, names)), pick(rng, table["classes"])


def draw_facts(rng: Random, world: World) -> list[Facts]:
    """The facts of all docs, in an order that tells nothing about their kind."""
    recipe = world.recipe
    frequent = {kind: zipf(rng, len(world.forms[kind])) for kind in KINDS}
    studies = [_study(rng, frequent) for _ in range(recipe.articles)]
    reviews = [_review(rng, frequent) for _ in range(recipe.reviews)]
    aspects = (frequent["aspect"].draw(rng) for _ in range(recipe.notices))
    notices = [_named(rng, frequent, "notice", aspect) for aspect in aspects]
    return shuffled(rng, studies + reviews + notices)


def _study(rng: Random, frequent: dict[str, Zipf]) -> Facts:
    """A study of one aspect, whose body has another and, at times, one of another condition."""
    aspect, side, elsewhere, aside = frequent["aspect"].draw_distinct(rng, 4)
    base = _named(rng, frequent, "study", aspect)
    findings, uses = [(base.condition, side)], []
    if rng.random() < ELSEWHERE:
        findings.append((base.other, elsewhere))
    if rng.random() < USED:
        uses.append((base.condition, frequent["agent"].draw(rng)))
    named = aside if rng.random() < ASIDE else None
    return base._replace(findings=tuple(findings), uses=tuple(uses), aside=named)


def _review(rng: Random, frequent: dict[str, Zipf]) -> Facts:
    """A paper that covers several aspects of a condition and has none of its own."""
    covered = frequent["aspect"].draw_distinct(rng, COVERED)
    base = _named(rng, frequent, "review", covered[0])
    return base._replace(findings=tuple((base.condition, aspect) for aspect in covered))


def _named(rng: Random, frequent: dict[str, Zipf], kind: str, aspect: int) -> Facts:
    condition, other = frequent["condition"].draw_distinct(rng, 2)
    population, agent = frequent["population"].draw(rng), frequent["agent"].draw(rng)
    tries = kind == "notice" or words.aspects[aspect].family == THERAPY
    return Facts(kind, condition, aspect, population, agent if tries else None, other)
