"""Options of commands that name a job's own inputs and outputs, for the params of rules.

Usage: `corpus=options.folder("corpus")` gives the folder of the input `corpus`. Paths alone decide
these options: Snakemake would not notice another reason for a change.
"""

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Protocol

from residuum.wiring.paths import folder_of


class Files(Protocol):
    """A rule's inputs or outputs: files by position and by name."""

    def __getitem__(self, index: int, /) -> str: ...
    def get(self, name: str, /) -> str | Iterable[str] | None: ...


Option = Callable[[object, Files], str]


def output_folder(wildcards: object, output: Files) -> str:
    """Return the folder of a rule's first output."""
    return folder_of(output[0])


def folder(name: str) -> Option:
    """Return a params function that gives the folder of an input."""
    return lambda wildcards, input: folder_of(_paths(input, name)[0])


def each(option: str, name: str, value: Callable[[str], str] = str, once: bool = True) -> Option:
    """Return a params function that gives `--option value` for each file of an input.

    Files of equal values, such as those of one folder, give the option `once`, or each of them. A
    collection that plays two roles of a training is given for each.
    """

    def given(wildcards: object, input: Files) -> str:
        values = [value(path) for path in _paths(input, name)]
        kept = dict.fromkeys(values) if once else values
        return " ".join(f"--{option} {text}" for text in kept)

    return given


def texts(wildcards: object, input: Files) -> str:
    """Return the options for the input `texts`: an answers file and a corpus, or "" for none."""
    if not (paths := _paths(input, "texts")):
        return ""
    return f"{answers(wildcards, input)} --corpus {folder_of(paths[1])}"


def answers(wildcards: object, input: Files) -> str:
    """Return the option for the answers file of the input `texts`, or "" for none."""
    paths = _paths(input, "texts")
    return f"--answers {paths[0]}" if paths else ""


def _paths(files: Files, name: str) -> list[str]:
    paths = files.get(name)
    return [paths] if isinstance(paths, str) else list(paths or [])


def by_split(path: str) -> str:
    """Return `split=path` for a file in the folder of its split."""
    return f"{PurePath(path).parent.name}={path}"


def by_system(path: str) -> str:
    """Return `system=path` for a run or scores, whose file name begins with the system's name."""
    return f"{PurePath(path).name.partition('.')[0]}={path}"
