"""A report's folder: what an older report wrote there gives way to a new one, and nothing else.

Usage: `with replaced(output) as made: ...` writes the pages. A report lists its own files in LIST,
so that a `.git`, a CNAME or notes beside them stay.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError

INDEX, LIST = "index.html", "assets/files.txt"
STYLE = "assets/report.css"  # tells a report from before it had a list


@contextmanager
def replaced(output: Path) -> Iterator[Path]:
    """Give an empty folder beside `output` to write a report into; its files go there at the end.

    A folder that holds anything but a report is refused at once, and so is one into which another
    process writes. A link stays, and the report lies in the folder that it names.
    """
    folder = output.resolve()
    with files.scratch(folder, files.PART) as made:
        _refuse_other(output)
        yield made
        names = sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file())
        _write(made, [*names, LIST])
        if folder.exists():  # also an empty one, which may be a disk's, or where a shell stands
            _move([*names, LIST], made, folder)
        else:
            files.replace_directory(made, folder)


def _refuse_other(output: Path) -> None:
    written = any((output / name).is_file() for name in (LIST, STYLE))  # Snakemake deletes INDEX
    if output.exists() and not written and (not output.is_dir() or any(output.iterdir())):
        raise ResiduumError(
            f"{output}: exists and holds no report, so nothing in it is overwritten; name another "
            "folder with --output"
        )


def _write(folder: Path, names: Iterable[str]) -> None:
    files.write_text(folder / LIST, "".join(f"{name}\n" for name in sorted({*names})))


def _move(names: list[str], made: Path, folder: Path) -> None:
    """Move files into a folder, the index last, then delete those that it listed and no longer has.

    Wherever this is killed, the folder lists all files that any report wrote.
    """
    listed = files.read_lines(folder / LIST) if (folder / LIST).is_file() else names
    for name in {*names, *listed}:
        if not (files.stays(name) and (folder / name).parent.resolve().is_relative_to(folder)):
            raise ResiduumError(
                f"{folder}: '{name}' of the report leads out of the folder, so nothing is written. "
                "Delete the folder, or name another one with --output"
            )
    for name in names:
        if odd := _in_the_way(folder, name, listed):
            raise ResiduumError(
                f"{odd}: in the way of the report, and not written by one. Move it away, or name "
                "another folder with --output"
            )
    _write(folder, [*names, *listed])
    for name in sorted(names, key=lambda name: (name == LIST, name == INDEX)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name != LIST:
            os.replace(made / name, folder / name)
    for name in {*listed} - {*names}:
        if not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # other files lie there
                (folder / name).parent.rmdir()
    os.replace(made / LIST, folder / LIST)


def _in_the_way(folder: Path, name: str, listed: Iterable[str]) -> Path | None:
    """Return what stands in the place of a report's file, or of its folder, and is a stranger's."""
    above = (folder / name).parent
    if os.path.lexists(above) and not above.is_dir():
        return above
    place = folder / name
    return place if place.is_dir() or (os.path.lexists(place) and name not in listed) else None
