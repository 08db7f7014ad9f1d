"""How a stage becomes a command: error display, exit codes, the `--spec` argument.

Every stage ends with `main(app)`. Must not know any stage.
"""

import json
import os
import sys
import traceback
from typing import Any, TypeVar

import pydantic
import typer

from residuum.core import progress
from residuum.core.errors import ResiduumError, unknown

Spec = TypeVar("Spec", bound=pydantic.BaseModel)


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


def parse_spec(model: type[Spec], text: str) -> Spec:
    """Read a `--spec` argument (JSON) into its schema; a fault names the key."""
    try:
        return model.model_validate_json(text)
    except pydantic.ValidationError as error:
        raise ResiduumError(f"--spec: {describe(error)}") from None


def describe(error: pydantic.ValidationError) -> str:
    """Word pydantic's faults one per line: key, found, valid."""
    return "\n".join(f"{where(e['loc'])}: {sentence(e)}" for e in error.errors())


def where(location: tuple[Any, ...]) -> str:
    """Write a pydantic location as the path of keys that a YAML reader would follow."""
    return ".".join(str(part) for part in location) or "(top level)"


def _kind_fault(discriminator: str, expected_tags: str = "", tag: str | None = None) -> str:
    """Word that an entry's kind is missing, or is none that is known."""
    key, known = discriminator.strip("'"), expected_tags.replace("'", "").split(", ")
    if tag is None:
        return f"missing key {key}" + (f"; one of {expected_tags}" if expected_tags else "")
    return unknown(key, tag, known)


def sentence(fault: Any) -> str:
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
