"""Everything that makes text in a generated collection: its docs and its queries.

Usage: `docs = write_docs(rng, world)`, then `write_queries(rng, world, passages, seen)` for the
passages that answer the queries of a split.

It must not know grades or ids, nor which split a query is written for.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from residuum.collections import lexicon as lex
from residuum.collections.wordlists import Concept
from residuum.collections.world import Entity, World, another, pick, sample, shuffled

BY_NAME, BY_DESCRIPTION = 0.55, 0.25  # the rest of the queries give one word of the name
MENTION, ASIDE, FILLER, BOTH_MODIFIERS = 0.75, 0.75, 0.2, 0.5
LISTED = 6
REWORDINGS = 200

_ATTRIBUTE_FORMS = [attribute.forms for attribute in lex.ATTRIBUTES]


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


def write_docs(rng: Random, world: World) -> list[Doc]:
    """All docs of the collection, in an order that tells nothing about their kind."""
    passages = [_passage(rng, world, entity, a) for entity, a in _pairs(rng, world)]
    listings = [_listing(rng, world) for _ in range(world.recipe.listings)]
    stubs = [_stub(rng, world, pick(rng, passages)) for _ in range(world.recipe.stubs)]
    return shuffled(rng, passages + listings + stubs)


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
        entities.append(another(rng, len(world.entities), entity))
        closing.append(pick(rng, lex.MENTIONS).format(name=world.entities[entities[1]].name))
    if rng.random() < ASIDE:
        attributes.append(another(rng, len(lex.ATTRIBUTES), attribute))
        closing.append(pick(rng, lex.ASIDES).format(attribute=_attribute(rng, attributes[1])))
    if rng.random() < FILLER:
        closing.append(pick(rng, lex.FILLERS))
    text = " ".join(shuffled(rng, opening) + shuffled(rng, closing))
    return Doc("passage", text, tuple(entities), tuple(attributes), forms)


def _forms(rng: Random) -> Forms:
    """Every attribute has the same number of forms, and so has every other kind of concept."""
    attribute, kind, one, two, feature = (
        int(rng.random() * len(table[0]))
        for table in (_ATTRIBUTE_FORMS, lex.TYPES, lex.MODIFIERS, lex.MODIFIERS, lex.FEATURES)
    )
    return Forms(attribute, kind, (one, two), feature)


def _attribute(rng: Random, attribute: int) -> str:
    return pick(rng, lex.ATTRIBUTES[attribute].forms)


def _statement(rng: Random, entity: Entity, attribute: int, forms: Forms) -> str:
    modifiers = ", ".join(shuffled(rng, _modifier_words(entity, forms)))
    kind = lex.TYPES[entity.type][forms.type]
    feature = lex.FEATURES[entity.feature][forms.feature]
    return pick(rng, lex.STATEMENTS).format(
        attribute=lex.ATTRIBUTES[attribute].forms[forms.attribute],
        name=entity.name,
        description=f"{_with_article(modifiers)} {kind} with {_with_article(feature)}",
        value=pick(rng, lex.VALUES),
    )


def _modifier_words(entity: Entity, forms: Forms) -> list[str]:
    pairs = zip(entity.modifiers, forms.modifiers, strict=True)
    return [lex.MODIFIERS[modifier][form] for modifier, form in pairs]


def _detail(rng: Random, entity: Entity, attribute: lex.Attribute) -> str:
    part = pick(rng, entity.name.split())
    first, second, third = sample(rng, attribute.collocates, 3)
    return pick(rng, lex.DETAILS).format(part=part, first=first, second=second, third=third)


def _listing(rng: Random, world: World) -> Doc:
    """A page that names entities and attributes and says nothing about them."""
    entities = sample(rng, range(len(world.entities)), LISTED)
    attributes = world.attributes.draw_distinct(rng, LISTED)
    head, forms = world.entities[entities[0]], _forms(rng)
    text = pick(rng, lex.LISTINGS).format(
        type=lex.TYPES[head.type][forms.type],
        modifier=_modifier_words(head, forms)[0],
        feature=_with_article(lex.FEATURES[head.feature][forms.feature]),
        names=_enumerated([world.entities[e].name for e in entities]),
        attributes=_enumerated([_attribute(rng, a) for a in attributes]),
    )
    return Doc("listing", text, tuple(entities), attributes, forms)


def _stub(rng: Random, world: World, passage: Doc) -> Doc:
    """A question about what the passage states, in a query's words, without an answer."""
    entity, attribute = passage.entities[0], passage.attributes[0]
    aside = another(rng, len(lex.ATTRIBUTES), attribute)
    other = another(rng, len(world.entities), entity)
    text = pick(rng, lex.STUBS).format(
        query=_query(rng, world, passage),
        name=world.entities[other].name,
        attribute=_attribute(rng, aside),
    )
    text = text[0].upper() + text[1:]
    return Doc("stub", text, (entity, other), (attribute, aside), passage.forms)


def write_queries(rng: Random, world: World, passages: Sequence[Doc], seen: set[str]) -> list[str]:
    """One query per passage, none of them in `seen`, to which they are added.

    Raises ValueError if a passage gives no new wording.
    """
    return [_new_query(rng, world, passage, seen) for passage in passages]


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
    return pick(rng, lex.QUERIES).format(
        attribute=lex.ATTRIBUTES[passage.attributes[0]].forms[forms.attribute],
        entity=_entity(rng, entity, forms),
    )


def _shifted(rng: Random, forms: Forms, shift: float) -> Forms:
    """The forms of a query: each concept takes another form with the probability `shift`."""

    def draw(form: int, table: Sequence[Concept]) -> int:
        return another(rng, len(table[0]), form) if rng.random() < shift else form

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
        return pick(rng, lex.PARTS).format(part=pick(rng, entity.name.split()), type=kind)
    modifiers = _modifier_words(entity, forms)
    return pick(rng, lex.DESCRIPTIONS).format(
        modifiers=" ".join(sample(rng, modifiers, 2 if rng.random() < BOTH_MODIFIERS else 1)),
        type=kind,
        feature=lex.FEATURES[entity.feature][forms.feature],
    )


def _with_article(phrase: str) -> str:
    """The phrase after "a" or "an"; "university" is spoken with a consonant."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith("uni")
    return f"{'an' if vowel else 'a'} {phrase}"


def _enumerated(items: list[str]) -> str:
    """The items as a list in a sentence: "x, y and z"."""
    return ", ".join(items[:-1]) + " and " + items[-1]
