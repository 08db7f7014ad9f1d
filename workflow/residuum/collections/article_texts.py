"""The sentences of the generated articles: title, abstract and body of a doc, and questions.

Usage: `article(rng, world, facts)` gives the fields of a doc, `question(rng, world, topic)` the
text of a query. Patterns come from words/articles.yaml. It must not know grades or ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from residuum.collections.article_facts import Facts, World, words
from residuum.collections.draws import another, pick, sample, shuffled
from residuum.collections.worlds import Key, enumerated

ALIAS, CONTROL, PLAIN = 0.5, 0.25, 0.2
IN_ABSTRACT, IN_BODY = 3, 4  # collocates of the aspect of a study

patterns = words.patterns


class Topic(NamedTuple):
    """A condition, with an aspect (of anyone or of a population) or an agent that is asked for."""

    condition: int
    aspect: int | None = None
    population: int | None = None
    agent: int | None = None

    def names(self) -> Iterator[Key]:
        """All but the population, which alone makes no doc relevant."""
        named = ("condition", self.condition), ("aspect", self.aspect), ("agent", self.agent)
        return ((kind, position) for kind, position in named if position is not None)


def _form(rng: Random, world: World, kind: str, position: int) -> str:
    """The usual form of a concept or, with the probability `shift`, another."""
    concept, shift = world.forms[kind][position], rng.random() < world.recipe.shift
    return concept[another(rng, len(concept), 0) if shift else 0]


def _setting(rng: Random) -> dict[str, str]:
    count = str(20 + int(rng.random() * 1000))
    return {"count": count, **{key: pick(rng, items) for key, items in words.settings.items()}}


def _terms(terms: Sequence[str]) -> dict[str, str]:
    return dict(zip(("first", "second", "third"), terms, strict=False))


def article(rng: Random, world: World, facts: Facts) -> dict[str, str]:
    """The fields of a doc; the text is title and abstract, the body is found by its field alone."""
    writer = {"study": _Study, "review": _Review, "notice": _Notice}[facts.kind](rng, world, facts)
    title = writer.filled(patterns[writer.titles])
    abstract, body = " ".join(writer.abstract()), " ".join(writer.body())
    return {"text": f"{title} {abstract}", "title": title, "abstract": abstract, "body": body}


class _Notice:
    """One doc in the making; what it is about has one form in all of its fields."""

    titles = "notice_titles"

    def __init__(self, rng: Random, world: World, facts: Facts) -> None:
        self.rng, self.world, self.facts = rng, world, facts
        self.words = {kind: self.form(kind, position) for kind, position in facts.named().items()}
        self.words["course"] = world.courses[facts.condition]
        if facts.agent is not None:
            self.words["drug"] = world.drugs[facts.agent]
        self.words |= _setting(rng)

    def form(self, kind: str, position: int) -> str:
        return _form(self.rng, self.world, kind, position)

    def filled(self, chosen: Sequence[str], **more: str) -> str:
        text = pick(self.rng, chosen).format(**self.words | more)
        return text[0].upper() + text[1:]

    def sentence(self, chosen: Sequence[str], **more: str) -> str:
        return self.filled(chosen, **more) + "."

    def sentences(self, *tables: str) -> Iterator[str]:
        return (self.sentence(patterns[table]) for table in tables)

    def different(self, table: str, count: int) -> Iterator[str]:
        """Sentences of which no two have the same pattern."""
        return (self.sentence([one]) for one in sample(self.rng, patterns[table], count))

    def finding(self, table: str, pair: tuple[int, int]) -> str:
        """What a body states of an aspect, of its own condition or of another."""
        condition, aspect = pair
        more = _setting(self.rng) | _terms(sample(self.rng, words.aspects[aspect].collocates, 2))
        if condition != self.facts.condition:
            more["condition"] = self.form("condition", condition)
        return self.sentence(patterns[table], **more, aspect=self.form("aspect", aspect))

    def opening(self) -> Iterator[str]:
        """How the condition shows and, at times, what else it is called."""
        one, two = sample(self.rng, self.world.symptoms[self.facts.condition], 2)
        yield self.sentence(patterns["signs"], one=one, two=two)
        if self.rng.random() < ALIAS:
            forms = self.world.forms["condition"][self.facts.condition]
            alias = forms[another(self.rng, len(forms), forms.index(self.words["condition"]))]
            yield self.sentence(patterns["aliases"], alias=alias)

    def mention(self, table: str) -> Iterator[str]:
        """Another condition by name alone, where the doc states nothing of it."""
        if all(condition != self.facts.other for condition, _ in self.facts.findings):
            yield self.sentence(patterns[table], condition=self.form("condition", self.facts.other))

    def abstract(self) -> Iterator[str]:
        yield from self.different("notices", 2)
        yield from self.sentences("closings")

    def body(self) -> Iterator[str]:
        yield from self.opening()
        yield from self.different("calendar", len(patterns["calendar"]))
        yield from self.mention("mentions")


class _Review(_Notice):
    titles = "review_titles"

    def abstract(self) -> Iterator[str]:
        aspects = [self.form("aspect", aspect) for _, aspect in self.facts.findings]
        yield from self.sentences("reviews", "backgrounds")
        yield self.sentence(patterns["reviewed"], listed=enumerated(aspects))
        yield from self.sentences("conclusions")

    def body(self) -> Iterator[str]:
        yield from self.opening()
        yield from (self.finding("sections", pair) for pair in self.facts.findings)
        yield from self.different("procedures", 2)
        yield from self.mention("mentions")
        yield from self.sentences("funding")


class _Study(_Notice):
    def __init__(self, rng: Random, world: World, facts: Facts) -> None:
        super().__init__(rng, world, facts)
        self.titles = "study_titles" if facts.agent is None else "trial_titles"
        terms = sample(rng, words.aspects[facts.aspect].collocates, IN_ABSTRACT + IN_BODY)
        self.terms, self.more_terms = terms[:IN_ABSTRACT], terms[IN_ABSTRACT:]

    def abstract(self) -> Iterator[str]:
        yield from self.sentences("backgrounds", "methods")
        if self.facts.agent is not None:
            yield from self.sentences("trials")
        yield self.sentence(patterns["details"], **_terms(self.terms))
        if self.rng.random() < CONTROL:
            yield from self.mention("controls")
        yield from self.sentences("findings")
        if self.facts.aside is not None:
            yield self.sentence(patterns["asides"], aspect=self.form("aspect", self.facts.aside))
        yield from self.sentences("conclusions")

    def body(self) -> Iterator[str]:
        yield from self.opening()
        yield from self.different("procedures", 2)
        yield from shuffled(self.rng, [*self.observations(), *self.side_findings()])
        yield from self.mention("mentions")
        yield from self.sentences("limits")
        yield self.sentence(patterns["funding"], **_setting(self.rng))

    def observations(self) -> Iterator[str]:
        """Two sentences on the aspect of the study, in words that the abstract does not have."""
        chosen = sample(self.rng, patterns["observations"], 2)
        for one, terms in zip(chosen, (self.more_terms[:2], self.more_terms[2:]), strict=True):
            yield self.sentence([one], **_terms(terms))

    def side_findings(self) -> Iterator[str]:
        """What only the body states."""
        yield from (self.finding("side_findings", pair) for pair in self.facts.findings)
        for _, agent in self.facts.uses:
            name = self.form("agent", agent)
            yield self.sentence(patterns["uses"], **_setting(self.rng), agent=name)


def question(rng: Random, world: World, topic: Topic) -> str:
    """The text of a topic, in lower case; every concept may take another form than in docs."""
    condition = _form(rng, world, "condition", topic.condition)
    if topic.agent is not None:
        agent = _form(rng, world, "agent", topic.agent)
        return pick(rng, patterns["agent_topics"]).format(agent=agent, condition=condition).lower()
    assert topic.aspect is not None
    plain = words.aspects[topic.aspect].question if rng.random() < PLAIN else None
    pattern = plain or pick(rng, patterns["topics"])
    aspect = _form(rng, world, "aspect", topic.aspect)
    text = pattern.format(condition=condition, aspect=aspect)
    if topic.population is not None:
        group = _form(rng, world, "population", topic.population)
        text = pick(rng, patterns["population_topics"]).format(question=text, population=group)
    return text.lower()
