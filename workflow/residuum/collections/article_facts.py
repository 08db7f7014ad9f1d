"""Draw the facts of the generated articles from a seed, and grade docs for topics.

Usage: `World(rng, recipe).draw_facts(rng)` returns what each doc states, covers or only names.
`draw_topics(rng, grades, key, size, least)` returns what queries ask for.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

from residuum.collections.worlds import Attribute, Concept, Grades, Key, Stream, Topic, Zipf, fault
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.base import Strict
from residuum.config.schema.generated import GeneratedArticles

USED, ELSEWHERE, ASIDE = 0.5, 0.4, 0.5
COVERED = 4
ENOUGH = 4  # relevant docs per topic
THERAPY = "therapy"  # studies of this family have an agent
KINDS = ("condition", "aspect", "population", "agent")  # kinds of named things


class Aspect(Attribute):
    """A subject of studies, with a plain question about it."""

    question: str


class Words(Strict):
    """The layout of words/articles.yaml."""

    aspects: list[Aspect]
    populations: list[Concept]
    conditions: dict[str, list[str]]
    agents: dict[str, list[str]]
    settings: dict[str, list[str]]
    patterns: dict[str, list[str]]


words: Words = entries.parse(packaged("collections/words/articles.yaml"), Words)


class Facts(NamedTuple):
    """What a doc states of its condition, and what it only names.

    A study states the topic `about` from the title on; only a study of a therapy has an agent
    there. Only a study's body states `findings`, which are (condition, aspect), and `uses`, which
    are (condition, agent). A review covers the aspects in `findings`. A notice names its topic and
    states nothing. The condition `other` and the aspect `aside` are named; nothing is stated of
    them outside `findings`.
    """

    kind: str
    about: Topic
    other: int
    findings: tuple[tuple[int, int], ...] = ()
    uses: tuple[tuple[int, int], ...] = ()
    aside: int | None = None

    def names(self) -> list[Key]:
        """Return the named things that a topic may ask for, which are no populations."""
        named = [key for key in self.about.items() if key[0] != "population"]
        return [*named, ("condition", self.other)]

    def relevance(self, topic: Topic) -> int:
        """Return the grade for a topic, 2, 1 or 0; a doc that does not name its condition has 0."""
        if self.kind == "notice":
            return 0
        condition, group = topic["condition"], topic.get("population")
        states = self.kind == "study" and self.about["condition"] == condition
        if states and topic.items() <= self.about.items():
            return 2
        if "agent" in topic:
            return int((condition, topic["agent"]) in self.uses)
        if states and self.about["aspect"] == topic["aspect"]:
            return 1
        # A finding of a review, or on another condition, holds for any population.
        suits = group is None or (states and group == self.about["population"])
        return int(suits and (condition, topic["aspect"]) in self.findings)


def faults(recipe: GeneratedArticles) -> Iterator[ValueError]:
    """Yield faults: fewer than two conditions or agents, or more than there are names."""
    for key, names in (
        ("conditions", [words.conditions["stems"], words.conditions["surnames"]]),
        ("agents", [words.agents["onsets"], words.agents["trade_names"]]),
    ):
        count, most = getattr(recipe, key), min(map(len, names))
        if not 2 <= count <= most:
            yield fault(f"{key}: {count} requested, 2 to {most} possible; change {key}")


class World:
    """The things that docs can name, by kind and position; a concept's usual form is its first."""

    def __init__(self, rng: Stream, recipe: GeneratedArticles) -> None:
        self.recipe, self.forms = recipe, defaultdict[str, list[Concept]](list)
        self.courses, self.drugs = list[str](), list[str]()  # per condition; per agent
        self.symptoms: list[list[str]] = []  # symptoms per condition
        table = words.conditions
        signs = [f"{look} {part}" for look in table["looks"] for part in table["parts"]]
        parts = (table["stems"], table["surnames"], signs)
        drawn = [rng.sample(items, recipe.conditions) for items in parts]
        for stem, surname, sign in zip(*drawn, strict=True):
            one, two = stem + rng.pick(table["suffixes"]), f"{surname} {rng.pick(table['heads'])}"
            names = one, two, f"{sign} {rng.pick(table['ailments'])}"
            self.symptoms.append(rng.sample(table["symptoms"], 3))
            self.forms["condition"].append(tuple(rng.shuffled(names)))
            self.courses.append(rng.pick(table["courses"]))
        table = words.agents
        codes = [rng.sample(table[key], recipe.agents) for key in ("onsets", "trade_names")]
        numbers = rng.sample(range(101, 1000), recipe.agents)
        for onset, brand, number in zip(*codes, numbers, strict=True):
            one, code = onset + rng.pick(table["ends"]), f"{rng.pick(table['letters'])}-{number}"
            self.forms["agent"].append(tuple(rng.shuffled((one, brand, code))))
            self.drugs.append(rng.pick(table["classes"]))
        self.forms["aspect"] = [tuple(rng.shuffled(aspect.forms)) for aspect in words.aspects]
        self.forms["population"] = [tuple(rng.shuffled(forms)) for forms in words.populations]
        self.frequent = {kind: Zipf(rng, len(self.forms[kind])) for kind in KINDS}

    def form(self, rng: Stream, kind: str, position: int) -> str:
        """Return the usual form of a concept or, with probability `shift`, another form."""
        concept, shift = self.forms[kind][position], rng.happens(self.recipe.shift)
        return concept[rng.another(len(concept), 0) if shift else 0]

    def draw_facts(self, rng: Stream) -> list[Facts]:
        """Return the facts of all docs, shuffled so that the order does not reveal their kind."""
        aspects = self.frequent["aspect"]
        studies = [self._study(rng) for _ in range(self.recipe.articles)]
        reviews = [self._review(rng) for _ in range(self.recipe.reviews)]
        named = (aspects.draw(rng) for _ in range(self.recipe.notices))
        notices = [self._named(rng, "notice", aspect) for aspect in named]
        return rng.shuffled(studies + reviews + notices)

    def _study(self, rng: Stream) -> Facts:
        """Draw a study of an aspect; its body states another aspect and maybe another condition."""
        aspect, side, elsewhere, aside = self.frequent["aspect"].draw_distinct(rng, 4)
        base = self._named(rng, "study", aspect)
        condition = base.about["condition"]
        findings, uses = [(condition, side)], []
        if rng.happens(ELSEWHERE):
            findings.append((base.other, elsewhere))
        if rng.happens(USED):
            uses.append((condition, self.frequent["agent"].draw(rng)))
        named = aside if rng.happens(ASIDE) else None
        return base._replace(findings=tuple(findings), uses=tuple(uses), aside=named)

    def _review(self, rng: Stream) -> Facts:
        """Draw a review, which covers several aspects of a condition without a study of its own."""
        covered = self.frequent["aspect"].draw_distinct(rng, COVERED)
        base = self._named(rng, "review", covered[0])
        findings = tuple((base.about["condition"], aspect) for aspect in covered)
        return base._replace(findings=findings)

    def _named(self, rng: Stream, kind: str, aspect: int) -> Facts:
        condition, other = self.frequent["condition"].draw_distinct(rng, 2)
        about = {"condition": condition, "aspect": aspect}
        about["population"] = self.frequent["population"].draw(rng)
        agent = self.frequent["agent"].draw(rng)
        if kind == "notice" or words.aspects[aspect].family == THERAPY:
            about["agent"] = agent
        return Facts(kind, about, other)

    def draw_topics(
        self, rng: Stream, grades: Grades, key: str, size: int, least: int
    ) -> list[Topic]:
        """Draw topics: a quarter ask for a population too, a quarter ask for an agent.

        Every topic has a doc of grade 2, and at least `least` docs of grade 1 or 2. If too few
        topics have, a ValueError names `key`, the key of the recipe.
        """
        drawn: list[Topic] = []
        for what, kinds, count in (
            ("aspects", ("condition", "aspect"), size - 2 * (size // 4)),
            ("aspects in a population", ("condition", "aspect", "population"), size // 4),
            ("agents", ("condition", "agent"), size // 4),
        ):
            positions = product(*(range(len(self.forms[kind])) for kind in kinds))
            topics = [dict(zip(kinds, each, strict=True)) for each in positions]
            graded = ((topic, [*grades.of(topic).values()]) for topic in rng.shuffled(topics))
            enough = (t for t, g in graded if 2 in g and len(g) - g.count(0) >= least)
            chosen = list(islice(enough, count))
            if len(chosen) < count:
                raise ValueError(
                    f"{key}: {size} queries requested, {count} of them on {what}, but "
                    f"{len(chosen)} such topics have {least} relevant docs; lower {key} or "
                    "conditions, or raise articles"
                )
            drawn += chosen
        return rng.shuffled(drawn)
