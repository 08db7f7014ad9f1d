"""Which passage answers each query of a generated collection, and which docs it grades how.

Usage: `targets = draw_targets(world, docs)`, then per split `one_relevant(targets[split])` or
`graded(world, docs, targets[split])`. Docs and queries are positions here, ids come later.

It must not know how a text or a query is worded.
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from residuum.collections import lexicon as lex
from residuum.collections.world import Entity, World, sample, shuffled, stream
from residuum.collections.writing import Doc

if TYPE_CHECKING:
    from residuum.core.schema import GeneratedSource

NOT_RELEVANT = 20

Judgement = tuple[int, int, int]  # position of the query in its split, position of the doc, grade


def train_passages(recipe: GeneratedSource) -> int:
    """How many passages lie in the train share; the others are held out."""
    return round(recipe.train_share * recipe.passages)


def draw_targets(world: World, docs: list[Doc]) -> dict[str, list[int]]:
    """For every query of every split, the position of the passage that answers it.

    Raises ValueError if too few passages have docs of all grades.
    """
    recipe, rng = world.recipe, stream(world.recipe, "splits")
    passages = shuffled(rng, [i for i, doc in enumerate(docs) if doc.kind == "passage"])
    train, held_out = passages[: train_passages(recipe)], passages[train_passages(recipe) :]
    judged = _judgeable(world, docs, held_out)
    taken = set(judged)
    free = [i for i in held_out if i not in taken]
    return {
        "train": _rounds(rng, train, recipe.train_pairs),
        "tune": free[: recipe.tune],
        "dev": free[recipe.tune : recipe.tune + recipe.dev],
        "judged": judged,
    }


def _rounds(rng: Random, items: list[int], count: int) -> list[int]:
    """Each item once in every round, so that any half of the train pairs covers the passages."""
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += shuffled(rng, items)
    return drawn[:count]


def _judgeable(world: World, docs: list[Doc], positions: list[int]) -> list[int]:
    """The first passages whose candidates have all four grades, as many as the recipe asks."""
    candidates = Candidates(world, docs)
    complete = (i for i in positions if {0, 1, 2, 3} <= set(candidates.grades(i).values()))
    judged = list(islice(complete, world.recipe.judged))
    if len(judged) < world.recipe.judged:
        raise ValueError(
            f"judged: {world.recipe.judged} queries asked, {len(judged)} passages outside the "
            f"train share have docs of all grades; lower judged or raise passages"
        )
    return judged


class Candidates:
    """The docs that have something to do with a passage, and the grade of each for its query."""

    def __init__(self, world: World, docs: list[Doc]) -> None:
        self.entities, self.docs = world.entities, docs
        self.naming: list[list[int]] = [[] for _ in world.entities]
        self.stating: list[list[int]] = [[] for _ in lex.ATTRIBUTES]
        for position, doc in enumerate(docs):
            for entity in doc.entities:
                self.naming[entity].append(position)
            if doc.kind == "passage":
                self.stating[doc.attributes[0]].append(position)

    def grades(self, passage: int) -> dict[int, int]:
        """Position -> grade, for docs that name the entity or state the attribute."""
        entity, attribute = self.docs[passage].entities[0], self.docs[passage].attributes[0]
        positions = sorted({*self.naming[entity], *self.stating[attribute]})
        return {i: self._grade(self.docs[i], entity, attribute) for i in positions}

    def _grade(self, doc: Doc, entity: int, attribute: int) -> int:
        if doc.kind == "stub":
            return 0
        if doc.kind == "listing":
            return int(entity in doc.entities and attribute in doc.attributes)
        subject, topic = doc.entities[0], doc.attributes[0]
        if subject == entity:
            return 3 if topic == attribute else 1 + _same_family(topic, attribute)
        return int(topic == attribute and _kindred(self.entities[subject], self.entities[entity]))


def _same_family(one: int, other: int) -> bool:
    return lex.ATTRIBUTES[one].family == lex.ATTRIBUTES[other].family


def _kindred(one: Entity, other: Entity) -> bool:
    return (one.type, one.feature) == (other.type, other.feature)


def one_relevant(targets: list[int]) -> list[Judgement]:
    """Each query's passage with grade 1, as in MS MARCO."""
    return [(i, target, 1) for i, target in enumerate(targets)]


def graded(world: World, docs: list[Doc], targets: list[int]) -> list[Judgement]:
    """All docs of grade 1 and above, and a sample of those that were looked at in vain."""
    rng, candidates = stream(world.recipe, "judgements"), Candidates(world, docs)
    judgements: list[Judgement] = []
    for i, target in enumerate(targets):
        grades = candidates.grades(target)
        useless = [position for position, grade in grades.items() if grade == 0]
        kept = {*sample(rng, useless, NOT_RELEVANT), *(p for p, g in grades.items() if g > 0)}
        judgements += [(i, p, grades[p]) for p in sorted(kept)]
    return judgements
