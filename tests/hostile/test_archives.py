"""Bundles made to harm: refused before they fill memory or disk, and nothing outside is read."""

import gzip
import io
import json
import tarfile

import pytest
from typer.testing import CliRunner

from bundles import rewritten
from residuum.__main__ import app
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.inspect import bundling
from residuum.pages.layout import Layout, TextCell, markdown
from residuum.wiring.paths import Paths

MEMBER = "results/metrics/data/dev/base.tsv"


def header(name, size, kind=tarfile.REGTYPE, **more):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    for key, value in more.items():
        setattr(member, key, value)
    return member.tobuf(tarfile.GNU_FORMAT)


def sparse(size):
    """A GNU header that claims a sparse file: one byte of data, the rest a hole."""
    block = bytearray(header(MEMBER, 512, tarfile.GNUTYPE_SPARSE))
    block[386:398], block[398:410] = b"%011o\0" % 0, b"%011o\0" % 512
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(512)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (sparse(4_000_000_000), f"holds '{MEMBER}', which no bundle does"),
        (header(MEMBER, 0o77777777777), "which no bundle does|damaged, or not a bundle"),
        (header("x", 99_999_999_999, tarfile.XHDTYPE), "damaged, or not a bundle"),
    ],
)
def test_a_member_that_claims_more_than_the_archive_holds(tmp_path, data, message):
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(data + bytes(1024)))
    with pytest.raises(ResiduumError, match=message):
        bundling.unpack(path, tmp_path / "out")
    assert not list(tmp_path.glob("out/results/**/*.tsv"))


def test_an_archive_of_zeros_is_not_unpacked_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(bundling, "MOST_BYTES", 10_000_000)
    path = tmp_path / "zeros.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo(MEMBER)
        member.size = 30_000_000
        packed.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(ResiduumError, match="unpacks to more than 0 GB"):
        bundling.unpack(path, tmp_path / "out")


def test_an_archive_is_not_damaged_because_the_disk_is_full(archive, tmp_path, monkeypatch):
    def extract(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extract", extract)
    with pytest.raises(OSError, match="No space left"):
        bundling.unpack(archive, tmp_path / "out")


def test_more_members_or_longer_names_than_a_bundle_has_are_refused(tmp_path, monkeypatch):
    path, long = tmp_path / "many.tar.gz", "/".join(["a" * 90] * 12)
    for names, message in [
        (["results/a.tsv", "results/b.tsv", "results/c.tsv"], "holds more than 2 files"),
        ([f"results/{long}"], r"holds a name of 1,099 characters"),
    ]:
        with tarfile.open(path, "w:gz") as packed:
            for name in names:
                packed.addfile(tarfile.TarInfo(name))
        monkeypatch.setattr(bundling, "MOST_MEMBERS", 2)
        with pytest.raises(ResiduumError, match=message):
            bundling.unpack(path, tmp_path / "out")


def test_an_archive_of_no_byte_is_one_line(tmp_path):
    (tmp_path / "empty.tar.gz").write_bytes(b"")
    with pytest.raises(ResiduumError, match=r"damaged, or not a bundle \(.*\)\. Get it") as refused:
        list(bundling.verify(tmp_path / "empty.tar.gz"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("harm", ["cut", "behind", "checksum", "member behind"])
def test_an_end_that_is_not_the_archives(archive, tmp_path, harm):
    data = archive.read_bytes()
    harmed = {
        "cut": data[:-4],
        "behind": data + b"junk that is no gzip member",
        "checksum": data[:-8] + bytes(4) + data[-4:],
        "member behind": data + gzip.compress(b"junk"),
    }
    (tmp_path / "harmed.tar.gz").write_bytes(harmed[harm])
    with pytest.raises(ResiduumError, match=r"damaged, or not a bundle|holds data behind its end"):
        list(bundling.verify(tmp_path / "harmed.tar.gz"))


def test_control_characters_of_a_member_are_printed_as_such(archive, tmp_path):
    path = tmp_path / "harmed.tar.gz"
    with tarfile.open(archive) as packed, tarfile.open(path, "w:gz") as harmed:
        for member in packed:
            harmed.addfile(member, packed.extractfile(member))
        harmed.addfile(tarfile.TarInfo("results/\x1b[31mx.tsv"))
    done = CliRunner().invoke(app, ["bundle", "verify", str(path)])
    assert "results/\\x1b[31mx.tsv" in done.output and "\x1b" not in done.output


@pytest.mark.parametrize("depth", [10_000, 100_000])
def test_deep_json_is_a_message(archive, tmp_path, depth):
    path = tmp_path / "deep.tar.gz"
    with tarfile.open(archive) as packed, tarfile.open(path, "w:gz") as harmed:
        for member in packed:
            data = packed.extractfile(member).read()
            data = b"[" * depth if member.name == "bundle.json" else data
            member.size = len(data)
            harmed.addfile(member, io.BytesIO(data))
    with pytest.raises(ResiduumError, match=r"bundle\.json cannot be read .*recursion limit"):
        list(bundling.verify(path))


def test_a_manifest_that_leads_out_of_the_archive_reads_nothing_there(archive, tmp_path):
    (tmp_path / "secret.tsv").write_text("TOPSECRET\n")
    way = "../" * 12 + str(tmp_path).lstrip("/")
    harmed = rewritten(
        archive, tmp_path / "harmed.tar.gz", lambda d: d.replace(b'"data/dev"', f'"{way}"'.encode())
    )
    messages = " ".join(finding.message for finding in bundling.verify(harmed))
    assert "cannot be made again" in messages and "TOPSECRET" not in messages


@pytest.mark.parametrize("key", ["files", "inputs"])
@pytest.mark.parametrize("start", ["../" * 12, "/"])
def test_a_file_outside_that_a_manifest_records_is_not_looked_at(archive, tmp_path, key, start):
    secret = tmp_path / "secret.tsv"
    secret.write_text("TOPSECRET\n")
    way = start + str(secret).lstrip("/")

    def change(data):
        if b'"environment":' not in data:
            return data
        manifest = json.loads(data)
        if key == "files":
            manifest[key][way] = {"bytes": secret.stat().st_size, "sha256": "0" * 64}
        else:
            before, toy, _ = manifest["environment"]["path"].partition("/toy/")
            manifest[key][f"{before}{toy}{way}"] = "0" * 64
        return json.dumps(manifest).encode()

    findings = list(bundling.verify(rewritten(archive, tmp_path / "harmed.tar.gz", change)))
    messages = " ".join(finding.message for finding in findings)
    assert files.sha256(secret)[:12] not in messages
    assert ("leads out of its folder" in messages) == (key == "files")


def test_no_path_below_results_leads_out_of_it():
    with pytest.raises(ResiduumError, match=r"\.\./x: leads out of the results folder"):
        Paths().metrics.fill(dataset="../x", split="dev", run="bm25")


@pytest.mark.parametrize(
    ("note", "printed"),
    [
        ("doc <img/src=x/onerror=alert(1)> is", "doc \\<img/src=x/onerror=alert(1)> is"),
        ("[click](javascript:alert(1))", "[click]\\(javascript:alert(1))"),
        ("<!-- hidden -->", "\\<!-- hidden -->"),
        ("p < 0.05, alpha (0.05), [0.1, 0.2]", "p < 0.05, alpha (0.05), [0.1, 0.2]"),
    ],
)
def test_a_note_is_text_and_no_markup(note, printed):
    page = Layout("Title", "Table 1", ["Row"], [[TextCell("a")]], [note])
    assert f"- {printed}\n" in markdown(page)
