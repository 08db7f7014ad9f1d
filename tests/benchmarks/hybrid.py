"""How time and memory of exact hybrid search grow with a collection, beside brute force and FAISS.

python tests/benchmarks/hybrid.py [--docs 10000 30000 100000 300000] [--rounds 3] [--work FOLDER]

Vectors are made and written as the stages do, in shards of 50,000 docs: sparse ones of 60 words a
doc and 8 a query, by Zipf's law over 100,000 terms and weighed as BM25 does, and random dense ones,
of which 3 docs of 10 have two. `residuum.hybrid search` takes eight lambdas; brute force multiplies
all docs by all queries, dense (NumPy) and sparse (SciPy), adds both for each lambda and partitions;
FAISS searches the dense concatenation of both (`IndexFlatIP`), of sparse vectors the terms of the
queries alone, once for each lambda. Each is a process of its own on one thread, from its start to
its end; what it takes, CPU seconds and memory as growth.py says it, is the least of the rounds.
`--package` measures another checkout. Exit status 1 if lists differ in more than docs that tie.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from growth import PACKAGE, Cost, cell, exponents, measure

if TYPE_CHECKING:
    import numpy as np
    from scipy import sparse

VOCABULARY, WORDS_PER_DOC, WORDS_PER_QUERY = 100_000, 60, 8
STOPPED = 50  # the most frequent words, which no analysis keeps
QUERIES, TWICE = 500, 0.3  # share of docs with two dense vectors
SHARD, AT_ONCE = 50_000, 10_000  # docs in a shard; docs that are made at once
LAMBDAS = [0.25, 0.5, 1.0, 1.5, 2.5, 3.75, 6.0, 10.0]
PARTS = ("bm25", "de")
TIE = 1e-3  # sums of float32 that lie so near may be in another order
Scores = dict[float, "np.ndarray"]


def make(folder: Path, docs: int, dimensions: int) -> None:
    """Write the vectors of docs, in shards, and of queries."""
    import numpy as np
    from scipy import sparse

    from residuum.artefacts import contracts, termvectors

    random = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1 + STOPPED, 1 + STOPPED + VOCABULARY))
    terms = [f"t{number:06d}" for number in range(VOCABULARY)]
    rarity = np.log(1 + 1 / (np.diff(shares, prepend=0.0) / shares[-1] * WORDS_PER_DOC))

    def words(texts: int, length: int) -> sparse.csr_array:
        places = np.searchsorted(shares, random.random((texts, length)) * shares[-1])
        rows = np.repeat(np.arange(texts), length)
        counts = np.ones(rows.size, dtype=np.float32)
        return sparse.csr_array((counts, (rows, places.ravel())), shape=(texts, VOCABULARY))

    def drawn(count: int) -> np.ndarray:
        made = random.standard_normal((count, dimensions), dtype=np.float32)
        return made * np.float32(10 / dimensions**0.5)

    def write(part: str, name: str, ids: list[str], vectors: object, **facts: object) -> None:
        path = folder / part / name
        if part == "bm25":
            used = np.flatnonzero(np.diff(vectors.tocsc().indptr))
            own = sparse.csr_array(vectors[:, used], dtype=np.float32)
            termvectors.write(path, ids, [terms[column] for column in used], own)
        else:
            contracts.write_vectors(path, ids, vectors)
        record = {"artefact": {"weights": part, **facts}}
        beside = path.parent if facts.get("queries") else path
        (beside / "manifest.json").write_text(json.dumps(record))

    of = -(-docs // SHARD)
    for number in range(of):
        own = range(docs * number // of, docs * (number + 1) // of)
        facts = {"shard": {"number": number, "of": of, "docs": len(own)}}
        ids = [f"d{doc:07d}" for doc in own]
        blocks = [
            words(len(ids[n : n + AT_ONCE]), WORDS_PER_DOC) for n in range(0, len(ids), AT_ONCE)
        ]
        counts = sparse.vstack(blocks, format="csr")
        counts.data = counts.data * 2.5 / (counts.data + 1.5)
        write("bm25", f"shard-{number}", ids, counts.multiply(rarity[None, :]).tocsr(), **facts)
        each = 1 + (random.random(len(ids)) < TWICE)
        write("de", f"shard-{number}", list(np.repeat(ids, each)), drawn(each.sum()), **facts)
    ids = [f"q{number}" for number in range(QUERIES)]
    binary = words(QUERIES, WORDS_PER_QUERY)
    binary.data[:] = 1
    write("bm25", "queries/dev", ids, binary, queries={"dev": QUERIES})
    write("de", "queries/dev", ids, drawn(QUERIES), queries={"dev": QUERIES})


def shards(folder: Path, part: str) -> list[Path]:
    """Return the shards of a part in their order."""
    return sorted((folder / part).glob("shard-*"), key=lambda path: int(path.name.split("-")[1]))


def search(folder: Path, k: int) -> list[str]:
    """Return the command that is measured."""
    weighting = {"weighted": PARTS[0], "grid": LAMBDAS, "tune_on": "dev", "measure": "RR@10"}
    spec = {"kind": "hybrid", "parts": PARTS, "interpolation": weighting, "k": k}
    line = ["-m", "residuum.hybrid", "search", "--spec", json.dumps(spec)]
    for part in PARTS:
        line += [w for path in shards(folder, part) for w in ("--embeddings", f"{part}={path}")]
        line += ["--queries", f"{part}={folder / part / 'queries' / 'dev'}"]
    return [*line, "--output", f"{folder}/hits"]


def load(folder: Path) -> tuple[list[str], "sparse.csr_array", "np.ndarray", "np.ndarray"]:
    """Return the docs, their vectors in the terms of the queries, dense ones, where those start."""
    import numpy as np
    from scipy import sparse

    from residuum.artefacts import contracts, termvectors
    from residuum.vectors import products

    terms = termvectors.read(folder / "bm25" / "queries" / "dev").terms
    lexical = [termvectors.read(path) for path in shards(folder, "bm25")]
    ids = [doc_id for own in lexical for doc_id in own.ids]
    rows = sparse.vstack([products.aligned(own, terms) for own in lexical], format="csr")
    dense = [contracts.read_vectors(path) for path in shards(folder, "de")]
    owners = np.array([doc_id for own, _ in dense for doc_id in own])
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    return ids, rows.astype(np.float32), np.concatenate([own for _, own in dense]), starts


def query_vectors(folder: Path) -> tuple["sparse.csr_array", "np.ndarray"]:
    """Return the vectors of the queries."""
    from residuum.artefacts import contracts, termvectors

    lexical = termvectors.read(folder / "bm25" / "queries" / "dev").rows
    return lexical, contracts.read_vectors(folder / "de" / "queries" / "dev")[1]


def brute(folder: Path, k: int) -> Iterator[tuple["np.ndarray", "np.ndarray"]]:
    """Yield, by each lambda, the docs (numbers) and scores of each query: all sums at once."""
    import numpy as np

    _, rows, dense, starts = load(folder)
    lexical, queries = query_vectors(folder)
    near = np.maximum.reduceat(queries @ dense.T, starts, axis=1)
    matches = (lexical @ rows.T).toarray()
    for weight in LAMBDAS:
        sums = np.float32(weight) * matches + near
        best = np.argpartition(sums, -k, axis=1)[:, -k:]
        yield best, np.take_along_axis(sums, best, axis=1)


def flat(folder: Path, k: int) -> Iterator[tuple["np.ndarray", "np.ndarray"]]:
    """Yield the same by FAISS, which sees a doc once for each of its vectors."""
    import faiss
    import numpy as np

    ids, rows, dense, starts = load(folder)
    lexical, queries = query_vectors(folder)
    owners = np.repeat(np.arange(len(ids)), np.diff(np.append(starts, len(dense))))
    index = faiss.IndexFlatIP(rows.shape[1] + dense.shape[1])
    for first in range(0, len(owners), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        index.add(np.hstack([rows[owners[part]].toarray(), dense[part]]))
    for weight in LAMBDAS:
        both = np.hstack([np.float32(weight) * lexical.toarray(), queries])
        scores, nearest = index.search(both, 2 * k)
        docs, kept = owners[nearest], np.zeros((QUERIES, k), dtype=np.int64)
        for query, own in enumerate(docs):
            kept[query] = np.sort(np.unique(own, return_index=True)[1])[:k]
        yield np.take_along_axis(docs, kept, axis=1), np.take_along_axis(scores, kept, axis=1)


SIDES: dict[str, Callable[[Path, int], Iterator[tuple["np.ndarray", "np.ndarray"]]]] = {
    "brute force": brute,
    "FAISS": flat,
}


def write_hits(folder: Path, side: str, k: int) -> None:
    """Search as one side does, and write its docs and scores."""
    import numpy as np

    docs, scores = zip(*SIDES[side](folder, k), strict=True)
    np.savez(folder / f"{side}.npz", docs=np.stack(docs), scores=np.stack(scores))


def differing(folder: Path, side: str) -> int:
    """Count the lists whose docs are not those of the stage's hits, ties with the last apart."""
    import numpy as np
    import polars as pl

    made, odd = np.load(folder / f"{side}.npz"), 0
    for number, weight in enumerate(LAMBDAS):
        hits = pl.read_parquet(folder / "hits" / f"{weight!r}.parquet")
        lists = dict(hits.group_by("query_id").agg("doc_id", "score").rows_by_key("query_id"))
        for query in range(QUERIES):
            [(doc_ids, scores)] = lists[f"q{query}"]
            theirs = {f"d{doc:07d}" for doc in made["docs"][number, query]}
            own = dict(zip(doc_ids, scores, strict=True))
            tied = {doc for doc, score in own.items() if score < min(own.values()) + TIE}
            same = np.allclose(sorted(scores), np.sort(made["scores"][number, query]), atol=TIE)
            odd += not same or not {*own} - tied <= theirs or len(theirs) != len(own)
    return odd


def best_of(line: list[str], package: Path, folder: Path, rounds: int) -> Cost:
    """Measure a command several times; return the least of each cost, with CPU seconds."""
    costs = []
    for _ in range(rounds):
        if "search" in line:
            shutil.rmtree(folder / "hits", ignore_errors=True)
        before = os.times()
        cost = measure([sys.executable, *line], package, folder)
        after = os.times()
        spent = after.children_user + after.children_system
        seconds = spent - before.children_user - before.children_system
        costs.append(cost._replace(seconds=seconds))
    return Cost(*map(min, zip(*costs, strict=True)))


def main() -> int:
    """Measure every size, or be one side of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000])
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--brute-docs", type=int, default=100_000, help="no brute force above")
    parser.add_argument("--flat-docs", type=int, default=10_000, help="no FAISS above")
    parser.add_argument("--work", type=Path, help="folder to keep; a temporary one without")
    parser.add_argument("--package", type=Path, default=PACKAGE, help="folder that holds residuum")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(options.make, options.docs[0], options.dimensions)
        return 0
    if options.side:
        write_hits(Path(options.side[1]), options.side[0], options.k)
        return 0
    for name in ("OMP", "OPENBLAS", "MKL", "POLARS"):
        os.environ[f"{name}_{'MAX' if name == 'POLARS' else 'NUM'}_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        return compare(options, options.work or Path(temporary))


def compare(options: argparse.Namespace, work: Path) -> int:
    """Print a line for each size and side, the exponents of growth, and the ratios."""
    costs, faults, limits = [], 0, {"brute force": options.brute_docs, "FAISS": options.flat_docs}
    print(
        "| docs | side | CPU s, peak, own MB | times as long as hybrid search | lists that differ |"
    )
    print("|---|---|---|---|---|")
    for docs in options.docs:
        folder = work / str(docs)
        if not folder.exists():
            folder.mkdir(parents=True)
            made = ["--docs", str(docs), "--dimensions", str(options.dimensions)]
            line = [sys.executable, __file__, "--make", str(folder), *made]
            measure(line, options.package, folder)
        line = search(folder, options.k)
        costs.append(best_of(line, options.package, folder, options.rounds))
        print(f"| {docs:,} | hybrid search | {cell(costs[-1])} | | |", flush=True)
        for side in (side for side, most in limits.items() if docs <= most):
            line = [__file__, "--k", str(options.k), "--side", side, str(folder)]
            cost = best_of(line, options.package, folder, options.rounds)
            odd, ratio = differing(folder, side), cost.seconds / costs[-1].seconds
            lists = f"{odd} of {QUERIES * len(LAMBDAS):,}"
            print(f"| {docs:,} | {side} | {cell(cost)} | {ratio:.2f} | {lists} |", flush=True)
            faults += odd
    time, peak, own = exponents(options.docs, costs)
    print(f"exponents: of time {time}; of peak {peak}; of own memory {own}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
