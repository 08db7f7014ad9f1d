"""A folder into which a report is written again: strangers' files stay, and nothing leads out."""

import os
import shutil
from pathlib import Path

import pytest

from residuum.cli.errors import ResiduumError
from residuum.site import writing
from residuum.site.replacing import replaced

LIST = "assets/files.txt"
STRANGERS = ["CNAME", ".git/config", ".nojekyll", "toy/notes.txt", "assets/logo.svg", "about.html"]


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    return writing.write([results], tmp_path_factory.mktemp("there") / "site").parent


@pytest.fixture
def site(written, tmp_path):
    return shutil.copytree(written, tmp_path / "site")


def names(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}


def add(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"mine: {path}")


def test_a_report_lists_its_files(written):
    assert {*(written / LIST).read_text().splitlines()} == names(written)


@pytest.mark.parametrize("older", [False, True], ids=["listed", "from before there was a list"])
def test_what_the_report_did_not_write_stays(results, site, older):
    add(site, *STRANGERS)
    (site / "toy" / "toy-table1.html").write_text("old")
    if older:
        (site / LIST).unlink()
    before = names(site) | {LIST}
    writing.write([results], site)
    assert names(site) == before
    assert all((site / name).read_text() == f"mine: {name}" for name in STRANGERS)
    assert (site / "toy" / "toy-table1.html").read_text() != "old"
    assert not {*STRANGERS} & {*(site / LIST).read_text().splitlines()}


def test_a_page_that_is_no_longer_made_goes_with_its_folder(results, site):
    gone = ["old/page.html", "toy/old.html", "against.html"]
    add(site, *gone, "mixed/old.html", "mixed/mine.txt")
    with (site / LIST).open("a") as lines:
        lines.writelines(f"{name}\n" for name in [*gone, "mixed/old.html", "never/there.html"])
    writing.write([results], site)
    left = names(site)
    assert not {*gone, "mixed/old.html"} & left and "mixed/mine.txt" in left
    assert not (site / "old").exists()
    assert {*(site / LIST).read_text().splitlines()} == left - {"mixed/mine.txt"}


def test_a_file_in_the_way_of_a_new_page_is_named_and_stays(results, site):
    lines = (site / LIST).read_text().splitlines()
    (site / LIST).write_text("".join(f"{n}\n" for n in lines if n != "toy/toy-table1.html"))
    (site / "toy" / "toy-table1.html").write_text("mine")
    (site / "index.html").write_text("old")
    with pytest.raises(ResiduumError, match=r"toy-table1\.html: in the way of the report"):
        writing.write([results], site)
    assert (site / "toy" / "toy-table1.html").read_text() == "mine"
    assert (site / "index.html").read_text() == "old"


@pytest.mark.parametrize("moves", [1, 2, 5, 9])
@pytest.mark.parametrize("older", [False, True], ids=["listed", "from before there was a list"])
def test_a_kill_between_two_files_is_made_good_by_the_next_run(
    results, site, monkeypatch, moves, older
):
    add(site, *STRANGERS, "toy/old.html")
    if older:
        (site / "toy" / "old.html").unlink()
        (site / LIST).unlink()
    else:
        with (site / LIST).open("a") as lines:
            lines.write("toy/old.html\n")
    replace, done = os.replace, []

    def killed(here, there):
        if not str(here).endswith(".part"):
            done.append(there)
        if len(done) > moves:
            raise KeyboardInterrupt
        replace(here, there)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "replace", killed)
        writing.write([results], site)
    writing.write([results], site)
    own = names(site) - {*STRANGERS}
    assert {*(site / LIST).read_text().splitlines()} == own and "toy/old.html" not in own
    assert all((site / name).read_text() == f"mine: {name}" for name in STRANGERS)


@pytest.mark.parametrize("name", ["../victim.txt", "/{}/victim.txt", "out/victim.txt"])
def test_a_list_that_leads_out_deletes_nothing(results, site, tmp_path, name):
    (tmp_path / "victim.txt").write_text("keep")
    (site / "out").symlink_to(tmp_path)
    with (site / LIST).open("a") as lines:
        lines.write(name.format(tmp_path) + "\n")
    with pytest.raises(ResiduumError, match="leads out of the folder, so nothing is written"):
        writing.write([results], site)
    assert (tmp_path / "victim.txt").read_text() == "keep"


def test_a_link_in_place_of_a_scale_is_not_followed(results, site, tmp_path):
    shutil.rmtree(site / "toy")
    (tmp_path / "victim").mkdir()
    (site / "toy").symlink_to(tmp_path / "victim")
    with pytest.raises(ResiduumError, match="leads out of the folder"):
        writing.write([results], site)
    assert not [*(tmp_path / "victim").iterdir()]


@pytest.mark.parametrize("kind", ["report", "nothing", "empty"])
def test_a_link_stays_and_the_report_lies_where_it_leads(results, site, tmp_path, kind):
    target = site if kind == "report" else tmp_path / "target"
    if kind == "empty":
        target.mkdir()
    link = tmp_path / "link"
    link.symlink_to(target)
    index = writing.write([results], link)
    assert index == link / "index.html" and index.is_file()
    assert link.is_symlink() and (target / "index.html").is_file()


@pytest.mark.parametrize("kind", ["file", "link to a file", "notes"])
def test_what_is_no_report_is_refused_before_any_page_is_made(tmp_path, kind):
    output = tmp_path / "site"
    (tmp_path / "notes.txt").write_text("keep")
    if kind == "notes":
        add(output, "notes.txt")
    elif kind == "file":
        output.write_text("keep")
    else:
        output.symlink_to("notes.txt")
    before = names(tmp_path)
    with pytest.raises(ResiduumError, match="exists and holds no report"):
        writing.write([Path("no/results/are/read")], output)
    assert names(tmp_path) == before


def test_an_empty_folder_that_is_there_stays_the_same_one(tmp_path):
    """It may be a disk's own, or that in which a shell stands."""
    (tmp_path / "site").mkdir(mode=0o700)
    before = (tmp_path / "site").stat()
    with replaced(tmp_path / "site") as made:
        (made / "index.html").write_text("one")
    after = (tmp_path / "site").stat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert (tmp_path / "site" / "index.html").read_text() == "one"
