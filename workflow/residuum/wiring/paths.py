"""Every path below a results folder: as a template that rules write, filled in, or read back.

Usage: `Paths("results/mini").run.fill(dataset="d", split="dev", run="bm25")`; without a folder,
`Paths().run`, paths are relative to it. Nothing else writes such
a path. Must not know the registry.
"""

import re
from functools import cache
from pathlib import PurePath

from residuum.config.specs import RunId

MANIFEST = ".manifest.json"  # beside a file; in a folder it is manifest.json
WILDCARD = re.compile(r"\\\{(\w+)\\\}")  # of an escaped template


def results_of(scale: str) -> str:
    """Return the results folder of a scale, relative to the project's."""
    return f"results/{scale}"


def below_metrics(place: str, run: str) -> str:
    """Return the metrics file of a run on `<dataset>/<split>`, relative to the metrics folder."""
    return f"{place}/{run}.tsv"


def folder_of(manifest: str) -> str:
    """Return the folder that its manifest stands for."""
    return str(PurePath(manifest).parent)


def system_of(run: str) -> str:
    """Return the system that made a run, given the run's file."""
    return RunId.parse(PurePath(run).name.removesuffix(".trec.gz")).system


class Template(str):
    """A path whose wildcards stand in braces, as Snakemake has them."""

    def fill(self, **wildcards: object) -> str:
        """Return the path with its wildcards filled in; KeyError for one that is not given."""
        return self.format(**wildcards)

    @property
    def manifest(self) -> "Template":
        """Return the path of the manifest beside the file."""
        return Template(self + MANIFEST)

    def beside(self, ending: str) -> "Template":
        """Return the path of the same page in another form, such as `.md`."""
        return Template(self.rpartition(".")[0] + ending)

    def parse(self, path: PurePath | str) -> dict[str, str] | None:
        """Return the wildcards of a path, whatever stands before it, or None if it has no such."""
        match = _read(self).fullmatch(str(path))
        return match.groupdict() if match else None

    @property
    def pattern(self) -> str:
        """Return the pattern by which all such paths are found below a folder."""
        return re.sub(r"\{\w+\}", "*", self)


def recorded(**files: Template) -> dict[str, Template]:
    """Return the outputs of a rule: each file, and the manifest beside it."""
    pairs = ({name: path, f"{name}_manifest": path.manifest} for name, path in files.items())
    return {name: path for pair in pairs for name, path in pair.items()}


@cache
def _read(template: Template) -> re.Pattern[str]:
    return re.compile("(?:.*/)?" + WILDCARD.sub(r"(?P<\1>[^/]+)", re.escape(template)))


class Below:
    """A template below the results folder of a `Paths`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __get__(self, paths: "Paths", owner: type["Paths"]) -> Template:
        return Template(paths.under + self.path)


SPLIT = "{dataset}/{split}"
TRAINED = "{model}/seed{seed}"
SHARD = "shard-{shard}/manifest.json"


class Paths:
    """The templates; an artefact that is a folder stands as its manifest."""

    absent = Below("absent.json")
    ledger = Below("ledger.tsv")
    corpus = Below("data/{dataset}/corpus/manifest.json")
    queries = Below(f"data/{SPLIT}/queries.tsv")
    qrels = Below(f"data/{SPLIT}/qrels.trec")
    answers = Below(f"data/{SPLIT}/answers.jsonl")
    index = Below("index/{dataset}/{index}/manifest.json")
    term_weights = Below(f"weights/{{dataset}}/{TRAINED}/manifest.json")
    tuples = Below("training/{model}/tuples.jsonl.gz")
    backbone = Below("backbones/{backbone}/manifest.json")
    checkpoint = Below(f"models/{TRAINED}/manifest.json")
    query_embeddings = Below(f"embeddings/{{dataset}}.queries/{TRAINED}/manifest.json")
    embeddings = Below(f"embeddings/{{dataset}}/{TRAINED}/{SHARD}")
    hits = Below(f"hits/{{dataset}}/{TRAINED}/top{{k}}/{SHARD}")
    run = Below(f"runs/{SPLIT}/{{run}}.trec.gz")
    scores = Below(f"scores/{SPLIT}/{{run}}.on.{{other}}.trec.gz")
    pairs = Below(f"rerank/{SPLIT}/{{reranker}}.trec.gz")
    depth_curve = Below(f"rerank/{SPLIT}/{{reranker}}.depths.tsv")
    tuning = Below(f"tuning/{SPLIT}/{{run}}.json")
    metrics_root = Below("metrics")
    metrics = Below(f"metrics/{below_metrics(SPLIT, '{run}')}")
    significance = Below("significance/{page}.tsv")
    table = Below("tables/{page}.tsv")
    cases = Below("cases/{page}.tsv")
    figure = Below("figures/{page}.tsv")

    def __init__(self, results: str = "") -> None:
        self.under = f"{results}/" if results else ""

    def log(self, name: str) -> str:
        """Return the log of a job, such as `data/{dataset}.corpus`."""
        return f"{self.under}logs/{name}.log"

    def time(self, name: str) -> str:
        """Return the benchmark file of a job."""
        return f"{self.under}benchmarks/{name}.tsv"

    def work(self, name: str) -> str:
        """Return where a job keeps what it needs to resume."""
        return f"{self.under}work/{name}"
