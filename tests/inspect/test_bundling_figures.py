"""A bundle with circles, a figure over groups and their ledger: each page made again."""

import shutil

import pytest

import drawn_fixture
from bundles import contents, faults
from residuum.artefacts import manifest
from residuum.inspect import bundling
from results_fixture import record


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return drawn_fixture.build(tmp_path_factory.mktemp("here") / "results" / "toy")


def test_every_page_is_made_again_from_metrics_and_groups(results, tmp_path):
    archive = tmp_path / "toy.tar.gz"
    bundling.write(results, archive)
    assert "results/groups/data/dev/halves.tsv" in contents(archive)
    *pages, total = map(str, bundling.verify(archive))
    assert pages == [
        "ok     toy-claims: made again, same bytes",
        "ok     toy-figure4: made again, same bytes; drawings carried, checked by hash",
        "ok     toy-figure1: made again, same bytes; drawings carried, checked by hash",
        "ok     ledger: made again, same bytes",
    ]
    assert total == "ok     bundle: 4 pages made again byte for byte, 0 carried; no fault"


def test_changed_groups_are_found(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    parted = copy / "groups" / "data" / "dev" / "halves.tsv"
    archive = tmp_path / "toy.tar.gz"
    bundling.write(copy, archive)
    parted.write_text(parted.read_text().replace("hard\tq2", "easy\tq2"))
    record(parted, {}, [], "residuum.groups")  # as if it had been made so
    kept = [*copy.glob("figures/*manifest.json"), *copy.glob("claims/*manifest.json"),
            *copy.glob("significance/*manifest.json")]  # fmt: skip
    before = manifest.files.sha256(results / parted.relative_to(copy))
    for path in kept:
        path.write_text(path.read_text().replace(before, manifest.files.sha256(parted)))
    bundling.write(copy, archive)
    assert "toy-figure4" in faults(archive)


def test_claims_over_groups_rest_on_the_queries_of_each_group(results):
    text = (results / "significance" / "toy-claims.tsv").read_text()
    lines = [line.split("\t") for line in text.splitlines()]
    assert [line[0] for line in lines[1:]] == ["mean/hard"], "one group is shown"
