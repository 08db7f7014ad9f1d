"""What runs find that others do not: a line for each two runs and each measure of hits.

Usage: `page(scores, ["Success@10"], baselines)`, with the scores of `residuum.inspect.comparing`.
Must not know files, nor how a ratio is computed.
"""

import itertools
from collections.abc import Mapping, Sequence

from residuum.pages.layout import Layout, TextCell
from residuum.paired import ScoreMatrix
from residuum.paired.coverage import Coverage, coverage

HEADER = ["Measure", "D", "S", "in D", "in S", "D - S", "both", "neither", "RoC", "95% interval"]
REMARK = (
    "Queries that the runs D and S answer; RoC, the ratio of complementarity, is the share of D's "
    "that S does not answer: 1 where they share none. The interval is Wilson's, over queries. Of a "
    "hybrid, D is the dense part and S the lexical part, not the hybrid itself."
)


def page(
    scores: Mapping[tuple[str, str], ScoreMatrix], hits: Sequence[str], baselines: Sequence[str]
) -> Layout:
    """Lay out every two runs, in both roles; with baselines, each other run beside one of them."""
    names = list(dict.fromkeys(name for name, _ in scores))
    roles = [(d, s) for d, s in itertools.permutations(names, 2) if not baselines or s in baselines]
    lines = [
        list(
            map(
                TextCell, (measure, d, s, *_cells(coverage(scores[d, measure], scores[s, measure])))
            )
        )
        for measure in hits
        for d, s in roles
    ]
    align = "lll" + "r" * 7
    return Layout("Complementarity", "Lee et al., ACL 2023", HEADER, lines, [REMARK], align)


def _cells(of: Coverage) -> list[str]:
    counts = (of.first, of.second, of.residual, of.overlap, of.failures)
    if of.ratio is None or of.low is None or of.high is None:
        ratio = ["", ""]  # D answers nothing
    else:
        ratio = [f"{of.ratio:.4f}", f"[{of.low:.4f}, {of.high:.4f}]"]
    return [*(f"{count:g}" for count in counts), *ratio]
