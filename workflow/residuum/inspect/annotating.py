"""What manifests know of a run, as ir_metadata has it: https://www.ir-metadata.org, schema 0.1.

Usage: `header(results, "mine/test", "bm25")`. The platform is that of
the run, not of the machine that exports. Must not know the form of a run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from residuum.artefacts import files, manifest
from residuum.config.schema.datasets import Dataset
from residuum.config.specs import RunId, Seed
from residuum.inspect.provenance import Manifest
from residuum.wiring.paths import Paths

START, END = "# ir_metadata.start", "# ir_metadata.end"
TOOLKITS = ("pyserini", "faiss-cpu", "faiss-gpu")
ENDING = ".trec.gz"
NOT_PARAMETERS = {"kind", "label", "budgets", "description"}
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
    text = yaml.safe_dump(_known(metadata), sort_keys=False, allow_unicode=True, width=10**6)
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
    analyses = [analysis for stage in stages.values() if (analysis := stage.pop("analysis", None))]
    return {
        "automatic": True,
        "score ties": "none: where scores tied, the rank stands and the lower one was lowered",
        "indexing": analyses[0] if analyses else None,
        "retrieval": [{"name": name, **stage} for name, stage in reversed(stages.items())],
    }


def _stages(folder: Path, run: str) -> dict[str, Known]:
    """Return a run's stage by its name, and those of the runs that it was made from."""
    own = _of(folder / f"{run}{ENDING}")
    spec, seed = dict(own.spec), RunId.parse(run).seed
    first, parts = (spec.pop(key, None) for key in ("first_stage", "parts"))
    behind = [_run_of(folder, name, seed) for name in cast(list[object], parts or [])]
    reranked = _run_of(folder, first, seed) if first else None
    stage = {
        "method": spec.get("kind"),
        **{key: value for key, value in spec.items() if key not in NOT_PARAMETERS},
        "weight": own.artefact.get("lambda"),
        "interpolates": [name for name in behind if name],
        "reranks": reranked,
    }
    others = [_stages(folder, name) for name in [*behind, reranked] if name]
    return {run: stage, **{name: each for of in others for name, each in of.items()}}


def _run_of(folder: Path, system: object, seed: Seed | None) -> str | None:
    """Return the run of a system that another was made from, if it is in the same folder."""
    names = [str(RunId(str(system), seed)), str(system)]
    return next((n for n in names if manifest.beside(folder / f"{n}{ENDING}").is_file()), None)


def _data(results: Path, dataset: str, split: str, entry: Dataset | None) -> Known:
    path = Path(Paths(str(results)).queries.fill(dataset=dataset, split=split))
    spec = _of(path).spec if manifest.beside(path).is_file() else {}
    splits = cast(dict[str, Known], spec.get("splits") or {})
    return {
        "test collection": {
            "name": (entry.title if entry else "") or dataset,
            "split": split,
            "source": entry.access if entry else None,
            "ir_datasets": splits.get(split, {}).get("irds"),
        }
    }
