"""What jobs without a neural model take: export, indexes, BM25, lists of docs, measures.

Usage: `listcosts.search(registry, wildcards)`. Must not know rules, nor models beyond their kind.
"""

from residuum.asking import sizing
from residuum.asking.assumptions import Cost, assumed
from residuum.core.measures import cutoff
from residuum.core.registry import Registry
from residuum.wiring.availability import all_available
from residuum.wiring.part import Wildcards, place_of, run_of
from residuum.wiring.runs import candidates, reranked
from residuum.wiring.splits import needs_answers, rm3_measure

SHALLOW = 100  # hits that a measure looks at, up to which Lucene passes most docs over


def run_lines(registry: Registry, w: Wildcards) -> int:
    """Return the most lines of a run."""
    return sizing.queries(registry, place_of(w)) * sizing.hits(registry, run_of(w).system)


def corpus(registry: Registry, w: Wildcards) -> Cost:
    """Cost the export of a corpus."""
    text = sizing.text_bytes(registry, w.dataset)
    return Cost(disk=text * assumed("zip"), core_s=text / assumed("export"))


def split(registry: Registry, w: Wildcards) -> Cost:
    """Cost the export of queries and judgements, or of answers."""
    return Cost(disk=1.5 * assumed("query") * sizing.queries(registry, place_of(w)))


def index(registry: Registry, w: Wildcards) -> Cost:
    """Cost a Lucene index."""
    text = sizing.text_bytes(registry, w.dataset)
    return Cost(disk=text * assumed("index-size"), core_s=text / assumed("index"))


def _query_s(registry: Registry, dataset: str) -> float:
    return max(0.003, sizing.docs(registry, dataset) * assumed("search"))


def search(registry: Registry, w: Wildcards) -> Cost:
    """Cost a BM25 run, with fixed RM3 or without."""
    longer = assumed("rm3") if registry.systems[run_of(w).system].rm3 else 1.0
    seconds = longer * _asked_s(registry, w)
    return Cost(disk=assumed("hit") * run_lines(registry, w), core_s=seconds)


def _asked_s(registry: Registry, w: Wildcards) -> float:
    """Return the seconds of a BM25 search for all queries of a split."""
    return sizing.queries(registry, place_of(w)) * _query_s(registry, w.dataset)


def tune_rm3(registry: Registry, w: Wildcards) -> Cost:
    """Cost a search at every setting of RM3, as deep as the measure looks, and one for the run."""
    settings = len(registry.systems[run_of(w).system].rm3.grid.settings())
    measure = rm3_measure(registry, run_of(w).system, place_of(w))
    shallow = measure is not None and (cutoff(measure) or SHALLOW + 1) <= SHALLOW
    longer = settings * assumed("setting" if shallow else "rm3") + assumed("rm3")
    seconds = longer * _asked_s(registry, w)
    return Cost(disk=assumed("hit") * run_lines(registry, w), core_s=seconds)


def scored_lines(registry: Registry, w: Wildcards) -> int:
    """Return the docs of another system that are scored, of all its seeds."""
    lists = sizing.hits(registry, w.other) * len(registry.runs(w.other))
    return sizing.queries(registry, place_of(w)) * lists


def score(registry: Registry, w: Wildcards) -> Cost:
    """Cost the BM25 scores of another system's docs: a search, and the docs one by one."""
    lines = scored_lines(registry, w)
    asked = _asked_s(registry, w)
    return Cost(disk=assumed("hit") * lines, core_s=asked + lines * assumed("score"))


def mine(registry: Registry, w: Wildcards) -> Cost:
    """Cost training tuples: a search for each training query, and the scores of what is drawn."""
    model = registry.models[w.model]
    place, per_pair = registry.place(model.train_on), getattr(model.negatives, "per_pair", 0)
    pairs = sizing.pairs(registry, place)
    queries = min(pairs, sizing.queries(registry, place)) if per_pair else 0
    seconds = queries * _query_s(registry, place.dataset) + pairs * per_pair * assumed("score")
    read = sizing.text_bytes(registry, place.dataset) / assumed("export")
    return Cost(disk=assumed("hit") * pairs * (1 + per_pair), core_s=seconds + read)


def fuse(registry: Registry, w: Wildcards) -> Cost:
    """Cost the union of the lists."""
    lines, parts = run_lines(registry, w), len(registry.parts(run_of(w).system))
    return Cost(disk=assumed("hit") * lines, core_s=parts * lines * assumed("hit-time"))


def tune(registry: Registry, w: Wildcards) -> Cost:
    """Cost the choice of lambda: every value is tried on the union of the lists."""
    system = registry.systems[run_of(w).system]
    lines, tried = len(system.parts) * run_lines(registry, w), len(system.interpolation.grid)
    return Cost(core_s=lines * (assumed("hit-time") + tried * assumed("depth-time")))


def cut(registry: Registry, w: Wildcards) -> Cost:
    """Cost a list that is read and written in another order."""
    lines = run_lines(registry, w)
    return Cost(disk=assumed("hit") * lines, core_s=lines * assumed("hit-time"))


def evaluate(registry: Registry, w: Wildcards) -> Cost:
    """Cost the measures of a run; answers are looked for in the texts of its docs."""
    answers = needs_answers(registry, place_of(w))
    text = sizing.text_bytes(registry, w.dataset) if answers else 0
    seconds = run_lines(registry, w) * assumed("hit-time") + text / assumed("export")
    return Cost(core_s=seconds)


def depths(registry: Registry, w: Wildcards) -> Cost:
    """Cost the measures of reranked lists at every depth."""
    asked = registry, w.reranker, place_of(w), all_available
    deepest = candidates(*asked)
    tried = sum(deepest[run.first] * len(run.grid) for run in reranked(*asked).values())
    return Cost(core_s=sizing.queries(registry, place_of(w)) * tried * assumed("depth-time"))


def page(registry: Registry, w: Wildcards) -> Cost:
    """Cost a page: tests, tables, figures, case studies, the ledger."""
    return Cost(core_s=assumed("page"))
