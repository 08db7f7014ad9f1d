"""Which topics are asked of the generated articles, and which docs are graded how.

Usage: `topics = draw_topics(rng, world, articles)`, then `graded(rng, world, articles, topics)`.
Docs and queries are positions here, ids come later. Grades are those of TREC-COVID: 2 relevant,
1 partially relevant, 0 not relevant.

It must not know how a text or a question is worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from residuum.collections.article_world import Facts, World
from residuum.collections.world import sample, shuffled

NOT_RELEVANT = 40
ENOUGH = 4

Judgement = tuple[int, int, int]  # position of the query, position of the doc, grade


class Topic(NamedTuple):
    """A condition, with an aspect (of anyone or of a population) or an agent that is asked for."""

    condition: int
    aspect: int | None = None
    population: int | None = None
    agent: int | None = None


def draw_topics(rng: Random, world: World, articles: Sequence[Facts]) -> list[Topic]:
    """A quarter of the topics ask for a population too, a quarter for an agent.

    Raises ValueError if too few topics of a kind have enough relevant docs.
    """
    candidates, judged = Candidates(world, articles), world.recipe.judged
    quarter = judged // 4
    drawn: list[Topic] = []
    for kind, topics, count in (
        ("aspects", _aspects(world), judged - 2 * quarter),
        ("aspects in a population", _populations(world), quarter),
        ("agents", _agents(world), quarter),
    ):
        answered = filter(candidates.answer, shuffled(rng, topics))
        drawn += _exactly(list(islice(answered, count)), count, kind, judged)
    return shuffled(rng, drawn)


def _exactly(topics: list[Topic], count: int, kind: str, judged: int) -> list[Topic]:
    if len(topics) == count:
        return topics
    raise ValueError(
        f"judged: {judged} queries asked, {count} of them on {kind}, but {len(topics)} such topics "
        f"have {ENOUGH} relevant docs; lower judged or conditions, or raise articles"
    )


def _aspects(world: World) -> list[Topic]:
    conditions, aspects = range(len(world.conditions)), range(len(world.aspects))
    return [Topic(condition, aspect) for condition in conditions for aspect in aspects]


def _populations(world: World) -> list[Topic]:
    populations = range(len(world.populations))
    return [topic._replace(population=p) for topic in _aspects(world) for p in populations]


def _agents(world: World) -> list[Topic]:
    conditions, agents = range(len(world.conditions)), range(len(world.agents))
    return [Topic(condition, agent=agent) for condition in conditions for agent in agents]


class Candidates:
    """The docs that have something to do with a topic, and the grade of each."""

    def __init__(self, world: World, articles: Sequence[Facts]) -> None:
        self.articles = articles
        self.naming: list[list[int]] = [[] for _ in world.conditions]
        self.about: list[list[int]] = [[] for _ in world.aspects]
        self.trying: list[list[int]] = [[] for _ in world.agents]
        for position, facts in enumerate(articles):
            self.naming[facts.condition].append(position)
            self.naming[facts.other].append(position)
            self.about[facts.aspect].append(position)
            if facts.agent is not None:
                self.trying[facts.agent].append(position)

    def answer(self, topic: Topic) -> bool:
        """Whether some doc is relevant, and enough are at least partially."""
        grades = [_grade(self.articles[i], topic) for i in self.naming[topic.condition]]
        return 2 in grades and sum(grade > 0 for grade in grades) >= ENOUGH

    def grades(self, topic: Topic) -> dict[int, int]:
        """Position -> grade, for docs that name the condition or what is asked of it."""
        asked = self.about[topic.aspect] if topic.aspect is not None else []
        tried = self.trying[topic.agent] if topic.agent is not None else []
        positions = sorted({*self.naming[topic.condition], *asked, *tried})
        return {i: _grade(self.articles[i], topic) for i in positions}


def _grade(facts: Facts, topic: Topic) -> int:
    if facts.kind == "notice":
        return 0
    states = facts.kind == "study" and facts.condition == topic.condition
    if topic.agent is not None:
        if states and facts.agent == topic.agent:
            return 2
        return int((topic.condition, topic.agent) in facts.used)
    suits = topic.population in (None, facts.population)
    if states and facts.aspect == topic.aspect:
        return 1 + suits
    own = topic.population is None or states  # what is told of others, or by a review, is of anyone
    return int(suits and own and (topic.condition, topic.aspect) in facts.told)


def graded(
    rng: Random, world: World, articles: Sequence[Facts], topics: Sequence[Topic]
) -> list[Judgement]:
    """All docs of grade 1 and above, and a sample of those that were looked at in vain."""
    candidates = Candidates(world, articles)
    judgements: list[Judgement] = []
    for query, topic in enumerate(topics):
        grades = candidates.grades(topic)
        useless = [position for position, grade in grades.items() if grade == 0]
        kept = {*sample(rng, useless, NOT_RELEVANT), *(p for p, g in grades.items() if g > 0)}
        judgements += [(query, p, grades[p]) for p in sorted(kept)]
    return judgements
