"""One archive of a results folder's metrics, pages, specs, manifests and environment.

Usage: `residuum bundle write --results results/mini --output mini.tar.gz`. The same results give
the same bytes, as long as the folder's name, the commit and the packages are the same too: its
index records them. Holds what every table, figure's data and the ledger are made from, and no
texts, runs, indexes or models. Must not know how a page is made: `residuum.inspect.verifying` does.
"""

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from residuum import __version__
from residuum.artefacts import files, manifest
from residuum.cli.errors import ResiduumError
from residuum.config.roots import ROOT
from residuum.wiring.paths import Paths, Template

FORMAT = 2
INDEX = "bundle.json"
RESULTS, ENVIRONMENT = "results", "environment"
PATHS = Paths()
PAGES = [PATHS.table, PATHS.figure, PATHS.cases, PATHS.ledger]
VALUES = [PATHS.metrics, PATHS.tuning, PATHS.depth_curve, PATHS.significance]
KEPT = ["**/*manifest.json", *VALUES, *(page.beside(".*") for page in PAGES), PATHS.absent]
LOCKS = ["requirements.lock", "requirements.in", "envs/*.yaml"]
HINT = "Get it again, or write it anew: residuum bundle write"


class Opened(NamedTuple):
    """An unpacked bundle: its results folder, and what is wrong with its files."""

    results: Path
    faults: list[str]


def write(results: Path, output: Path) -> str:
    """Write the archive, whole or not at all, and describe what it holds."""
    if not (results / PATHS.ledger).is_file():
        raise ResiduumError(
            f"{results}: no ledger.tsv, so its pages are not finished; name a results folder "
            "(--results results/<scale>) or run snakemake --cores all"
        )
    if bare := [page for page in pages(results) if not manifest.beside(results / page).is_file()]:
        raise ResiduumError(
            f"{results}: no manifest beside {', '.join(bare)}, so they cannot be made again from a "
            "bundle; run snakemake --cores all again, or delete what is no page of residuum"
        )
    locks = LOCKS if (ROOT / "Snakefile").is_file() else []  # only a checkout has them
    members = {f"{RESULTS}/{name}": results / name for name in _finished(results, KEPT)}
    members |= {f"{ENVIRONMENT}/{name}": ROOT / name for name in _finished(ROOT, locks)}
    index = {
        "format": FORMAT,
        "residuum": __version__,
        "results": results.resolve().name,
        "written": manifest.environment(),
        "files": {name: files.sha256(path) for name, path in sorted(members.items())},
    }
    with files.whole(output) as temporary:
        _pack(temporary, json.dumps(index, indent=1, ensure_ascii=False) + "\n", members)
    size = output.stat().st_size / 1e6
    return f"{output}: {len(members)} files, {size:.1f} MB, sha256 {files.sha256(output)}"


def pages(results: Path) -> list[str]:
    """Return the TSVs of the tables, figures, cases and ledger, relative to their folder."""
    return _finished(results, PAGES)


def _finished(folder: Path, patterns: Iterable[str]) -> list[str]:
    """Return the files below a folder that templates or patterns match, sorted; no work files."""
    matching = (path for pattern in patterns for path in folder.glob(Template(pattern).pattern))
    names = {path.relative_to(folder) for path in matching if path.is_file()}
    return [
        name.as_posix()
        for name in sorted(names)
        if name.parts[0] != "work" and not any(part.startswith(".") for part in name.parts)
    ]


def _pack(path: Path, index: str, members: dict[str, Path]) -> None:
    """Write a tar without clock, owner or order of its own, gzipped without a name."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, INDEX, index.encode())
        for name, source in sorted(members.items()):
            _add(archive, name, source.read_bytes())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)  # mode 0644, owner 0, mtime 0
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def unpack(archive: Path, folder: Path) -> Opened:
    """Unpack a bundle into an empty folder and check every file against the index.

    A file that is not a bundle, is cut short or names a path outside itself is a ResiduumError; a
    file that is not what the index says is among the faults.
    """
    try:
        with tarfile.open(archive, "r:gz") as packed:
            for name, data in _members(archive, packed):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    except FileNotFoundError:
        raise ResiduumError(f"{archive}: no such file") from None
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise ResiduumError(f"{archive}: damaged, or not a bundle ({error}). {HINT}") from None
    return Opened(folder / RESULTS, list(_faults(_index(archive, folder / INDEX), folder)))


def _members(archive: Path, packed: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    names = set()
    for member in packed:
        parts = PurePosixPath(member.name).parts
        inside = member.name == INDEX or parts[:1] in ((RESULTS,), (ENVIRONMENT,))
        plain = "/".join(parts) == member.name and "\\" not in member.name
        if not (member.isreg() and inside and plain and ".." not in parts):
            raise ResiduumError(
                f"{archive}: holds '{member.name}', which no bundle does; nothing is unpacked from "
                "it. " + HINT
            )
        if member.name in names:
            raise ResiduumError(f"{archive}: holds '{member.name}' twice. {HINT}")
        names.add(member.name)
        data = packed.extractfile(member)
        yield member.name, data.read() if data else b""


def _index(archive: Path, path: Path) -> dict[str, str]:
    """Return {file: sha256} of a bundle's files."""
    if not path.is_file():
        raise ResiduumError(f"{archive}: not a bundle of residuum, it lacks {INDEX}. {HINT}")
    try:
        index = json.loads(path.read_bytes())
        version, listed = index["format"], index["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise ResiduumError(f"{archive}: {INDEX} cannot be read ({error!r}). {HINT}") from None
    if version != FORMAT or not isinstance(listed, dict):
        raise ResiduumError(
            f"{archive}: format {version} of a bundle; residuum {__version__} reads format {FORMAT}"
        )
    return listed


def _faults(index: dict[str, str], folder: Path) -> Iterator[str]:
    local = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} - {INDEX}
    for name in sorted(local | set(index)):
        if name not in local:
            yield f"{name}: is missing"
        elif name not in index:
            yield f"{name}: is not in {INDEX}"
        elif files.sha256(folder / name) != index[name]:
            yield f"{name}: was changed after the bundle was written (its sha256 is another)"
