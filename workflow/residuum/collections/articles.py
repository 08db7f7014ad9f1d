"""Generate articles of an invented medicine from a seed, with graded topics or gold docs.

Usage: `generate(recipe)`, of source `generated-articles`. docs/generated-collection.md says what is
modelled. Grades are TREC-COVID's: 2 relevant, 1 partially relevant, 0 not relevant.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

from residuum.collections import worlds
from residuum.collections.worlds import (
    Attribute,
    Concept,
    Drawn,
    Grades,
    Key,
    Stream,
    Topic,
    Zipf,
    enumerated,
)
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.base import Strict
from residuum.config.schema.generated import BATCHES, GeneratedArticles, Gold

ALIAS, CONTROL, PLAIN = 0.5, 0.25, 0.2
IN_ABSTRACT, IN_BODY = 3, 4  # collocates of a study's aspect
NOT_RELEVANT = 40
NEW = 7  # every seventh topic: TREC-COVID's round 2 added 5 topics to 30

Forms = Mapping[str, str]  # the form that a text has of each kind of thing that it is about
Parts = tuple[str, list[str], list[str]]  # title, sentences of the abstract, sentences of the body
USED, ELSEWHERE, ASIDE = 0.5, 0.4, 0.5
COVERED = 4
ENOUGH = 4  # relevant docs per topic
THERAPY = "therapy"  # studies of this family have an agent
KINDS = ("condition", "aspect", "population", "agent")  # kinds of named things
FORMS = {  # of topics: what a message calls them, and the kinds of things that they name
    "aspects": ("condition", "aspect"),
    "aspects in a population": ("condition", "aspect", "population"),
    "agents": ("condition", "agent"),
}


class Aspect(Attribute):
    """A subject of studies, with a plain question about it."""

    question: str


class Words(Strict):
    """The layout of words/articles.yaml."""

    aspects: list[Aspect]
    populations: list[Concept]
    conditions: dict[str, list[str]]
    agents: dict[str, list[str]]
    settings: dict[str, list[str]]
    patterns: dict[str, list[str]]


words: Words = entries.parse(packaged("collections/words/articles.yaml"), Words)
patterns = words.patterns


class Facts(NamedTuple):
    """What a doc states of its condition, and what it only names.

    A study states the topic `about` from the title on; only a study of a therapy has an agent
    there. Only a study's body states `findings`, which are (condition, aspect), and `uses`, which
    are (condition, agent). A review covers the aspects in `findings`. A notice names its topic and
    states nothing. The condition `other` and the aspect `aside` are named; nothing is stated of
    them outside `findings`.
    """

    kind: str
    about: Topic
    other: int
    findings: tuple[tuple[int, int], ...] = ()
    uses: tuple[tuple[int, int], ...] = ()
    aside: int | None = None

    def names(self) -> list[Key]:
        """Return the named things that a topic may ask for, which are no populations."""
        named = [key for key in self.about.items() if key[0] != "population"]
        return [*named, ("condition", self.other)]

    def relevance(self, topic: Topic) -> int:
        """Return the grade for a topic, 2, 1 or 0; a doc that does not name its condition has 0."""
        if self.kind == "notice":
            return 0
        condition, group = topic["condition"], topic.get("population")
        states = self.kind == "study" and self.about["condition"] == condition
        if states and topic.items() <= self.about.items():
            return 2
        if "agent" in topic:
            return int((condition, topic["agent"]) in self.uses)
        if states and self.about["aspect"] == topic["aspect"]:
            return 1
        # A finding of a review, or on another condition, holds for any population.
        suits = group is None or (states and group == self.about["population"])
        return int(suits and (condition, topic["aspect"]) in self.findings)


def faults(recipe: GeneratedArticles) -> Iterator[ValueError]:
    """Yield faults: fewer than two conditions or agents, or more than there are names."""
    for key, names in (
        ("conditions", [words.conditions["stems"], words.conditions["surnames"]]),
        ("agents", [words.agents["onsets"], words.agents["trade_names"]]),
    ):
        count, most = getattr(recipe, key), min(map(len, names))
        if not 2 <= count <= most:
            yield worlds.fault(f"{key}: {count} requested, 2 to {most} possible; change {key}")


class Counts(NamedTuple):
    """How many topics ask for an aspect, for an aspect in a population, and for an agent."""

    aspects: int
    populations: int
    agents: int


class World:
    """The things that docs can name, by kind and position; a concept's usual form is its first."""

    def __init__(self, rng: Stream, recipe: GeneratedArticles) -> None:
        self.recipe, self.forms = recipe, defaultdict[str, list[Concept]](list)
        self.courses, self.drugs = list[str](), list[str]()  # per condition; per agent
        self.symptoms: list[list[str]] = []  # symptoms per condition
        table = words.conditions
        signs = [f"{look} {part}" for look in table["looks"] for part in table["parts"]]
        parts = (table["stems"], table["surnames"], signs)
        drawn = [rng.sample(items, recipe.conditions) for items in parts]
        for stem, surname, sign in zip(*drawn, strict=True):
            one, two = stem + rng.pick(table["suffixes"]), f"{surname} {rng.pick(table['heads'])}"
            names = one, two, f"{sign} {rng.pick(table['ailments'])}"
            self.symptoms.append(rng.sample(table["symptoms"], 3))
            self.forms["condition"].append(tuple(rng.shuffled(names)))
            self.courses.append(rng.pick(table["courses"]))
        table = words.agents
        codes = [rng.sample(table[key], recipe.agents) for key in ("onsets", "trade_names")]
        numbers = rng.sample(range(101, 1000), recipe.agents)
        for onset, brand, number in zip(*codes, numbers, strict=True):
            one, code = onset + rng.pick(table["ends"]), f"{rng.pick(table['letters'])}-{number}"
            self.forms["agent"].append(tuple(rng.shuffled((one, brand, code))))
            self.drugs.append(rng.pick(table["classes"]))
        self.forms["aspect"] = [tuple(rng.shuffled(aspect.forms)) for aspect in words.aspects]
        self.forms["population"] = [tuple(rng.shuffled(forms)) for forms in words.populations]
        self.frequent = {kind: Zipf(rng, len(self.forms[kind])) for kind in KINDS}

    def form(self, rng: Stream, kind: str, position: int) -> str:
        """Return the usual form of a concept or, with probability `shift`, another form."""
        concept, shift = self.forms[kind][position], rng.happens(self.recipe.shift)
        return concept[rng.another(len(concept), 0) if shift else 0]

    def draw_facts(self, rng: Stream) -> list[Facts]:
        """Return the facts of all docs, shuffled so that the order does not reveal their kind."""
        aspects = self.frequent["aspect"]
        studies = [self._study(rng) for _ in range(self.recipe.articles)]
        reviews = [self._review(rng) for _ in range(self.recipe.reviews)]
        named = (aspects.draw(rng) for _ in range(self.recipe.notices))
        notices = [self._named(rng, "notice", aspect) for aspect in named]
        return rng.shuffled(studies + reviews + notices)

    def _study(self, rng: Stream) -> Facts:
        """Draw a study of an aspect; its body states another aspect and maybe another condition."""
        aspect, side, elsewhere, aside = self.frequent["aspect"].draw_distinct(rng, 4)
        base = self._named(rng, "study", aspect)
        condition = base.about["condition"]
        findings, uses = [(condition, side)], []
        if rng.happens(ELSEWHERE):
            findings.append((base.other, elsewhere))
        if rng.happens(USED):
            uses.append((condition, self.frequent["agent"].draw(rng)))
        named = aside if rng.happens(ASIDE) else None
        return base._replace(findings=tuple(findings), uses=tuple(uses), aside=named)

    def _review(self, rng: Stream) -> Facts:
        """Draw a review, which covers several aspects of a condition without a study of its own."""
        covered = self.frequent["aspect"].draw_distinct(rng, COVERED)
        base = self._named(rng, "review", covered[0])
        findings = tuple((base.about["condition"], aspect) for aspect in covered)
        return base._replace(findings=findings)

    def _named(self, rng: Stream, kind: str, aspect: int) -> Facts:
        condition, other = self.frequent["condition"].draw_distinct(rng, 2)
        about = {"condition": condition, "aspect": aspect}
        about["population"] = self.frequent["population"].draw(rng)
        agent = self.frequent["agent"].draw(rng)
        if kind == "notice" or words.aspects[aspect].family == THERAPY:
            about["agent"] = agent
        return Facts(kind, about, other)

    def draw_topics(
        self, rng: Stream, grades: Grades, key: str, counts: Counts, least: int
    ) -> list[Topic]:
        """Draw topics in random order, as many of each form as `counts` says.

        Every topic has a doc of grade 2, and at least `least` docs of grade 1 or 2. If too few
        topics have, a ValueError names `key`, the key of the recipe.
        """
        drawn: list[Topic] = []
        for (what, kinds), count in zip(FORMS.items(), counts, strict=True):
            positions = product(*(range(len(self.forms[kind])) for kind in kinds))
            topics = [dict(zip(kinds, each, strict=True)) for each in positions]
            graded = ((topic, [*grades.by_doc(topic).values()]) for topic in rng.shuffled(topics))
            enough = (t for t, g in graded if 2 in g and len(g) - g.count(0) >= least)
            chosen = list(islice(enough, count))
            if len(chosen) < count:
                raise ValueError(
                    f"{key}: {sum(counts)} queries requested, {count} of them on {what}, but "
                    f"{len(chosen)} such topics have {least} relevant docs; lower {key} or "
                    "conditions, or raise articles"
                )
            drawn += chosen
        return rng.shuffled(drawn)


def generate(recipe: GeneratedArticles) -> worlds.Generated:
    """Make the collection of a recipe; an impossible recipe raises ValueError."""
    worlds.refuse("the generated articles", faults(recipe))
    rng = Stream(recipe.seed, "docs")
    world = World(rng, recipe)
    facts = world.draw_facts(rng)
    docs, forms = list[dict[str, str]](), list[Forms]()
    for each in facts:
        writer = _Writer(rng, world, each)
        docs.append(writer.article())
        forms.append({kind: writer.words[kind] for kind in each.about})
    rng, names = Stream(recipe.seed, "judged"), enumerate(doc.names() for doc in facts)
    grades = Grades(names, lambda position, topic: facts[position].relevance(topic))
    quarter = recipe.judged // 4
    counts = Counts(recipe.judged - 2 * quarter, quarter, quarter)
    topics = world.draw_topics(rng, grades, "judged", counts, ENOUGH)
    questions = [_question(rng, world, topic)[0] for topic in topics]
    rng = Stream(recipe.seed, "judgements")
    judgements = list(grades.judged(rng, topics, NOT_RELEVANT))
    splits = {"judged": (questions, judgements)} if recipe.judged else {}
    splits |= _gold(recipe.seed, recipe.gold, world, grades, forms) if recipe.gold else {}
    made = worlds.named("a", docs, splits)
    if recipe.gold:
        test, size = made.queries["test"], recipe.gold.test // len(BATCHES)
        batches = {batch: test[n * size : (n + 1) * size] for n, batch in enumerate(BATCHES)}
        worlds.divide(made, "test", batches)
    return _in_rounds(made, rng, recipe.judged_before) if recipe.judged_before else made


def _gold(
    seed: int, sizes: Gold, world: World, grades: Grades, forms: Sequence[Forms]
) -> dict[str, Drawn]:
    """Draw questions for training, development and test without repeated topics, with gold docs.

    A question has the words of one doc that answers it, its source. Gold are the docs with the same
    forms, which a search for the question's words finds, and some of the others.
    """
    rng, splits = Stream(seed, "gold"), dict[str, Drawn]()
    sizes_of = {"train": sizes.train, "dev": sizes.dev, "test": sizes.test}
    size = sum(sizes_of.values())
    populations, agents = 3 * size // 8, size // 8
    counts = Counts(size - populations - agents, populations, agents)
    topics = world.draw_topics(rng, grades, "gold", counts, 1)
    answers = [
        [doc for doc, grade in grades.by_doc(topic).items() if grade > 1] for topic in topics
    ]
    asked = [
        _question(rng, world, topic, forms[rng.pick(docs)])
        for topic, docs in zip(topics, answers, strict=True)
    ]
    found = [
        [named.items() <= forms[doc].items() for doc in docs]
        for (_, named), docs in zip(asked, answers, strict=True)
    ]
    share = _share_of_others(sum(map(sum, found)), sum(map(len, found)), sizes.keywords)
    rows = iter(zip(asked, answers, found, strict=True))
    for split, count in sizes_of.items():
        chosen = list(islice(rows, count))
        gold = [
            (query, doc, 1)
            for query, (_, docs, hits) in enumerate(chosen)
            for doc, hit in zip(docs, hits, strict=True)
            if hit or rng.happens(share)
        ]
        splits[split] = [text for (text, _), _, _ in chosen], gold
    return splits


def _share_of_others(found: int, total: int, keywords: float) -> float:
    """Return the share that is gold of the answers that no search finds.

    With it, `keywords` is the share of the gold docs that is found. Raises ValueError if all other
    answers are too few.
    """
    if found / total > keywords:
        raise ValueError(
            f"gold.keywords: {keywords:g} requested, but {found / total:.2f} of the docs that "
            "answer have the question's words; raise keywords or shift"
        )
    return found * (1 - keywords) / (keywords * (total - found)) if found < total else 0.0


def _in_rounds(made: worlds.Generated, rng: Stream, share: float) -> worlds.Generated:
    """Move a share of the judgements to an earlier round, for all topics that existed then.

    As in TREC-COVID, no pair is judged in both rounds. Every seventh topic is new in the later
    round.
    """
    old = [query for number, query in enumerate(made.queries["judged"], 1) if number % NEW]
    ids = {query_id for query_id, _ in old}
    first = [row for row in made.qrels["judged"] if row[0] in ids and rng.happens(share)]
    known = set(first)
    later = [row for row in made.qrels["judged"] if row not in known]
    queries, qrels = made.queries | {"earlier": old}, {"judged": later, "earlier": first}
    return made._replace(queries=queries, qrels=qrels)


def _question(
    rng: Stream, world: World, topic: Topic, forms: Forms | None = None
) -> tuple[str, Forms]:
    """Return the lower-case text of a topic, and the form that it has of each thing that it names.

    Without `forms`, those of a doc, a concept's form may differ from the docs' form.
    """
    named = dict[str, str]()

    def form(kind: str) -> str:
        named[kind] = forms[kind] if forms else world.form(rng, kind, topic[kind])
        return named[kind]

    condition = form("condition")
    if "agent" in topic:
        agent = form("agent")
        text = rng.pick(patterns["agent_topics"]).format(agent=agent, condition=condition)
        return text.lower(), named
    plain = words.aspects[topic["aspect"]].question if rng.happens(PLAIN) else None
    pattern = plain or rng.pick(patterns["topics"])
    text = pattern.format(condition=condition, aspect=form("aspect"))
    if plain:
        del named["aspect"]
    if "population" in topic:
        group = form("population")
        text = rng.pick(patterns["population_topics"]).format(question=text, population=group)
    return text.lower(), named


class _Writer:
    """A writer of a single doc, which keeps to one form of each concept it is about."""

    def __init__(self, rng: Stream, world: World, facts: Facts) -> None:
        self.rng, self.world, self.facts = rng, world, facts
        self.words = {kind: self.form(kind, position) for kind, position in facts.about.items()}
        self.condition = facts.about["condition"]
        self.words["course"] = world.courses[self.condition]
        if "agent" in facts.about:
            self.words["drug"] = world.drugs[facts.about["agent"]]
        self.words |= self.setting()

    def article(self) -> dict[str, str]:
        """Return the doc's fields; the text is title and abstract, without the body."""
        parts = {"study": self.study, "review": self.review, "notice": self.notice}
        title, *sentences = parts[self.facts.kind]()
        abstract, body = map(" ".join, sentences)
        return {"text": f"{title} {abstract}", "title": title, "abstract": abstract, "body": body}

    def study(self) -> Parts:
        """Return the parts of a study; the body rewords the aspect and adds facts."""
        facts, trial = self.facts, "agent" in self.facts.about
        collocates = words.aspects[facts.about["aspect"]].collocates
        terms = self.rng.sample(collocates, IN_ABSTRACT + IN_BODY)
        title = self.filled(patterns["trial_titles" if trial else "study_titles"])
        abstract = self.sentences("backgrounds", "methods", *["trials"] * trial)
        abstract.append(self.sentence("details", **_terms(terms[:IN_ABSTRACT])))
        if self.rng.happens(CONTROL):
            abstract += self.mention("controls")
        abstract += self.sentences("findings")
        if facts.aside is not None:
            abstract.append(self.sentence("asides", aspect=self.form("aspect", facts.aside)))
        abstract += self.sentences("conclusions")
        body = self.opening() + self.different("procedures", 2)
        stated = self.different("observations", 2, terms[IN_ABSTRACT:])
        stated += [self.finding("side_findings", pair) for pair in facts.findings]
        for _, agent in facts.uses:
            stated.append(self.sentence("uses", agent=self.form("agent", agent), **self.setting()))
        body += self.rng.shuffled(stated) + self.mention("mentions") + self.sentences("limits")
        return title, abstract, [*body, self.sentence("funding", **self.setting())]

    def review(self) -> Parts:
        """Return the parts of a review, whose body covers several aspects in turn."""
        title = self.filled(patterns["review_titles"])
        listed = enumerated([self.form("aspect", aspect) for _, aspect in self.facts.findings])
        abstract = self.sentences("reviews", "backgrounds")
        abstract += [self.sentence("reviewed", listed=listed), *self.sentences("conclusions")]
        body = self.opening() + [self.finding("sections", pair) for pair in self.facts.findings]
        body += self.different("procedures", 2) + self.mention("mentions")
        return title, abstract, body + self.sentences("funding")

    def notice(self) -> Parts:
        """Return the parts of a notice (a call or a letter), which states nothing."""
        title = self.filled(patterns["notice_titles"])
        abstract = self.different("notices", 2) + self.sentences("closings")
        body = self.opening() + self.different("calendar", len(patterns["calendar"]))
        return title, abstract, body + self.mention("mentions")

    def form(self, kind: str, position: int) -> str:
        return self.world.form(self.rng, kind, position)

    def setting(self) -> dict[str, str]:
        count = str(20 + self.rng.below(1000))
        return {"count": count} | {k: self.rng.pick(items) for k, items in words.settings.items()}

    def filled(self, chosen: Sequence[str], **more: str) -> str:
        text = self.rng.pick(chosen).format(**self.words | more)
        return text[0].upper() + text[1:]

    def sentence(self, table: str, **more: str) -> str:
        return self.filled(patterns[table], **more) + "."

    def sentences(self, *tables: str) -> list[str]:
        return [self.sentence(table) for table in tables]

    def different(self, table: str, count: int, terms: Sequence[str] = ()) -> list[str]:
        """Return `count` sentences of different patterns, each with two other terms, if given."""
        chosen = enumerate(self.rng.sample(patterns[table], count))
        return [self.filled([one], **_terms(terms[2 * i : 2 * i + 2])) + "." for i, one in chosen]

    def opening(self) -> list[str]:
        """Return sentences on the signs of the condition and, sometimes, its other names."""
        one, two = self.rng.sample(self.world.symptoms[self.condition], 2)
        signs = [self.sentence("signs", one=one, two=two)]
        if not self.rng.happens(ALIAS):
            return signs
        forms = self.world.forms["condition"][self.condition]
        alias = forms[self.rng.another(len(forms), forms.index(self.words["condition"]))]
        return [*signs, self.sentence("aliases", alias=alias)]

    def mention(self, table: str) -> list[str]:
        """Return a sentence that names another condition, unless the doc states something of it."""
        if any(condition == self.facts.other for condition, _ in self.facts.findings):
            return []
        return [self.sentence(table, condition=self.form("condition", self.facts.other))]

    def finding(self, table: str, pair: tuple[int, int]) -> str:
        """Return a sentence with a finding on an aspect of the doc's or another condition."""
        condition, aspect = pair
        terms = self.setting() | _terms(self.rng.sample(words.aspects[aspect].collocates, 2))
        if condition != self.condition:
            terms["condition"] = self.form("condition", condition)
        return self.sentence(table, **terms, aspect=self.form("aspect", aspect))


def _terms(terms: Sequence[str]) -> dict[str, str]:
    return dict(zip(("first", "second", "third"), terms, strict=False))
