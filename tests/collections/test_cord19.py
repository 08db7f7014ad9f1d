"""Releases of CORD-19 in both layouts: rows in order, the right parse, and what is refused."""

import os

import pytest

from replicas import cord19 as written
from replicas import damage
from residuum.cli.errors import ResiduumError
from residuum.collections import cord19


@pytest.fixture(params=["subsets", "parses"])
def layout(request):
    return request.param


def place(tmp_path):
    return tmp_path / "cord19" / written.RELEASE, tmp_path / "store.zip"


def read(tmp_path):
    return [
        (paper.doc_id, {k: v for k, v in paper._asdict().items() if k != "doc_id"})
        for paper in cord19.papers(*place(tmp_path))
    ]


def test_every_row_has_its_body(tmp_path, layout, capsys):
    replica = written.write(tmp_path, layout)
    assert read(tmp_path) == replica.docs
    assert "not in the release" not in capsys.readouterr().err


def test_the_parses_are_kept_for_the_next_time_and_made_again_for_another_archive(tmp_path):
    replica = written.write(tmp_path)
    archive, store = place(tmp_path)
    read(tmp_path)
    before = store.stat().st_mtime_ns
    assert read(tmp_path) == replica.docs and store.stat().st_mtime_ns == before
    os.utime(archive, ns=(1, 1))
    assert read(tmp_path) == replica.docs and store.stat().st_mtime_ns != before
    store.write_bytes(b"no store at all, but half of something else")
    assert read(tmp_path) == replica.docs


def edited(tmp_path, edit):
    """Write the release with other metadata."""
    path = tmp_path / "cord19" / written.DATE / "metadata.csv"
    path.write_bytes(edit(path.read_bytes()))
    damage.released(tmp_path, damage.Damage(path))


def test_only_line_ends_end_a_row(tmp_path):
    replica = written.write(tmp_path)
    title = replica.docs[1][1]["title"]
    edited(tmp_path, lambda data: data.replace(f",{title},".encode(), f",{title}\u2028,".encode()))
    result = read(tmp_path)
    assert len(result) == 224 and result[1][1]["title"] == f"{title}\u2028"
    assert result[1][1]["abstract"] == replica.docs[1][1]["abstract"]


def test_a_parse_that_is_not_in_the_release_is_counted_and_its_body_empty(tmp_path, capsys):
    replica = written.write(tmp_path)
    edited(tmp_path, lambda data: data.replace(b",PMC100000,", b",PMC999999,"))
    result = read(tmp_path)
    assert result[0][1] == replica.docs[0][1] | {"body": []} and replica.docs[0][1]["body"]
    assert result[1:] == replica.docs[1:]
    message = capsys.readouterr().err
    assert "1 of 184 parses that metadata.csv names are not in the release" in message
    assert message.strip().endswith("/pmc_json/PMC999999.xml.json")


def test_nothing_is_kept_of_a_release_with_a_broken_parse(tmp_path, layout):
    written.write(tmp_path, layout)
    broken = damage.parse_without_json(tmp_path, layout)
    with pytest.raises(ResiduumError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{broken.file}, {broken.member}, line 1: not JSON")
    assert [path.name for path in tmp_path.iterdir()] == ["cord19"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"cord_uid,sha,", b"uid,sha,", ", line 1: the header lacks cord_uid"),
        (b"has_pdf_parse", b"pdf", ", line 1: the header lacks has_pdf_parse"),
    ],
)
def test_a_header_of_another_layout_is_refused(tmp_path, old, new, message):
    written.write(tmp_path)
    edited(tmp_path, lambda data: data.replace(old, new, 1))
    with pytest.raises(ResiduumError, match=f"2020-05-01/metadata.csv{message}"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"has_pmc_xml_parse": "True", "has_pdf_parse": "True"}, "s/pmc_json/PMC1.xml.json"),
        ({"has_pmc_xml_parse": "False", "has_pdf_parse": "True"}, "s/pdf_json/aa.json"),
        ({"has_pmc_xml_parse": "False", "has_pdf_parse": "False"}, ""),
        ({"pmc_json_files": "d/x.xml.json", "pdf_json_files": "d/a.json"}, "d/x.xml.json"),
        ({"pmc_json_files": "", "pdf_json_files": "d/a.json; d/b.json"}, "d/a.json"),
        ({"pmc_json_files": "", "pdf_json_files": ""}, ""),
    ],
)  # fmt: skip
def test_pmc_comes_before_the_first_pdf(row, path):
    common = {"full_text_file": "s", "pmcid": "PMC1", "sha": "aa; bb"}
    assert cord19.parse_of(common | row) == path
