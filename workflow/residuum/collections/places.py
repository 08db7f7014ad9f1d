"""Docs about invented places, made from a seed, with train, tune, dev and judged queries.

Usage: `generate(recipe)`, for datasets whose source is `generated`; the page
docs/generated-collection.md says what they model. A passage states one attribute of one place and
answers the query for it, listing pages and question stubs distract.

It must not know how a sentence is worded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from residuum.collections import place_texts as texts
from residuum.collections.draws import another, pick, sample, shuffled, stream, zipf
from residuum.collections.place_texts import Place, patterns, words
from residuum.collections.worlds import Collection, Grades, Judgement, Key, collection, refuse

if TYPE_CHECKING:
    from residuum.config.schema.sources import GeneratedSource

SPLITS = ("train", "tune", "dev", "judged")
MENTION, ASIDE, FILLER = 0.75, 0.75, 0.2
LISTED = 6
NOT_RELEVANT = 20
REWORDINGS = 200


def generate(recipe: GeneratedSource) -> Collection:
    """Make the collection that a recipe describes.

    Returns docs in an order that tells nothing about their kind, and the queries and qrels of the
    splits train, tune, dev and judged. Raises ValueError if the recipe asks for more than can be
    made.
    """
    refuse("the generated collection", _faults(recipe))
    world = World(recipe)
    passages = world.draw_answers()
    # train comes last: it gives way where its wording would repeat a tune, dev or judged query
    queries = {split: world.queries(split, passages[split]) for split in (*SPLITS[1:], SPLITS[0])}
    docs = ({"text": doc.text} for doc in world.docs)
    return collection("d", docs, {split: queries[split] for split in SPLITS})


def _faults(recipe: GeneratedSource) -> Iterator[str]:
    most = prod(map(len, (*words.name_starts, *words.name_ends)))
    entities, attributes = recipe.entities, len(words.attributes)
    if not LISTED <= entities <= most:
        yield f"entities: {entities} requested, {LISTED} to {most} possible; change entities"
    if recipe.passages > entities * attributes:
        yield (
            f"passages: {recipe.passages} requested, {entities} entities with {attributes} "
            f"attributes give {entities * attributes}; lower passages or raise entities"
        )
    if recipe.stubs and not recipe.passages:
        yield f"stubs: {recipe.stubs} requested, but no passage to ask about; raise passages"
    train, queries = _train_passages(recipe), recipe.tune + recipe.dev + recipe.judged
    if recipe.train_pairs and not train:
        yield (
            f"train_pairs: {recipe.train_pairs} requested, but train_share {recipe.train_share} "
            f"of {recipe.passages} passages is none; raise train_share or passages"
        )
    if queries > recipe.passages - train:
        yield (
            f"tune + dev + judged: {queries} queries requested, {recipe.passages - train} passages "
            "lie outside the train share; lower one of the three or train_share, or raise passages"
        )


def _train_passages(recipe: GeneratedSource) -> int:
    return round(recipe.train_share * recipe.passages)


class Topic(NamedTuple):
    """What a passage states and a query asks for."""

    place: int
    attribute: int

    def names(self) -> tuple[Key, Key]:
        """The place and the attribute."""
        return ("place", self.place), ("attribute", self.attribute)


class Doc(NamedTuple):
    """A text and what it names; a passage states its first attribute of its first place."""

    kind: str
    text: str
    places: tuple[int, ...]
    attributes: tuple[int, ...]
    forms: texts.Forms

    def names(self) -> Iterator[Key]:
        """Every place, and the attribute that a passage states."""
        for place in self.places:
            yield "place", place
        if self.kind == "passage":
            yield "attribute", self.attributes[0]

    @property
    def topic(self) -> Topic:
        """What a passage states or a stub asks for."""
        return Topic(self.places[0], self.attributes[0])


class World:
    """The places and docs of a collection; passages answer queries by their position."""

    def __init__(self, recipe: GeneratedSource) -> None:
        self.recipe, self.worded = recipe, set[str]()
        rng = stream(recipe.seed, "docs")
        tables = (words.types, words.modifiers, words.features, words.attributes)
        types, modifiers, features, self.attributes = (zipf(rng, len(table)) for table in tables)
        self.places = [
            Place(
                name,
                words.types[types.draw(rng)],
                tuple(words.modifiers[i] for i in modifiers.draw_distinct(rng, 2)),
                words.features[features.draw(rng)],
            )
            for name in sample(rng, texts.names(), recipe.entities)
        ]
        passages = [self._passage(rng, *pair) for pair in self._pairs(rng)]
        listings = [self._listing(rng) for _ in range(recipe.listings)]
        stubs = [self._stub(rng, pick(rng, passages)) for _ in range(recipe.stubs)]
        self.docs = shuffled(rng, passages + listings + stubs)
        self.grades = Grades(self.docs, self._grade)

    def _pairs(self, rng: Random) -> list[tuple[int, int]]:
        """Unique (place, attribute) pairs, equally many per place as far as that goes."""
        share, rest = divmod(self.recipe.passages, self.recipe.entities)
        return [
            (place, attribute)
            for place in range(self.recipe.entities)
            for attribute in self.attributes.draw_distinct(rng, share + (place < rest))
        ]

    def _passage(self, rng: Random, place: int, attribute: int) -> Doc:
        subject, stated = self.places[place], words.attributes[attribute]
        forms = texts.draw_forms(rng)
        opening = [texts.statement(rng, subject, stated, forms), texts.detail(rng, subject, stated)]
        places, attributes, closing = [place], [attribute], []
        if rng.random() < MENTION:
            places.append(another(rng, len(self.places), place))
            name = self.places[places[1]].name
            closing.append(pick(rng, patterns["mentions"]).format(name=name))
        if rng.random() < ASIDE:
            attributes.append(another(rng, len(words.attributes), attribute))
            pattern, other = pick(rng, patterns["asides"]), words.attributes[attributes[1]]
            closing.append(pattern.format(attribute=pick(rng, other.forms)))
        if rng.random() < FILLER:
            closing.append(pick(rng, patterns["fillers"]))
        text = " ".join(shuffled(rng, opening) + shuffled(rng, closing))
        return Doc("passage", text, tuple(places), tuple(attributes), forms)

    def _listing(self, rng: Random) -> Doc:
        """A page that names places and attributes and says nothing about them."""
        places = tuple(sample(rng, range(len(self.places)), LISTED))
        attributes, forms = self.attributes.draw_distinct(rng, LISTED), texts.draw_forms(rng)
        named, listed = [self.places[i] for i in places], [words.attributes[i] for i in attributes]
        return Doc("listing", texts.listing(rng, named, listed, forms), places, attributes, forms)

    def _stub(self, rng: Random, passage: Doc) -> Doc:
        """A question about what the passage states, in a query's words, without an answer."""
        place, attribute = passage.topic
        aside = another(rng, len(words.attributes), attribute)
        other = another(rng, len(self.places), place)
        text = pick(rng, patterns["stubs"]).format(
            query=self._question(rng, passage),
            name=self.places[other].name,
            attribute=pick(rng, words.attributes[aside].forms),
        )
        text = text[0].upper() + text[1:]
        return Doc("stub", text, (place, other), (attribute, aside), passage.forms)

    def _question(self, rng: Random, passage: Doc) -> str:
        place, attribute = passage.topic
        forms = texts.shifted(rng, passage.forms, self.recipe.shift)
        return texts.question(rng, self.places[place], words.attributes[attribute], forms)

    def draw_answers(self) -> dict[str, list[int]]:
        """For every query of every split, the passage that answers it.

        Raises ValueError if too few passages have docs of all grades.
        """
        rng, recipe = stream(self.recipe.seed, "splits"), self.recipe
        passages = shuffled(rng, [i for i, doc in enumerate(self.docs) if doc.kind == "passage"])
        train, held_out = passages[: _train_passages(recipe)], passages[_train_passages(recipe) :]
        judged = self._judgeable(held_out)
        taken = set(judged)
        free = [i for i in held_out if i not in taken]
        return {
            "train": _rounds(rng, train, recipe.train_pairs),
            "tune": free[: recipe.tune],
            "dev": free[recipe.tune : recipe.tune + recipe.dev],
            "judged": judged,
        }

    def _judgeable(self, passages: list[int]) -> list[int]:
        """The first passages whose docs have all four grades, as many as the recipe asks."""
        complete = (
            i for i in passages if {0, 1, 2, 3} <= set(self.grades.of(self.docs[i].topic).values())
        )
        judged = list(islice(complete, self.recipe.judged))
        if len(judged) < self.recipe.judged:
            raise ValueError(
                f"judged: {self.recipe.judged} queries requested, {len(judged)} passages outside "
                "the train share have docs of all grades; lower judged or raise passages"
            )
        return judged

    def queries(self, split: str, passages: list[int]) -> tuple[list[str], list[Judgement]]:
        """A query for each passage: graded as in TREC DL if judged, else as in MS MARCO."""
        rng = stream(self.recipe.seed, split)
        wordings = [self._new_query(rng, self.docs[passage]) for passage in passages]
        if split != "judged":
            return wordings, [(query, passage, 1) for query, passage in enumerate(passages)]
        rng = stream(self.recipe.seed, "judgements")
        topics = [self.docs[passage].topic for passage in passages]
        return wordings, list(self.grades.judged(rng, topics, NOT_RELEVANT))

    def _new_query(self, rng: Random, passage: Doc) -> str:
        """A query text that no other query of the collection has."""
        for _ in range(REWORDINGS):
            text = self._question(rng, passage).lower()
            if text not in self.worded:
                self.worded.add(text)
                return text
        raise ValueError(
            f"train_pairs: {self.recipe.train_pairs} requested, but after {len(self.worded)} "
            f"queries a passage gave no new wording in {REWORDINGS} tries; lower train_pairs or "
            "raise passages"
        )

    def _grade(self, doc: Doc, topic: Topic) -> int:
        place, attribute = topic
        if doc.kind == "stub":
            return 0
        if doc.kind == "listing":
            return int(place in doc.places and attribute in doc.attributes)
        subject, stated = doc.places[0], doc.attributes[0]
        if subject == place:
            families = {words.attributes[i].family for i in (stated, attribute)}
            return 3 if stated == attribute else 1 + (len(families) == 1)
        one, other = self.places[subject], self.places[place]
        return int(stated == attribute and (one.type, one.feature) == (other.type, other.feature))


def _rounds(rng: Random, items: list[int], count: int) -> list[int]:
    """Each item once in every round, so that any half of the train pairs covers the passages."""
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += shuffled(rng, items)
    return drawn[:count]
