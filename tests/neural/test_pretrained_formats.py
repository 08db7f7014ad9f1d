"""The format of a model's weights: safetensors, or tensors of a pickle where that is said."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file
from transformers import AutoModel

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.schema.scales import FromHub
from residuum.neural import hub, pretrained
from residuum.neural.pretrained import Source
from residuum.wiring.availability import all_available
from residuum.wiring.base import Part
from residuum.wiring.paths import Paths
from tiny_models import make_backbone, make_corpus

DOCS = [("d1", "water under the bridge"), ("d2", "the quiet village by the water")]
COMMIT = "a" * 40


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny BERT whose weights are safetensors."""
    folder = tmp_path_factory.mktemp("made")
    made = make_backbone(folder / "made", make_corpus(folder / "corpus", DOCS))
    return Path(shutil.copytree(made, folder / "safe", ignore=shutil.ignore_patterns("manifest*")))


@pytest.fixture
def pickled(safe: Path, tmp_path: Path) -> Path:
    """Return the same with its weights as PyTorch saved them until 2023."""
    folder = Path(shutil.copytree(safe, tmp_path / "pickled"))
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


@pytest.fixture
def cache(pickled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a hub model in a cache, offline, whose branch main stands at COMMIT."""
    home = tmp_path / "hub" / "models--org--old"
    shutil.copytree(pickled, home / "snapshots" / COMMIT)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return "org/old"


def test_a_pickle_that_may_be_read_has_the_weights_of_the_safetensors(
    safe: Path, pickled: Path
) -> None:
    one, _ = pretrained.load(AutoModel, Source(str(safe)))
    two, _ = pretrained.load(AutoModel, Source(str(pickled), pickled=True))
    assert one.state_dict().keys() == two.state_dict().keys()
    for name, weights in one.state_dict().items():
        assert torch.equal(weights, two.state_dict()[name]), name


def test_safetensors_are_preferred_to_a_pickle_beside_them(safe: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(safe, tmp_path / "both"))
    (folder / "pytorch_model.bin").write_bytes(b"no pickle at all")
    for allowed in (False, True):
        pretrained.load(AutoModel, Source(str(folder), pickled=allowed))


def test_a_pickle_of_which_nobody_says_that_it_may_be_read_is_refused(
    pickled: Path, cache: str
) -> None:
    for name, revision in ((str(pickled), None), (cache, "main"), (cache, COMMIT)):
        with pytest.raises(
            ResiduumError, match=r"no safetensors\. With `pickled: true` at a hub model"
        ):
            pretrained.load(AutoModel, Source(name, revision))


class Harmful:
    """What a pickle may hold: a call, which reading it makes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_with_code_is_refused_before_any_of_it_runs(
    pickled: Path, tmp_path: Path, zipped: bool
) -> None:
    mark, path = tmp_path / "ran", pickled / "pytorch_model.bin"
    weights = torch.load(path, weights_only=True)
    torch.save({**weights, "more": Harmful(mark)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(ResiduumError, match=r"holds something else than tensors, .* code"):
        pretrained.load(AutoModel, Source(str(pickled), pickled=True))
    assert not mark.exists()
    torch.load(path, weights_only=False)
    assert mark.exists(), "the pickle would have run it"


def test_a_model_of_a_branch_is_named_by_the_commit_that_it_stood_at(cache: str) -> None:
    model, _ = pretrained.load(AutoModel, Source(cache, "main", pickled=True))
    assert pretrained.commit(model) == COMMIT


def test_before_the_first_job_a_pickle_is_missing_unless_it_may_be_read(cache: str) -> None:
    assert hub.missing(cache, "main", pickled=True) is None
    assert hub.missing(cache, "main") == f"model 'org/old' at revision main: {hub.NO_SAFETENSORS}"


@pytest.mark.parametrize(
    ("files", "pickled", "lacks"),
    [
        (["config.json", "pytorch_model.bin"], False, True),
        (["config.json", "pytorch_model.bin"], True, False),
        (["pytorch_model.bin", "model.safetensors"], False, False),
        (["pytorch_model.bin.index.json"], False, True),
    ],
)
def test_the_hub_lists_the_formats_of_what_is_not_cached(
    monkeypatch: pytest.MonkeyPatch, files: list[str], pickled: bool, lacks: bool
) -> None:
    answer = SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in files])
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: answer)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    hub._asked.cache_clear()
    why = hub.missing("org/nowhere-cached", "main", pickled)
    hub._asked.cache_clear()
    assert bool(why) == lacks and (not why or hub.NO_SAFETENSORS in why)


def test_a_command_says_that_a_pickle_may_be_read() -> None:
    base = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    part = Part(loading.load(ROOT / "config", base), Paths("results"), all_available)
    model = FromHub(hub="org/old", revision="main", pickled=True)
    assert part.model_argument(model, "any") == "org/old --revision main --pickled"
