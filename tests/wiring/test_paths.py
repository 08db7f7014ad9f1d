"""Ids and paths: written as they always were, and read back as they were written."""

import itertools

import pytest

from residuum.config import specs
from residuum.config.specs import FixedId, RunId, Snapshot
from residuum.wiring import paths
from residuum.wiring.paths import Paths, Template

MINI = Paths("results/mini")


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (RunId("clear", 1), "clear.seed1"),
        (RunId("clear", 0), "clear.seed0"),
        (RunId("bm25"), "bm25"),
        (RunId("me-first_stage", 12), "me-first_stage.seed12"),
        (RunId("deepct@cacm.seeds", 2), "deepct@cacm.seeds.seed2"),
        (RunId("clear", Snapshot(1, 12)), "clear.seed1@12"),
    ],
)
def test_a_run_id_is_written_and_parsed(run, text):
    assert str(run) == f"{run}" == text
    assert RunId.parse(text) == run


def test_a_run_id_without_a_number_is_refused():
    with pytest.raises(ValueError, match="invalid literal"):
        RunId.parse("clear.seedling")


def test_an_index_and_a_reranker_say_what_fixes_them():
    index = FixedId("en-porter-lucene.body.title", str(RunId("deepct", 2)))
    assert str(index) == "en-porter-lucene.body.title@deepct.seed2"
    assert FixedId.parse(str(index)) == index
    assert RunId.parse(FixedId.parse(str(index)).by) == ("deepct", 2)
    assert FixedId.parse("bert-base-reranker") == ("bert-base-reranker", "")
    assert str(FixedId("reranker-base", "seed3")) == "reranker-base@seed3"


def templates():
    return {name: path for name, path in vars(MINI).items() if isinstance(path, Template)}


@pytest.mark.parametrize("name", templates())
def test_a_path_is_read_back_wherever_its_folder_lies(name):
    template, relative = templates()[name], getattr(Paths(), name)
    assert template == f"results/mini/{relative}"
    names = [part.partition("}")[0] for part in template.split("{")[1:]]
    wildcards = {wildcard: f"{n}-a.seed1" for n, wildcard in enumerate(names)}
    path = template.fill(**wildcards)
    assert template.parse(path) == relative.parse(path) == wildcards
    assert relative.parse(f"/elsewhere/{path}") == wildcards
    assert relative.parse(f"{path}.other") is None


def test_no_path_is_that_of_another_artefact():
    for one, other in itertools.permutations(templates().items(), 2):
        filled = one[1].replace("{", "").replace("}", "")
        assert other[1].parse(filled) is None, (one[0], other[0])


def test_a_path_needs_all_its_wildcards():
    with pytest.raises(KeyError, match="run"):
        MINI.run.fill(dataset="d", split="dev")
    run = MINI.run.fill(dataset="d", split="dev", run=RunId("clear", 1), other="ignored")
    assert run == "results/mini/runs/d/dev/clear.seed1.trec.gz"


def test_forms_of_a_page_and_manifests_lie_beside_it():
    assert MINI.table.beside(".md") == "results/mini/tables/{page}.md"
    assert MINI.run.manifest == "results/mini/runs/{dataset}/{split}/{run}.trec.gz.manifest.json"
    assert paths.recorded(run=MINI.run, tuning=MINI.tuning) == {
        "run": MINI.run,
        "run_manifest": MINI.run.manifest,
        "tuning": MINI.tuning,
        "tuning_manifest": MINI.tuning.manifest,
    }
    assert paths.folder_of("a/b/manifest.json") == "a/b"


def test_a_pattern_finds_what_a_template_writes(tmp_path):
    path = tmp_path / Paths().metrics.fill(dataset="d", split="dev", run="bm25")
    path.parent.mkdir(parents=True)
    path.touch()
    assert list(tmp_path.glob(Paths().metrics.pattern)) == [path]
    assert path == tmp_path / Paths().metrics_root / paths.below_metrics("d/dev", "bm25")


def test_equal_specs_are_equal_texts():
    assert specs.canonical_json({"b": [1, 2.5], "a": "é"}) == '{"a":"é","b":[1,2.5]}'
