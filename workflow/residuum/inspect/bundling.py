"""One archive of a results folder's metrics, pages, specs, manifests and environment.

Usage: `residuum bundle write --results results/mini --output mini.tar.gz`. The same results give
the same bytes, as long as the folder's name, the commit and the packages are the same too: its
index records them. Holds what every table, figure's data and the ledger are made from, and no
texts, runs, indexes or models. Must not know how a page is made: `residuum.inspect.verifying` does.
"""

import gzip
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from residuum import __version__
from residuum.artefacts import files, manifest
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError
from residuum.config.roots import ROOT
from residuum.inspect.provenance import finished
from residuum.wiring.paths import Paths

FORMAT = 2
INDEX = "bundle.json"
RESULTS, ENVIRONMENT = "results", "environment"
MEMBER = re.compile(rf"{re.escape(INDEX)}|({RESULTS}|{ENVIRONMENT})(/(?!\.\.?(/|$))[^/\\]+)+")
PATHS = Paths()
PAGES = [PATHS.table, PATHS.figure, PATHS.cases, PATHS.ledger]
VALUES = [PATHS.metrics, PATHS.tuning, PATHS.depth_curve, PATHS.significance]
KEPT = ["**/*manifest.json", *VALUES, *(page.beside(".*") for page in PAGES), PATHS.absent]
LOCKS = ["requirements.lock", "requirements.in", "envs/*.yaml"]


class Index(BaseModel):
    """What a bundle says of itself, as far as it is read again."""

    format: int = Field(ge=FORMAT, le=FORMAT)
    files: dict[str, str]  # name: sha256


def write(results: Path, output: Path) -> str:
    """Write the archive, whole or not at all, and describe what it holds."""
    if not (results / PATHS.ledger).is_file():
        raise ResiduumError(
            f"{results}: no ledger.tsv, so its pages are not finished; name a results folder "
            "(--results results/<scale>) or run snakemake --cores all"
        )
    pages = finished(results, PAGES)
    if bare := [page for page in pages if not manifest.beside(results / page).is_file()]:
        raise ResiduumError(
            f"{results}: no manifest beside {', '.join(bare)}, so they cannot be made again from a "
            "bundle; run snakemake --cores all again, or delete what is no page of residuum"
        )
    locks = LOCKS if (ROOT / "Snakefile").is_file() else []  # only a checkout has them
    members = {f"{RESULTS}/{name}": results / name for name in finished(results, KEPT)}
    members |= {f"{ENVIRONMENT}/{name}": ROOT / name for name in finished(ROOT, locks)}
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


def _pack(path: Path, index: str, members: dict[str, Path]) -> None:
    """Write a tar without clock, owner or order of its own, gzipped without a name."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in [INDEX, *sorted(members)]:
            data = members[name].read_bytes() if name in members else index.encode()
            member = tarfile.TarInfo(name)  # mode 0644, owner 0, mtime 0
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def unpack(archive: Path, folder: Path) -> list[str]:
    """Unpack a bundle into an empty folder; return what is wrong with its files.

    A file that is not a bundle, is cut short or names a path outside itself is a ResiduumError; a
    file that is not what the index says is among the faults.
    """
    try:
        with tarfile.open(archive, "r:gz") as packed:
            for member in packed:
                if not (member.isreg() and MEMBER.fullmatch(member.name)):
                    raise _refusal(archive, f"holds '{member.name}', which no bundle does")
                if (folder / member.name).exists():
                    raise _refusal(archive, f"holds '{member.name}' twice")
                packed.extract(member, folder, filter="data")
    except FileNotFoundError:
        raise ResiduumError(f"{archive}: no such file") from None
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise _refusal(archive, f"damaged, or not a bundle ({error})") from None
    if not (folder / INDEX).is_file():
        raise _refusal(archive, f"not a bundle of residuum, it lacks {INDEX}")
    try:
        index = Index.model_validate_json((folder / INDEX).read_bytes())
    except ValidationError as error:
        why = f"residuum {__version__}: {describe(error)}"
        raise _refusal(archive, f"{INDEX} cannot be read by {why}") from None
    return list(_faults(index.files, folder))


def _refusal(archive: Path, why: str) -> ResiduumError:
    hint = "Get it again, or write it anew: residuum bundle write"
    return ResiduumError(f"{archive}: {why}. {hint}")


def _faults(index: dict[str, str], folder: Path) -> Iterator[str]:
    local = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} - {INDEX}
    for name in sorted(local | set(index)):
        if name not in local:
            yield f"{name}: is missing"
        elif name not in index:
            yield f"{name}: is not in {INDEX}"
        elif files.sha256(folder / name) != index[name]:
            yield f"{name}: was changed after the bundle was written (its sha256 is another)"
