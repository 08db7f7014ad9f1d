"""config/sweeps/*.yaml: an approximate search that is tried with more and more effort.

`residuum.sweep` measures the hits, the comparisons and the time of each search. Figures over effort
show them.
"""

from itertools import pairwise
from typing import Annotated

from pydantic import Field, ValidationError

from residuum.code.tables import Kinds
from residuum.config.schema.base import Entry, K, Positive
from residuum.config.schema.search import Search


class Sweep(Entry):
    """Searches of one index of a dense system's vectors with more and more effort.

    Effort is how much a search looks at: `nprobe` of ivf, `ef_search` of hnsw.
    """

    search: Annotated[Search, Kinds("residuum.vectors.approximate:SEARCHES")] = Field(
        description="approximate search with the least effort, as a dense system has it"
    )
    then: list[Positive] = Field(min_length=1, description="the other efforts, rising")
    k: K = Field(description="docs per query; a search that finds fewer is not repeated deeper")
    repeats: Positive = Field(5, description="repeats of each search; its time is their median")

    def efforts(self) -> list[int]:
        """Return the effort of each search, in rising order."""
        return [getattr(self.search, self.search.effort), *self.then]

    def check(self) -> None:
        if any(more <= less for less, more in pairwise(self.efforts())):
            least = f"{self.search.effort} {self.efforts()[0]}"
            raise ValueError(f"then has to rise, from above the {least} of search")
        try:
            most = {self.search.effort: self.then[-1]}
            type(self.search).model_validate({**self.search.model_dump(), **most})
        except ValidationError as error:
            raise ValueError(f"then: {error.errors()[0]['msg']}") from None
