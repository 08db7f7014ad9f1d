"""Docs about invented places, made from a seed, with train, tune, dev and judged queries.

Usage: `generate(recipe)`, of source `generated`; docs/generated-collection.md says what is
modelled: a passage answers a query; listing pages and question stubs distract.
"""

from collections.abc import Iterator
from itertools import chain, islice, product, repeat
from typing import NamedTuple

from residuum.collections import worlds
from residuum.collections.worlds import Attribute, Concept, Grades, Key, Stream, Topic, Zipf
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.base import Strict
from residuum.config.schema.generated import GENERATED_SPLITS, GeneratedSource

SPLITS = GENERATED_SPLITS["generated"]
MENTION, ASIDE, FILLER = 0.75, 0.75, 0.2
BY_NAME, BY_DESCRIPTION = 0.55, 0.25  # the rest of the queries give one word of the name
BOTH_MODIFIERS = 0.5
LISTED = 6
NOT_RELEVANT = 20
REWORDINGS = 200


class Words(Strict):
    """The layout of words/places.yaml; concepts of one kind have equally many forms."""

    attributes: list[Attribute]
    types: list[Concept]
    modifiers: list[Concept]
    features: list[Concept]
    name_starts: tuple[list[str], list[str]]
    name_ends: tuple[list[str], list[str]]
    values: list[str]
    patterns: dict[str, list[str]]


words: Words = entries.parse(packaged("collections/words/places.yaml"), Words)
patterns = words.patterns

Forms = tuple[int, ...]  # which form a text has of its attribute, type, two modifiers and feature
_CONCEPTS = (words.attributes[0].forms, words.types[0], *words.modifiers[:2], words.features[0])
_SIZES = [len(concept) for concept in _CONCEPTS]


class Doc(NamedTuple):
    """A text and what it names; a passage states its first attribute of its first place."""

    kind: str
    text: str
    places: tuple[int, ...]
    attributes: tuple[int, ...]
    forms: Forms

    def names(self) -> list[Key]:
        """Every place, and the attribute that a passage states."""
        stated = self.attributes[: self.kind == "passage"]
        return [*(("place", place) for place in self.places), *(("attribute", a) for a in stated)]

    @property
    def topic(self) -> Topic:
        """What a passage states, a stub asks for or a listing names first."""
        return {"place": self.places[0], "attribute": self.attributes[0]}


def generate(recipe: GeneratedSource) -> worlds.Generated:
    """Make the collection of a recipe; one that asks for more than can be made is a ValueError."""
    worlds.refuse("the generated collection", _faults(recipe))
    world = World(recipe)
    passages = world.draw_answers()
    # train comes last: it gives way where its wording would repeat a tune, dev or judged query
    queries = {split: world.queries(split, passages[split]) for split in (*SPLITS[1:], SPLITS[0])}
    docs = ({"text": doc.text} for doc in world.docs)
    return worlds.named("d", docs, {split: queries[split] for split in SPLITS})


def _faults(recipe: GeneratedSource) -> Iterator[ValueError]:
    entities, attributes, most = recipe.entities, len(words.attributes), len(names())
    if not LISTED <= entities <= most:
        yield worlds.fault(
            f"entities: {entities} requested, {LISTED} to {most} possible; change entities"
        )
    if recipe.passages > entities * attributes:
        yield worlds.fault(
            f"passages: {recipe.passages} requested, {entities} entities with {attributes} "
            f"attributes give {entities * attributes}; lower passages or raise entities"
        )
    if recipe.stubs and not recipe.passages:
        yield worlds.fault(
            f"stubs: {recipe.stubs} requested, but no passage to ask about; raise passages"
        )
    train = round(recipe.train_share * recipe.passages)
    queries = recipe.tune + recipe.dev + recipe.judged
    if recipe.train_pairs and not train:
        yield worlds.fault(
            f"train_pairs: {recipe.train_pairs} requested, but train_share {recipe.train_share} "
            f"of {recipe.passages} passages is none; raise train_share or passages"
        )
    if queries > recipe.passages - train:
        yield worlds.fault(
            f"tune + dev + judged: {queries} queries requested, {recipe.passages - train} passages "
            "lie outside the train share; lower one of the three or train_share, or raise passages"
        )


def names() -> list[str]:
    """Every two-word name that can be made, each once."""
    syllables = zip(words.name_starts, words.name_ends, strict=True)
    return [" ".join(name) for name in product(*(map("".join, product(*s)) for s in syllables))]


class World:
    """The places and docs of a collection; passages answer queries by their position."""

    def __init__(self, recipe: GeneratedSource) -> None:
        self.recipe, self.worded = recipe, set[str]()
        rng = Stream(recipe.seed, "docs")
        tables = (words.types, words.modifiers, words.features, words.attributes)
        types, modifiers, features, self.attributes = (Zipf(rng, len(table)) for table in tables)
        self.names = rng.sample(names(), recipe.entities)
        self.concepts: list[tuple[Concept, ...]] = []  # of each place: type, modifiers and feature
        for _ in self.names:
            kind = words.types[types.draw(rng)]
            both = [words.modifiers[i] for i in modifiers.draw_distinct(rng, 2)]
            self.concepts.append((kind, *both, words.features[features.draw(rng)]))
        share, rest = divmod(recipe.passages, recipe.entities)
        pairs = [
            (place, attribute)
            for place in range(recipe.entities)
            for attribute in self.attributes.draw_distinct(rng, share + (place < rest))
        ]
        passages = [self._passage(rng, *pair) for pair in pairs]
        listings = [self._listing(rng) for _ in range(recipe.listings)]
        stubs = [self._stub(rng, rng.pick(passages)) for _ in range(recipe.stubs)]
        self.docs = rng.shuffled(passages + listings + stubs)
        self.grades = Grades((doc.names() for doc in self.docs), self._grade)

    def _passage(self, rng: Stream, place: int, attribute: int) -> Doc:
        name, collocates = self.names[place], words.attributes[attribute].collocates
        forms = tuple([rng.below(size) for size in _SIZES])
        opening = [self._statement(rng, place, attribute, forms)]
        part, (first, second, third) = rng.pick(name.split()), rng.sample(collocates, 3)
        detail = rng.pick(patterns["details"])
        opening.append(detail.format(part=part, first=first, second=second, third=third))
        places, attributes, closing = [place], [attribute], []
        if rng.happens(MENTION):
            places.append(rng.another(len(self.names), place))
            mentioned = self.names[places[1]]
            closing.append(rng.pick(patterns["mentions"]).format(name=mentioned))
        if rng.happens(ASIDE):
            attributes.append(rng.another(len(words.attributes), attribute))
            pattern, aside = rng.pick(patterns["asides"]), words.attributes[attributes[1]]
            closing.append(pattern.format(attribute=rng.pick(aside.forms)))
        if rng.happens(FILLER):
            closing.append(rng.pick(patterns["fillers"]))
        text = " ".join(rng.shuffled(opening) + rng.shuffled(closing))
        return Doc("passage", text, tuple(places), tuple(attributes), forms)

    def _statement(self, rng: Stream, place: int, attribute: int, forms: Forms) -> str:
        """What a passage says of its place, in answer to a query."""
        stated, kind, *modifiers, feature = self._phrases(place, attribute, forms)
        description = f"{_with_article(', '.join(rng.shuffled(modifiers)))} {kind}"
        return rng.pick(patterns["statements"]).format(
            attribute=stated,
            name=self.names[place],
            description=f"{description} with {_with_article(feature)}",
            value=rng.pick(words.values),
        )

    def _listing(self, rng: Stream) -> Doc:
        """A page that names places and attributes and describes the first place alone."""
        places = tuple(rng.sample(range(len(self.names)), LISTED))
        attributes = self.attributes.draw_distinct(rng, LISTED)
        forms = tuple([rng.below(size) for size in _SIZES])
        _, kind, modifier, _, feature = self._phrases(places[0], attributes[0], forms)
        text = rng.pick(patterns["listings"]).format(
            type=kind,
            modifier=modifier,
            feature=_with_article(feature),
            names=worlds.enumerated([self.names[place] for place in places]),
            attributes=worlds.enumerated([rng.pick(words.attributes[a].forms) for a in attributes]),
        )
        return Doc("listing", text, places, attributes, forms)

    def _stub(self, rng: Stream, passage: Doc) -> Doc:
        """A question about what the passage states, in a query's words, without an answer."""
        place, attribute = passage.places[0], passage.attributes[0]
        aside = rng.another(len(words.attributes), attribute)
        other = rng.another(len(self.names), place)
        text = rng.pick(patterns["stubs"]).format(
            query=self._question(rng, passage),
            name=self.names[other],
            attribute=rng.pick(words.attributes[aside].forms),
        )
        text = text[0].upper() + text[1:]
        return Doc("stub", text, (place, other), (attribute, aside), passage.forms)

    def _question(self, rng: Stream, passage: Doc) -> str:
        """What a query asks of a place, given by name, by description or in part; forms shift."""
        shift, sizes = self.recipe.shift, zip(_SIZES, passage.forms, strict=True)
        forms = tuple([rng.another(n, f) if rng.happens(shift) else f for n, f in sizes])
        place, attribute = passage.places[0], passage.attributes[0]
        requested, kind, *modifiers, feature = self._phrases(place, attribute, forms)
        name = self.names[place]
        pattern, chance = rng.pick(patterns["queries"]), rng.random()
        if chance >= BY_NAME + BY_DESCRIPTION:
            name = rng.pick(patterns["parts"]).format(part=rng.pick(name.split()), type=kind)
        elif chance >= BY_NAME:
            description = rng.pick(patterns["descriptions"])
            used = rng.sample(modifiers, 2 if rng.happens(BOTH_MODIFIERS) else 1)
            name = description.format(modifiers=" ".join(used), type=kind, feature=feature)
        return pattern.format(attribute=requested, place=name)

    def _phrases(self, place: int, attribute: int, forms: Forms) -> list[str]:
        """The attribute, and its place's type, modifiers and feature, in the words of one text."""
        concepts = words.attributes[attribute].forms, *self.concepts[place]
        return [concept[form] for concept, form in zip(concepts, forms, strict=True)]

    def draw_answers(self) -> dict[str, list[int]]:
        """For every query of every split, the passage that answers it."""
        rng, recipe = Stream(self.recipe.seed, "splits"), self.recipe
        passages = rng.shuffled([i for i, doc in enumerate(self.docs) if doc.kind == "passage"])
        trained = round(recipe.train_share * recipe.passages)
        train, held_out = passages[:trained], passages[trained:]
        grades = ((i, set(self.grades.of(self.docs[i].topic).values())) for i in held_out)
        complete = (i for i, occurring in grades if occurring >= {0, 1, 2, 3})
        judged = dict.fromkeys(islice(complete, recipe.judged))
        if len(judged) < recipe.judged:
            raise ValueError(
                f"judged: {recipe.judged} queries requested, {len(judged)} passages outside "
                "the train share have docs of all grades; lower judged or raise passages"
            )
        free = [i for i in held_out if i not in judged]
        # a passage comes once in every round, so that any half of the train pairs covers them all
        rounds = chain.from_iterable(rng.shuffled(train) for _ in repeat(None))
        return {
            "train": list(islice(rounds, recipe.train_pairs)),
            "tune": free[: recipe.tune],
            "dev": free[recipe.tune : recipe.tune + recipe.dev],
            "judged": list(judged),
        }

    def queries(self, split: str, passages: list[int]) -> worlds.Drawn:
        """A query for each passage: graded as in TREC DL if judged, else as in MS MARCO."""
        rng = Stream(self.recipe.seed, split)
        texts = [self._new_query(rng, self.docs[passage]) for passage in passages]
        if split != "judged":
            return texts, [(query, passage, 1) for query, passage in enumerate(passages)]
        rng = Stream(self.recipe.seed, "judgements")
        topics = [self.docs[passage].topic for passage in passages]
        return texts, list(self.grades.judged(rng, topics, NOT_RELEVANT))

    def _new_query(self, rng: Stream, passage: Doc) -> str:
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

    def _grade(self, doc: int, topic: Topic) -> int:
        kind, _, places, attributes, _ = self.docs[doc]
        place, attribute = topic["place"], topic["attribute"]
        if kind == "stub":
            return 0
        if kind == "listing":
            return int(place in places and attribute in attributes)
        if places[0] == place:
            families = {words.attributes[i].family for i in (attributes[0], attribute)}
            return 3 if attributes[0] == attribute else 1 + (len(families) == 1)
        one, other = self.concepts[places[0]], self.concepts[place]
        alike = (one[0], one[-1]) == (other[0], other[-1])  # in type and feature
        return int(attributes[0] == attribute and alike)


def _with_article(phrase: str) -> str:
    """The phrase after "a" or "an"; "university" is spoken with a consonant."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith("uni")
    return f"{'an' if vowel else 'a'} {phrase}"
