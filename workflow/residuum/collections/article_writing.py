"""Everything that makes text in the generated articles: their three fields, and the questions.

Usage: `docs = write_docs(rng, world, articles)` for the facts of all docs, then
`write_questions(rng, world, topics)`.

It must not know grades or ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from residuum.collections import article_lexicon as lex
from residuum.collections import article_phrases as phrases
from residuum.collections.article_topics import Topic
from residuum.collections.article_world import Facts, World
from residuum.collections.wordlists import Concept
from residuum.collections.world import another, pick, sample, shuffled

ALIAS, CONTROL, PLAIN = 0.5, 0.25, 0.2
IN_ABSTRACT, IN_BODY = 3, 4  # collocates of the aspect of a study

Words = dict[str, str]


class Doc(NamedTuple):
    """The three fields of an article."""

    title: str
    abstract: str
    body: str


def write_docs(rng: Random, world: World, articles: Sequence[Facts]) -> list[Doc]:
    """The text of all docs, in the order of their facts."""
    writers = {"study": _Study, "review": _Review, "notice": _Notice}
    return [writers[facts.kind](rng, world, facts).doc() for facts in articles]


def _form(rng: Random, world: World, concept: Concept) -> str:
    """The usual form of a concept or, with the probability `shift`, another."""
    if rng.random() < world.recipe.shift:
        return concept[another(rng, len(concept), 0)]
    return concept[0]


def _setting(rng: Random) -> Words:
    return {
        "count": str(20 + int(rng.random() * 1000)),
        "site": pick(rng, lex.SITES),
        "span": pick(rng, lex.SPANS),
        "design": pick(rng, lex.DESIGNS),
        "result": pick(rng, lex.RESULTS),
    }


def _terms(terms: Sequence[str]) -> Words:
    return dict(zip(("first", "second", "third"), terms, strict=False))


class _Writer(ABC):
    """One doc in the making; what it is about has one form in all of its fields."""

    titles: Sequence[str]

    def __init__(self, rng: Random, world: World, facts: Facts) -> None:
        self.rng, self.world, self.facts = rng, world, facts
        self.condition = world.conditions[facts.condition]
        self.words = self.names() | _setting(rng)

    def names(self) -> Words:
        """The words for the condition, aspect, population and agent of the doc."""
        facts, world = self.facts, self.world
        names = {
            "condition": self.form(self.condition.forms),
            "course": self.condition.course,
            "aspect": self.form(world.aspects[facts.aspect]),
            "population": self.form(world.populations[facts.population]),
        }
        if facts.agent is None:
            return names
        agent = world.agents[facts.agent]
        return names | {"agent": self.form(agent.forms), "drug": agent.kind}

    def doc(self) -> Doc:
        """The title, then the abstract, then the body."""
        title = self.filled(self.titles)
        abstract = " ".join(self.abstract())
        return Doc(title, abstract, " ".join(self.body()))

    @abstractmethod
    def abstract(self) -> Iterator[str]:
        """The sentences of the abstract."""

    @abstractmethod
    def body(self) -> Iterator[str]:
        """The sentences of the body."""

    def form(self, concept: Concept) -> str:
        """A surface form of a concept."""
        return _form(self.rng, self.world, concept)

    def filled(self, patterns: Sequence[str], **more: str) -> str:
        """One of the patterns with its words, and with a capital."""
        text = pick(self.rng, patterns).format(**self.words | more)
        return text[0].upper() + text[1:]

    def sentence(self, patterns: Sequence[str], **more: str) -> str:
        """One of the patterns as a sentence."""
        return self.filled(patterns, **more) + "."

    def different(self, patterns: Sequence[str], count: int) -> list[str]:
        """Sentences of which no two have the same pattern."""
        return [self.sentence([pattern]) for pattern in sample(self.rng, patterns, count)]

    def told(self, patterns: Sequence[str], pair: tuple[int, int]) -> str:
        """What a body tells of an aspect, of its own condition or of another."""
        condition, aspect = pair
        more = _setting(self.rng) | _terms(sample(self.rng, lex.ASPECTS[aspect].collocates, 2))
        if condition != self.facts.condition:
            more["condition"] = self.form(self.world.conditions[condition].forms)
        return self.sentence(patterns, **more, aspect=self.form(self.world.aspects[aspect]))

    def opening(self) -> Iterator[str]:
        """How the condition shows and, at times, what else it is called."""
        one, two = sample(self.rng, self.condition.symptoms, 2)
        yield self.sentence(phrases.SIGNS, one=one, two=two)
        if self.rng.random() < ALIAS:
            forms = self.condition.forms
            taken = forms.index(self.words["condition"])
            alias = forms[another(self.rng, len(forms), taken)]
            yield self.sentence(phrases.ALIASES, alias=alias)

    def mention(self, patterns: Sequence[str]) -> Iterator[str]:
        """Another condition by name alone, where the doc tells nothing of it."""
        if all(condition != self.facts.other for condition, _ in self.facts.told):
            other = self.form(self.world.conditions[self.facts.other].forms)
            yield self.sentence(patterns, condition=other)


class _Study(_Writer):
    def __init__(self, rng: Random, world: World, facts: Facts) -> None:
        super().__init__(rng, world, facts)
        self.titles = phrases.TITLES if facts.agent is None else phrases.TRIAL_TITLES
        terms = sample(rng, lex.ASPECTS[facts.aspect].collocates, IN_ABSTRACT + IN_BODY)
        self.terms, self.more_terms = terms[:IN_ABSTRACT], terms[IN_ABSTRACT:]

    def abstract(self) -> Iterator[str]:
        yield self.sentence(phrases.BACKGROUNDS)
        yield self.sentence(phrases.METHODS)
        if self.facts.agent is not None:
            yield self.sentence(phrases.TRIALS)
        yield self.sentence(phrases.DETAILS, **_terms(self.terms))
        if self.rng.random() < CONTROL:
            yield from self.mention(phrases.CONTROLS)
        yield self.sentence(phrases.FINDINGS)
        if self.facts.aside is not None:
            aside = self.form(self.world.aspects[self.facts.aside])
            yield self.sentence(phrases.ASIDES, aspect=aside)
        yield self.sentence(phrases.CONCLUSIONS)

    def body(self) -> Iterator[str]:
        yield from self.opening()
        yield from self.different(phrases.PROCEDURES, 2)
        yield from shuffled(self.rng, [*self.observations(), *self.side_findings()])
        yield from self.mention(phrases.MENTIONS)
        yield self.sentence(phrases.LIMITS)
        yield self.sentence(phrases.FUNDING, **_setting(self.rng))

    def observations(self) -> Iterator[str]:
        """Two sentences on the aspect of the study, in words that the abstract does not have."""
        one, two = sample(self.rng, phrases.OBSERVATIONS, 2)
        yield self.sentence([one], **_terms(self.more_terms[:2]))
        yield self.sentence([two], **_terms(self.more_terms[2:]))

    def side_findings(self) -> Iterator[str]:
        """What only the body states."""
        for pair in self.facts.told:
            yield self.told(phrases.SIDE_FINDINGS, pair)
        for _, agent in self.facts.used:
            name = self.form(self.world.agents[agent].forms)
            yield self.sentence(phrases.USES, **_setting(self.rng), agent=name)


class _Review(_Writer):
    titles = phrases.REVIEW_TITLES

    def abstract(self) -> Iterator[str]:
        names = [self.form(self.world.aspects[aspect]) for _, aspect in self.facts.told]
        listed = ", ".join(names[:-1]) + " and " + names[-1]
        yield self.sentence(phrases.REVIEWS)
        yield self.sentence(phrases.BACKGROUNDS)
        yield self.sentence(phrases.REVIEWED, listed=listed)
        yield self.sentence(phrases.CONCLUSIONS)

    def body(self) -> Iterator[str]:
        yield from self.opening()
        for pair in self.facts.told:
            yield self.told(phrases.SECTIONS, pair)
        yield from self.different(phrases.PROCEDURES, 2)
        yield from self.mention(phrases.MENTIONS)
        yield self.sentence(phrases.FUNDING)


class _Notice(_Writer):
    titles = phrases.NOTICE_TITLES

    def abstract(self) -> Iterator[str]:
        yield from self.different(phrases.NOTICES, 2)
        yield self.sentence(phrases.CLOSINGS)

    def body(self) -> Iterator[str]:
        yield from self.opening()
        yield from self.different(phrases.CALENDAR, len(phrases.CALENDAR))
        yield from self.mention(phrases.MENTIONS)


def write_questions(rng: Random, world: World, topics: Sequence[Topic]) -> list[str]:
    """One question per topic, in lower case; every concept may take another form than in docs."""
    return [_question(rng, world, topic).lower() for topic in topics]


def _question(rng: Random, world: World, topic: Topic) -> str:
    condition = _form(rng, world, world.conditions[topic.condition].forms)
    if topic.agent is not None:
        agent = _form(rng, world, world.agents[topic.agent].forms)
        return pick(rng, phrases.ASKING_AGENT).format(agent=agent, condition=condition)
    assert topic.aspect is not None
    question = _plain(rng, world, topic.aspect).format(
        condition=condition, aspect=_form(rng, world, world.aspects[topic.aspect])
    )
    if topic.population is None:
        return question
    population = _form(rng, world, world.populations[topic.population])
    return pick(rng, phrases.ASKING_GROUP).format(question=question, population=population)


def _plain(rng: Random, world: World, aspect: int) -> str:
    """A pattern that names the aspect or, with the probability `PLAIN`, one in plain words."""
    return lex.ASPECTS[aspect].question if rng.random() < PLAIN else pick(rng, phrases.ASKING)
