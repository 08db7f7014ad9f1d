"""How a stage becomes a command: error display, exit codes, the `--spec` argument.

Every stage ends with `main(app)`.
"""

import functools
import inspect
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import pydantic
import typer
from pydantic_core import ErrorDetails
from typer.models import OptionInfo

from residuum.cli import interrupts, memory, outputs, progress
from residuum.cli.errors import ResiduumError, hint, printable, unknown, worded

JOB = "RESIDUUM_JOB"  # set where Snakemake runs a command, which decides what it may replace
MADE = {"artefact", "spec", "inputs"}  # keys of every manifest of residuum
LOCAL = "may name a folder"  # of an option that takes a folder or a name of the hub
Verb = TypeVar("Verb", bound=Callable[..., object])
Model = TypeVar("Model", bound=pydantic.BaseModel)


def _writable(option: typer.CallbackParam, path: Path | None) -> Path | None:
    return path if path is None else outputs.writable(option.opts[0], path)


def written(text: str) -> OptionInfo:
    """Return the option of a file or folder that a command writes; `text` is its help."""
    option: OptionInfo = typer.Option(help=text, callback=_writable)
    return option


def _replaceable(option: typer.CallbackParam, output: Path) -> Path:
    """Return a folder that a command may replace whole: new, empty, or made by residuum.

    Any other folder is a ResiduumError, before any work. Snakemake deletes the manifest of a folder
    before it runs the folder's job again, so a job may replace any folder.
    """
    outputs.writable(option.opts[0], output)
    if JOB in os.environ or not output.is_dir() or not any(output.iterdir()):
        return output
    with suppress(OSError, ValueError, RecursionError):
        record = json.loads((output / "manifest.json").read_bytes())
        if isinstance(record, dict) and record.keys() >= MADE:
            return output
    raise ResiduumError(
        f"--output {output}: a folder that holds files, and no manifest.json of residuum. It would "
        "be replaced whole, so nothing is done. Name another folder, or delete this one."
    )


def _tag(tag: str) -> str:
    if tag.split() != [tag] or not tag.isprintable():
        raise ResiduumError(
            f"--tag {tag!r}: the tag is a column of the run. Give a name without spaces or control "
            "characters"
        )
    return tag


# Marks an option that is read if it is there: a folder in which a page without runs looks for none.
MAY_LACK = "may lack"
# Options that several stages have; a stage declares its own others, `--spec` with its schema.
Corpus = Annotated[Path, typer.Option(help="corpus folder with its manifest.json")]
Queries = Annotated[Path, typer.Option(help="queries.tsv of the split: query_id TAB text")]
Qrels = Annotated[Path, typer.Option(help="TREC qrels of the split")]
Folds = Annotated[list[Path] | None, typer.Option(help="queries of a collection's fold; repeat")]
JudgedBefore = Annotated[
    list[Path] | None,
    typer.Option(help="qrels of an earlier round, or queries, whose own ids are docs; left out"),
]
Tag = Annotated[
    str, typer.Option(help="name of the system, the last column of the run", callback=_tag)
]
Run = Annotated[Path, written("run to write, .trec.gz")]
Folder = Annotated[
    Path, typer.Option(help="folder to write, whole or not at all", callback=_replaceable)
]
Measures = Annotated[list[str], typer.Option(help="ir_measures name, may be repeated")]
Metrics = Annotated[Path, typer.Option(help="folder of the metrics files"), MAY_LACK]
Measured = Annotated[Path, typer.Option(help="folder of all measurements of fidelity"), MAY_LACK]
Bounds = Annotated[Path, typer.Option(help="folder of the bounds of measures"), MAY_LACK]
Learning = Annotated[list[Path] | None, typer.Option(help="whether a model learned; repeat")]
Groups = Annotated[list[Path] | None, typer.Option(help="groups of a split's queries; repeat")]
PartRuns = Annotated[
    list[str], typer.Option(help="a part and its run: SYSTEM=RUN; repeat for each part")
]
Shard = Annotated[int, typer.Option(help="which shard, counted from 0")]
Of = Annotated[int, typer.Option(help="number of shards")]
Splits = Annotated[list[str], typer.Option(help="split and its queries.tsv: dev=PATH")]
Page = Annotated[Path, written("TSV to write; .md and .tex go beside it")]
Start = Annotated[str, typer.Option(help="Hugging Face folder or hub id to start from"), LOCAL]
Windows = Annotated[str | None, typer.Option(help="JSON of Windows: docs are read in passages")]
Revision = Annotated[str | None, typer.Option(help="hub commit of a model of the hub")]
Pickled = Annotated[
    bool, typer.Option("--pickled", help="read pickled weights, and only their tensors")
]
Work = Annotated[Path, written("folder of the resumable checkpoint")]
SaveEvery = Annotated[
    float, typer.Option(min=0, help="seconds between savings of the resumable checkpoint")
]
Threads = Annotated[int, typer.Option(min=1, help="CPU threads; the last digits depend on it")]
Workers = Annotated[int, typer.Option(min=1, help="threads; no value depends on them")]
JavaThreads = Annotated[int, typer.Option(min=1, help="Java threads; the result is the same")]
Device = Annotated[str, typer.Option(help="auto, cuda, mps or cpu")]
Precision = Annotated[
    str, typer.Option(help="auto, fp32 or bf16; fp16, too, where nothing is trained")
]
Arithmetic = Annotated[str, typer.Option(help="native, or portable between x86-64 CPUs")]
BatchSize = Annotated[int, typer.Option(min=1, help="texts in a batch")]


PANIC = "PanicException"  # of libraries in Rust: no Exception, by pyo3's design


class _Verbs(typer.Typer):
    """An application whose verbs first check what they read, and that no output replaces it."""

    def command(self, *names: Any, **settings: Any) -> Callable[[Verb], Verb]:
        """Register a verb; the function itself stays as it is."""
        register = super().command(*names, **settings)

        def add(verb: Verb) -> Verb:
            @functools.wraps(verb)
            def checked(**values: object) -> object:
                hints = get_type_hints(verb, include_extras=True)
                _present(hints, values, inspect.signature(verb).parameters)
                outputs.refuse(*_parted(hints, values))
                return verb(**values)

            register(checked)
            return verb

        return add


def _present(
    hints: Mapping[str, object],
    values: Mapping[str, object],
    declared: Mapping[str, inspect.Parameter],
) -> None:
    """Raise ResiduumError for an option that names a missing file or folder to read.

    Options with a default folder are not checked: their verbs say more about the folder.
    """
    for name, value in values.items():
        about = getattr(hints[name], "__metadata__", ())
        read = any(isinstance(each, OptionInfo) and each.callback is None for each in about)
        read = read and MAY_LACK not in about and not isinstance(declared[name].default, Path)
        for path in value if isinstance(value, list) else [value]:
            if read and isinstance(path, Path) and not (path.is_file() or path.is_dir()):
                what = "a pipe or a device" if path.exists() else "no such file or folder"
                raise ResiduumError(f"{_option(name)} {path}: {what}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parted(
    hints: Mapping[str, object], values: Mapping[str, object]
) -> tuple[list[outputs.Output], list[Path]]:
    """Return what a verb writes and what it may read, by its options' types."""
    writes, reads = list[outputs.Output](), list[Path]()
    for name, value in values.items():
        about = getattr(hints[name], "__metadata__", ())
        asked = [getattr(each, "callback", None) for each in about]
        if _writable in asked or _replaceable in asked:
            if isinstance(value, Path):
                writes.append(outputs.Output(_option(name), value, _replaceable in asked))
        elif isinstance(value, Path) or (isinstance(value, str) and LOCAL in about):
            reads += [Path(value)] if value else []
        elif isinstance(value, list):
            reads += [path for each in value for path in _paths(each)]
    return writes, reads


def _paths(value: object) -> list[Path]:
    """Return the paths that an element of a list may hold: PATH, NAME=PATH, or PATH,PATH.

    A text that is no path names nothing that exists, and `outputs.refuse` skips it.
    """
    if not isinstance(value, str):
        return [value] if isinstance(value, Path) else []
    return [Path(text) for text in (value, value.partition("=")[2], *value.split(",")) if text]


def app(doc: str | None) -> typer.Typer:
    """Return the Typer application of a stage whose verbs are always named."""
    made = _Verbs(help=doc, add_completion=False, pretty_exceptions_enable=False)
    made.callback()(lambda: None)
    return made


def main(application: typer.Typer) -> None:
    """Run a stage's command line; an error of ours or the system's is one message and status 1."""
    memory.keep(memory.MODEST)
    if sys.stderr is None:  # it was closed: what is said goes nowhere, and nothing fails
        # Open for as long as the process lives, so that no block can close it.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    progress.about(sys.argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # of another encoding, or a name of other bytes
        with suppress(OSError):  # of a forked job, which began with another file as its output
            sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with interrupts.caught():
            application()
    except (ResiduumError, OSError) as error:
        print(f"error: {printable(worded(error))}", file=sys.stderr)
        if os.environ.get("RESIDUUM_TRACEBACK"):
            traceback.print_exc()
        raise SystemExit(1) from None
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        text = f"a library could not go on with what it was given ({error})"
        print(f"error: {printable(text)}", file=sys.stderr)
        raise SystemExit(1) from None


def parse_spec(model: type[Model], text: str | bytes, source: str = "--spec") -> Model:
    """Read JSON, of an option or a file, into its schema; a fault names the source and the key."""
    try:
        return model.model_validate_json(text)
    except pydantic.ValidationError as error:
        raise ResiduumError(describe(source, error)) from None


def pairs(texts: Iterable[str]) -> list[tuple[str, Path]]:
    """Read an option of the form NAME=PATH; the caller checks the names."""
    return [(name, Path(path)) for name, _, path in (text.partition("=") for text in texts)]


def named_paths(option: str, texts: list[str], required: Collection[str]) -> dict[str, Path]:
    """Read an option of the form NAME=PATH that must be given once for each required name."""
    return {name: Path(path) for name, path in _named(option, "PATH", texts, required).items()}


def each_once(
    option: str, folders: Collection[Path], what: str, named: Collection[str]
) -> list[Path]:
    """Return the folders that an option was given for names, each once.

    Several roles can have one collection. Raises ResiduumError unless there is a folder for each
    name; `what` says what the names are.
    """
    if len(folders) != len(named):
        fault = f"is given {len(folders)} times, but {what} are {', '.join(named) or 'none'}"
        raise ResiduumError(f"{option} {fault}: give one folder for each, in this order")
    return list(dict.fromkeys(folders))


def named_counts(option: str, texts: list[str], required: Collection[str]) -> dict[str, int]:
    """Read an option of the form NAME=K, a count, that must be given once for each name."""
    counts = _named(option, "K", texts, required)
    if odd := [f"{name}={text}" for name, text in counts.items() if not text.isdecimal()]:
        raise ResiduumError(f"{option} {odd[0]}: not a whole number")
    return {name: int(text) for name, text in counts.items()}


def _named(option: str, form: str, texts: list[str], required: Collection[str]) -> dict[str, str]:
    values = {name: value for name, _, value in (text.partition("=") for text in texts)}
    if empty := [text for text in texts if not text.partition("=")[2]]:
        raise ResiduumError(f"{option} {empty[0]}: nothing is named; write {option} NAME={form}")
    if others := [name for name in values if name not in required]:
        raise ResiduumError(f"{option}: {unknown('name', others[0], required)}")
    if missing := [name for name in required if name not in values]:
        raise ResiduumError(f"{option} {missing[0]}={form} is missing")
    return {name: values[name] for name in required}


OF_KEYS = ("dict_type", "no_mapping")  # faults of what is no mapping


def describe(name: str, error: pydantic.ValidationError, data: object = None) -> str:
    """Word pydantic's faults one per line: the name, the path of keys, what was found or is valid.

    With the `data` that was checked, the path is without the tags that pydantic adds for unions.
    """
    faults: dict[str, list[ErrorDetails]] = {}
    for fault in error.errors():
        path = ".".join(map(str, _path(fault, data) if data else fault["loc"]))
        faults.setdefault(path, []).append(fault)
    return "\n".join(
        f"{name}: {path or '(top level)'}: {_sentence(fault)}"
        for path, some in faults.items()
        for fault in some
        if _meant(fault, path, faults)
    )


def _meant(fault: ErrorDetails, path: str, faults: Mapping[str, list[ErrorDetails]]) -> bool:
    """Say whether a fault is of the form that was given, where both a mapping and a word are valid.

    Pydantic tells the faults of both forms.
    """
    given, kind = fault["input"], fault["type"]
    if isinstance(given, dict):
        within = any(place.startswith(f"{path}.") for place in faults)
        return not (within and (kind == "literal_error" or kind.endswith(("_type", "_parsing"))))
    words = any(other["type"] not in OF_KEYS for other in faults[path])
    return not (words and isinstance(given, str) and kind in OF_KEYS)


def _path(fault: ErrorDetails, data: object) -> Iterator[int | str]:
    for part in fault["loc"]:
        steps = dict(enumerate(data)) if isinstance(data, list) else data
        if isinstance(steps, dict) and part in steps:
            data = steps[part]
        elif fault["type"] != "missing" or part != fault["loc"][-1]:
            continue
        yield part


def _sentence(fault: ErrorDetails) -> str:
    context = fault.get("ctx", {})
    if fault["type"] in ("missing", "unknown_key"):
        return "missing key" if fault["type"] == "missing" else fault["msg"]
    if fault["type"] in OF_KEYS:
        keys = fault["msg"] if fault["type"] == "no_mapping" else "a mapping is needed"
        return f"{keys} {_found(fault['input'])}"
    if fault["type"].startswith("union_tag"):
        key, known = context["discriminator"].strip("'"), context.get("expected_tags", "")
        if "tag" in context:
            return unknown(key, context["tag"], known.replace("'", "").split(", "))
        more = f"; one of {known}" if known else ""
        given, whole = fault["input"], not fault["loc"]
        if not isinstance(given, dict):
            return f"not a mapping with the key {key}{more} {_found(given)}"
        found = f" (found the keys {', '.join(map(str, given))})"
        return f"missing key {key}{', or base: a file that has it' * whole}{more}{found}"
    text = f"{fault['msg'].removeprefix('Value error, ')} {_found(fault['input'])}"
    if fault["type"] == "literal_error":
        close = hint(str(fault["input"]), re.findall(r"'([^']*)'", str(context["expected"])))
        return f"{text}.{close}" if close else text
    return text


def _found(value: object) -> str:
    given = json.dumps(value, default=str)
    return f"(found {given if len(given) <= 80 else given[:77] + '...'})"
