"""Options of commands that name a job's own inputs and outputs, for the params of rules.

Usage: `corpus=options.folder("corpus")` gives the folder of the input `corpus`. They follow from
the paths alone: this module must not know the registry, nor anything that can change otherwise.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Protocol

from residuum.wiring.paths import folder_of

Option = Callable[["Split", "Files"], str]
Paths = str | Iterable[str]


class Split(Protocol):
    """The wildcards of a job, as far as an option may name one."""

    split: str


class Files(Protocol):
    """A rule's inputs or outputs: files in their order, and by name."""

    def __getitem__(self, index: int, /) -> str: ...
    def get(self, name: str, /) -> Paths | None: ...
    def items(self) -> Iterator[tuple[str, Paths]]: ...


def _paths(files: Files, name: str) -> list[str]:
    found = files.get(name)
    return [found] if isinstance(found, str) else list(found or [])


def output_folder(wildcards: Split, output: Files) -> str:
    """Return the folder of the artefact that a rule's first output stands for."""
    return folder_of(output[0])


def folder(name: str) -> Option:
    """Return a params function: the folder of an input."""
    return lambda wildcards, input: folder_of(_paths(input, name)[0])


def split_folder(name: str) -> Option:
    """Return a params function: the folder of a job's split within the folder of an input."""
    return lambda wildcards, input: f"{folder_of(_paths(input, name)[0])}/{wildcards.split}"


def each(option: str, name: str) -> Option:
    """Return a params function: `--option path` for each file of an input, none for no file."""
    return lambda wildcards, input: _listed(f"--{option} {p}" for p in _paths(input, name))


def each_folder(option: str, name: str) -> Option:
    """Return a params function: `--option folder` for each file of an input, none for no file."""
    return lambda wildcards, input: _listed(
        f"--{option} {folder_of(p)}" for p in _paths(input, name)
    )


def each_split(option: str, name: str) -> Option:
    """Return a params function: `--option split=path` for each file of an input, by its folder."""
    return lambda wildcards, input: _listed(
        f"--{option} {PurePath(p).parent.name}={p}" for p in _paths(input, name)
    )


def each_key(option: str, start: str) -> Option:
    """Return a params function: `--option key=path` for each input whose name is start and key."""
    return lambda wildcards, input: _listed(
        f"--{option} {name.removeprefix(start)}={path}"
        for name, path in input.items()
        if name.startswith(start)
    )


def named(*names: str) -> Option:
    """Return a params function: `--name path` for each of the inputs that the job has."""
    return lambda wildcards, input: _listed(
        f"--{name.replace('_', '-')} {path}" for name in names for path in _paths(input, name)
    )


def answers(wildcards: Split, input: Files) -> str:
    """Return the options that name answers and corpus, where a measure reads `texts`."""
    texts = _paths(input, "texts")
    return f"--answers {texts[0]} --corpus {folder_of(texts[1])}" if texts else ""


def _listed(options: Iterable[str]) -> str:
    return " ".join(options)
