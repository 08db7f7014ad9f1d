"""Files of several entries: what they hold, which form a file has, and where a fault stands."""

import re
from pathlib import Path
from typing import Literal

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

import entry_files
from entry_files import several
from residuum.cli.command import describe
from residuum.config import entries, handbook, loading
from residuum.config.entries import SEVERAL, Folder
from residuum.config.schema.base import Strict
from residuum.config.schema.systems import System

LEXICAL = """\
kind: lexical
analysis: {language: en, stemmer: porter, stopwords: lucene}
bm25: {k1: 0.9, b: 0.4}
k: 1000
"""
PAPER = """\
# Systems of one paper.
entries:
  plain:
    kind: lexical
    analysis: {language: en, stemmer: porter, stopwords: lucene}
    bm25: {k1: 0.9, b: 0.4}
    k: 1000

  deep:   # as far down as Lucene goes
    base: plain
    k: 5000

  over-own:
    base: own
    k: 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "paper.yaml").write_text(PAPER)
    (tmp_path / "own.yaml").write_text(LEXICAL)
    (tmp_path / "under.yaml").write_text("base: deep\n")
    (tmp_path / "within.yaml").write_text("base: plain\nbm25: {b: 0.8}\n")
    return tmp_path


def load(folder: Path) -> tuple[dict[str, System], list[str]]:
    faults: list[str] = []
    return entries.load_folder(Folder(folder), System, faults), faults


def test_a_file_of_one_entry_and_one_of_several_stand_side_by_side(folder):
    (folder / "under.yaml").unlink()
    loaded, faults = load(folder)
    assert faults == []
    assert {name: one.k for name, one in loaded.items()} == {
        "plain": 1000, "deep": 5000, "over-own": 7, "own": 1000, "within": 1000
    }  # fmt: skip
    assert (loaded["within"].bm25.k1, loaded["within"].bm25.b) == (0.9, 0.8), "a base of the other"
    assert loaded["over-own"].bm25 == loaded["own"].bm25


def test_an_entry_is_found_by_its_id_whichever_file_holds_it(folder):
    for name, k in (("deep", 5000), ("own", 1000)):
        assert entries.parse(folder / f"{name}.yaml", System).k == k
    with pytest.raises(ValueError, match=r"nothing\.yaml: not a file that can be read"):
        entries.parse(folder / "nothing.yaml", System)
    with pytest.raises(ValueError, match=r"paper\.yaml: it holds no entry 'paper'"):
        entries.parse(folder / "paper.yaml", System)


def test_a_base_has_none_itself_in_another_file_too(folder):
    _, faults = load(folder)
    text = "base: 'deep' has a base itself, 'plain'; name one that has none"
    assert faults == [f"{folder}/under.yaml:1: {text}"]


def test_an_id_that_is_defined_twice_names_both_files_and_lines(folder):
    (folder / "under.yaml").write_text(f"\n\n{LEXICAL}")
    (folder / "z.yaml").write_text(several(under={}, deep={}))
    _, faults = load(folder)
    assert faults == [
        f"{folder}/z.yaml:2: under: 'under' is defined already, at {folder}/under.yaml:3; "
        "give each id once",
        f"{folder}/z.yaml:3: deep: 'deep' is defined already, at {folder}/paper.yaml:9: deep; "
        "give each id once",
    ]


def test_an_id_that_one_file_has_twice_is_a_fault_of_the_file(folder):
    with (folder / "paper.yaml").open("a") as handle:
        handle.write("\n  plain: {}\n")
    _, faults = load(folder)
    assert any(
        "paper.yaml: not valid YAML: line 17: key 'plain' is given twice, first in line 3" in f
        for f in faults
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("entries:\n  a: {}\nkind: lexical\n",
         "3: kind: a file with `entries` has no other key; put an entry below it, under its id"),
        ("# none\nentries: [a]\n", "2: entries: not a mapping; write each entry below its id"),
        ("entries:\n", "1: entries: not a mapping; write each entry below its id"),
        ("entries:\n  a.b: {}\n",
         "2: entries: 'a.b': an id has small letters, digits, - and _ only"),
    ],
)  # fmt: skip
def test_a_file_that_is_of_neither_form_says_so_at_the_line(tmp_path, text, fault):
    (tmp_path / "x.yaml").write_text(text)
    assert load(tmp_path) == ({}, [f"{tmp_path}/x.yaml:{fault}"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("zeero", "Input should be 'zero' or 'minimum' (found \"zeero\"). Did you mean zero?"),
        ({"bm25": "zeero"}, "by.bm25: Input should be 'zero' or 'minimum' (found \"zeero\")"),
    ],
)
def test_of_a_word_or_a_mapping_the_fault_is_of_the_form_that_was_given(given, says):
    """Pydantic tells what is wrong with each form, also with the one that was not meant."""
    word = Literal["zero", "minimum"]

    class Entry(Strict):
        by: word | dict[str, word]

    with pytest.raises(ValidationError) as raised:
        Entry.model_validate({"by": given})
    [line] = describe("x.yaml", raised.value, {"by": given}).splitlines()
    assert says in line


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("b: 0.4", "b: 1.4", "6: plain", "bm25.b: Input should be less than or equal to 1"),
        ("k: 5000", "k: 0", "11: deep", "k: Input should be greater than 0 (found 0)"),
        ("    kind: lexical\n", "    kind: lexicl\n", "3: plain",
         "(top level): no kind 'lexicl'; known: "),
        ("    bm25: {k1: 0.9, b: 0.4}\n", "", "3: plain", "bm25: missing key"),
    ],
)  # fmt: skip
def test_a_fault_names_the_file_the_line_and_the_entry(folder, old, new, at, says):
    (folder / "under.yaml").unlink()
    (folder / "paper.yaml").write_text(PAPER.replace(old, new, 1))
    _, faults = load(folder)
    assert faults[0].startswith(f"{folder}/paper.yaml:{at}: {says}")


def test_a_key_of_the_base_that_does_not_fit_names_both_places(folder):
    (folder / "within.yaml").write_text("base: plain\nkind: dense\nmodel: m\n")
    _, faults = load(folder)
    at = f"{folder}/within.yaml:1 (base: plain, {folder}/paper.yaml:6)"
    assert any(
        fault.startswith(f"{at}: bm25: unknown key") for fault in "\n".join(faults).split("\n")
    )


def test_each_value_has_a_file_and_a_line(folder):
    held = Folder(folder)
    paper, within = folder / "paper.yaml", folder / "within.yaml"
    assert held.at("deep") == f"{paper}:9: deep"
    assert held.at("deep", "k") == f"{paper}:11: deep", "its own"
    base = f"(base: plain, {paper}:6)"
    assert held.at("deep", "bm25", "b") == f"{paper}:9: deep {base}", "its base's"
    assert held.at("within", "bm25", "b") == f"{within}:2"
    assert held.at("within", "bm25", "k1") == f"{within}:2 {base}"
    assert held.at("own", "budgets") == f"{folder}/own.yaml:1", "written in neither"
    assert held.at("over-own", "bm25").endswith(f"(base: own, {folder}/own.yaml:3)")


def test_an_item_of_a_list_has_a_line_by_its_id_and_by_its_number(tmp_path):
    text = "k: 1\nrows:\n  - {id: a, k: 1}\n  - id: b\n    k: 2\nthen: [3,\n  4]\n"
    (tmp_path / "x.yaml").write_text(text)
    one = Folder(tmp_path).locations["x"]
    lines = [one.line(*keys.split(".")) for keys in ("rows.b.k", "rows.1", "rows.a", "then.1")]
    assert lines == [5, 4, 3, 7]


def test_what_refers_to_an_entry_of_a_broken_file_is_no_fault_of_its_own(folder):
    (folder / "paper.yaml").write_text(PAPER.replace("k: 5000", "k: [5000"))
    held = Folder(folder)
    assert held.may_hold("deep") and held.may_hold("paper") and not held.may_hold("elsewhere")
    assert held.unread == [folder / "paper.yaml"]
    with pytest.raises(ValueError, match=r"paper\.yaml: not valid YAML: .*line 1"):
        held.entry("deep", System)
    assert [f.partition(":")[0] for f in entries.faults_of(held)] == [f"{folder}/paper.yaml"]


def test_the_order_of_entries_does_not_depend_on_their_files(folder, tmp_path):
    before = [*Folder(folder).locations]
    (folder / "under.yaml").rename(folder / "a.yaml")
    (folder / "a.yaml").write_text(several(under={"base": "own"}))
    assert [*Folder(folder).locations] == before


def test_a_mapping_that_is_read_may_be_changed_and_stays_as_it_is_written(folder):
    held = Folder(folder)
    held.locations["plain"].read().pop("kind")
    assert held.entry("plain", System).kind == "lexical"


def test_no_entry_has_the_key_that_makes_its_file_one_of_several():
    for kind, schema in loading.schemas().items():
        if kind != "config":
            whole = schema["$defs"]["entry"]["else"]
            refs = [one["$ref"].rpartition("/")[2] for one in whole.get("oneOf", [])]
            for form in [schema["$defs"][ref] for ref in refs] or [whole]:
                assert SEVERAL not in form["properties"], kind


@pytest.mark.parametrize(
    ("entry", "valid"),
    [
        (yaml.safe_load(LEXICAL), True),
        ({"base": "plain", "k": 5}, True),
        ({"entries": {"a": yaml.safe_load(LEXICAL), "b": {"base": "a", "k": 5}}}, True),
        ({"entries": {}}, True),
        ({"entries": {"a": {"kind": "lexical"}}}, False),
        ({"entries": {"A b": {"base": "a"}}}, False),
        ({"entries": {"a": {"base": "b"}}, "kind": "lexical"}, False),
        ({"kind": "lexical"}, False),
        ({}, False),
    ],
)
def test_an_editor_tells_both_forms_by_the_schema(entry, valid):
    schema = loading.schemas()["systems"]
    assert jsonschema.Draft202012Validator(schema).is_valid(entry) == valid


def test_the_file_that_the_handbook_shows_is_one_of_several(tmp_path):
    config = entry_files.copy(tmp_path / "config")
    (text,) = re.findall(r"```yaml\n# config/systems/mine.yaml\n(.*?)```", handbook.HEAD, re.S)
    (config / "systems" / "mine.yaml").write_text(text)
    base = yaml.safe_load((config / "config.yaml").read_text())
    systems = loading.load(config, base).systems
    assert (systems["bm25-k12"].bm25.k1, systems["bm25-k12"].k) == (1.2, systems["bm25"].k)
    assert systems["bm25-deep"].model_copy(update={"k": systems["bm25"].k}) == systems["bm25"]
