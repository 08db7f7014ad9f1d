"""What manifests know of a run, as ir_metadata has it: https://www.ir-metadata.org, schema 0.1.

Usage: `header(results, "mine/test", "bm25")`. The platform is that of
the run, not of the machine that exports. Must not know the form of a run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from residuum.artefacts import files, manifest, yamls
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import RunId, Seed
from residuum.inspect import parts, stated
from residuum.inspect.provenance import Manifest
from residuum.wiring.paths import Paths

START, END = "# ir_metadata.start", "# ir_metadata.end"
TOOLKITS = ("pyserini", "faiss-cpu", "faiss-gpu")
ENDING = ".trec.gz"
NOT_PARAMETERS = {"kind", "label", "budgets", "description", "parts", "first_stage"}
Known = dict[str, Any]


def header(results: Path, dataset: str, split: str, run: str, entry: Dataset | None) -> str:
    """Return the comment lines to stand above a run; `entry` is its dataset's YAML, if it is here.

    What nobody stated, as the actor and the venue, is left out.
    """
    path = Path(Paths(str(results)).run.fill(dataset=dataset, split=split, run=run))
    own = _of(path)
    metadata = {
        "schema version": 0.1,
        "run version": 1.0,
        "tag": run,
        "platform": _platform(own),
        "research goal": _goal(results, dataset, split, run),
        "implementation": _implementation(own),
        "method": _method(path.parent, run),
        "data": _data(results, dataset, split, entry),
    }
    text = yamls.dump(_known(metadata))
    lines = [START, *(f"# {line}" for line in text.splitlines()), END]
    return "".join(f"{line}\n" for line in lines)


def _known(value: object) -> object:
    """Return a value without what is empty in it, at any depth."""
    if isinstance(value, dict):
        clean = {key: _known(part) for key, part in value.items()}
        return {key: part for key, part in clean.items() if part not in (None, "", [], {})}
    return [_known(part) for part in value] if isinstance(value, list) else value


def _of(path: Path) -> Manifest:
    return Manifest.model_validate_json(files.read_bytes(manifest.beside(path)))


def _platform(own: Manifest) -> Known:
    made, index = own.environment, own.artefact.get("index") or {}
    packages = {**cast(Mapping[str, str], made.get("packages") or {})}
    system, _, architecture = str(made.get("platform", "")).partition("-")
    kits = [f"{name}=={packages[name]}" for name in TOOLKITS if name in packages]
    java = {name: f"{name}=={index[name]}" for name in ("anserini", "lucene") if index.get(name)}
    python = [f"{name}=={version}" for name, version in packages.items()]
    return {
        "hardware": {"cpu": {"model": own.cpu and own.cpu.model, "architecture": architecture}},
        "operating system": {"kernel": system},
        "software": {
            "libraries": {"python": python, "java": [*java.values()]},
            "retrieval toolkit": kits,
        },
    }


def _goal(results: Path, dataset: str, split: str, run: str) -> Known:
    path = Path(Paths(str(results)).metrics.fill(dataset=dataset, split=split, run=run))
    means = manifest.facts_of(path).get("means") or {}
    return {"evaluation": {"reported measures": [*means]}}


def _implementation(own: Manifest) -> Known:
    made = own.environment
    source = {"lang": ["python"], "commit": made.get("git_commit")}
    return {"executable": {"cmd": made.get("command")}, "source": source}


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
    """Return a run's stage by its name, and those of the runs that it was made from."""
    own, seed = _of(folder / f"{run}{ENDING}"), RunId.parse(run).seed
    spec = {key: value for key, value in own.spec.items() if key not in NOT_PARAMETERS}
    behind = [_run_of(folder, name, seed) for name in parts.summed(own.spec)]
    first = own.spec.get("first_stage")
    reranked = _run_of(folder, str(first), seed) if first else None
    stage = {
        "method": own.spec.get("kind"),
        **spec,
        "chosen depth": own.artefact.get("depth"),
        "chosen of each fold": own.artefact.get("folds"),
        **_together(own, behind),
        "reranks": reranked,
    }
    others = [_stages(folder, name) for name in [*behind, reranked] if name and _made(folder, name)]
    return {run: stage, **{name: each for of in others for name, each in of.items()}}


def _together(own: Manifest, behind: list[str]) -> Known:
    """Return which runs or systems a run puts together, and the weight of each in its sum."""
    entries = cast(list[object], own.spec.get("parts") or [])
    if not all(isinstance(entry, str) for entry in entries):
        sizes = cast(list[Known], entries)
        return {"candidates": [{**e, "system": n} for n, e in zip(behind, sizes, strict=True)]}
    summed = cast(Known, own.spec.get("interpolation") or {})
    weight = own.artefact.get("lambda")
    fixed = {summed.get("weighted"): weight, **(summed.get("others") or {})}
    weights = {name: fixed.get(system, 1.0) for name, system in zip(behind, entries, strict=True)}
    return {
        "weight": weight,
        "weights": weights if weight is not None and summed else None,
        "interpolates": behind,
    }


def _run_of(folder: Path, system: str, seed: Seed | None) -> str:
    """Return the run of a system in the same folder; the system's own name where it has none."""
    names = [str(RunId(system, seed)), system]
    return next((name for name in names if _made(folder, name)), system)


def _made(folder: Path, run: str) -> bool:
    return manifest.beside(folder / f"{run}{ENDING}").is_file()


def _data(results: Path, dataset: str, split: str, entry: Dataset | None) -> Known:
    path = Path(Paths(str(results)).queries.fill(dataset=dataset, split=split))
    spec = _of(path).spec if manifest.beside(path).is_file() else {}
    splits = cast(dict[str, Known], spec.get("splits") or {})
    return {
        "test collection": {
            "name": stated.of(dataset, entry).title,
            "split": split,
            "source": entry.access if entry else None,
            "ir_datasets": splits.get(split, {}).get("irds"),
        }
    }
