"""Configuration that is damaged or made to harm: one message that names the file, at once."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest
from pydantic import TypeAdapter, ValidationError

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading, measures
from residuum.config.schema.scales import FromHub
from residuum.config.schema.systems import FusionSystem, LexicalSystem
from residuum.config.schema.tests import Tests
from residuum.pages.table.entry import Table
from residuum.wiring.base import Part

ANALYSIS = {"stemmer": "porter", "stopwords": "lucene"}
BM25 = {"kind": "lexical", "label": "x", "bm25": {"k1": 0.9, "b": 0.4}, "analysis": ANALYSIS}
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{below}, *{below}]\n" for below, name in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BOMB.encode(), r"line 2: an alias \(\*a\); write the value out"),
        (b"a: &a [*a]\n", r"line 1: an alias \(\*a\)"),
        (b"base: &b {k: 1}\nk:\n  <<: *b\n", r"line 3: an alias \(\*b\)"),
        (b"k: " + b"[" * 200_000, "nested more than 50 levels"),
        (b"k: " + b"{k: " * 5_000, "nested more than 50 levels"),
        (b"# caf\xe9\nk: 1\n", "not UTF-8"),
        ("k: 1\n".encode("utf-16"), "not UTF-8"),
        (b"k: " + b"9" * 5_000 + b"\n", "line 1: a number of 5000 digits"),
        (b"k: 1\nk: 2\n", "line 2: key 'k' is given twice"),
        (
            b"k: !!python/object/apply:os.system [id]\n",
            r"the tag !!python/object/apply:os.system does not fit",
        ),
    ],
)
def test_a_file_that_no_one_should_read(tmp_path, data, message):
    path = tmp_path / "mine.yaml"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"mine\.yaml: .*{message}"):
        entries.parse(path, dict[str, object])


def test_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "mine.yaml").write_bytes("\ufeffk: 1\n".encode())
    assert entries.parse(tmp_path / "mine.yaml", dict[str, object]) == {"k": 1}


@pytest.mark.parametrize("kind", ["folder", "fifo", "link to nowhere", "link to itself"])
def test_what_is_no_file_is_a_fault_and_does_not_wait(tmp_path, kind):
    path = tmp_path / "mine.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "nowhere" if kind == "link to nowhere" else path)
    faults = []
    assert entries.load_folder(entries.Folder(tmp_path), dict[str, object], faults) == {}
    assert faults == [f"{path}: not a file that can be read"]


@pytest.mark.parametrize("name", ["x\n", "X", "a b", "x-"])
def test_a_name_that_is_no_id(tmp_path, name):
    (tmp_path / f"{name}.yaml").write_text("k: 1\n")
    faults = []
    assert entries.load_folder(entries.Folder(tmp_path), dict[str, object], faults) == {}
    assert "a file's name is its id" in faults[0] and "\n" not in faults[0]


def test_another_ending_is_not_passed_over(tmp_path):
    (tmp_path / "mine.yml").write_text("k: 1\n")
    faults = []
    entries.load_folder(entries.Folder(tmp_path), dict[str, object], faults)
    assert faults == [f"{tmp_path / 'mine.yml'}: name it mine.yaml"]


@pytest.mark.parametrize("missing", ["papers", "systems"])
def test_a_missing_folder_is_named(tmp_path, missing):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.rmtree(tmp_path / "config" / missing)
    base = entries.parse(tmp_path / "config" / "config.yaml", dict[str, object])
    with pytest.raises(ResiduumError, match=rf"config/{missing}: no such folder"):
        loading.load(tmp_path / "config", {**base, "scale": "smoke"})


def test_what_a_configuration_of_ones_own_may_lack(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.rmtree(tmp_path / "config" / "papers" / "mebert")
    for kind in ("sweeps", "fidelities"):
        shutil.rmtree(tmp_path / "config" / kind)
    base = entries.parse(tmp_path / "config" / "config.yaml", dict[str, object])
    chosen = {**base, "scale": "smoke", "papers": ["clear"]}
    made = loading.load(tmp_path / "config", chosen)
    assert made.sweeps == made.fidelities == {}
    shutil.rmtree(tmp_path / "config" / "groupings")
    with pytest.raises(ResiduumError, match=r"over: no grouping '[a-z-]+'; known: "):
        loading.load(tmp_path / "config", chosen)


def test_a_key_given_twice_in_config_yaml_is_a_fault(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    file = tmp_path / "config" / "config.yaml"
    base = entries.parse(file, dict[str, object])
    file.write_text(f"{file.read_text()}\nscale: smoke\n")
    with pytest.raises(ResiduumError, match=r"config\.yaml: .*key 'scale' is given twice"):
        loading.load(tmp_path / "config", {**base, "scale": "smoke"})


@pytest.mark.parametrize(
    ("form", "entry", "message"),
    [
        (LexicalSystem, {"bm25": {"k1": float("inf"), "b": 0.4}}, "finite number"),
        (LexicalSystem, {"bm25": {"k1": float("nan"), "b": 0.4}}, "finite number"),
        (LexicalSystem, {**BM25, "k": True}, "k: true and false"),
        (LexicalSystem, {**BM25, "k": 9, "boosts": {"title": True}}, "boosts: true and false"),
        (LexicalSystem, {**BM25, "k": 3_000_000_000}, "k: Input should be less than or equal to 1"),
        (LexicalSystem, {**BM25, "k": 10**30}, "k: Input should be less than or equal to 1000000"),
        (LexicalSystem, {**BM25, "boosts": {"title": float("inf")}}, "boosts.title: .*finite"),
        (Tests, {"test": "permutation", "resamples": 10**9}, "less than or equal to 10000000"),
        (FusionSystem, {"interpolation": {"weighted": "a", "grid": [float("nan"), 0.1]}}, "finite"),
        (FusionSystem, {"interpolation": {"weighted": "a", "value": float("nan")}}, "finite"),
    ],
)
def test_numbers_that_are_none(form, entry, message):
    with pytest.raises(ValueError, match=message):
        entries.validate("mine", entry, form)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG@0", "its cutoff must lie between 1 and 1000000"),
        ("nDCG@99999999999999999999", "its cutoff must lie between 1 and 1000000"),
        ("AP(rel=0)@10", "its rel must lie between 1 and 10000"),
        ("RR@10\n", "cannot read the measure"),
    ],
)
def test_a_measure_that_an_evaluator_dies_of(name, message):
    with pytest.raises(ResiduumError, match=message):
        measures.cutoff(name)


def test_a_hub_id_is_a_word_of_the_shell():
    hostile = FromHub(hub="a$(touch pwned)", revision="main; touch pwned")
    words = Part(None, None, None).model_argument(hostile, "any")
    out = subprocess.run(["bash", "-c", f"printf '%s|' {words}"], capture_output=True, text=True)
    assert out.stdout == "a$(touch pwned)|--revision|main; touch pwned|"


@pytest.mark.parametrize("name", ["it's", 'a "b"', "{x}", "$HOME", "a;b"])
def test_a_checkout_may_have_any_name_but_one_with_a_colon(monkeypatch, tmp_path, name):
    from types import SimpleNamespace

    from residuum.wiring import driver

    settings = SimpleNamespace(deployment_method=set())
    workflow = SimpleNamespace(deployment_settings=settings)
    monkeypatch.setattr(driver, "ROOT", tmp_path / name)
    prefix = driver.shell_prefix(workflow).format()  # as Snakemake fills it in
    shown = f"{prefix} command {sys.executable} -c \"import os; print(os.environ['PYTHONPATH'])\""
    out = subprocess.run(["bash", "-c", shown], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str(tmp_path / name / "workflow")
    monkeypatch.setattr(driver, "ROOT", tmp_path / "a:b")
    with pytest.raises(ResiduumError, match="PYTHONPATH is cut at ':'"):
        driver.shell_prefix(workflow)


def test_a_heap_that_is_no_size(monkeypatch, tmp_path):
    from residuum.lucene import jvm

    monkeypatch.setenv("RESIDUUM_JVM_HEAP", "banana")
    with pytest.raises(ResiduumError, match="RESIDUUM_JVM_HEAP=banana: write a size such as"):
        jvm.options(tmp_path)


def test_a_tolerance_is_no_less_than_nothing():
    schema = Table.model_fields["tolerance"]
    assert TypeAdapter(schema.annotation).validate_python({"default": 0.0}) == {"default": 0.0}
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        TypeAdapter(schema.annotation).validate_python({"default": -1.0})
