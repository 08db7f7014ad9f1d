"""How far a plan's estimates lie from the measured growth, where the two meet.

PYTHONPATH=workflow:tests python tests/benchmarks/plan_against_growth.py [--measure 10000 100000]

Estimated are the seconds of one core of the jobs that `growth.py` measures, for its collections:
as many docs of 56 words, 200 queries of 1,000 hits, vectors of 128 dimensions. Measured are those
of the table in docs/performance.md, or with `--measure` those of this machine now.
"""

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import growth

from plan_fixture import ANALYSIS, DATASET, MODEL, MODELS, SCALE, SYSTEM
from residuum.config.registry import Registry
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.scales import Config, Scale
from residuum.pages import layout
from residuum.wiring.estimates import Estimate, Estimates
from residuum.wiring.sizes import START_S

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
QUERIES, SAMPLE = 200, 2000
NAME = "growth"
OF_CORPUS, OF_SPLIT = {"dataset": NAME}, {"dataset": NAME, "split": "dev"}
SEARCHED = {**OF_CORPUS, "model": "inbatch", "seed": "1", "k": str(growth.HITS), "shard": "0"}
JOBS: dict[str, Callable[[Estimates], Estimate]] = {
    "export": lambda of: of.corpus(SimpleNamespace(**OF_CORPUS)),
    "index": lambda of: of.index(SimpleNamespace(**OF_CORPUS)),
    "lexical search": lambda of: of.search(SimpleNamespace(**OF_SPLIT, run="bm25")),
    "dense search": lambda of: of.dense_search(SimpleNamespace(**SEARCHED)),
}
HEADER = ["stage", "docs", "estimated, s", "measured, s", "estimated / measured"]


def registry(docs: int) -> Registry:
    """Return a configuration in which a growth collection of so many docs is searched."""
    edition = {
        "name": "made",
        "docs": docs,
        "doc_bytes": doc_bytes(),
        "splits": {"dev": {"queries": QUERIES, "qrels": QUERIES}},
    }
    encoder = {**MODELS["inbatch"]["encoder"], "dimensions": growth.DIMENSIONS}
    lexical = {**growth.LEXICAL, "analysis": ANALYSIS}
    systems = {"bm25": lexical, "vectors": {"kind": "dense", "model": "inbatch", "k": growth.HITS}}
    scale = {
        **SCALE,
        "roles": {},
        "rerankers": {},
        "backbones": {},
        "shard_docs": docs,
        "threads": 1,
    }
    kept = {"downloads": [], "splits": {"dev": DATASET["splits"]["dev"]}, "editions": [edition]}
    return Registry(
        config=Config(scale=NAME, papers=[NAME]),
        scales={NAME: Scale.model_validate(scale)},
        datasets={NAME: Dataset.model_validate({**DATASET, **kept})},
        models={"inbatch": MODEL.validate_python({**MODELS["inbatch"], "encoder": encoder})},
        systems={name: SYSTEM.validate_python(entry) for name, entry in systems.items()},
        tests={},
        pages={},
    )


@cache
def doc_bytes() -> int:
    """Return the mean bytes of a doc's text, of some that `growth.py` draws."""
    import numpy as np

    texts = growth.zipf(np.random.default_rng(1))(SAMPLE, growth.WORDS_PER_DOC)
    return round(sum(map(len, islice(texts, SAMPLE))) / SAMPLE)


def estimated(stage: str, docs: int) -> float:
    """Return the seconds of a stage as a plan has them, with its start."""
    return START_S + JOBS[stage](Estimates(registry(docs))).core_s


def printed(page: Path) -> dict[tuple[str, int], float]:
    """Return the seconds that a page's table of growth has, by stage and docs."""
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if "|" in line]
    head = next(row for row in rows if row[0] == "stage" and "docs: s, peak" in row[1])
    docs = [int(re.sub(r"\D", "", cell)) for cell in head if "docs: s, peak" in cell]
    return {
        (row[0], size): float(cell.partition(",")[0])
        for row in rows
        if row[0] in JOBS and len(row) == len(head)
        for size, cell in zip(docs, row[1:], strict=False)
        if cell.strip()
    }


def measured(docs: list[int]) -> dict[tuple[str, int], float]:
    """Return the seconds that each stage takes on this machine, by stage and docs."""
    options = argparse.Namespace(
        queries=[QUERIES], stages=[*JOBS], threads=1, dense_docs=max(docs), package=growth.PACKAGE
    )
    with tempfile.TemporaryDirectory() as temporary:
        bench = growth.Bench(options, Path(temporary))
        for size in docs:
            bench.collect(size, QUERIES)
    return {(stage, size): cost.seconds for (stage, size, _), cost in bench.costs.items()}


def table(times: dict[tuple[str, int], float]) -> Iterator[list[str]]:
    """Yield a row for each stage and size, in the order of the stages."""
    for stage in JOBS:
        for (of, docs), seconds in sorted(times.items()):
            if of == stage:
                own = estimated(stage, docs)
                yield [stage, f"{docs:,}", f"{own:.1f}", f"{seconds:.1f}", f"{own / seconds:.1f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", type=int, nargs="+", help="docs; by default the page's table")
    options = parser.parse_args()
    times = measured(options.measure) if options.measure else printed(PAGE)
    print(layout.grid(HEADER, list(table(times))))
    print(f"Docs have {doc_bytes()} bytes; {START_S:g} s of each estimate are a start.")


if __name__ == "__main__":
    main()
