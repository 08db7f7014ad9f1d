"""Files that a user asks Snakemake for by name: a misspelt one is told with the nearest.

Usage: `refuse_unknown(asked(sys.argv[1:]), makes, paths, registry)`, once all rules are read.
Snakemake's own message names neither pages nor datasets.
"""

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import PurePath

from residuum.cli.errors import ResiduumError, unknown
from residuum.config.registry import Registry
from residuum.wiring.paths import Paths, Template, results_of

BEFORE = "--"  # behind it stand targets
NEAR = 0.6  # likeness of a page's path that is worth naming


def asked(words: Sequence[str]) -> list[str]:
    """Return the targets among a command line's words: behind `--`, or before the first option.

    A word behind an option may be its value, as of `--report FILE`.
    """
    if BEFORE in words:
        return list(words[words.index(BEFORE) + 1 :])
    first = next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
    return list(words[:first])


def refuse_unknown(
    targets: Sequence[str], makes: Callable[[str], bool], paths: Paths, registry: Registry
) -> None:
    """Raise ResiduumError for a path that no rule makes, with the name that was probably meant.

    `makes` says whether a rule makes a path. Targets that are not below results/ are left alone.
    """
    below = results_of("")
    for target in targets:
        if target.startswith(below) and not os.path.exists(target) and not makes(target):
            raise ResiduumError(f"{target}: {_why(target, paths, registry)}")


def _why(target: str, paths: Paths, registry: Registry) -> str:
    """Return which name in a path is none, or else the nearest path of a page."""
    for template in _templates(paths):
        if (at := template.parse(target)) is None or not target.startswith(_start(template)):
            continue
        if (dataset := at.get("dataset")) and dataset not in registry.datasets:
            return unknown("dataset", dataset, registry.datasets)
        splits = registry.datasets[dataset].splits if dataset else {}
        if (split := at.get("split")) and split not in splits:
            return unknown(f"split of {dataset}", split, splits)
    path = PurePath(target)
    folder, below = PurePath(*path.parts[:2]), PurePath(*path.parts[2:]).as_posix()
    pages = [
        Paths().pages[page.kind].beside(path.suffix).fill(page=name)
        for name, page in registry.pages.items()
    ]
    near = difflib.get_close_matches(below, pages, n=1, cutoff=NEAR)
    meant = f"Did you mean {folder / near[0]}?" if near else "See results/README.md"
    return f"no rule makes it. {meant}"


def _templates(paths: Paths) -> list[Template]:
    return [value for value in vars(paths).values() if isinstance(value, Template)]


def _start(template: Template) -> str:
    return template.partition("{")[0]
