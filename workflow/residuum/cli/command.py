"""How a stage becomes a command: error display, exit codes, the `--spec` argument.

Every stage ends with `main(app)`. Must not know any stage.
"""

import json
import os
import sys
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, TypeVar

import pydantic
import typer
from pydantic_core import ErrorDetails

from residuum.cli import progress
from residuum.cli.errors import ResiduumError, unknown

Model = TypeVar("Model", bound=pydantic.BaseModel)

# Options that several stages have; a stage declares its own others, `--spec` with its schema.
Corpus = Annotated[Path, typer.Option(help="corpus folder with its manifest.json")]
Queries = Annotated[Path, typer.Option(help="queries.tsv of the split: query_id TAB text")]
Qrels = Annotated[Path, typer.Option(help="TREC qrels of the split")]
Folds = Annotated[
    list[Path] | None,
    typer.Option(help="queries of a fold, where the collection has its own; repeat"),
]
Tag = Annotated[str, typer.Option(help="name of the system, the last column of the run")]
Run = Annotated[Path, typer.Option(help="run to write, .trec.gz")]
Metrics = Annotated[Path, typer.Option(help="folder of the metrics files")]
Page = Annotated[Path, typer.Option(help="TSV to write; .md and .tex go beside it")]
Start = Annotated[str, typer.Option(help="Hugging Face folder or hub id to start from")]
Revision = Annotated[
    str | None, typer.Option(help="hub commit of the model, where it is of the hub")
]
Work = Annotated[Path, typer.Option(help="folder of the resumable checkpoint")]
Threads = Annotated[int, typer.Option(help="CPU threads; the last digits depend on it")]
Workers = Annotated[int, typer.Option(help="threads; no value depends on them")]
JavaThreads = Annotated[int, typer.Option(min=1, help="Java threads; the result is the same")]
Device = Annotated[str, typer.Option(help="auto, cuda, mps or cpu")]
Precision = Annotated[str, typer.Option(help="auto, fp32 or bf16")]
BatchSize = Annotated[int, typer.Option(min=1, help="texts in a batch")]


def app(doc: str | None) -> typer.Typer:
    """Return the Typer application of a stage whose verbs are always named."""
    made = typer.Typer(help=doc, add_completion=False, pretty_exceptions_enable=False)
    made.callback()(lambda: None)
    return made


def main(application: typer.Typer) -> None:
    """Run a stage's command line; a ResiduumError becomes one message and exit status 1."""
    progress.about(sys.argv)
    try:
        application()
    except ResiduumError as error:
        print(f"error: {error}", file=sys.stderr)
        if os.environ.get("RESIDUUM_TRACEBACK"):
            traceback.print_exc()
        raise SystemExit(1) from None


def parse_spec(model: type[Model], text: str) -> Model:
    """Read a `--spec` argument (JSON) into its schema; a fault names the key."""
    try:
        return model.model_validate_json(text)
    except pydantic.ValidationError as error:
        raise ResiduumError(f"--spec: {describe(error)}") from None


def named_paths(option: str, texts: list[str], required: Collection[str]) -> dict[str, Path]:
    """Read an option of the form NAME=PATH that must be given once for each required name."""
    paths = {name: Path(path) for name, _, path in (text.partition("=") for text in texts)}
    for name in paths:
        if name not in required:
            raise ResiduumError(f"{option}: {unknown('name', name, required)}")
    if missing := [name for name in required if name not in paths]:
        raise ResiduumError(f"{option} {missing[0]}=PATH is missing")
    return {name: paths[name] for name in required}


def describe(error: pydantic.ValidationError) -> str:
    """Word pydantic's faults one per line: key, found, valid."""
    return "\n".join(f"{where(e['loc'])}: {sentence(e)}" for e in error.errors())


def where(location: tuple[int | str, ...]) -> str:
    """Write a pydantic location as the path of keys that a YAML reader would follow."""
    return ".".join(str(part) for part in location) or "(top level)"


def _kind_fault(discriminator: str, expected_tags: str = "", tag: str | None = None) -> str:
    """Word that an entry's kind is missing, or is none that is known."""
    key, known = discriminator.strip("'"), expected_tags.replace("'", "").split(", ")
    if tag is None:
        return f"missing key {key}" + (f"; one of {expected_tags}" if expected_tags else "")
    return unknown(key, tag, known)


def sentence(fault: ErrorDetails) -> str:
    """Word one pydantic fault with the value that was found."""
    if fault["type"] == "extra_forbidden":
        return "unknown key"
    if fault["type"] == "missing":
        return "missing key"
    if fault["type"].startswith("union_tag"):
        return _kind_fault(**fault["ctx"])
    found = json.dumps(fault.get("input"), default=str)
    found = found if len(found) <= 80 else found[:77] + "..."
    return f"{fault['msg'].removeprefix('Value error, ')} (found {found})"
