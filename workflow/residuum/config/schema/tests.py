"""config/tests/*.yaml: how the comparisons of pages are tested."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Id, Ref, Strict

TestsId = Annotated[Id, Ref("tests")]
Draws = Annotated[int, Field(gt=0, le=10_000_000)]


class Tests(Strict):
    """How the comparisons of a page are tested: an entry of config/tests, named by pages."""

    test: Literal["permutation", "t-test", "wilcoxon"]
    alpha: float = Field(gt=0, lt=1)
    resamples: Draws = Field(9999, description="sign flips, for the permutation test")
    bootstrap: Draws = Field(9999, description="draws of the queries, for bootstrap intervals")
    seed: int = 1
    compare: Literal["all_pairs", "with_baselines"] = "all_pairs"
    correction: Literal["none", "bonferroni", "holm"]
    family: Literal["column", "table", "paper"] = Field(description="what is corrected together")
