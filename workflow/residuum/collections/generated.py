"""A collection of English-like text made from a seed, with train, tune, dev and judged queries.

Usage: `generate(recipe)`, called by residuum.data for datasets whose source is `generated`; the
page docs/generated-collection.md says what the collection models. The same recipe gives the same
bytes on any machine. This module checks the recipe, has world, writing and judging do their part,
and names docs and queries.

It must not know torch, a JVM or a network, nor which scale or dataset it is made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from residuum.collections import lexicon as lex
from residuum.collections.judging import (
    Judgement,
    draw_targets,
    graded,
    one_relevant,
    train_passages,
)
from residuum.collections.world import draw_world, stream
from residuum.collections.writing import LISTED, write_docs, write_queries

if TYPE_CHECKING:
    from residuum.core.schema import GeneratedSource

SPLITS = ("train", "tune", "dev", "judged")


class Collection(NamedTuple):
    """Docs as (doc_id, text); per split, (query_id, text) and (query_id, doc_id, relevance)."""

    docs: list[tuple[str, str]]
    queries: dict[str, list[tuple[str, str]]]
    qrels: dict[str, list[tuple[str, str, int]]]


def generate(recipe: GeneratedSource) -> Collection:
    """Make the collection that a recipe describes.

    Returns docs in an order that tells nothing about their kind, and the queries and qrels of the
    splits train, tune, dev and judged. Raises ValueError if the recipe asks for more than can be
    made.
    """
    _check(recipe)
    rng = stream(recipe, "docs")
    world = draw_world(rng, recipe)
    docs = write_docs(rng, world)
    targets = draw_targets(world, docs)
    texts: dict[str, list[str]] = {}
    seen: set[str] = set()
    # train comes last: it gives way where its wording would repeat a tune, dev or judged query
    for split in (*SPLITS[1:], SPLITS[0]):
        passages = [docs[target] for target in targets[split]]
        texts[split] = write_queries(stream(recipe, split), world, passages, seen)
    judgements = {split: one_relevant(targets[split]) for split in SPLITS} | {
        "judged": graded(world, docs, targets["judged"])
    }
    return Collection(
        [(_doc_id(i), doc.text) for i, doc in enumerate(docs)],
        {s: [(_query_id(s, i), text) for i, text in enumerate(texts[s])] for s in SPLITS},
        {split: _qrels(split, judgements[split]) for split in SPLITS},
    )


def _check(recipe: GeneratedSource) -> None:
    faults = [*_world_faults(recipe), *_split_faults(recipe)]
    if faults:
        raise ValueError("\n  ".join(["the generated collection cannot be made", *faults]))


def _world_faults(recipe: GeneratedSource) -> Iterator[str]:
    entities, names, attributes = recipe.entities, len(lex.names()), len(lex.ATTRIBUTES)
    if not LISTED <= entities <= names:
        yield f"entities: {entities} asked, {LISTED} to {names} possible; change entities"
    if recipe.passages > entities * attributes:
        yield (
            f"passages: {recipe.passages} asked, {entities} entities with {attributes} attributes "
            f"give {entities * attributes}; lower passages or raise entities"
        )
    if recipe.stubs and not recipe.passages:
        yield f"stubs: {recipe.stubs} asked, but there is no passage to ask about; raise passages"


def _split_faults(recipe: GeneratedSource) -> Iterator[str]:
    train, asked = train_passages(recipe), recipe.tune + recipe.dev + recipe.judged
    if recipe.train_pairs and not train:
        yield (
            f"train_pairs: {recipe.train_pairs} asked, but train_share {recipe.train_share} of "
            f"{recipe.passages} passages is none; raise train_share or passages"
        )
    if asked > recipe.passages - train:
        yield (
            f"tune + dev + judged: {asked} queries asked, {recipe.passages - train} passages lie "
            f"outside the train share; lower one of the three or train_share, or raise passages"
        )


def _doc_id(position: int) -> str:
    return f"d{position + 1:06d}"


def _query_id(split: str, position: int) -> str:
    return f"{split}-{position + 1:05d}"


def _qrels(split: str, judgements: list[Judgement]) -> list[tuple[str, str, int]]:
    return [(_query_id(split, query), _doc_id(doc), grade) for query, doc, grade in judgements]
