"""Claims of the configuration: what they name must be there, on a page that can show it."""

import pytest
import yaml

from conftest import ROOT
from entry_files import unlined
from residuum.cli.errors import ResiduumError
from residuum.config import loading

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"page": "table9"}, "no table, figure or page of dimensions 'table9'; known: .*table1"),
        ({"rows": {"clear": ["bm52"]}}, "no row 'bm52'; known: .*Did you mean bm25"),
        ({"columns": ["dev-rrr"]}, "no column 'dev-rrr'"),
        ({"page": "table2", "columns": ["depth"]}, "no column 'depth'"),
        (
            {"relation": "rises", "rows": ["clear"], "columns": ["dev-rr"]},
            "rises reads two",
        ),
        (
            {"relation": "within", "rows": ["clear"], "between": [0, 1]},
            "within reads a page",
        ),
    ],
)
def test_what_a_claim_names_is_checked(config, changes, message):
    path = config / "papers" / "clear" / "claims.yaml"
    page = yaml.safe_load(path.read_text())
    (claim,) = [c for c in page["claims"] if c["id"] == "over-lexical"]
    claim["holds"] |= changes
    path.write_text(yaml.safe_dump(page))
    with pytest.raises(
        ResiduumError, match=rf"clear/claims\.yaml:\d+: claims\.over-lexical\S*: {message}"
    ):
        loading.load(config, BASE)
    claim["no_test"] = "why"
    path.write_text(yaml.safe_dump(page))
    with pytest.raises(ResiduumError, match="give exactly one of holds and no_test"):
        loading.load(config, BASE)


def test_a_page_that_does_not_load_is_one_fault(config):
    path = config / "papers" / "clear" / "table1.yaml"
    path.write_text(path.read_text().replace("columns:", "colums:"))
    with pytest.raises(ResiduumError) as caught:
        loading.load(config, BASE)
    text = unlined(caught.value)
    assert "table1.yaml: colums: unknown key" in text and "claims.yaml" not in text
    claims = path.with_name("claims.yaml")
    claims.write_text(claims.read_text().replace("page: table1", "page: table3"))
    path.write_text(path.read_text().replace("colums:", "columns:"))
    with pytest.raises(ResiduumError, match=r"no table, figure or page of dimensions 'table3'"):
        loading.load(config, BASE)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("linear", {"columns": ["exponents"]}, "no quantity of bm25 'exponents'"),
        ("margins-by-length", {"columns": ["11st"]}, "'11st' is no rank of margins"),
        ("linear", {"rows": ["bm52"]}, "no row 'bm52'.*Did you mean bm25"),
        ("worsens-dense", {"page": "figure2", "rows": {"bm25": ["boolean"]}, "relation": "widens"},
         "widens reads no page of dimensions"),
    ],
)  # fmt: skip
def test_what_a_claim_names_of_dimensions_is_checked(config, name, changes, message):
    path = config / "papers" / "mebert" / "claims.yaml"
    page = yaml.safe_load(path.read_text())
    (claim,) = [c for c in page["claims"] if c["id"] == name]
    claim["holds"] |= changes
    path.write_text(yaml.safe_dump(page))
    with pytest.raises(ResiduumError, match=rf"claims\.{name}\S*: {message}"):
        loading.load(config, BASE)
