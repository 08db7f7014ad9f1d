"""A collection of English-like text made from a seed, with train, tune, dev and judged queries.

residuum.data calls generate(recipe) for datasets whose source is `generated`; the page
docs/generated-collection.md says what the collection models. The same recipe gives the same
bytes on any machine: the only randomness is random.Random(...).random().

It must not know torch, a JVM or a network, nor which scale or dataset it is made for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from residuum.collections import lexicon as lex

if TYPE_CHECKING:
    from residuum.core.schema import GeneratedSource

T = TypeVar("T")

SPLITS = ("train", "tune", "dev", "judged")
STREAMS = ("docs", "splits", "tune", "dev", "judged", "train", "judgements")
BY_NAME, BY_DESCRIPTION = 0.55, 0.25  # the rest of the queries give one word of the name
MENTION, ASIDE, FILLER, BOTH_MODIFIERS = 0.75, 0.75, 0.2, 0.5
ZIPF_OFFSET = 2
LISTED = 6
NOT_RELEVANT = 20
REWORDINGS = 200


class Collection(NamedTuple):
    """Docs as (doc_id, text); per split, (query_id, text) and (query_id, doc_id, relevance)."""

    docs: list[tuple[str, str]]
    queries: dict[str, list[tuple[str, str]]]
    qrels: dict[str, list[tuple[str, str, int]]]


class Entity(NamedTuple):
    """A place; its type, modifiers and feature are positions in the tables of the lexicon."""

    name: str
    type: int
    modifiers: tuple[int, ...]
    feature: int


class Forms(NamedTuple):
    """The surface form that each concept takes in one text, by its position."""

    attribute: int
    type: int
    modifiers: tuple[int, ...]
    feature: int


class Doc(NamedTuple):
    """A text and what it names; a passage states its first attribute of its first entity."""

    kind: str
    text: str
    entities: tuple[int, ...]
    attributes: tuple[int, ...]
    forms: Forms


class Zipf(NamedTuple):
    """A Zipf law over positions; which position is frequent is drawn, not the lexicon's order."""

    order: list[int]
    cumulative: list[int]

    def draw(self, rng: Random) -> int:
        return self.order[bisect_right(self.cumulative, int(rng.random() * self.cumulative[-1]))]

    def draw_distinct(self, rng: Random, count: int) -> tuple[int, ...]:
        drawn: list[int] = []
        while len(drawn) < count:
            position = self.draw(rng)
            if position not in drawn:
                drawn.append(position)
        return tuple(drawn)


class World(NamedTuple):
    """What the texts are about, before any text is written."""

    recipe: GeneratedSource
    entities: list[Entity]
    attributes: Zipf


def generate(recipe: GeneratedSource) -> Collection:
    """Make the collection that a recipe describes.

    Returns docs in an order that tells nothing about their kind, and the queries and qrels of the
    splits train, tune, dev and judged. Raises ValueError if the recipe asks for more than can be
    made.
    """
    _check(recipe)
    rng = _stream(recipe, "docs")
    world = _world(rng, recipe)
    docs = _docs(rng, world)
    targets = _targets(world, docs)
    seen: set[str] = set()
    # train comes last: it gives way where its wording would repeat a tune, dev or judged query
    queries = {s: _queries(s, world, docs, targets[s], seen) for s in (*SPLITS[1:], SPLITS[0])}
    qrels = {s: _qrels(s, targets[s]) for s in SPLITS} | {
        "judged": _judgements(world, docs, targets["judged"])
    }
    return Collection(
        [(_doc_id(i), doc.text) for i, doc in enumerate(docs)],
        {split: queries[split] for split in SPLITS},
        qrels,
    )


def _check(recipe: GeneratedSource) -> None:
    faults = [*_world_faults(recipe), *_split_faults(recipe)]
    if faults:
        raise ValueError("\n  ".join(["the generated collection cannot be made", *faults]))


def _world_faults(recipe: GeneratedSource) -> Iterator[str]:
    entities, names, attributes = recipe.entities, len(lex.names()), len(lex.ATTRIBUTES)
    if not LISTED <= entities <= names:
        yield f"entities: {entities} asked, {LISTED} to {names} possible; change entities"
    if recipe.passages > entities * attributes:
        yield (
            f"passages: {recipe.passages} asked, {entities} entities with {attributes} attributes "
            f"give {entities * attributes}; lower passages or raise entities"
        )
    if recipe.stubs and not recipe.passages:
        yield f"stubs: {recipe.stubs} asked, but there is no passage to ask about; raise passages"


def _split_faults(recipe: GeneratedSource) -> Iterator[str]:
    train, asked = _train_passages(recipe), recipe.tune + recipe.dev + recipe.judged
    if recipe.train_pairs and not train:
        yield (
            f"train_pairs: {recipe.train_pairs} asked, but train_share {recipe.train_share} of "
            f"{recipe.passages} passages is none; raise train_share or passages"
        )
    if asked > recipe.passages - train:
        yield (
            f"tune + dev + judged: {asked} queries asked, {recipe.passages - train} passages lie "
            f"outside the train share; lower one of the three or train_share, or raise passages"
        )


def _stream(recipe: GeneratedSource, part: str) -> Random:
    """One stream per part, so that more train pairs leave docs and dev queries as they were."""
    return Random(recipe.seed * len(STREAMS) + STREAMS.index(part))


def _doc_id(position: int) -> str:
    return f"d{position + 1:06d}"


def _query_id(split: str, position: int) -> str:
    return f"{split}-{position + 1:05d}"


def _pick(rng: Random, items: Sequence[T]) -> T:
    return items[int(rng.random() * len(items))]


def _sample(rng: Random, items: Sequence[T], count: int) -> list[T]:
    pool = list(items)
    for i in range(min(count, len(pool))):
        j = i + int(rng.random() * (len(pool) - i))
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:count]


def _shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    return _sample(rng, items, len(items))


def _another(rng: Random, size: int, taken: int) -> int:
    return (taken + 1 + int(rng.random() * (size - 1))) % size


def _zipf(rng: Random, size: int) -> Zipf:
    """Weights are integers, whose sums are the same on every machine."""
    weights = (1_000_000 // (rank + ZIPF_OFFSET) for rank in range(1, size + 1))
    return Zipf(_shuffled(rng, range(size)), list(accumulate(weights)))


def _world(rng: Random, recipe: GeneratedSource) -> World:
    types, modifiers, features, attributes = (
        _zipf(rng, len(table)) for table in (lex.TYPES, lex.MODIFIERS, lex.FEATURES, lex.ATTRIBUTES)
    )
    entities = [
        Entity(name, types.draw(rng), modifiers.draw_distinct(rng, 2), features.draw(rng))
        for name in _sample(rng, lex.names(), recipe.entities)
    ]
    return World(recipe, entities, attributes)


def _docs(rng: Random, world: World) -> list[Doc]:
    passages = [_passage(rng, world, entity, a) for entity, a in _pairs(rng, world)]
    listings = [_listing(rng, world) for _ in range(world.recipe.listings)]
    stubs = [_stub(rng, world, _pick(rng, passages)) for _ in range(world.recipe.stubs)]
    return _shuffled(rng, passages + listings + stubs)


def _pairs(rng: Random, world: World) -> list[tuple[int, int]]:
    """Unique (entity, attribute) pairs, equally many per entity as far as that goes."""
    share, rest = divmod(world.recipe.passages, world.recipe.entities)
    return [
        (entity, attribute)
        for entity in range(world.recipe.entities)
        for attribute in world.attributes.draw_distinct(rng, share + (entity < rest))
    ]


def _passage(rng: Random, world: World, entity: int, attribute: int) -> Doc:
    forms = _forms(rng)
    opening = [
        _statement(rng, world.entities[entity], attribute, forms),
        _detail(rng, world.entities[entity], lex.ATTRIBUTES[attribute]),
    ]
    entities, attributes, closing = [entity], [attribute], []
    if rng.random() < MENTION:
        entities.append(_another(rng, len(world.entities), entity))
        closing.append(_pick(rng, lex.MENTIONS).format(name=world.entities[entities[1]].name))
    if rng.random() < ASIDE:
        attributes.append(_another(rng, len(lex.ATTRIBUTES), attribute))
        closing.append(_pick(rng, lex.ASIDES).format(attribute=_attribute(rng, attributes[1])))
    if rng.random() < FILLER:
        closing.append(_pick(rng, lex.FILLERS))
    text = " ".join(_shuffled(rng, opening) + _shuffled(rng, closing))
    return Doc("passage", text, tuple(entities), tuple(attributes), forms)


def _forms(rng: Random) -> Forms:
    """Every attribute has the same number of forms, and so has every other kind of concept."""
    attribute, kind, one, two, feature = (
        int(rng.random() * len(table[0]))
        for table in (_ATTRIBUTE_FORMS, lex.TYPES, lex.MODIFIERS, lex.MODIFIERS, lex.FEATURES)
    )
    return Forms(attribute, kind, (one, two), feature)


_ATTRIBUTE_FORMS = [attribute.forms for attribute in lex.ATTRIBUTES]


def _attribute(rng: Random, attribute: int) -> str:
    return _pick(rng, lex.ATTRIBUTES[attribute].forms)


def _statement(rng: Random, entity: Entity, attribute: int, forms: Forms) -> str:
    modifiers = ", ".join(_shuffled(rng, _modifier_words(entity, forms)))
    kind = lex.TYPES[entity.type][forms.type]
    feature = lex.FEATURES[entity.feature][forms.feature]
    return _pick(rng, lex.STATEMENTS).format(
        attribute=lex.ATTRIBUTES[attribute].forms[forms.attribute],
        name=entity.name,
        description=f"{lex.with_article(modifiers)} {kind} with {lex.with_article(feature)}",
        value=_pick(rng, lex.VALUES),
    )


def _modifier_words(entity: Entity, forms: Forms) -> list[str]:
    pairs = zip(entity.modifiers, forms.modifiers, strict=True)
    return [lex.MODIFIERS[modifier][form] for modifier, form in pairs]


def _detail(rng: Random, entity: Entity, attribute: lex.Attribute) -> str:
    part = _pick(rng, entity.name.split())
    first, second, third = _sample(rng, attribute.collocates, 3)
    return _pick(rng, lex.DETAILS).format(part=part, first=first, second=second, third=third)


def _listing(rng: Random, world: World) -> Doc:
    """A page that names entities and attributes and says nothing about them."""
    entities = _sample(rng, range(len(world.entities)), LISTED)
    attributes = world.attributes.draw_distinct(rng, LISTED)
    head, forms = world.entities[entities[0]], _forms(rng)
    text = _pick(rng, lex.LISTINGS).format(
        type=lex.TYPES[head.type][forms.type],
        modifier=_modifier_words(head, forms)[0],
        feature=lex.with_article(lex.FEATURES[head.feature][forms.feature]),
        names=lex.enumerated([world.entities[e].name for e in entities]),
        attributes=lex.enumerated([_attribute(rng, a) for a in attributes]),
    )
    return Doc("listing", text, tuple(entities), attributes, forms)


def _stub(rng: Random, world: World, passage: Doc) -> Doc:
    """A question about what the passage states, in a query's words, without an answer."""
    entity, attribute = passage.entities[0], passage.attributes[0]
    aside = _another(rng, len(lex.ATTRIBUTES), attribute)
    other = _another(rng, len(world.entities), entity)
    text = _pick(rng, lex.STUBS).format(
        query=_query(rng, world, passage),
        name=world.entities[other].name,
        attribute=_attribute(rng, aside),
    )
    text = text[0].upper() + text[1:]
    return Doc("stub", text, (entity, other), (attribute, aside), passage.forms)


def _queries(
    split: str, world: World, docs: list[Doc], targets: list[int], seen: set[str]
) -> list[tuple[str, str]]:
    rng = _stream(world.recipe, split)
    texts = [_new_query(rng, world, docs[target], seen) for target in targets]
    return [(_query_id(split, i), text) for i, text in enumerate(texts)]


def _new_query(rng: Random, world: World, passage: Doc, seen: set[str]) -> str:
    """A query text that no other query of the collection has; adds it to `seen`."""
    for _ in range(REWORDINGS):
        text = _query(rng, world, passage).lower()
        if text not in seen:
            seen.add(text)
            return text
    raise ValueError(
        f"train_pairs: {world.recipe.train_pairs} asked, but after {len(seen)} queries a passage "
        f"gave no new wording in {REWORDINGS} tries; lower train_pairs or raise passages"
    )


def _query(rng: Random, world: World, passage: Doc) -> str:
    entity = world.entities[passage.entities[0]]
    forms = _shifted(rng, passage.forms, world.recipe.shift)
    return _pick(rng, lex.QUERIES).format(
        attribute=lex.ATTRIBUTES[passage.attributes[0]].forms[forms.attribute],
        entity=_entity(rng, entity, forms),
    )


def _shifted(rng: Random, forms: Forms, shift: float) -> Forms:
    """The forms of a query: each concept takes another form with the probability `shift`."""

    def draw(form: int, table: Sequence[lex.Concept]) -> int:
        return _another(rng, len(table[0]), form) if rng.random() < shift else form

    return Forms(
        draw(forms.attribute, _ATTRIBUTE_FORMS),
        draw(forms.type, lex.TYPES),
        tuple(draw(form, lex.MODIFIERS) for form in forms.modifiers),
        draw(forms.feature, lex.FEATURES),
    )


def _entity(rng: Random, entity: Entity, forms: Forms) -> str:
    """The entity by its name, by its description or by a part of its name and its type."""
    chance = rng.random()
    if chance < BY_NAME:
        return entity.name
    kind = lex.TYPES[entity.type][forms.type]
    if chance >= BY_NAME + BY_DESCRIPTION:
        return _pick(rng, lex.PARTS).format(part=_pick(rng, entity.name.split()), type=kind)
    modifiers = _modifier_words(entity, forms)
    return _pick(rng, lex.DESCRIPTIONS).format(
        modifiers=" ".join(_sample(rng, modifiers, 2 if rng.random() < BOTH_MODIFIERS else 1)),
        type=kind,
        feature=lex.FEATURES[entity.feature][forms.feature],
    )


def _train_passages(recipe: GeneratedSource) -> int:
    return round(recipe.train_share * recipe.passages)


def _targets(world: World, docs: list[Doc]) -> dict[str, list[int]]:
    """For every query of every split, the position of the passage that answers it."""
    recipe, rng = world.recipe, _stream(world.recipe, "splits")
    passages = _shuffled(rng, [i for i, doc in enumerate(docs) if doc.kind == "passage"])
    train, held_out = passages[: _train_passages(recipe)], passages[_train_passages(recipe) :]
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
        drawn += _shuffled(rng, items)
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


def _qrels(split: str, targets: list[int]) -> list[tuple[str, str, int]]:
    return [(_query_id(split, i), _doc_id(target), 1) for i, target in enumerate(targets)]


def _judgements(world: World, docs: list[Doc], targets: list[int]) -> list[tuple[str, str, int]]:
    """All docs of grade 1 and above, and a sample of those that were looked at in vain."""
    rng, candidates = _stream(world.recipe, "judgements"), Candidates(world, docs)
    qrels: list[tuple[str, str, int]] = []
    for i, target in enumerate(targets):
        grades = candidates.grades(target)
        useless = [position for position, grade in grades.items() if grade == 0]
        kept = {*_sample(rng, useless, NOT_RELEVANT), *(p for p, g in grades.items() if g > 0)}
        qrels += [(_query_id("judged", i), _doc_id(p), grades[p]) for p in sorted(kept)]
    return qrels
