"""Bundles taken apart, packed by hand, and what is wrong with one."""

import io
import json
import tarfile
from datetime import date

from residuum.artefacts import files
from residuum.inspect import bundling, recording
from residuum.inspect.publishing import Published


def contents(archive):
    with tarfile.open(archive) as packed:
        return {m.name: packed.extractfile(m).read() for m in packed}


def pack(path, members):
    """Write an archive by hand."""
    with tarfile.open(path, "w:gz") as packed:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return path


def rewritten(archive, path, change):
    """Pack an archive anew, its texts changed and its index made to fit."""
    with tarfile.open(archive) as packed:
        members = {m.name: packed.extractfile(m).read() for m in packed}
    members = {name: change(data) for name, data in members.items()}
    index = json.loads(members.pop("bundle.json"))
    with tarfile.open(path, "w:gz") as packed:
        for name, data in members.items():
            (path.parent / "one").write_bytes(data)
            index["files"][name] = files.sha256(path.parent / "one")
        for name, data in {"bundle.json": json.dumps(index).encode(), **members}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return path


def faults(archive):
    *findings, total = bundling.verify(archive)
    bad = {finding.what: finding.message for finding in findings if not finding.good}
    assert (total.what, total.good) == ("bundle", not bad)
    return bad


def published(results, archive, day=1, by="Ada Example"):
    """Write a bundle that somebody publishes on a day of November 2026."""
    bundling.write(
        results, archive, published=Published(by=by, licence="MIT", day=date(2026, 11, day))
    )
    return archive


def reproduced(results, log, day=1, by="Ada Example"):
    """Record results in a log, and return the bundle."""
    archive = published(results, log.parent / f"{day}.tar.gz", day, by)
    recording.record(archive, log)
    return archive
