"""Articles of an invented medicine made from a seed, with graded topics or with gold docs.

Usage: `generate(recipe)`, of source `generated-articles`; docs/generated-collection.md says what is
modelled. Grades are those of TREC-COVID: 2 relevant, 1 partially relevant, 0 not relevant.
"""

from collections.abc import Sequence
from itertools import islice

from residuum.collections import worlds
from residuum.collections.article_facts import ENOUGH, Facts, World, faults, words
from residuum.collections.worlds import Drawn, Grades, Stream, Topic, enumerated
from residuum.config.schema.generated import BATCHES, GeneratedArticles, Gold

ALIAS, CONTROL, PLAIN = 0.5, 0.25, 0.2
IN_ABSTRACT, IN_BODY = 3, 4  # collocates of the aspect of a study
NOT_RELEVANT = 40
NEW = 7  # of TREC-COVID's 35 topics of round 2, 30 are of round 1

Parts = tuple[str, list[str], list[str]]  # title, and the sentences of abstract and body

patterns = words.patterns


def generate(recipe: GeneratedArticles) -> worlds.Generated:
    """Make the collection of a recipe; one that asks for more than can be made is a ValueError."""
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
    """Draw questions of training, development and test, no topic twice, and the docs of grade 2."""
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
    """Add the batches of the test questions, so many in each, in their order."""
    queries, qrels = dict(made.queries), dict(made.qrels)
    for number, batch in enumerate(BATCHES):
        queries[batch] = made.queries["test"][number * size : (number + 1) * size]
        ids = {query_id for query_id, _ in queries[batch]}
        qrels[batch] = [row for row in made.qrels["test"] if row[0] in ids]
    return made._replace(queries=queries, qrels=qrels)


def _in_rounds(made: worlds.Generated, rng: Stream, share: float) -> worlds.Generated:
    """Draw an earlier round's share of the judgements, of all topics that are not new since.

    As TREC-COVID's: what one round judged the next does not, and each seventh topic is new.
    """
    old = [query for number, query in enumerate(made.queries["judged"], 1) if number % NEW]
    ids = {query_id for query_id, _ in old}
    first = [row for row in made.qrels["judged"] if row[0] in ids and rng.happens(share)]
    known = set(first)
    later = [row for row in made.qrels["judged"] if row not in known]
    queries, qrels = made.queries | {"earlier": old}, {"judged": later, "earlier": first}
    return made._replace(queries=queries, qrels=qrels)


def _question(rng: Stream, world: World, topic: Topic) -> str:
    """The text of a topic, in lower case; every concept may take another form than in docs."""
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
    """One doc in the making; what it is about has one form in all of its fields."""

    def __init__(self, rng: Stream, world: World, facts: Facts) -> None:
        self.rng, self.world, self.facts = rng, world, facts
        self.words = {kind: self.form(kind, position) for kind, position in facts.about.items()}
        self.condition = facts.about["condition"]
        self.words["course"] = world.courses[self.condition]
        if "agent" in facts.about:
            self.words["drug"] = world.drugs[facts.about["agent"]]
        self.words |= self.setting()

    def article(self) -> dict[str, str]:
        """The fields of the doc; the text is title and abstract, the body a field of its own."""
        parts = {"study": self.study, "review": self.review, "notice": self.notice}
        title, *sentences = parts[self.facts.kind]()
        abstract, body = map(" ".join, sentences)
        return {"text": f"{title} {abstract}", "title": title, "abstract": abstract, "body": body}

    def study(self) -> Parts:
        """One aspect, in other words in the body; and what only the body states."""
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
        """Several aspects, one by one in the body."""
        title = self.filled(patterns["review_titles"])
        listed = enumerated([self.form("aspect", aspect) for _, aspect in self.facts.findings])
        abstract = self.sentences("reviews", "backgrounds")
        abstract += [self.sentence("reviewed", listed=listed), *self.sentences("conclusions")]
        body = self.opening() + [self.finding("sections", pair) for pair in self.facts.findings]
        body += self.different("procedures", 2) + self.mention("mentions")
        return title, abstract, body + self.sentences("funding")

    def notice(self) -> Parts:
        """A call or a letter, which states nothing."""
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
        """Sentences of which no two have the same pattern, nor any of the terms, two in each."""
        chosen = enumerate(self.rng.sample(patterns[table], count))
        return [self.filled([one], **_terms(terms[2 * i : 2 * i + 2])) + "." for i, one in chosen]

    def opening(self) -> list[str]:
        """How the condition shows and, at times, what else it is called."""
        one, two = self.rng.sample(self.world.symptoms[self.condition], 2)
        signs = [self.sentence("signs", one=one, two=two)]
        if not self.rng.happens(ALIAS):
            return signs
        forms = self.world.forms["condition"][self.condition]
        alias = forms[self.rng.another(len(forms), forms.index(self.words["condition"]))]
        return [*signs, self.sentence("aliases", alias=alias)]

    def mention(self, table: str) -> list[str]:
        """Another condition by name alone, where the doc states nothing of it."""
        if any(condition == self.facts.other for condition, _ in self.facts.findings):
            return []
        return [self.sentence(table, condition=self.form("condition", self.facts.other))]

    def finding(self, table: str, pair: tuple[int, int]) -> str:
        """What a body states of an aspect, of its own condition or of another."""
        condition, aspect = pair
        terms = self.setting() | _terms(self.rng.sample(words.aspects[aspect].collocates, 2))
        if condition != self.condition:
            terms["condition"] = self.form("condition", condition)
        return self.sentence(table, **terms, aspect=self.form("aspect", aspect))


def _terms(terms: Sequence[str]) -> dict[str, str]:
    return dict(zip(("first", "second", "third"), terms, strict=False))
