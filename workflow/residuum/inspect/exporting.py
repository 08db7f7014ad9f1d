"""Export finished runs as a folder: TREC's format, BEIR's results, or a Hugging Face dataset.

Command: `residuum export mine/test --output for-others`. Each run is compared with its manifest
when it is read. The folder is written whole or not at all, and never replaces another.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from residuum.artefacts import exported, falling, files, manifest, trec, yamls
from residuum.cli.errors import NotRun, ResiduumError, unknown
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import RunId, Seed
from residuum.inspect import checkpoints, citing
from residuum.pages import layout
from residuum.wiring.paths import Paths

PATHS = Paths()
START, END = "# ir_metadata.start", "# ir_metadata.end"
TOOLKITS, JAVA = ("pyserini", "faiss-cpu", "faiss-gpu"), ("anserini", "lucene")
ENDING = ".trec.gz"
NOT_PARAMETERS = {"kind", "label", "budgets", "description", "parts", "first_stage"}
Form = Literal["trec", "beir", "huggingface"]
Known = dict[str, Any]  # of a manifest, or of ir_metadata
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
    """Write runs of a split (all by default) into a new folder; describe what was written.

    Refused runs (`not run`) are skipped and named. An unknown run, a split without runs, and an
    `output` that exists raise ResiduumError.
    """
    dataset, _, split = place.partition("/")
    if metadata and form != "trec":
        raise ResiduumError(f"--ir-metadata needs runs in TREC's form (--form trec), not {form}")
    names = chosen(results, dataset, split, runs)
    entry = citing.known(config, [dataset]).get(dataset)
    refused: dict[str, str] = {}
    written: list[str] = []
    with files.new_directory(output) as folder:
        for name in names:
            path = results / PATHS.run.fill(dataset=dataset, split=split, run=name)
            try:
                run = falling.strictly(trec.read_run(path))
            except NotRun as reason:
                refused[name] = str(reason)
                continue
            if form == "trec":
                above = header(results, dataset, split, name, entry) if metadata else ""
                exported.write_trec(folder / f"{name}.trec", run, name, above)
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
    """Return the named runs of a split, or all; a run without a file raises ResiduumError."""
    folder = (results / PATHS.run.fill(dataset=dataset, split=split, run="")).parent
    if not (dataset and split and folder.is_dir()):
        parsed = map(PATHS.run.parse, results.glob(PATHS.run.pattern))
        known = {f"{parts['dataset']}/{parts['split']}" for parts in parsed if parts}
        place = f"{dataset}/{split}".rstrip("/")
        raise ResiduumError(f"{results}: {unknown('split with runs', place, known)}")
    made = sorted(path.name.removesuffix(ENDING) for path in folder.glob(f"*{ENDING}"))
    if other := [name for name in runs if name not in made]:
        raise ResiduumError(f"{folder}: {unknown('run', other[0], made)}")
    return list(dict.fromkeys(runs)) or made


def _listed(refused: dict[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in refused.items())


def card(
    results: Path, dataset: str, split: str, runs: Sequence[str], entry: Dataset | None
) -> str:
    """Return a dataset card: a configuration per run, the means, and the collection's texts.

    The card holds no queries, judgements or docs, because only the collection's publisher may give
    them.
    """
    head = {
        "pretty_name": f"Runs on {dataset}/{split}",
        "tags": ["information-retrieval", "trec-run"],
        "configs": [{"config_name": name, "data_files": f"{name}.parquet"} for name in runs],
    }
    about = citing.stated_of(dataset, entry)
    parts = [
        f"# Runs on {about.title}, {split}",
        "Ranked lists, a configuration for each run, in columns `query_id`, `doc_id`, `rank` (from "
        f"1) and `score`. {TIES} Made by residuum; queries, judgements and docs are not here.",
        _means(results, dataset, split, runs),
    ]
    terms = [("Licence", about.licence), ("Access", about.access), ("Citation", about.citation)]
    lines = [f"- {key}: {text}" for key, text in terms]
    parts.append("\n".join([f"## {about.title}", "", *lines]))
    return f"---\n{yamls.dump(head)}---\n\n" + "\n\n".join(filter(None, parts)) + "\n"


def _means(results: Path, dataset: str, split: str, runs: Sequence[str]) -> str:
    """Return a table of the means of evaluated measures, or "" if no run was evaluated."""
    means = {name: _means_of(results, dataset, split, name) for name in runs}
    measures = sorted({measure for of_run in means.values() for measure in of_run})
    if not measures:
        return ""
    cells = [
        [name, *(f"{of_run[m]:.4f}" if m in of_run else "" for m in measures)]
        for name, of_run in means.items()
    ]
    return layout.grid(["run", *measures], cells)


def _means_of(results: Path, dataset: str, split: str, run: str) -> dict[str, float]:
    path = results / PATHS.metrics.fill(dataset=dataset, split=split, run=run)
    return dict(manifest.facts_of(path).get("means") or {})


def header(results: Path, dataset: str, split: str, run: str, entry: Dataset | None) -> str:
    """Return the comment lines above a run, with ir_metadata's fields.

    `entry` is the dataset's YAML, or None. Fields that nobody stated, such as the actor and the
    venue, are omitted.
    """
    path = results / PATHS.run.fill(dataset=dataset, split=split, run=run)
    record = _record(path)
    made, index = record["environment"], record["artefact"].get("index") or {}
    packages, cpu = made.get("packages") or {}, made.get("cpu") or {}
    system, _, architecture = str(made.get("platform", "")).partition("-")
    metadata = {
        "schema version": 0.1,
        "run version": 1.0,
        "tag": run,
        "platform": {
            "hardware": {"cpu": {"model": cpu.get("model"), "architecture": architecture}},
            "operating system": {"kernel": system},
            "software": {
                "libraries": {
                    "python": [f"{name}=={version}" for name, version in packages.items()],
                    "java": [f"{name}=={index[name]}" for name in JAVA if index.get(name)],
                },
                "retrieval toolkit": [
                    f"{name}=={packages[name]}" for name in TOOLKITS if name in packages
                ],
            },
        },
        "research goal": {
            "evaluation": {"reported measures": [*_means_of(results, dataset, split, run)]}
        },
        "implementation": {
            "executable": {"cmd": made.get("command")},
            "source": {"lang": ["python"], "commit": made.get("git_commit")},
        },
        "method": _method(path.parent, run),
        "data": {
            "test collection": {
                "name": citing.stated_of(dataset, entry).title,
                "split": split,
                "source": entry.access if entry else None,
                "ir_datasets": _irds(results, dataset, split),
            }
        },
    }
    lines = [START, *(f"# {line}" for line in yamls.dump(_known(metadata)).splitlines()), END]
    return "".join(f"{line}\n" for line in lines)


def _known(value: object) -> object:
    """Return a value without empty parts, at any depth."""
    if isinstance(value, dict):
        clean = {key: _known(part) for key, part in value.items()}
        return {key: part for key, part in clean.items() if part not in (None, "", [], {})}
    return [_known(part) for part in value] if isinstance(value, list) else value


def _record(path: Path) -> Known:
    """Return the manifest beside a file; a part that it lacks is empty."""
    return {"artefact": {}, "spec": {}, "environment": {}} | manifest.read(manifest.beside(path))


def _method(folder: Path, run: str) -> Known:
    stages = _stages(folder, run)
    analyses = [analysis for stage in stages.values() if (analysis := stage.get("analysis"))]
    shared = all(analysis == analyses[0] for analysis in analyses)
    for stage in stages.values():
        stage.pop("analysis" if shared else "", None)
    return {
        "automatic": True,
        "score ties": "none: where scores tied, the rank stands and the lower one was lowered",
        "indexing": analyses[0] if analyses and shared else None,
        "retrieval": [{"name": name, **stage} for name, stage in reversed(stages.items())],
    }


def _stages(folder: Path, run: str) -> dict[str, Known]:
    """Return the stages of a run and of the runs it was made from, by run name."""
    record, seed = _record(folder / f"{run}{ENDING}"), RunId.parse(run).seed
    spec, facts = record["spec"], record["artefact"]
    parts = [_run_of(folder, name, seed) for name in checkpoints.summed(spec)]
    first = spec.get("first_stage")
    reranked = _run_of(folder, str(first), seed) if first else ""
    stages = {
        run: {
            "method": spec.get("kind"),
            **{key: value for key, value in spec.items() if key not in NOT_PARAMETERS},
            "chosen depth": facts.get("depth"),
            "chosen of each fold": facts.get("folds"),
            **_combined(spec, facts.get("lambda"), parts),
            "reranks": reranked,
        }
    }
    for name in [*parts, reranked]:
        if name and _made(folder, name):
            stages |= _stages(folder, name)
    return stages


def _combined(spec: Known, weight: float | None, runs: list[str]) -> Known:
    """Return the runs or systems that a run combines, with their weights or numbers of docs."""
    parts = spec.get("parts") or []
    if not all(isinstance(part, str) for part in parts):
        sizes = zip(runs, parts, strict=True)
        return {"candidates": [{**size, "system": name} for name, size in sizes]}
    summed = spec.get("interpolation") or {}
    fixed = {summed.get("weighted"): weight, **(summed.get("others") or {})}
    weights = {name: fixed.get(system, 1.0) for name, system in zip(runs, parts, strict=True)}
    return {
        "weight": weight,
        "weights": weights if weight is not None and summed else None,
        "interpolates": runs,
    }


def _run_of(folder: Path, system: str, seed: Seed | None) -> str:
    """Return the run of a system in a folder, or the system's name if it has no run there."""
    names = [str(RunId(system, seed)), system]
    return next((name for name in names if _made(folder, name)), system)


def _made(folder: Path, run: str) -> bool:
    return manifest.beside(folder / f"{run}{ENDING}").is_file()


def _irds(results: Path, dataset: str, split: str) -> str | None:
    """Return the id in ir_datasets of a split, or None for a split from elsewhere."""
    path = results / PATHS.queries.fill(dataset=dataset, split=split)
    splits: dict[str, Known] = {}
    if manifest.beside(path).is_file():
        splits = _record(path)["spec"].get("splits") or {}
    name: str | None = splits.get(split, {}).get("irds")
    return name
