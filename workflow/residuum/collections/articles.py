"""Articles of an invented medicine made from a seed, with judged queries and nothing to train on.

Usage: `generate(recipe)`, for datasets whose source is `generated-articles`; the page
docs/generated-collection.md says what they model. Grades are those of TREC-COVID: 2 relevant,
1 partially relevant, 0 not relevant. It must not know how a text or a question is worded.
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from residuum.collections.article_facts import KINDS, Facts, World, draw_facts, draw_world, faults
from residuum.collections.article_texts import Topic, article, question
from residuum.collections.draws import shuffled, stream
from residuum.collections.worlds import Collection, Grades, collection, refuse

if TYPE_CHECKING:
    from residuum.config.schema.sources import GeneratedArticles

NOT_RELEVANT = 40
ENOUGH = 4


def generate(recipe: GeneratedArticles) -> Collection:
    """Make the collection that a recipe describes.

    Returns docs in an order that tells nothing about their kind, and the queries and qrels of the
    one split, judged. Raises ValueError if the recipe asks for more than can be made.
    """
    refuse("the generated articles", faults(recipe))
    rng = stream(recipe.seed, "docs")
    world = draw_world(rng, recipe)
    facts = draw_facts(rng, world)
    docs = [article(rng, world, each) for each in facts]
    rng, grades = stream(recipe.seed, "judged"), Grades(facts, relevance)
    topics = draw_topics(rng, world, grades)
    questions = [question(rng, world, topic) for topic in topics]
    judgements = grades.judged(stream(recipe.seed, "judgements"), topics, NOT_RELEVANT)
    return collection("a", docs, {"judged": (questions, list(judgements))})


def relevance(facts: Facts, topic: Topic) -> int:
    """2, 1 or 0; one that does not name the condition of the topic has 0."""
    if facts.kind == "notice":
        return 0
    states = facts.kind == "study" and facts.condition == topic.condition
    if topic.agent is not None:
        if states and facts.agent == topic.agent:
            return 2
        return int((topic.condition, topic.agent) in facts.uses)
    suits = topic.population in (None, facts.population)
    if states and facts.aspect == topic.aspect:
        return 1 + suits
    own = topic.population is None or states  # a finding on others, or of a review, is of anyone
    return int(suits and own and (topic.condition, topic.aspect) in facts.findings)


def draw_topics(rng: Random, world: World, grades: Grades[Facts, Topic]) -> list[Topic]:
    """A quarter of the topics ask for a population too, a quarter for an agent.

    Raises ValueError if too few topics of a kind have enough relevant docs.
    """
    judged, every = world.recipe.judged, {kind: range(len(world.forms[kind])) for kind in KINDS}
    aspects = [Topic(c, aspect) for c in every["condition"] for aspect in every["aspect"]]
    groups = [topic._replace(population=p) for topic in aspects for p in every["population"]]
    agents = [Topic(c, agent=agent) for c in every["condition"] for agent in every["agent"]]
    drawn: list[Topic] = []
    for kind, topics, count in (
        ("aspects", aspects, judged - 2 * (judged // 4)),
        ("aspects in a population", groups, judged // 4),
        ("agents", agents, judged // 4),
    ):
        answered = (t for t in shuffled(rng, topics) if _enough(grades.of(t)))
        chosen = list(islice(answered, count))
        if len(chosen) < count:
            raise ValueError(
                f"judged: {judged} queries requested, {count} of them on {kind}, but {len(chosen)} "
                f"such topics have {ENOUGH} relevant docs; lower judged or conditions, or raise "
                "articles"
            )
        drawn += chosen
    return shuffled(rng, drawn)


def _enough(grades: dict[int, int]) -> bool:
    """Whether some doc is relevant, and enough are at least partially."""
    relevant = [grade for grade in grades.values() if grade > 0]
    return 2 in relevant and len(relevant) >= ENOUGH
