"""YAML as version 1.2 has it: what a plain text is, in every file, and what is written."""

import datetime
import math
import os
import stat

import pytest
import yaml

import layouts
from conftest import ROOT
from residuum.artefacts import yamls
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.config.schema.datasets import Dataset, Edition
from residuum.config.schema.scales import Config
from residuum.inspect import cards, pinning

FILES = sorted(path for name in ("config", "envs", "profiles") for path in (ROOT / name).rglob("*"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("010", 10), ("0o10", 8), ("0x1F", 31), ("-7", -7), ("+7", 7), ("1e3", 1000.0)],
        *[(".5", 0.5), ("5.", 5.0), ("-.inf", -math.inf), ("~", None), ("Null", None), ("", None)],
        *[("TRUE", True), ("false", False), ("yes", "yes"), ("No", "No"), ("on", "on")],
        *[("1_0", "1_0"), ("10:00", "10:00"), ("0b11", "0b11"), ("nUll", "nUll"), ("=", "=")],
        *[
            ("2020-01-01", "2020-01-01"),
            ("-0x1F", "-0x1F"),
            ("e3", "e3"),
            (".", "."),
            ("\u0661", "\u0661"),
        ],
        *[("'010'", "010"), ('"yes"', "yes"), ("!!str 010", "010"), ("!!int 010", 10)],
        *[("!!float 3", 3.0), ("[010, {a: off}]", [10, {"a": "off"}]), ("<<", "<<")],
    ],
)
def test_what_a_plain_text_stands_for(text, value):
    made = yamls.load(f"k: {text}\n")["k"]
    kind = yamls.Items if isinstance(value, list) else type(value)
    assert (type(made), made) == (kind, value)


@pytest.mark.parametrize("text", ["!!int ten", "!!bool yes", "!!float true", "!!set {a}", "!x 1"])
def test_a_tag_that_does_not_fit_is_named(text):
    with pytest.raises(ValueError, match=r"line 1: the tag !.* does not fit; leave it out"):
        yamls.load(f"k: {text}\n")


def test_files_of_the_project_mean_the_same_to_readers_of_yaml_1_1():
    """Snakemake and conda read some of them, and go by that version."""
    for path in (path for path in FILES if path.suffix == ".yaml"):
        assert yamls.read(path) == yaml.safe_load(path.read_text()), path


@pytest.mark.parametrize(
    ("form", "entry", "message"),
    [
        (Edition, {"name": "x", "docs": "1_0"}, "docs: '1_0' is a text; write a number"),
        (Edition, {"name": "x", "docs": 1, "about": "yes"}, "'yes' is a text; write true or false"),
        (Config, {"scale": "mini", "papers": "x", "docs": {"a": "1_0"}}, "docs: '1_0' is a text"),
        (Config, {"scale": "mini", "papers": "x", "seeds": ["1", "1_0"]}, "seeds: '1_0' is a"),
    ],
)
def test_a_text_that_python_takes_for_a_number_is_a_fault(form, entry, message):
    with pytest.raises(ValueError, match=message):
        entries.validate("mine", entry, form)


def test_values_that_snakemake_hands_on_as_texts_are_numbers():
    given = {"scale": "mini", "papers": "x", "docs": {"a": "010"}, "preload": "false"}
    made = entries.validate("mine", given, Config)
    assert (made.docs, made.preload) == ({"a": 10}, False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("docs: {cacm: 010}", "docs: {'cacm': 10} is {'cacm': 8} for Snakemake, which reads it by"),
        ("tflops: 1:30", "tflops: '1:30' is 90 for Snakemake, .* Write digits without a leading 0"),
        ("preload: yes", "preload: 'yes' is True for Snakemake, .* true or false"),
        ("seeds: [1_0]", "seeds: .'1_0'. is .10. for Snakemake"),
    ],
)
def test_what_snakemake_reads_otherwise_is_a_fault_of_config_yaml(tmp_path, line, message):
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "mine").mkdir()
    for path in (ROOT / "config").iterdir():
        (tmp_path / "mine" / path.name).symlink_to(path)
    file = tmp_path / "mine" / "config.yaml"
    text = file.read_text()
    file.unlink()
    key = line.partition(":")[0]
    kept = [own for own in text.splitlines() if not own.startswith(f"{key}:")]
    file.write_text("\n".join([*kept, line, ""]))
    given = yaml.safe_load(file.read_text()) | {"scale": "smoke"}
    with pytest.raises(ResiduumError, match=rf"mine/config\.yaml: {message}"):
        loading.load(tmp_path / "mine", given)


def test_a_number_that_snakemake_leaves_a_text_is_read(tmp_path):
    (tmp_path / "config.yaml").write_text("tflops: 1e3\n")
    assert yamls.read_otherwise(tmp_path / "config.yaml") == {}
    assert (
        entries.validate("x", {"scale": "a", "papers": "b", "tflops": "1e3"}, Config).tflops == 1e3
    )


@pytest.mark.parametrize(
    "value", ["1e3", "0o10", "010", "yes", "10:00", "2020-01-01", "1_0", "~", "", "a b", "Zürich"]
)
def test_what_is_written_is_the_same_to_readers_of_both_versions(value):
    for text in (yamls.dump({"k": value}), f"k: {yamls.dump(value, one_line=True)}"):
        assert yamls.load(text) == yaml.safe_load(text) == {"k": value}


def test_a_card_takes_the_description_of_a_base(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "under.yaml").write_text("description: 010\n")
    (tmp_path / "models" / "over.yaml").write_text("base: under\n")
    assert cards.described(tmp_path, "over") == "10"
    (tmp_path / "models" / "over.yaml").write_text("base: [\n")
    with pytest.raises(ResiduumError, match=r"over\.yaml: not valid YAML"):
        cards.described(tmp_path, "over")


YAML = "source: {kind: beir, folder: mine}\nsplits:\n  test: {}\n"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    return layouts.pinned_by_hand(tmp_path, monkeypatch, YAML)


@pytest.mark.parametrize("name", ["\udcff", "", " ", "a\nb", "\x1b[31m"])
def test_a_name_that_no_file_should_hold_is_refused_before_anything_is_read(mine, name):
    with pytest.raises(ResiduumError, match=r"^--name .*: an edition's name is a text that can be"):
        pinning.pin(mine.parents[1], "absent", name, False)
    assert mine.read_text() == YAML


@pytest.mark.parametrize("name", ["010", "yes", "1e3", "it's: {x}", "# no", "- a", "Zürich"])
def test_a_name_is_read_as_it_was_given(mine, name):
    pinning.pin(mine.parents[1], "mine", name, False)
    assert [own.name for own in entries.parse(mine, Dataset).editions] == [name]


@pytest.mark.parametrize(
    "layout",
    [
        "? editions\n: - name: theirs\n    docs: 9\n",
        "? editions\n:\n  - {name: theirs, docs: 9}\n",
        "editions:\n- name: theirs\n  docs: 9\n# end\n",
        "editions: [{name: theirs,\n  docs: 9}]   # one\n",
        "'editions':\n    -   name: theirs\n        docs: 9\n",
        "editions:\n  -\n    name: theirs\n    docs: 9\n",
        "editions:\n  # the first\n  - name: theirs\n    docs: 9\n",
    ],
)
@pytest.mark.parametrize("behind", [True, False])
def test_an_edition_is_added_in_any_layout(mine, layout, behind):
    mine.write_text(YAML + layout if behind else layout + YAML)
    pinning.pin(mine.parents[1], "mine", "pinned", False)
    made = entries.parse(mine, Dataset)
    assert [(own.name, own.docs) for own in made.editions] == [("theirs", 9), ("pinned", 3)]
    assert YAML in mine.read_text()


def test_an_edit_that_would_change_anything_else_is_not_written(mine, monkeypatch):
    edited = pinning._edited
    monkeypatch.setattr(pinning, "_edited", lambda *of: edited(*of).replace("test", "other"))
    with pytest.raises(ResiduumError, match="so nothing was written; write this") as error:
        pinning.pin(mine.parents[1], "mine", "pinned", False)
    assert "name: pinned" in str(error.value) and mine.read_text() == YAML


@pytest.mark.parametrize("mode", [0o444, 0o600, 0o664])
def test_the_mode_of_a_file_stays(mine, mode):
    os.chmod(mine, mode)
    pinning.pin(mine.parents[1], "mine", "pinned", False)
    assert stat.S_IMODE(mine.stat().st_mode) == mode


def test_a_date_is_a_text():
    assert isinstance(yaml.safe_load("k: 2020-01-01")["k"], datetime.date)
    assert yamls.load("k: 2020-01-01") == {"k": "2020-01-01"}
