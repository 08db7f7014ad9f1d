"""The record of what was chosen: the settings tried, their values, the choice, or one per fold.

Usage: `record.write(path)`, `Record.read(path)`. It is the form of every
`tuning/**.json` of a scale, whatever was chosen. Must not know how a value came about.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
from pydantic import Field

from residuum.artefacts import files, manifest
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.base import Strict

Setting = dict[str, int | float]


class Tried(Strict):
    """A setting of the grid, and the mean of its values: over all queries, or over each fold's."""

    setting: Setting
    means: list[float]


class Choice(Strict):
    """The setting that all queries get, or those of a fold; `at_edge` names its parameters there.

    `mean` is that of the queries which chose it (with folds: those of the other folds), `held_out`
    that of the fold's own; both are None for a fixed setting, whose `queries` are 0.
    """

    setting: Setting
    at_edge: list[str] = Field(default=[])
    queries: int = 0
    mean: float | None = None
    held_out: float | None = None


class Record(Strict):
    """What was chosen by which measure on how many judged queries; `fold_of` has all queries."""

    choices: list[Choice]
    measure: str | None = None
    queries: int = 0
    tried: list[Tried] = Field(default=[])
    fold_of: dict[str, int] = Field(default={})

    @classmethod
    def fixed(cls, setting: Setting) -> "Record":
        """Return the record of a setting that is fixed."""
        return cls(choices=[Choice(setting=setting)])

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Read a record; a fault names the file and the key."""
        try:
            return cls.model_validate_json(files.read_bytes(path))
        except pydantic.ValidationError as error:
            raise ResiduumError(command.describe(str(path), error)) from None

    @property
    def setting(self) -> Setting:
        """The setting of all queries, where there are no folds."""
        (choice,) = self.choices
        return choice.setting

    def of_queries(self) -> dict[str, Setting]:
        """Return the setting of each query, where there are folds."""
        return {query_id: self.choices[fold].setting for query_id, fold in self.fold_of.items()}

    def facts(self) -> dict[str, Any]:
        """Return what was chosen, as the manifest of a run that was made with it says it."""
        settings = [choice.setting for choice in self.choices]
        return {"folds": settings} if self.fold_of else dict(self.setting)

    def write(self, path: Path, spec: Strict, inputs: list[Path], stage: str) -> None:
        """Write the record and its manifest."""
        made = self.model_dump()
        files.write_text(path, json.dumps(made, indent=1) + "\n")
        facts = {key: made[key] for key in ("choices", "measure", "queries")}
        manifest.write(path, facts, spec, inputs, stage)


class Tuned(NamedTuple):
    """What was chosen for a run, on the queries of a split."""

    run: str
    split_ref: str
    record: Record

    @classmethod
    def read(cls, path: Path) -> "Tuned":
        """Read a record whose path, <dataset>/<split>/<run>.json, tells the split and the run."""
        return cls(path.stem, "/".join(path.parts[-3:-1]), Record.read(path))
