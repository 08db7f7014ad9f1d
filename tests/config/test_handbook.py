"""What config/ says of itself: descriptions of keys, editors' schemas, and config/README.md."""

import re

import pytest

from conftest import ROOT
from residuum import rerank
from residuum.config import handbook, keys, loading

NAMES = ["README.md", *(f"schema/{name}.schema.json" for name in ("config", *loading.FORMS))]


@pytest.fixture(scope="module")
def texts():
    return loading.generated()


@pytest.fixture
def readme(texts):
    return texts["README.md"]


def properties(node):
    """Yield (title of a class, key, its schema) of a JSON schema."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict) and "title" in node:
            yield from ((node["title"], key, of) for key, of in node["properties"].items())
        for value in node.values():
            yield from properties(value)
    elif isinstance(node, list):
        for value in node:
            yield from properties(value)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_of_the_schemas_is_in_step(name, texts):
    """To write them: python -m residuum.config.loading schema"""
    assert sorted(texts) == sorted(NAMES)
    assert (ROOT / "config" / name).read_text() == texts[name]


def test_every_example_is_shown(readme):
    for name, chapter in handbook.CHAPTERS.items():
        for example in chapter.examples:
            shown = {f"`{example}`:", f"`{name}/{example}.yaml`:", f"`{example}` of `{name}/"}
            assert any(f"\n{where}" in readme for where in shown), example


def test_every_key_says_what_it_means():
    schemas = loading.schemas().values()
    bare = {f"{t}.{k}" for s in schemas for t, k, of in properties(s) if not of["description"]}
    assert not bare, "Field(description=...)"


def test_nothing_is_said_of_a_key_that_is_absent_or_says_it_itself():
    known = keys.classes()
    for name, meanings in keys.words().items():
        for key in meanings:
            if name != keys.ANY:
                assert known[name].model_fields[key].description is None, f"{name}.{key}"
            else:
                assert any(key in of.model_fields for of in known.values()), key


def test_a_record_of_a_stage_that_is_called_alike_hides_no_entry():
    assert rerank.Tried.__module__ == "residuum.rerank"
    assert keys.classes()["Tried"].__module__ == "residuum.config.schema.fidelities"


def test_a_class_says_more_of_a_key_than_what_it_extends_and_any_least():
    meanings = {"Collection": {"splits": "a"}, "any": {"splits": "b", "title": "c"}}
    dataset = keys.classes()["Dataset"]
    assert keys.meaning(meanings, dataset, "splits") == "a"
    assert keys.meaning(meanings, dataset, "title") == "c"
    assert keys.meaning({**meanings, "Dataset": {"splits": "d"}}, dataset, "splits") == "d"
    assert keys.meaning(meanings, dataset, "licence") == ""


def test_every_key_of_every_form_stands_in_a_row_and_every_link_leads_somewhere(readme):
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.*?) \| (.+) \|$", readme, re.M)
    keyed = {(t, k) for s in loading.schemas().values() for t, k, _ in properties(s)}
    assert len(rows) >= len(keyed)
    assert {key for key, *_ in rows} == {key for _, key in keyed}
    anchors = {handbook.anchor(text) for text in re.findall(r"^#+ (.*)$", readme, re.M)}
    assert set(re.findall(r"\]\(#([^)]*)\)", readme)) <= anchors
    assert len(re.findall(r"^####? .*$", readme, re.M)) == len(
        set(re.findall(r"^####? .*$", readme, re.M))
    ), "each form once"


def test_every_kind_of_entry_is_shown_by_a_real_one(readme):
    for section in re.split(r"^##+ (?=kind: )", readme, flags=re.M)[1:]:
        assert "```yaml" in section, section.partition("\n")[0]
    for path in re.findall(r"^`([\w./-]+\.yaml)`:$", readme, re.M):
        assert (ROOT / "config" / path).is_file(), path


def test_a_type_stands_in_words():
    typed = handbook.typed
    assert (
        typed({"type": "integer", "minimum": 1, "maximum": 9})
        == "whole number (at least 1, at most 9)"
    )
    assert typed({"anyOf": [{"type": "number"}, {"type": "null"}]}) == "number"
    assert typed({"type": "array", "items": {"$ref": "#/$defs/Row"}}) == "list of [Row](#row)"
    assert (
        typed({"type": "object", "additionalProperties": {"type": "string"}}) == "mapping of text"
    )
    assert typed({"enum": ["a", "b"]}) == "`a`, `b`"


def test_references_are_named(readme):
    row = next(line for line in readme.splitlines() if line.startswith("| `first_stage` |"))
    assert "(names a system" in row
    measure = keys.named_by(keys.classes()["Depth"], "measure")
    assert [ref.to for ref in measure] == ["measure"]
