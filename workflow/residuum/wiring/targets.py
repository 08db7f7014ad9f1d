"""Files that a user asks Snakemake for by name: a misspelt one is told with the nearest.

Usage: `refuse_unknown(asked(sys.argv[1:]), makes, paths, registry)`, once all rules are read.
Snakemake's own message names neither pages nor datasets.
"""

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import PurePath

from residuum.cli.errors import ResiduumError
from residuum.config.registry import Registry
from residuum.wiring.base import unknown_split
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
    for template in vars(paths).values():
        at = template.parse(target) if isinstance(template, Template) else None
        if not at or "dataset" not in at or not target.startswith(template.partition("{")[0]):
            continue
        if why := unknown_split(registry, at["dataset"], at.get("split")):
            return why
    path = PurePath(target)
    folder, below = PurePath(*path.parts[:2]), PurePath(*path.parts[2:]).as_posix()
    pages = [
        Paths().pages[page.kind].beside(path.suffix).fill(page=name)
        for name, page in registry.pages.items()
    ]
    near = difflib.get_close_matches(below, pages, n=1, cutoff=NEAR)
    meant = f"Did you mean {folder / near[0]}?" if near else "See results/README.md"
    return f"no rule makes it. {meant}"
