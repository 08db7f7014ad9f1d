"""Defaults of a dataset of the user's files: its own splits and its measures.

Usage: `completed(data)` with the data of a YAML file, before validation. Given keys stay.
"""

from collections.abc import Mapping
from typing import get_args

from residuum.config.schema import sources

IN_FILES = frozenset(
    get_args(form.model_fields["kind"].annotation)[0] for form in get_args(sources.Files)
)
OWN = {"train": ("train",), "tune": ("tune", "dev")}  # names of splits; the first existing one
MEASURES = ("nDCG@10", "R@100")  # BEIR's (Thakur et al. 2021)
BROUGHT = ("unjudged", "synthetic", "questions", "questions_of")  # splits without judged docs


def completed(data: object) -> object:
    """Return a dataset of files with `own` and measures filled in; other data unchanged.

    All judged splits but the training split get measures.
    """
    if isinstance(data, Mapping) and data.get("editions", ()) is None:  # an empty `editions:`
        data = {key: value for key, value in data.items() if key != "editions"}
    source, names = (_mapping(_mapping(data).get(key)) for key in ("source", "splits"))
    if str(source.get("kind")) not in IN_FILES or not names:
        return data
    own_splits = {use: n for use, usual in OWN.items() for n in usual[::-1] if n in names}
    entry = {"own": own_splits, **_mapping(data)}
    trained = _mapping(entry["own"]).get("train")
    measured = {name: _measured(split, name == trained) for name, split in names.items()}
    return {**entry, "splits": measured}


def _measured(given: object, trained: bool) -> object:
    split = {} if given is None else given  # an empty `test:`
    if not isinstance(split, Mapping) or trained or any(split.get(key) for key in BROUGHT):
        return split
    return {"measures": [*MEASURES], **split}


def _mapping(data: object) -> Mapping[str, object]:
    return data if isinstance(data, Mapping) else {}
