"""Generate docs about invented places from a seed, with the queries of all splits.

Usage: `generate(recipe)`, of source `generated`; `lexicon(spec)` for the other forms of a concept.
docs/generated-collection.md says what is modelled. Passages answer queries; listing pages and
question stubs distract.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, product, repeat
from typing import NamedTuple

from residuum.collections import worlds
from residuum.collections.adverse import Lexicon
from residuum.collections.worlds import Attribute, Concept, Grades, Key, Stream, Topic, Zipf
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.adverse import Forms as OtherForms
from residuum.config.schema.base import Strict
from residuum.config.schema.generated import FOLDS, LATER, QUESTIONS, GeneratedSource

SPLITS = ("train", "tune", "dev", "judged")
MENTION, ASIDE, FILLER = 0.75, 0.75, 0.2
BY_NAME, BY_DESCRIPTION = 0.55, 0.25  # shares of queries; the others give a word of the name
BOTH_MODIFIERS = 0.5
NOT_RELEVANT = 20
REWORDINGS = 200
GRADED = {"judged": "judgements", "topics": "topic-judgements"}  # graded splits: their streams
LISTED = 6


class Words(Strict):
    """The layout of words/places.yaml; all concepts of a kind have the same number of forms."""

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

Forms = tuple[int, ...]  # a text's form of: attribute, type, two modifiers, feature
_CONCEPTS = (words.attributes[0].forms, words.types[0], *words.modifiers[:2], words.features[0])
SIZES = [len(concept) for concept in _CONCEPTS]


class Doc(NamedTuple):
    """A text and what it names; a passage states the first attribute of its first place."""

    kind: str
    text: str
    places: tuple[int, ...]
    attributes: tuple[int, ...]
    forms: Forms

    def names(self) -> list[Key]:
        """Return the keys of all places and of the attribute that a passage states."""
        stated = self.attributes[: self.kind == "passage"]
        return [*(("place", place) for place in self.places), *(("attribute", a) for a in stated)]

    @property
    def topic(self) -> Topic:
        """Return the first place and attribute: stated, asked for, or named first."""
        return {"place": self.places[0], "attribute": self.attributes[0]}


Asks = Callable[[Stream, Doc], str]  # makes the query that a passage answers


def generate(recipe: GeneratedSource) -> worlds.Generated:
    """Make the collection of a recipe; an impossible recipe raises ValueError."""
    refuse(recipe)
    world = World(recipe)
    passages = world.draw_answers()
    later = [split for split in LATER if passages[split]]
    # Wordings are unique: train takes none of tune, dev and judged, and later splits none of train.
    order = (*SPLITS[1:], SPLITS[0], *later)
    queries = {split: world.queries(split, passages[split]) for split in order}
    docs = ({"text": doc.text} for doc in world.docs)
    made = worlds.named("d", docs, {split: queries[split] for split in (*SPLITS, *later)})
    if "topics" in later:  # they are dealt to the folds in turn
        topics, folds = made.queries["topics"], enumerate(FOLDS)
        worlds.divide(made, "topics", {fold: topics[n :: len(FOLDS)] for n, fold in folds})
    answers = {
        split: {
            query_id: [world.name(passage)]
            for (query_id, _), passage in zip(made.queries[split], passages[split], strict=True)
        }
        for split in QUESTIONS
        if split in later
    }
    return made._replace(answers=answers)


class World:
    """The places and docs of a collection; a passage's position identifies it as an answer."""

    def __init__(self, recipe: GeneratedSource) -> None:
        self.recipe, self.worded = recipe, set[str]()
        rng = Stream(recipe.seed, "docs")
        tables = (words.types, words.modifiers, words.features, words.attributes)
        types, modifiers, features, self.attributes = (Zipf(rng, len(table)) for table in tables)
        self.names = rng.sample(place_names(), recipe.entities)
        self.concepts: list[tuple[Concept, ...]] = []  # per place: type, modifiers and feature
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
        made = passages + listings + stubs
        order = rng.shuffled(range(len(made)))
        self.docs = [made[number] for number in order]
        self.passages = [i for i, number in enumerate(order) if number < recipe.passages]
        names = zip(worlds.positions_in(order), map(Doc.names, made), strict=True)
        self.grades = Grades(names, self._grade)

    def _passage(self, rng: Stream, place: int, attribute: int) -> Doc:
        name, collocates = self.names[place], words.attributes[attribute].collocates
        forms = tuple([rng.below(size) for size in SIZES])
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
        """Return the sentence by which a passage states its attribute, which answers a query."""
        stated, kind, *modifiers, feature = self._phrases(place, attribute, forms)
        description = f"{with_article(', '.join(rng.shuffled(modifiers)))} {kind}"
        return rng.pick(patterns["statements"]).format(
            attribute=stated,
            name=self.names[place],
            description=f"{description} with {with_article(feature)}",
            value=rng.pick(words.values),
        )

    def _listing(self, rng: Stream) -> Doc:
        """Draw a page that names places and attributes, and describes only the first place."""
        places = tuple(rng.sample(range(len(self.names)), LISTED))
        attributes = self.attributes.draw_distinct(rng, LISTED)
        forms = tuple([rng.below(size) for size in SIZES])
        _, kind, modifier, _, feature = self._phrases(places[0], attributes[0], forms)
        text = rng.pick(patterns["listings"]).format(
            type=kind,
            modifier=modifier,
            feature=with_article(feature),
            names=worlds.enumerated([self.names[place] for place in places]),
            attributes=worlds.enumerated([rng.pick(words.attributes[a].forms) for a in attributes]),
        )
        return Doc("listing", text, places, attributes, forms)

    def _stub(self, rng: Stream, passage: Doc) -> Doc:
        """Draw a question about a passage's statement, in a query's words, without an answer."""
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
        """Return a query on a passage; its place is named in full, described, or named in part."""
        requested, kind, *others = self._requested(rng, passage)
        name = self.names[passage.places[0]]
        pattern, chance = rng.pick(patterns["queries"]), rng.random()
        if chance >= BY_NAME + BY_DESCRIPTION:
            name = rng.pick(patterns["parts"]).format(part=rng.pick(name.split()), type=kind)
        elif chance >= BY_NAME:
            name = _description(rng, kind, others)
        return pattern.format(attribute=requested, place=name)

    def _which_place(self, rng: Stream, passage: Doc) -> str:
        requested, kind, *others = self._requested(rng, passage)
        pattern = rng.pick(patterns["questions"])
        return pattern.format(attribute=requested, place=_description(rng, kind, others))

    def _keywords(self, rng: Stream, passage: Doc) -> str:
        return f"{self._requested(rng, passage)[0]} {self.names[passage.places[0]]}"

    def name(self, doc: int) -> str:
        """Return the name of a doc's first place; `doc` is its position."""
        return self.names[self.docs[doc].places[0]]

    def _requested(self, rng: Stream, passage: Doc) -> list[str]:
        """Return a passage's phrases in a query's words; forms change with probability `shift`."""
        shift, sizes = self.recipe.shift, zip(SIZES, passage.forms, strict=True)
        forms = tuple([rng.another(n, f) if rng.happens(shift) else f for n, f in sizes])
        return self._phrases(passage.places[0], passage.attributes[0], forms)

    def _phrases(self, place: int, attribute: int, forms: Forms) -> list[str]:
        """Return the attribute, and its place's type, modifiers and feature, in the given forms."""
        concepts = words.attributes[attribute].forms, *self.concepts[place]
        return [concept[form] for concept, form in zip(concepts, forms, strict=True)]

    def draw_answers(self) -> dict[str, list[int]]:
        """Return, for each split, the position of the passage that answers each query."""
        rng, recipe = Stream(self.recipe.seed, "splits"), self.recipe
        passages = rng.shuffled(self.passages)
        trained = round(recipe.train_share * recipe.passages)
        train, held_out = passages[:trained], passages[trained:]
        judged = set(chosen := self._graded("judged", held_out, recipe.judged))
        free = [i for i in held_out if i not in judged]
        left = free[recipe.tune + recipe.dev :]
        # Each round draws every passage once, so that any half of the train pairs covers them all.
        rounds = _rounds(rng, train)
        asked_rounds = _rounds(Stream(recipe.seed, "passages of questions-train"), train)
        topics = self._graded("topics", left[recipe.questions :][::-1], recipe.topics)
        others = [i for i in left[recipe.questions :] if i not in {*topics}]
        return {
            "train": list(islice(rounds, recipe.train_pairs)),
            "tune": free[: recipe.tune],
            "dev": free[recipe.tune : recipe.tune + recipe.dev],
            "judged": chosen,
            "questions": left[: recipe.questions],
            "topics": topics,
            "questions-train": list(islice(asked_rounds, recipe.question_pairs)),
            "questions-tune": others[: recipe.question_tune],
        }

    def _graded(self, split: str, passages: Iterable[int], count: int) -> list[int]:
        """Return the first `count` passages for which docs of all grades exist."""
        grades = ((i, set(self.grades.by_doc(self.docs[i].topic).values())) for i in passages)
        complete = list(islice((i for i, found in grades if found >= {0, 1, 2, 3}), count))
        if len(complete) < count:
            raise ValueError(
                f"{split}: {count} queries requested, {len(complete)} passages that are left for "
                f"it have docs of all grades; lower {split} or raise passages"
            )
        return complete

    def queries(self, split: str, passages: list[int]) -> worlds.Drawn:
        """Return a query per passage, graded as in TREC DL or with one relevant doc (MS MARCO)."""
        rng = Stream(self.recipe.seed, split)
        later: dict[str, Asks] = dict.fromkeys(QUESTIONS, self._which_place)
        later["topics"] = self._keywords
        asks = later.get(split, self._question)
        texts = [self._new_query(rng, self.docs[passage], asks) for passage in passages]
        if split not in GRADED:
            return texts, [(query, passage, 1) for query, passage in enumerate(passages)]
        rng = Stream(self.recipe.seed, GRADED[split])
        topics = [self.docs[passage].topic for passage in passages]
        return texts, list(self.grades.judged(rng, topics, NOT_RELEVANT))

    def _new_query(self, rng: Stream, passage: Doc, asks: Asks) -> str:
        """Return a query text that no other query of the collection has."""
        for _ in range(REWORDINGS):
            text = asks(rng, passage).lower()
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
        alike = (one[0], one[-1]) == (other[0], other[-1])  # the same type and feature
        return int(attributes[0] == attribute and alike)


def _description(rng: Stream, kind: str, others: Sequence[str]) -> str:
    """Return a description of a place: its type, its feature, and one or both of its modifiers."""
    *modifiers, feature = others
    description = rng.pick(patterns["descriptions"])
    used = rng.sample(modifiers, 2 if rng.happens(BOTH_MODIFIERS) else 1)
    return description.format(modifiers=" ".join(used), type=kind, feature=feature)


def refuse(recipe: GeneratedSource) -> None:
    """Raise ValueError with all faults of a recipe, if it has any."""
    worlds.refuse("the generated collection", _faults(recipe))


def _faults(recipe: GeneratedSource) -> Iterator[ValueError]:
    entities, attributes, most = recipe.entities, len(words.attributes), len(place_names())
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
    queries = recipe.tune + recipe.dev + recipe.judged + recipe.questions + recipe.topics
    queries += recipe.question_tune
    for key in ("train_pairs", "question_pairs"):
        if (pairs := getattr(recipe, key)) and not train:
            yield worlds.fault(
                f"{key}: {pairs} requested, but train_share {recipe.train_share} of "
                f"{recipe.passages} passages is none; raise train_share or passages"
            )
    if queries > recipe.passages - train:
        yield worlds.fault(
            f"tune + dev + judged + questions + topics + question_tune: {queries} queries "
            f"requested, {recipe.passages - train} passages lie outside the train share; lower one "
            "of the six or train_share, or raise passages"
        )
    if 0 < recipe.topics < len(FOLDS):
        yield worlds.fault(
            f"topics: {recipe.topics} requested, too few for {len(FOLDS)} folds; give none, or "
            f"{len(FOLDS)} at least"
        )


def place_names() -> list[str]:
    """Return every two-word place name, each once."""
    syllables = zip(words.name_starts, words.name_ends, strict=True)
    return [" ".join(name) for name in product(*(map("".join, product(*s)) for s in syllables))]


def with_article(phrase: str) -> str:
    """Return a phrase after "a" or "an"; "uni..." takes "a", as in "university"."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith("uni")
    return f"{'an' if vowel else 'a'} {phrase}"


def lexicon(spec: OtherForms) -> Lexicon:
    """Return synonyms for this collection: the other forms of each concept, in order."""
    attributes = (attribute.forms for attribute in words.attributes)
    return Lexicon([*attributes, *words.types, *words.modifiers, *words.features])


def _rounds(rng: Stream, items: Sequence[int]) -> Iterator[int]:
    """Yield the items in rounds without end, each in an order of its own."""
    return chain.from_iterable(rng.shuffled(items) for _ in repeat(None))
