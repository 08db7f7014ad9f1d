"""Generate pages about invented places: sections of statements, each with its own person.

Usage: `generate(recipe)`, of source `generated-pages`. docs/generated-collection.md says what is
modelled. Pages are long and have several subjects: neighbouring sections are about different
places. A query asks for a single section of a page. The answer is the section's person, whom no
other section names.
"""

from itertools import islice, product

from residuum.collections import places, worlds
from residuum.collections.worlds import Stream
from residuum.config import entries
from residuum.config.roots import packaged
from residuum.config.schema.base import Strict
from residuum.config.schema.generated import ANSWERED, GeneratedPages, GeneratedSource


class Words(Strict):
    """The layout of words/pages.yaml."""

    given: list[str]
    family: list[str]
    credits: list[str]
    questions: list[str]


words: Words = entries.parse(packaged("collections/words/pages.yaml"), Words)


def people() -> list[str]:
    """Return every two-word name of a person, each once."""
    return [" ".join(name) for name in product(words.given, words.family)]


def generate(recipe: GeneratedPages) -> worlds.Generated:
    """Make the collection of a recipe; an impossible recipe raises ValueError."""
    alone = {"kind", "subjects", "turns"}
    shared = {name: getattr(recipe, name) for name in {*GeneratedPages.model_fields} - alone}
    source = GeneratedSource(kind="generated", listings=0, stubs=0, **shared)
    places.refuse(source)
    everybody = people()
    if recipe.passages > len(everybody):
        raise ValueError(
            f"passages: {recipe.passages} requested, but {len(everybody)} people can be named, one "
            "for each; lower passages"
        )
    world = places.World(source)
    rng = Stream(recipe.seed, "people")
    persons = rng.sample(everybody, recipe.passages)
    subjects, sections = layout(recipe), [list[str]() for _ in world.names]
    on_pages = [list[int]() for _ in world.names]  # of each place, in rising order
    for page, named in enumerate(subjects):
        for place in named:
            on_pages[place].append(page)
    pages: list[int] = []  # of each doc of the world
    for doc, person in zip(world.docs, persons, strict=True):
        attribute = places.words.attributes[doc.attributes[0]].forms[doc.forms[0]]
        credit = rng.pick(words.credits).format(
            person=person, attribute=attribute, place=world.names[doc.places[0]]
        )
        text = f"{doc.text} {credit}"
        place = doc.places[0]
        pages.append(on_pages[place][len(sections[place]) // recipe.turns])
        sections[place].append(text)
    of_places = [iter(texts) for texts in sections]
    docs = []
    for named in subjects:
        title = world.names[named[0]]
        texts = {place: list(islice(of_places[place], recipe.turns)) for place in named}
        body = " ".join(texts[place][turn] for turn in range(recipe.turns) for place in named)
        docs.append({"text": f"{title} {body}", "title": title, "body": body})
    passages = world.draw_answers()
    drawn = {split: _of_pages(world.queries(split, passages[split]), pages) for split in ORDER}
    asked = {split: drawn[split] for split in places.SPLITS}
    for split in ANSWERED["generated-pages"]:
        asked[split] = (_asking(recipe.seed, split, asked[split][0]), asked[split][1])
    made = worlds.named("p", docs, asked)
    answers = {
        split: {
            query_id: [persons[passage]]
            for (query_id, _), passage in zip(made.queries[split], passages[split], strict=True)
        }
        for split in ANSWERED["generated-pages"]
    }
    return made._replace(answers=answers)


def layout(recipe: GeneratedPages) -> list[list[int]]:
    """Return the places of each page, its subjects.

    Pages are made in rounds. In a round every place is on one page, and has `turns` sections there.
    Each round groups the places anew.
    """
    rounds, rest = divmod(recipe.passages, recipe.entities * recipe.turns)
    if rest or recipe.entities % recipe.subjects:
        raise ValueError(
            f"subjects: {recipe.subjects} places a page and {recipe.turns} turns requested, of "
            f"{recipe.entities} entities with {recipe.passages} passages; give entities that "
            "subjects divides, and passages that entities times turns divides"
        )
    rng = Stream(recipe.seed, "pages")
    dealt = [place for _ in range(rounds) for place in rng.shuffled(range(recipe.entities))]
    firsts = range(0, len(dealt), recipe.subjects)
    return [dealt[first : first + recipe.subjects] for first in firsts]


ORDER = (*places.SPLITS[1:], places.SPLITS[0])  # train gives way to the others


def _asking(seed: int, split: str, texts: list[str]) -> list[str]:
    rng = Stream(seed, f"{split} by whom")
    return [rng.pick(words.questions).format(query=text) for text in texts]


def _of_pages(drawn: worlds.Drawn, pages: list[int]) -> worlds.Drawn:
    """Grade a page by its best section; `pages` has the page of each passage."""
    texts, judgements = drawn
    best: dict[tuple[int, int], int] = {}
    for query, doc, grade in judgements:
        key = query, pages[doc]
        best[key] = max(grade, best.get(key, grade))
    return texts, [(query, page, grade) for (query, page), grade in best.items()]
