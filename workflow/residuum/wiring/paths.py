"""Every path below a results folder: as a template that rules write, filled in, or read back.

Usage: `Paths("results/mini").run.fill(dataset="d", split="dev", run="bm25")`; without a folder,
`Paths().run`, paths are relative to it. Nothing else writes such
a path. Must not know the registry.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

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


class Paths:
    """The templates; an artefact that is a folder stands as its manifest."""

    def __init__(self, results: str = "") -> None:
        under = f"{results}/" if results else ""
        self.results = results
        self._under = under
        self.absent = f"{under}absent.json"
        self.metrics_root = f"{under}metrics"
        self.ledger = Template(f"{under}ledger.tsv")
        split = "{dataset}/{split}"
        trained = "{model}/seed{seed}"
        shard = "shard-{shard}/manifest.json"
        self.corpus = Template(f"{under}data/{{dataset}}/corpus/manifest.json")
        self.queries = Template(f"{under}data/{split}/queries.tsv")
        self.qrels = Template(f"{under}data/{split}/qrels.trec")
        self.answers = Template(f"{under}data/{split}/answers.jsonl")
        self.index = Template(f"{under}index/{{dataset}}/{{index}}/manifest.json")
        self.term_weights = Template(f"{under}weights/{{dataset}}/{trained}/manifest.json")
        self.tuples = Template(f"{under}training/{{model}}/tuples.jsonl.gz")
        self.backbone = Template(f"{under}backbones/{{backbone}}/manifest.json")
        self.checkpoint = Template(f"{under}models/{trained}/manifest.json")
        vectors = f"{under}embeddings/{{dataset}}"
        self.query_embeddings = Template(f"{vectors}.queries/{trained}/manifest.json")
        self.embeddings = Template(f"{vectors}/{trained}/{shard}")
        self.hits = Template(f"{under}hits/{{dataset}}/{trained}/top{{k}}/{shard}")
        self.run = Template(f"{under}runs/{split}/{{run}}.trec.gz")
        self.scores = Template(f"{under}scores/{split}/{{run}}.on.{{other}}.trec.gz")
        self.pairs = Template(f"{under}rerank/{split}/{{reranker}}.trec.gz")
        self.depth_curve = Template(f"{under}rerank/{split}/{{reranker}}.sweep.tsv")
        self.tuning = Template(f"{under}tuning/{split}/{{run}}.json")
        self.metrics = Template(f"{self.metrics_root}/{below_metrics(split, '{run}')}")
        self.significance = Template(f"{under}significance/{{page}}.tsv")
        self.table = Template(f"{under}tables/{{page}}.tsv")
        self.cases = Template(f"{under}cases/{{page}}.tsv")
        self.figure = Template(f"{under}figures/{{page}}.tsv")

    def log(self, name: str) -> str:
        """Return the log of a job, such as `data/{dataset}.corpus`."""
        return f"{self._under}logs/{name}.log"

    def time(self, name: str) -> str:
        """Return the benchmark file of a job."""
        return f"{self._under}benchmarks/{name}.tsv"

    def work(self, name: str) -> str:
        """Return where a job keeps what it needs to resume."""
        return f"{self._under}work/{name}"

    def pages(self) -> Iterator[Template]:
        """Yield the data files of all kinds of pages."""
        yield from (self.table, self.figure, self.cases)
