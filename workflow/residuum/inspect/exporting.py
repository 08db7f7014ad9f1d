"""Finished runs as a folder for others: TREC's form, BEIR's results, or a Hugging Face dataset.

Command: `residuum export mine/test --output for-others`. A run is compared with its manifest where
it is read; the folder appears whole or not at all, and never in another's place. Must not know how
a run is made.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from residuum.artefacts import exported, files, manifest, trec, yamls
from residuum.cli.errors import NotRun, ResiduumError, unknown
from residuum.config.schema.datasets import Dataset
from residuum.inspect import annotating, stated
from residuum.pages import layout
from residuum.wiring.paths import Paths

Form = Literal["trec", "beir", "huggingface"]
TIES = (
    "Order is by rank, as the project evaluates. Scores fall strictly: one that tied with the one "
    "before it, as single precision reads it, was lowered to the next such number below."
)


def export(
    place: str,
    results: Path,
    output: Path,
    runs: Sequence[str],
    form: Form,
    metadata: bool,
    config: Path,
) -> str:
    """Write runs of a split, all by default, into a new folder; return what was written.

    A run that was refused, as `not run`, is left out and named. An unknown run, a split without
    runs and an `output` that exists are ResiduumErrors.
    """
    dataset, _, split = place.partition("/")
    if metadata and form != "trec":
        raise ResiduumError(f"--ir-metadata stands above a run in TREC's form, not with {form}")
    names = chosen(results, dataset, split, runs)
    entry = stated.known(config, [dataset]).get(dataset)
    refused: dict[str, str] = {}
    written: list[str] = []
    with files.new_directory(output) as folder:
        for name in names:
            path = Path(Paths(str(results)).run.fill(dataset=dataset, split=split, run=name))
            try:
                run = exported.strictly(trec.read_run(path))
            except NotRun as reason:
                refused[name] = str(reason)
                continue
            if form == "trec":
                own = annotating.header(results, dataset, split, name, entry) if metadata else ""
                exported.write_trec(folder / f"{name}.trec", run, name, own)
            elif form == "beir":
                exported.write_beir(folder / f"{name}.json", run)
            else:
                exported.write_parquet(folder / f"{name}.parquet", run)
            written.append(name)
        if not written:
            raise ResiduumError(f"{place}: no run to export; {_listed(refused)}")
        if form == "huggingface":
            files.write_text(folder / "README.md", card(results, dataset, split, written, entry))
    left_out = [f"left out {_listed(refused)}"] if refused else []
    return "\n".join([f"{output}: {', '.join(written)}", *left_out])


def chosen(results: Path, dataset: str, split: str, runs: Sequence[str]) -> list[str]:
    """Return the runs of a split, those that are named or all; one without a file is an error."""
    runs_of = Paths(str(results)).run
    folder = Path(runs_of.fill(dataset=dataset, split=split, run="")).parent
    if not (dataset and split and folder.is_dir()):
        parsed = (runs_of.parse(path) for path in results.glob(Paths().run.pattern))
        known = {f"{each['dataset']}/{each['split']}" for each in parsed if each}
        place = f"{dataset}/{split}".rstrip("/")
        raise ResiduumError(f"{results}: {unknown('split with runs', place, known)}")
    made = sorted(
        path.name.removesuffix(annotating.ENDING) for path in folder.glob(f"*{annotating.ENDING}")
    )
    if other := [name for name in runs if name not in made]:
        raise ResiduumError(f"{folder}: {unknown('run', other[0], made)}")
    return list(dict.fromkeys(runs)) or made


def _listed(refused: dict[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in refused.items())


def card(
    results: Path, dataset: str, split: str, runs: Sequence[str], entry: Dataset | None
) -> str:
    """Return a dataset card: a configuration for each run, its means, and whose collection it is.

    It holds no query, judgement or text of a doc: those are the collection's to give.
    """
    configs = [{"config_name": name, "data_files": f"{name}.parquet"} for name in runs]
    head: dict[str, Any] = {
        "pretty_name": f"Runs on {dataset}/{split}",
        "tags": ["information-retrieval", "trec-run"],
        "configs": configs,
    }
    about = stated.of(dataset, entry)
    parts = [
        f"# Runs on {about.title}, {split}",
        "Ranked lists, a configuration for each run, in columns `query_id`, `doc_id`, `rank` (from "
        f"1) and `score`. {TIES} Made by residuum; queries, judgements and docs are not here.",
        _means(results, dataset, split, runs),
    ]
    terms = [("Licence", about.licence), ("Access", about.access), ("Citation", about.citation)]
    lines = [f"- {key}: {text}" for key, text in terms]
    parts.append("\n".join([f"## {about.title}", "", *lines]))
    front = yamls.dump(head)
    return f"---\n{front}---\n\n" + "\n\n".join(filter(None, parts)) + "\n"


def _means(results: Path, dataset: str, split: str, runs: Sequence[str]) -> str:
    """Return a table of the runs' means, of measures that were evaluated; nothing without any."""
    paths = Paths(str(results))
    metrics = {n: paths.metrics.fill(dataset=dataset, split=split, run=n) for n in runs}
    facts = {name: manifest.facts_of(Path(path)) for name, path in metrics.items()}
    means = {name: dict(known.get("means") or {}) for name, known in facts.items()}
    measures = sorted({measure for known in means.values() for measure in known})
    if not measures:
        return ""
    cells = [
        [name, *(f"{known[m]:.4f}" if m in known else "" for m in measures)]
        for name, known in means.items()
    ]
    return layout.grid(["run", *measures], cells)
