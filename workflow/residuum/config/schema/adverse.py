"""The key `adverse` of a split in config/datasets/*.yaml, and the sources of its synonyms."""

from pathlib import PurePath
from typing import Literal

from pydantic import Field

from residuum.config.schema.base import Id, Strict

WORDNET = ("noun", "verb", "adj", "adv")  # synonyms come in this order of parts of speech


class Forms(Strict):
    """Synonyms are the other surface forms of each concept of a generated collection."""

    kind: Literal["forms"]

    def files(self) -> list[str]:
        """Return the user's files that synonyms are read from: none."""
        return []


class WordNet(Strict):
    """The synonyms of WordNet 3.x, from the `dict` folder of its distribution."""

    kind: Literal["wordnet"]
    folder: str = Field(description="path below the folder of RESIDUUM_DATA")

    def files(self) -> list[str]:
        """Return the user's files that synonyms are read from."""
        names = (f"{form}.{part}" for part in WORDNET for form in ("index", "data"))
        return [str(PurePath(self.folder, name)) for name in names]


class Adverse(Strict):
    """The queries of another split, with synonyms for the words that a relevant doc holds too.

    Lee et al. (ACL 2023), section 4.2, call such queries "adversarial".
    """

    of: Id
    synonyms: Forms | WordNet = Field(discriminator="kind")
