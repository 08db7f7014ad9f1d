"""What a dataset of one's own files need not say: which splits train and tune, what is measured.

Usage: `completed(data)` of a YAML, before it is checked; what is given stays.
"""

from collections.abc import Mapping
from typing import get_args

from residuum.config.schema import sources

IN_FILES = frozenset(
    get_args(form.model_fields["kind"].annotation)[0] for form in get_args(sources.Files)
)
OWN = {"train": ("train",), "tune": ("tune", "dev")}  # splits by these names, the first that is
MEASURES = ("nDCG@10", "R@100")  # BEIR's (Thakur et al. 2021)
BROUGHT = ("unjudged", "synthetic", "questions", "questions_of")  # without judgements of docs


def completed(data: object) -> object:
    """Return a dataset of files with `own` and measures by its splits; anything else as it is.

    All splits but the one to train on are measured, where their docs are judged.
    """
    if isinstance(data, Mapping) and data.get("editions", ()) is None:  # `editions:` alone
        data = {key: value for key, value in data.items() if key != "editions"}
    source, names = (_mapping(_mapping(data).get(key)) for key in ("source", "splits"))
    if str(source.get("kind")) not in IN_FILES or not names:
        return data
    own = {use: n for use, usual in OWN.items() for n in usual[::-1] if n in names}
    entry = {"own": own, **_mapping(data)}
    trained = _mapping(entry["own"]).get("train")
    measured = {name: _measured(split, name == trained) for name, split in names.items()}
    return {**entry, "splits": measured}


def _measured(given: object, trained: bool) -> object:
    split = {} if given is None else given  # `test:` alone
    if not isinstance(split, Mapping) or trained or any(split.get(key) for key in BROUGHT):
        return split
    return {"measures": [*MEASURES], **split}


def _mapping(data: object) -> Mapping[str, object]:
    return data if isinstance(data, Mapping) else {}
