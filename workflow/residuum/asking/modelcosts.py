"""What jobs with a neural model take: training, encoding, term weights, vectors, reranking.

Usage: `modelcosts.train(registry, wildcards)`. Must not know rules, nor which card there is.
"""

from typing import Any

from residuum.asking import sizing
from residuum.asking.assumptions import Cost, assumed
from residuum.asking.listcosts import run_lines, scored_lines
from residuum.core.registry import Place, Registry
from residuum.core.schema.scales import HubReranker
from residuum.wiring.models import corpora_of
from residuum.wiring.part import Wildcards, place_of, run_of
from residuum.wiring.runs import player_of
from residuum.wiring.searching import encoded_splits

TRAINED = 3  # times the operations of reading: forward and backward


def _pair_tokens(dataset: str, reading: Any) -> float:
    query = min(reading.query_length, assumed("length"))
    return min(reading.length, query + sizing.doc_tokens(dataset, reading.length))


def _example(model: Any, dataset: str) -> tuple[list[float], int, int]:
    """Return the tokens of each text of a training example, and how many texts of what limit."""
    if model.kind == "cross-encoder":
        texts, limit = 1 + model.group, model.reading.length
        return [_pair_tokens(dataset, model.reading)] * texts, texts, limit
    if model.kind != "dual-encoder":
        return [sizing.doc_tokens(dataset, model.length)], 1, model.length
    docs = 1 + model.drawn
    limit = model.encoder.doc_length
    query = min(model.encoder.query_length, assumed("length"))
    return [query, *[sizing.doc_tokens(dataset, limit)] * docs], docs, limit


def training(registry: Registry, name: str, dataset: str, examples: int) -> Cost:
    """Cost a training on `examples`: pairs, or docs of a dataset."""
    model = registry.models[name]
    shape, steps = sizing.shape_of_model(registry, name), sizing.steps(model.training, examples)
    tokens, texts, limit = _example(model, dataset)
    batch = model.training.batch_size
    held = _layer(shape, batch * texts * limit, limit) * shape.layers
    return Cost(
        disk=4.0 * shape.parameters,
        operations=TRAINED * steps * batch * sum(map(shape.forward, tokens)),
        steps=steps,
        card=assumed("memory") * shape.parameters + held,
    )


def _layer(shape: sizing.Shape, tokens: float, limit: float) -> float:
    heads = max(1, shape.hidden // 64)
    return tokens * (34 * shape.hidden + 5 * heads * limit)


def train(registry: Registry, w: Wildcards) -> Cost:
    """Cost a training on a split's pairs."""
    place = registry.place(registry.models[w.model].train_on)
    return training(registry, w.model, place.dataset, sizing.pairs(registry, place))


def adapt(registry: Registry, w: Wildcards) -> Cost:
    """Cost masked-language modelling on corpora."""
    datasets = corpora_of(registry, w.backbone)
    docs = sum(sizing.docs(registry, dataset) for dataset in datasets)
    return training(registry, w.backbone, datasets[0], docs)


def backbone(registry: Registry, w: Wildcards) -> Cost:
    """Cost a small backbone made of corpora on the processor."""
    datasets = corpora_of(registry, w.backbone)
    text = sum(sizing.text_bytes(registry, dataset) for dataset in datasets)
    shape = sizing.shape_of_model(registry, w.backbone)
    return Cost(disk=4.0 * shape.parameters, core_s=text / assumed("lsa"))


def _reading(shape: sizing.Shape, texts: float, tokens: float, batch: int, limit: int) -> Cost:
    card = 4.0 * shape.parameters + _layer(shape, batch * limit, limit)
    return Cost(operations=texts * shape.forward(tokens), card=card)


def weights(registry: Registry, w: Wildcards) -> Cost:
    """Cost the term weights of a corpus."""
    limit = registry.models[w.model].length
    shape, docs = sizing.shape_of_model(registry, w.model), sizing.docs(registry, w.dataset)
    tokens = sizing.doc_tokens(w.dataset, limit)
    found = _reading(shape, docs, tokens, registry.scale.batch_size, limit)
    return found._replace(disk=assumed("weights") * sizing.text_bytes(registry, w.dataset))


def encode_docs(registry: Registry, w: Wildcards) -> Cost:
    """Cost the vectors of one shard of a corpus."""
    limit = registry.models[w.model].encoder.doc_length
    shape = sizing.shape_of_model(registry, w.model)
    texts = sizing.vectors(registry, w.dataset) / registry.shards(w.dataset)
    tokens = sizing.doc_tokens(w.dataset, limit)
    found = _reading(shape, texts, tokens, registry.scale.batch_size, limit)
    return found._replace(disk=4.0 * shape.hidden * texts)


def _searched(registry: Registry, w: Wildcards) -> int:
    """Return the queries of all splits that a model searches."""
    splits = encoded_splits(registry, w.dataset, w.model, int(w.seed))
    return sum(sizing.queries(registry, Place(w.dataset, split)) for split in splits)


def encode_queries(registry: Registry, w: Wildcards) -> Cost:
    """Cost the vectors of all queries that a model searches."""
    limit = registry.models[w.model].encoder.query_length
    shape, texts = sizing.shape_of_model(registry, w.model), _searched(registry, w)
    tokens = min(limit, assumed("length"))
    found = _reading(shape, texts, tokens, registry.scale.batch_size, limit)
    return found._replace(disk=4.0 * shape.hidden * texts)


def dense_search(registry: Registry, w: Wildcards) -> Cost:
    """Cost an exact search of one shard for all splits."""
    queries = _searched(registry, w)
    vectors = sizing.vectors(registry, w.dataset) / registry.shards(w.dataset)
    hidden = sizing.shape_of_model(registry, w.model).hidden
    seconds = 2.0 * hidden * vectors * queries / assumed("product")
    return Cost(disk=assumed("hit") * queries * min(int(w.k), vectors), core_s=seconds)


def gather(registry: Registry, w: Wildcards) -> Cost:
    """Cost a run merged from the hits of all shards."""
    lines = run_lines(registry, w)
    shards = registry.shards(w.dataset)
    return Cost(disk=assumed("hit") * lines, core_s=assumed("hit-time") * lines * shards)


def dense_score(registry: Registry, w: Wildcards) -> Cost:
    """Cost the inner products of another system's docs: the vectors are read once."""
    hidden = sizing.shape_of_model(registry, str(registry.trained_for(run_of(w).system))).hidden
    read = 4.0 * hidden * sizing.vectors(registry, w.dataset) / assumed("read")
    lines = scored_lines(registry, w)
    return Cost(disk=assumed("hit") * lines, core_s=read + assumed("hit-time") * lines)


def rerank(registry: Registry, w: Wildcards) -> Cost:
    """Cost the scores of all candidates; the store of a rerun keeps them a second time."""
    player = player_of(registry, w.reranker)
    hub = isinstance(player, HubReranker)
    reading = player.reading if hub else registry.models[player.model].reading
    pairs = sizing.rerank_pairs(registry, w.reranker, place_of(w))
    tokens, batch = _pair_tokens(w.dataset, reading), registry.scale.pair_batch_size
    found = _reading(sizing.shape(registry, player), pairs, tokens, batch, reading.length)
    return found._replace(disk=2 * assumed("hit") * pairs)
