"""Generate articles of an invented medicine from a seed, with graded topics or gold docs.

Usage: `generate(recipe)`, of source `generated-articles`. docs/generated-collection.md says what is
modelled. Grades are TREC-COVID's: 2 relevant, 1 partially relevant, 0 not relevant.
"""

from collections.abc import Sequence
from itertools import islice

from residuum.collections import worlds
from residuum.collections.article_facts import ENOUGH, Facts, World, faults, words
from residuum.collections.worlds import Drawn, Grades, Stream, Topic, enumerated
from residuum.config.schema.generated import BATCHES, GeneratedArticles, Gold

ALIAS, CONTROL, PLAIN = 0.5, 0.25, 0.2
IN_ABSTRACT, IN_BODY = 3, 4  # collocates of a study's aspect
NOT_RELEVANT = 40
NEW = 7  # every seventh topic: TREC-COVID's round 2 added 5 topics to 30

Parts = tuple[str, list[str], list[str]]  # title, sentences of the abstract, sentences of the body

patterns = words.patterns


def generate(recipe: GeneratedArticles) -> worlds.Generated:
    """Make the collection of a recipe; an impossible recipe raises ValueError."""
    worlds.refuse("the generated articles", faults(recipe))
    rng = Stream(recipe.seed, "docs")
    world = World(rng, recipe)
    facts = world.draw_facts(rng)
    docs = [_Writer(rng, world, each).article() for each in facts]
    rng, names = Stream(recipe.seed, "judged"), enumerate(doc.names() for doc in facts)
    grades = Grades(names, lambda position, topic: facts[position].relevance(topic))
    topics = world.draw_topics(rng, grades, "judged", recipe.judged, ENOUGH)
    questions = [_question(rng, world, topic) for topic in topics]
    rng = Stream(recipe.seed, "judgements")
    judgements = list(grades.judged(rng, topics, NOT_RELEVANT))
    splits = {"judged": (questions, judgements)} if recipe.judged else {}
    splits |= _gold(recipe.seed, recipe.gold, world, grades) if recipe.gold else {}
    made = worlds.named("a", docs, splits)
    if recipe.gold:
        made = _in_batches(made, recipe.gold.test // len(BATCHES))
    return _in_rounds(made, rng, recipe.judged_before) if recipe.judged_before else made


def _gold(seed: int, sizes: Gold, world: World, grades: Grades) -> dict[str, Drawn]:
    """Draw questions for training, development and test without repeated topics, with gold docs."""
    rng, splits = Stream(seed, "gold"), dict[str, Drawn]()
    counts = {"train": sizes.train, "dev": sizes.dev, "test": sizes.test}
    topics = iter(world.draw_topics(rng, grades, "gold", sum(counts.values()), 1))
    for split, count in counts.items():
        own = list(islice(topics, count))
        asked = [_question(rng, world, topic) for topic in own]
        gold = [
            (query, doc, 1)
            for query, topic in enumerate(own)
            for doc, grade in grades.of(topic).items()
            if grade > 1
        ]
        splits[split] = asked, gold
    return splits


def _in_batches(made: worlds.Generated, size: int) -> worlds.Generated:
    """Split the test questions, in their order, into batches of `size` questions."""
    queries, qrels = dict(made.queries), dict(made.qrels)
    for number, batch in enumerate(BATCHES):
        queries[batch] = made.queries["test"][number * size : (number + 1) * size]
        ids = {query_id for query_id, _ in queries[batch]}
        qrels[batch] = [row for row in made.qrels["test"] if row[0] in ids]
    return made._replace(queries=queries, qrels=qrels)


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


def _question(rng: Stream, world: World, topic: Topic) -> str:
    """Return the lower-case text of a topic; a concept's form may differ from the docs' form."""
    condition = world.form(rng, "condition", topic["condition"])
    if "agent" in topic:
        agent = world.form(rng, "agent", topic["agent"])
        return rng.pick(patterns["agent_topics"]).format(agent=agent, condition=condition).lower()
    plain = words.aspects[topic["aspect"]].question if rng.happens(PLAIN) else None
    pattern = plain or rng.pick(patterns["topics"])
    aspect = world.form(rng, "aspect", topic["aspect"])
    text = pattern.format(condition=condition, aspect=aspect)
    if "population" in topic:
        group = world.form(rng, "population", topic["population"])
        text = rng.pick(patterns["population_topics"]).format(question=text, population=group)
    return text.lower()


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
