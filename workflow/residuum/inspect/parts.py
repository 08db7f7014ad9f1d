"""Of what other systems a run was made, by the spec in its manifest.

Usage: `of({"kind": "hybrid", "parts": ["bm25-vectors", "dpr"]})`. Must not know which runs exist.
"""

from collections.abc import Iterator, Mapping
from typing import cast


def summed(spec: Mapping[str, object]) -> list[str]:
    """Return the systems whose lists, scores or docs a run puts together, in their order.

    A fusion, a hybrid and rrf name systems; candidates say how many docs of each.
    """
    entries = cast(list[object], spec.get("parts") or [])
    return [str(each["system"] if isinstance(each, dict) else each) for each in entries]


def of(spec: Mapping[str, object]) -> list[str]:
    """Return all parts of a run, a first stage and its reranker too; none of a single search."""
    return [*summed(spec), *_reranked(spec)]


def _reranked(spec: Mapping[str, object]) -> Iterator[str]:
    if first := spec.get("first_stage"):
        yield str(first)
    match spec.get("reranker"):
        case str(role):
            yield role
        case {"model": name} | {"hub": name}:
            yield str(name)
