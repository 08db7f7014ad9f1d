"""Specs as text: one form of JSON, so that an equal spec is an equal command.

Usage: `canonical_json({"k": 10})`, `of_entry(registry.system("bm25"))`. Must not know what a spec
is of.
"""

import json

from pydantic import BaseModel

FOR_READERS = {"description", "label", "budgets", "seeds"}


def canonical_json(data: object) -> str:
    """Write JSON in one form only: sorted keys, no white space, UTF-8 as it is."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def of_entry(entry: BaseModel) -> str:
    """Write an entry as the `--spec` argument of a stage.

    What only people read stays out, so that editing a description reruns nothing.
    """
    return canonical_json(entry.model_dump(mode="json", exclude=FOR_READERS))
