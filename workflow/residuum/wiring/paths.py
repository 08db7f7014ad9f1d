"""The paths of all files below a results folder, as templates to fill in or to parse.

Usage: `Paths("results/mini").run.fill(dataset="d", split="dev", run="bm25")`. `Paths()` gives paths
relative to the results folder. No other module writes such a path.
"""

import re
from functools import cache
from pathlib import PurePath

from residuum.cli.errors import ResiduumError
from residuum.pages.kinds import ENTRIES

MANIFEST = ".manifest.json"  # beside a file; in a folder it is manifest.json
ANSWERS = "results/answers"  # of programs, for all scales
SPLIT = "{dataset}/{split}"
TRAINED = "{model}/seed{seed}"
MODEL = f"{TRAINED}/manifest.json"
SHARD = "shard-{shard}/manifest.json"
FOLDERS = {"table": "tables", "characteristics": "tables", "figure": "figures"}
REPRODUCTIONS = "reproductions"  # the log of `residuum record`, a folder of the project


def results_of(scale: str) -> str:
    """Return the results folder of a scale, relative to the project's."""
    return f"results/{scale}"


def below_metrics(split_id: str, run: str) -> str:
    """Return the metrics file of a run on `<dataset>/<split>`, relative to the metrics folder."""
    return f"{split_id}/{run}.tsv"


def below_bounds(split_id: str, other: str | None = None) -> str:
    """Return the bounds of a split's measures, or those over candidates, relative to their folder.

    Bounds are what a random order and the best order of the docs reach.
    """
    return f"{split_id}/{other}.tsv" if other else f"{split_id}.tsv"


def folder_of(manifest: str) -> str:
    """Return the folder of a manifest."""
    return str(PurePath(manifest).parent)


class Template(str):
    """A path with wildcards in braces, as in Snakemake."""

    def fill(self, **wildcards: object) -> str:
        """Return the path with its wildcards filled in; KeyError if a wildcard is not given.

        Raises ResiduumError for a value with `..`: another user's manifest may hold such a value.
        """
        if outside := [v for v in map(str, wildcards.values()) if ".." in v.split("/")]:
            raise ResiduumError(f"{outside[0]}: leads out of the results folder")
        return self.format(**wildcards)

    def only(self, wildcard: str, expression: str) -> "Template":
        """Return the path with a wildcard constrained to a regular expression."""
        return Template(self.replace(f"{{{wildcard}}}", f"{{{wildcard},{expression}}}"))

    @property
    def manifest(self) -> "Template":
        """Return the path of the manifest beside the file."""
        return Template(self + MANIFEST)

    def beside(self, ending: str) -> "Template":
        """Return the path of the same page in another form, such as `.md`."""
        return Template(self.rpartition(".")[0] + ending)

    def forms(self, *names: str) -> dict[str, "Template"]:
        """Return the outputs of a page's rule: its TSV, its other forms, its manifest."""
        others = {name: self.beside(f".{name}") for name in names}
        return {"tsv": self, **others, "manifest": self.manifest}

    def parse(self, path: PurePath | str) -> dict[str, str] | None:
        """Return the wildcards of a path below any folder, or None if the path does not match."""
        match = _expression(self).fullmatch(str(path))
        return match.groupdict() if match else None

    @property
    def pattern(self) -> str:
        """Return the glob pattern of the template."""
        return re.sub(r"\{\w+\}", "*", self)


@cache
def _expression(template: Template) -> re.Pattern[str]:
    names = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
    return re.compile("(?:.*/)?" + names)


def recorded(**files: Template) -> dict[str, Template]:
    """Return the outputs of a rule: each file with its manifest."""
    pairs = ({name: path, f"{name}_manifest": path.manifest} for name, path in files.items())
    return {name: path for pair in pairs for name, path in pair.items()}


class Paths:
    """The templates of all artefacts. An artefact that is a folder is named by its manifest."""

    def __init__(self, results: str = "") -> None:
        self._results = results and f"{results}/"
        self.absent = self._below("absent.json")
        self.ledger = self._below("ledger.tsv")
        self.report = self._below("report/index.html")
        self.corpus = self._below("data/{dataset}/corpus/manifest.json")
        self.queries = self._below(f"data/{SPLIT}/queries.tsv")
        self.qrels = self._below(f"data/{SPLIT}/qrels.trec")
        self.docpairs = self._below(f"data/{SPLIT}/docpairs.tsv.gz")
        self.answers = self._below(f"data/{SPLIT}/answers.jsonl")
        self.index = self._below("index/{dataset}/{index}/manifest.json")
        self.term_weights = self._below(f"weights/{{dataset}}/{MODEL}")
        self.released_weights = self._below("weights/{dataset}/{model}/manifest.json")
        self.tuples = self._below("training/{model}/tuples.jsonl.gz")
        self.backbone = self._below("backbones/{model}/manifest.json")
        self.checkpoint = self._below(f"models/{MODEL}")
        self.held_out = self._below(f"learning/{TRAINED}.tsv")
        self.learning = self._below(f"learning/{TRAINED}.json")
        self.query_embeddings = self._below(f"embeddings/{{dataset}}.queries/{MODEL}")
        self.embeddings = self._below(f"embeddings/{{dataset}}/{TRAINED}/{SHARD}")
        self.listed_embeddings = self._below(f"embeddings/{SPLIT}.on.{{other}}/{TRAINED}/{SHARD}")
        self.hits = self._below(f"hits/{{dataset}}/{TRAINED}/top{{k}}/{SHARD}")
        self.run = self._below(f"runs/{SPLIT}/{{run}}.trec.gz")
        self.hybrid_hits = self._below(f"hybrid/{SPLIT}/{{run}}/manifest.json")
        self.scores = self._below(f"scores/{SPLIT}/{{run}}.on.{{other}}.trec.gz")
        self.pairs = self._below(f"rerank/{SPLIT}/{{reranker}}/shard-{{shard}}.trec.gz")
        self.depth_curve = self._below(f"rerank/{SPLIT}/{{reranker}}.depths.tsv")
        self.tuning = self._below(f"tuning/{SPLIT}/{{run}}.json")
        self.rate = self._below(f"rates/{SPLIT}/{{model}}.json")
        self.steps = self._below(f"steps/{SPLIT}/{{model}}.json")
        self.choices = [self.tuning, self.rate, self.steps]
        self.metrics_root = self._below("metrics")
        self.metrics = self._below(f"metrics/{below_metrics(SPLIT, '{run}')}")
        self.bounds_root = self._below("bounds")
        self.bounds = self._below(f"bounds/{below_bounds(SPLIT)}")
        self.candidate_bounds = self._below(f"bounds/{below_bounds(SPLIT, '{other}')}")
        self.groups = self._below(f"groups/{SPLIT}/{{grouping}}.tsv")
        self.fidelity_root = self._below("fidelity")
        self.fidelity = self._below(f"fidelity/{SPLIT}/{{fidelity}}/manifest.json")
        self.sweep = self._below(f"sweeps/{SPLIT}/{{sweep}}/{{run}}.tsv")
        self.timing = self._below(f"timings/{SPLIT}/{{sweep}}/{{run}}.json")
        self.page_timing = self._below("timings/{page}.tsv")
        self.times = self._below("timings/systems/{page}.tsv")
        self.significance = self._below("significance/{page}.tsv")
        self.pages = {k: self._below(f"{FOLDERS.get(k, k)}/{{page}}.tsv") for k in ENTRIES}
        self.table = self.pages["table"]

    def _below(self, path: str) -> Template:
        return Template(self._results + path)

    def page_of(self, path: str) -> str | None:
        """Return the page whose TSV is at a path, or None for another file."""
        parsed = (form.parse(path) for form in self.pages.values())
        return next((at["page"] for at in parsed if at), None)

    def log(self, name: str) -> str:
        """Return the log of a job, such as `data/{dataset}.corpus`."""
        return self._below(f"logs/{name}.log")

    def time(self, name: str) -> str:
        """Return the benchmark file of a job."""
        return self._below(f"benchmarks/{name}.tsv")

    def time_of(self, log: str) -> str:
        """Return the benchmark file of the job with this log."""
        start, end = self.log("*").split("*")
        return self.time(log.removeprefix(start).removesuffix(end))

    def work(self, name: str) -> str:
        """Return the folder where a job keeps its state to resume from."""
        return self._below(f"work/{name}")
