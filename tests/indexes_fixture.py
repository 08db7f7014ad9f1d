"""Indexes of known sizes in a small results folder, and runs that search these indexes."""

from pathlib import Path

from results_fixture import QUERIES, record, write_run

LUCENE, VECTORS, SPLIT = 700, (40, 60), Path("data/dev")


def lay(path: Path, size: int) -> None:
    """Write a file of a number of bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


def indexed(made: Path) -> Path:
    """Give results indexes: `ours.seed1` fuses `base` and a dense run of two shards.

    Beside the run lie another seed, encoded queries and a model with a run in its training.
    """
    lay(made / "index/data/en/lucene/_0.cfs", LUCENE)
    corpus, base = made / "data/data/corpus/manifest.json", made / "runs/data/dev/base.trec.gz"
    lay(made / "models/dense/seed1/model.safetensors", 5)
    record(made / "models/dense/seed1", {}, [base], "residuum.train")
    model = made / "models/dense/seed1/manifest.json"
    queries = made / "embeddings/data.queries/dense/seed1"
    lay(queries / "dev/vectors.npy", 10_000)
    record(queries, {}, [model], "residuum.encode")
    for seed in (1, 2):
        hits = []
        for number, size in enumerate(VECTORS):
            place = f"data/dense/seed{seed}/{{}}shard-0000{number}"
            vectors = made / "embeddings" / place.format("")
            lay(vectors / "vectors.npy", size * seed)
            record(vectors, {}, [corpus, model], "residuum.encode")
            folder = made / "hits" / place.format("top10/")
            folder.mkdir(parents=True)
            parents = [vectors / "manifest.json", queries / "manifest.json"]
            record(folder, {}, parents, "residuum.dense")
            hits.append(folder / "manifest.json")
        run = made / "runs" / SPLIT / f"dense.seed{seed}.trec.gz"
        write_run(run, [1] * len(QUERIES))
        record(run, {}, hits, "residuum.dense")
    dense = [made / "runs" / SPLIT / f"dense.seed{seed}.trec.gz" for seed in (1, 2)]
    scores = made / "scores" / SPLIT / "base.on.dense.trec.gz"
    lay(scores, 5)
    record(scores, {}, [made / "index/data/en/manifest.json", *dense], "residuum.lexical")
    record(
        made / "runs" / SPLIT / "ours.seed1.trec.gz",
        {},
        [base, dense[0], scores],
        "residuum.fusion",
    )
    return made
