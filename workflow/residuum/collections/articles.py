"""Articles of an invented medicine made from a seed, with judged queries and nothing to train on.

Usage: `generate(recipe)`, called by residuum.data for datasets whose source is
`generated-articles`; the page docs/generated-collection.md says what the collection models. The
same recipe gives the same bytes on any machine. This module checks the recipe, has article_world,
article_writing and article_topics do their part, and names docs and queries.

It must not know torch, a JVM or a network, nor which scale or dataset it is made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from residuum.collections.article_topics import draw_topics, graded
from residuum.collections.article_world import (
    draw_articles,
    draw_world,
    possible_agents,
    possible_conditions,
)
from residuum.collections.article_writing import Doc, write_docs, write_questions
from residuum.collections.world import stream

if TYPE_CHECKING:
    from residuum.core.schema import GeneratedArticles


class Collection(NamedTuple):
    """Docs as (doc_id, fields); per split, (query_id, text) and (query_id, doc_id, relevance)."""

    docs: list[tuple[str, dict[str, str]]]
    queries: dict[str, list[tuple[str, str]]]
    qrels: dict[str, list[tuple[str, str, int]]]


def generate(recipe: GeneratedArticles) -> Collection:
    """Make the collection that a recipe describes.

    Returns docs in an order that tells nothing about their kind, and the queries and qrels of the
    one split, judged. Raises ValueError if the recipe asks for more than can be made.
    """
    _check(recipe)
    rng = stream(recipe, "docs")
    world = draw_world(rng, recipe)
    articles = draw_articles(rng, world)
    docs = write_docs(rng, world, articles)
    rng = stream(recipe, "judged")
    topics = draw_topics(rng, world, articles)
    questions = write_questions(rng, world, topics)
    judgements = graded(stream(recipe, "judgements"), world, articles, topics)
    return Collection(
        [(_doc_id(i), _fields(doc)) for i, doc in enumerate(docs)],
        {"judged": [(_query_id(i), text) for i, text in enumerate(questions)]},
        {"judged": [(_query_id(q), _doc_id(d), grade) for q, d, grade in judgements]},
    )


def _check(recipe: GeneratedArticles) -> None:
    faults = [
        *_limits("conditions", recipe.conditions, possible_conditions()),
        *_limits("agents", recipe.agents, possible_agents()),
    ]
    if faults:
        raise ValueError("\n  ".join(["the generated articles cannot be made", *faults]))


def _limits(key: str, asked: int, most: int) -> Iterator[str]:
    """Two at least, so that a doc can name another one."""
    if not 2 <= asked <= most:
        yield f"{key}: {asked} asked, 2 to {most} possible; change {key}"


def _fields(doc: Doc) -> dict[str, str]:
    """The text is title and abstract; the body can be found by its field alone."""
    return {"text": f"{doc.title} {doc.abstract}", **doc._asdict()}


def _doc_id(position: int) -> str:
    return f"a{position + 1:06d}"


def _query_id(position: int) -> str:
    return f"judged-{position + 1:05d}"
