"""What the generated articles are about, drawn from a seed before any text is written, and grades.

Usage: `World(rng, recipe).draw_facts(rng)` gives what each doc states, covers or only names;
`draw_topics(rng, grades)` what is asked.
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
ENOUGH = 4  # relevant docs of a topic
THERAPY = "therapy"  # a study of this family tries an agent
KINDS = ("condition", "aspect", "population", "agent")  # of what is named


class Aspect(Attribute):
    """What a study can be about, with a plain question for it."""

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
    """What a doc states of its condition, and what it names without stating anything.

    A study states what it is `about`, with an agent in therapy alone, from the title on; only its
    body states `findings`, pairs of condition and aspect, and `uses`, pairs of condition and agent.
    A review covers the aspects in `findings`. A notice names all and states nothing. Of `other`, a
    condition, and of `aside`, an aspect, nothing is stated outside `findings`.
    """

    kind: str
    about: Topic
    other: int
    findings: tuple[tuple[int, int], ...] = ()
    uses: tuple[tuple[int, int], ...] = ()
    aside: int | None = None

    def names(self) -> list[Key]:
        """What is named and can be asked for, the other condition too; not a population alone."""
        named = [key for key in self.about.items() if key[0] != "population"]
        return [*named, ("condition", self.other)]

    def relevance(self, topic: Topic) -> int:
        """2, 1 or 0; one that does not name the condition of the topic has 0."""
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
        # a finding on other conditions, or of a review, is of anyone
        suits = group is None or (states and group == self.about["population"])
        return int(suits and (condition, topic["aspect"]) in self.findings)


def faults(recipe: GeneratedArticles) -> Iterator[ValueError]:
    """Two conditions and agents at least, so that a doc can name another; none without a name."""
    for key, names in (
        ("conditions", [words.conditions["stems"], words.conditions["surnames"]]),
        ("agents", [words.agents["onsets"], words.agents["trade_names"]]),
    ):
        count, most = getattr(recipe, key), min(map(len, names))
        if not 2 <= count <= most:
            yield fault(f"{key}: {count} requested, 2 to {most} possible; change {key}")


class World:
    """What can be named, by kind and position; the first form of each concept is the usual one."""

    def __init__(self, rng: Stream, recipe: GeneratedArticles) -> None:
        self.recipe, self.forms = recipe, defaultdict[str, list[Concept]](list)
        self.courses, self.drugs = list[str](), list[str]()  # of conditions; classes of agents
        self.symptoms: list[list[str]] = []  # of conditions
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
        """The usual form of a concept or, with the probability `shift`, another."""
        concept, shift = self.forms[kind][position], rng.happens(self.recipe.shift)
        return concept[rng.another(len(concept), 0) if shift else 0]

    def draw_facts(self, rng: Stream) -> list[Facts]:
        """The facts of all docs, in an order that tells nothing about their kind."""
        aspects = self.frequent["aspect"]
        studies = [self._study(rng) for _ in range(self.recipe.articles)]
        reviews = [self._review(rng) for _ in range(self.recipe.reviews)]
        named = (aspects.draw(rng) for _ in range(self.recipe.notices))
        notices = [self._named(rng, "notice", aspect) for aspect in named]
        return rng.shuffled(studies + reviews + notices)

    def _study(self, rng: Stream) -> Facts:
        """A study of one aspect, whose body has another and, at times, one of another condition."""
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
        """A paper that covers several aspects of a condition and has none of its own."""
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
        """A quarter of the topics ask for a population too, a quarter for an agent.

        Some doc of each has grade 2 and at least so many a grade; ValueError if too few topics do,
        with the key of the recipe that asks for them.
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
