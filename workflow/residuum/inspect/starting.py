"""Write entries that make a tested table of a folder: dataset, scale, systems, table, figures.

Command: `residuum new data/mine --model HUB_ID_OR_FOLDER`. The entries are checked and pinned in a
copy of the configuration. They are put into it together, or not at all.
"""

import json
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from textwrap import dedent, indent
from typing import NamedTuple, Self

from residuum import data
from residuum.artefacts import files, yamls
from residuum.cli.errors import ResiduumError, printable
from residuum.collections.lines import MOST_SHOWN
from residuum.collections.recognising import TRAINS, TUNES, Entry, Recognised, recognised
from residuum.collections.records import Rows
from residuum.config import entries, loading, roots
from residuum.config.entries import Folder
from residuum.config.schema.base import ID
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.models import Model, Reads, ReleasedEncoder, Vectors
from residuum.config.unwritten import SUFFIX
from residuum.inspect import datasets, pinning
from residuum.neural import hub
from residuum.wiring.paths import Paths, results_of

LEAST_TUNED = 200  # training queries from which a tuning split is drawn
HELD_OUT, DRAWN = 100, "tune"  # queries of such a split, and its name
LEAST_FOLDED = 10  # queries that fold by fold choose a weight
FOLDS = 5
OF_YAML = re.compile(r"[0-9][0-9e_-]*|true|false|null|yes|no|on|off|y|n")  # no text, as a value
RERANKS = "ForSequenceClassification"  # ends the class of a cross-encoder
NAMELESS = {"model", "models", "checkpoint", "encoder"}  # names of folders that tell nothing
PAGES = ("table1", "figure1", "figure2", "figure3")  # of the new paper
BM25, RM3 = ("BM25", "bm25-default"), ("BM25 + RM3", "bm25-default-rm3")  # label and system
TRAINED = [("DPR, trained on it", "dpr-embedding"), ("BM25 + DPR, weighted sum", "dpr-ei")]
TOKENS = {"pooling": "tokens"}  # what an entry says of a late encoder


class TableModel(NamedTuple):
    """A model of the table: its system, a label, and the entry to write, or "" if it exists."""

    id: str
    system: str
    label: str
    entry: str = ""
    reranker: str = ""  # what a system of kind rerank names; "" for a model with vectors
    trained: bool = False


def start(config: Path, folder: Path, models: Sequence[str], name: str | None) -> Iterator[str]:
    """Yield lines on what was recognised, checked and written, and the commands that follow.

    `models` are ids of config/models, ids of the hub, or folders. `name` is the id of the new
    entries, by default the folder's name. Raises ResiduumError before anything is written if an
    entry exists, the folder or a model cannot be told, or a check fails.
    """
    name = _id(Path(os.path.abspath(folder)).name) if name is None else name
    _refuse_taken(config, name)
    called = _as_table_model(folder)
    layout = recognised(folder, called)
    yield f"{folder}: {layout.form}; splits: {', '.join(layout.splits)}"
    if Path(called).is_absolute():
        yield f"{folder}: not below RESIDUUM_DATA ({roots.data()}), so it is named by its full path"
    if layout.unread:
        more = f" and {len(layout.unread) - 5} others" if len(layout.unread) > 5 else ""
        yield f"not read: {', '.join(layout.unread[:5])}{more}"
    taken, held = Taken.read(config), list[TableModel]()
    for model in {_same(model): model for model in models}.values():
        held.append(_table_model(model, taken, name, [one.id for one in held]))
    with tempfile.TemporaryDirectory(prefix="residuum-") as temporary:
        staged = Path(temporary) / "config"
        shutil.copytree(config, staged)
        try:
            yield from _stage(staged, name, folder, layout, held)
        except ResiduumError as error:
            text = str(error).replace(str(staged), str(config))
            raise ResiduumError(f"{text}\nNothing was written.") from None
        written = _put(staged, config, name)
    for path in written:
        yield f"wrote {path}"
    yield f"Read them, then run:\n    residuum plan --scale {name} --paper {name}"
    yield f"    snakemake --cores all --config scale={name} papers=[{name}]"
    table = Path(Paths(results_of(name)).table.fill(page=f"{name}-table1")).with_suffix(".md")
    yield f"The table is then {table}."


def _id(text: str) -> str:
    """Return an id made of a text; a text without letters and digits raises ResiduumError."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore")
    made = re.sub(r"[^a-z0-9]+", "-", plain.decode().lower()).strip("-")
    if not made:
        raise ResiduumError(f"{text!r} makes no id. Give one: --paper NAME ({entries.NAMED})")
    return made


def _paths(name: str) -> dict[str, str]:
    """Return the file of each kind of entry, below config/."""
    made = {kind: f"{kind}/{name}.yaml" for kind in ("datasets", "models", "systems", "scales")}
    return {**made, **{page: f"papers/{name}/{page}.yaml" for page in PAGES}}


def _refuse_taken(config: Path, name: str) -> None:
    if not re.fullmatch(ID, name) or OF_YAML.fullmatch(name):
        text = "and is no number, date or other value of YAML"
        raise ResiduumError(f"--paper {name!r}: a name has {entries.NAMED}, {text}")
    if not (config / "datasets").is_dir():
        raise ResiduumError(f"{config / 'datasets'}: no such folder. Run this in the project's.")
    held = [Folder(config / kind).locations.get(name) for kind in ("datasets", "scales")]
    here = [str(location.path) for location in held if location]
    here += [str(path) for below in _paths(name).values() if (path := config / below).exists()]
    folder = config / "papers" / name
    here += [str(folder)] * folder.exists()
    if here:
        text = "Delete what is there, or give another name: --paper NAME"
        raise ResiduumError(f"{', '.join(dict.fromkeys(here))}: exists already. {text}")


def _as_table_model(folder: Path) -> str:
    """Return what a dataset entry calls a folder: its path below RESIDUUM_DATA, or from the top."""
    given, below = (Path(os.path.abspath(path)) for path in (folder, roots.data()))
    inside = given.is_relative_to(below) and given != below
    return given.relative_to(below).as_posix() if inside else str(given)


def _same(model: str) -> str:
    """Return what tells a model apart: of a folder, its real path."""
    return str(Path(model).resolve()) if model and Path(model).is_dir() else model


class Taken(NamedTuple):
    """The models of the configuration, and the ids of its systems."""

    models: dict[str, Model]
    systems: set[str]

    @classmethod
    def read(cls, config: Path) -> Self:
        """Read them; a fault of theirs is told when all entries are checked."""
        held = entries.load_folder(Folder(config / "models"), loading.FORMS["models"], [])
        return cls(held, {*Folder(config / "systems").locations})


def _table_model(given: str, taken: Taken, paper: str, others: Sequence[str]) -> TableModel:
    """Return a model of the table by an id of config/models, a folder, or an id of the hub.

    A new model gets an id that neither a model, nor a system, nor one of `others` has.
    """
    same = [
        model
        for model, entry in taken.models.items()
        if isinstance(entry, ReleasedEncoder) and given in (entry.hub, entry.path)
    ]
    if given in taken.models or same:
        return _existing(given if given in taken.models else min(same, key=len), taken)
    path = Path(given)
    is_folder = path.is_dir()
    is_id = given.count("/") == 1 and not given.startswith((".", "/"))
    if not given or not (is_folder or is_id):
        shown = ", ".join(
            model for model, entry in taken.models.items() if isinstance(entry, ReleasedEncoder)
        )
        raise ResiduumError(
            f"--model {given}: no such folder, no entry of config/models and no id of the hub, "
            f"which is ORGANISATION/NAME. Entries that are released: {shown}."
        )
    title = _title(path) if is_folder else path.name
    plain = [] if OF_YAML.fullmatch(_id(title)) else [_id(title)]
    numbered = (f"{paper}-{_id(title)}-{number}" for number in count(2))
    made = next(
        one
        for one in chain(plain, [f"{paper}-{_id(title)}"], numbered)
        if one not in taken.models and one not in {*taken.systems, *others}
    )
    if is_folder and not any((path / name).is_file() for name in (*hub.CONFIG, hub.MODULES)):
        raise ResiduumError(f"--model {given}: no model: a folder without {hub.CONFIG[0]}")
    where, revision = ({"path": given}, None) if is_folder else _on_the_hub(given)
    if _reranks(given, revision):
        pair = yamls.dump({**where, "reading": {"length": 512}}, one_line=True)
        return TableModel(made, f"{paper}-{made}", title, reranker=pair)
    keys = {"kind": "released-encoder", "description": title, **where, **_read(given, revision)}
    return TableModel(made, made, title, _lines(keys))


def _lines(keys: dict[str, str]) -> str:
    return "".join(f"{key}: {_text(value)}\n" for key, value in keys.items())


def _title(folder: Path) -> str:
    """Return the name of a model's folder, or of the folder above it if it is no name."""
    parts = reversed(folder.resolve().parts)
    return next((part for part in parts if part.lower() not in NAMELESS), folder.name)


def _text(value: str) -> str:
    return yamls.dump(value, one_line=True).strip()


def _existing(model: str, taken: Taken) -> TableModel:
    entry = taken.models[model]
    if not isinstance(entry, Vectors):
        text = f"a model of kind {entry.kind}, which makes no vectors of docs"
        raise ResiduumError(f"--model {model}: {text}")
    trained = not entry.kind.startswith(("released", "program", "lexical"))
    label = model if trained else entry.description or model
    system = f"{model}{SUFFIX}" if model in taken.systems else model
    return TableModel(model, system, label, trained=trained)


def _on_the_hub(model: str) -> tuple[dict[str, str], str]:
    """Return the keys of a model on the hub, and its newest commit.

    A model that neither the hub nor the cache gives raises ResiduumError.
    """
    branch = "main"
    if why := hub.missing(model, branch, pickled=True):
        text = "Its files say what it is. Name a folder, or an entry that you write by hand"
        raise ResiduumError(f"--model {model}: {why}. {text} (docs/how-to/published-model.md).")
    hub.had(model, branch, *hub.CONFIG)
    commit = hub.commit(model, branch) or branch
    return {"hub": model, "revision": commit}, commit


def _reranks(model: str, revision: str | None) -> bool:
    """Say whether a model reads query and doc together, by the class that its files name."""
    is_folder = Path(model).is_dir()
    path = Path(model, *hub.CONFIG) if is_folder else hub.had(model, revision, *hub.CONFIG)
    try:
        held = json.loads(path.read_bytes()) if path and path.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return False  # its reader says what is wrong with it
    classes = held.get("architectures") if isinstance(held, dict) else None
    return any(str(one).endswith(RERANKS) for one in classes or [])


def _read(model: str, revision: str | None) -> dict[str, str]:
    """Return the keys that an encoder's entry needs beside its place: those of a late one, or none.

    Raises ResiduumError if the model's files do not say how it is read.
    """
    from residuum.neural import release
    from residuum.neural.pretrained import Source

    try:
        release.read(Source(model, revision), Reads.model_validate({}))
    except ResiduumError as error:
        with suppress(ResiduumError):
            release.read(Source(model, revision), Reads.model_validate(TOKENS))
            return TOKENS
        raise ResiduumError(
            f"--model {model}: {error}\nGive it an entry of its own in config/models "
            "(docs/how-to/published-model.md), and name its id: --model ID"
        ) from None
    return {}


class Roles(NamedTuple):
    """What splits are for: one trains, one tunes, the others are measured; and remarks on it."""

    train: str | None
    tune: str | None
    measured: list[str]
    remarks: list[str]


def _roles(folder: Path, judged: Mapping[str, set[str]]) -> Roles:
    """Return what splits are for, by their names and their judged queries.

    Nothing is chosen on queries that are measured.
    """
    train = next((one for one in TRAINS if one in judged), None)
    tune = next((one for one in TUNES if one in judged), None)
    measured, remarks = [one for one in judged if one not in (train, tune)], []
    if tune and not measured:
        measured, tune = [tune], None
    if not measured:
        raise ResiduumError(f"{folder}: the only split is {train}; one to measure must be there")
    if shared := [one for one in measured if tune and judged[one] & judged[tune]]:
        text = f"{tune} and {shared[0]} share queries, so that nothing is chosen on {tune}"
        remarks.append(text)
        tune = None
    if shared := [one for one in measured if train and judged[one] & judged[train]]:
        text = f"{train} and {shared[0]} share queries: what is trained has seen them"
        remarks.append(f"warning: {text}")
    elif train and not tune and len(judged[train]) >= LEAST_TUNED:
        tune = DRAWN if DRAWN not in judged else f"{DRAWN}-drawn"
    return Roles(train, tune, measured, remarks)


def _stage(
    staged: Path, name: str, folder: Path, layout: Recognised, models: Sequence[TableModel]
) -> Iterator[str]:
    """Write the entries into a copy of the configuration, check them, and yield the findings."""
    splits, path = dict(layout.splits), staged / "datasets" / f"{name}.yaml"
    path.write_text(_dataset(folder, layout, {}))
    dataset = datasets.find(staged, name)
    rows = {split: data.load_split(name, split, dataset) for split in splits}
    judged = {split: {query for query, *_ in one.qrels} for split, one in rows.items()}
    train, tune, measured, remarks = _roles(folder, judged)
    yield from remarks
    own = {key: one for key, one in (("train", train), ("tune", tune)) if one}
    if tune and tune not in splits:
        splits[tune] = {"holdout": {"of": train, "queries": HELD_OUT, "seed": 1}}
    if lacking := [one.id for one in models if one.trained and not train]:
        text = "the folder has no split train. Name released models"
        raise ResiduumError(f"--model {lacking[0]}: it is trained on the collection; {text}.")
    path.write_text(_dataset(folder, layout._replace(splits=splits), own))
    yield f"train: {train or 'none'}; tune: {tune or 'none'}; measured: {', '.join(measured)}"
    yield from _samples(dataset, measured[0], rows[measured[0]])
    for finding in datasets.check(staged, name):
        if finding.good is False:
            raise ResiduumError(f"{finding.what}: {finding.message}")
        if not finding.what.startswith("file "):
            yield str(finding).replace("; nothing is pinned", "")
    pinning.pin(staged, name, "pinned", False)
    (edition,) = datasets.find(staged, name).editions
    least = min(edition.splits[one].queries for one in measured)
    folds = min(FOLDS, least // 2) if least >= LEAST_FOLDED else 0
    chosen = "tune_on: own" if tune else f"folds: {folds}, seed: 1" if folds else ""
    new = [(one.id, one.entry) for one in models if one.entry]
    texts = {
        "models": _entries("models", new) if new else "",
        "systems": _systems(name, models, chosen) if models else "",
        "scales": _scale(name, models, measured, bool(train and tune)),
        "table1": _table(name, models, measured, bool(train and tune), chosen),
        **dict(_figures(name, models, measured[0], bool(train and tune))),
    }
    for kind, text in texts.items():
        if text:
            path = staged / _paths(name)[kind]
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    base = entries.parse(staged / "config.yaml", dict[str, object])
    loading.load(staged, {**base, "scale": name, "papers": [name]})


def _samples(dataset: Dataset, split: str, rows: Rows) -> Iterator[str]:
    """Yield which fields are the text of docs and queries, and the first of each, cut short."""
    source = dataset.source
    _, fields = next(iter(data.DOCS[source.kind](dataset)), ("", {"text": ""}))
    joined = " + ".join(getattr(source, "text_fields", ["text"]))
    yield f"text of docs: {joined}, as {_cut(fields['text'])}"
    (_, query), *_ = [*rows.queries, ("", "")]
    yield f"text of queries: {dataset.splits[split].query_field}, as {_cut(query)}"


def _cut(text: str) -> str:
    return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")


def _schema(kind: str, below: str = "..") -> str:
    return f"# yaml-language-server: $schema={below}/schema/{kind}.schema.json\n"


def _dataset(folder: Path, layout: Recognised, own: dict[str, str]) -> str:
    says = {
        own.get("train", ""): "trains what belongs to this collection",
        own.get("tune", ""): "lambda and other settings are chosen on it",
    }
    lines = [
        f"# {printable(str(folder))}, as it lies there.",
        "# docs/datasets.md describes every form and key.",
        f"source: {yamls.dump(layout.source, one_line=True)}   # paths are below RESIDUUM_DATA",
        "splits:   # measured by nDCG@10 and R@100, unless a split names `measures`",
    ]
    for split, entry in layout.splits.items():
        comment = f"   # {says[split]}" if split in says else ""
        lines.append(f"  {_text(split)}: {yamls.dump(entry, one_line=True)}{comment}")
    if own:
        lines.append(f"own: {yamls.dump(own, one_line=True)}")
    return _schema("datasets") + "\n".join(lines) + "\n"


def _scale(name: str, models: Sequence[TableModel], measured: Sequence[str], trains: bool) -> str:
    trains = trains if not models else any(one.trained for one in models)
    why = "no paper prints numbers of this collection"
    why = f"trained models are as small as mini's, and {why}" if trains else why
    base = "base: laptop   # trains nothing; `base: mini` trains small models"
    if trains:
        base = "base: mini   # trains small models; `base: midsize` starts from published ones"
    roles = "\n".join(f"  {name}-{split}: {name}/{split}" for split in measured)
    return (
        _schema("scales")
        + f"# snakemake --cores all --config scale={name} papers=[{name}]\n{base}\n"
        + f"description: First stages on {name}.\ncomparable: false\n"
        + f"reason: {why}.   # stands on every page\n"
        + f"roles:   # what columns of a table call a split\n{roles}\n"
    )


def _entries(kind: str, texts: Sequence[tuple[str, str]]) -> str:
    """Return a file of several entries, {id: text of its keys}."""
    made = "\n".join(f"  {one}:\n{indent(dedent(text), '    ')}" for one, text in texts)
    return f"{_schema(kind)}entries:\n{made}"


def _systems(name: str, models: Sequence[TableModel], chosen: str) -> str:
    """Return the file of the systems: of each model a weighted sum, RRF, or a reranked BM25."""
    made = []
    for one in models:
        key = f"{name}-{one.id}"
        if one.reranker:
            grid = "grid: [10, 20, 50], tune_on: own, measure: nDCG@10"
            depth = grid if chosen.startswith("tune_on") else "value: 50"
            made.append((one.system, f"""\
                kind: rerank
                label: {_text(f"BM25, reranked by {one.label}")}
                first_stage: bm25-default
                reranker: {one.reranker}
                depth: {{{depth}}}   # docs that it puts into order
                """))  # fmt: skip
            continue
        if chosen:
            made.append((f"{key}-sum", f"""\
                # Scores of a list go from 0 to 1. Lambda weighs the model's; 0 is BM25 alone.
                kind: fusion
                label: {_text(f"BM25 + {one.label}, weighted sum")}
                parts: [bm25-default, {one.system}]
                normalise: min-max
                unretrieved: zero
                interpolation:
                  weighted: {one.system}
                  grid: [0, 0.1, 0.2, 0.5, 1, 2, 5, 10]
                  measure: nDCG@10
                  {_setting(chosen)}
                k: 1000
                """))  # fmt: skip
        made.append((f"{key}-rrf", f"""\
            # Sums 1 / (60 + rank). It has nothing to choose.
            kind: rrf
            label: {_text(f"BM25 + {one.label}, RRF")}
            parts: [bm25-default, {one.system}]
            rank_constant: 60
            k: 1000
            """))  # fmt: skip
    return _entries("systems", made)


def _setting(chosen: str) -> str:
    if chosen.startswith("folds"):
        folds, seed = chosen.split(", ")
        return f"{folds}   # each fold gets the weight that is best on the others\n{' ' * 18}{seed}"
    return f"{chosen}   # the dataset's `own.tune`"


def _table(
    name: str, models: Sequence[TableModel], measured: Sequence[str], trained: bool, chosen: str
) -> str:
    columns: list[Entry] = [
        {
            "id": f"{split}-{key}",
            "role": f"{name}-{split}",
            "measure": measure,
            "header": f"{split} {measure}" if len(measured) > 1 else measure,
        }
        for split in measured
        for key, measure in (("ndcg", "nDCG@10"), ("recall", "R@100"))
    ]
    rows = _rows(name, models, trained, bool(chosen))
    listed: list[Entry] = [
        {"id": system, "index": number, "label": label, "system": system}
        for number, (label, system) in enumerate(rows, start=1)
    ]
    return (
        _schema("papers", "../..")
        + f"kind: table\ntitle: First stages on {name}\n"
        + "columns:   # a split that a scale's `roles` name, and a measure of ir_measures\n"
        + _items(columns)
        + "rows:   # a system of config/systems, or a model of config/models\n"
        + _items(listed)
        + "tests: holm   # a permutation test, corrected within a column; others: config/tests\n"
    )


def _rows(
    name: str, models: Sequence[TableModel], trained: bool, weighted: bool
) -> list[tuple[str, str]]:
    """Return label and system of each row; `weighted` sums are shown where a weight is chosen."""
    rows = [BM25, RM3, *(TRAINED if not models and trained else [])]
    for one in models:
        if one.reranker:
            rows.append((f"BM25, reranked by {one.label}", one.system))
            continue
        rows.append((one.label, one.system))
        rows += [(f"BM25 + {one.label}, weighted sum", f"{name}-{one.id}-sum")] * weighted
        rows.append((f"BM25 + {one.label}, RRF", f"{name}-{one.id}-rrf"))
    return rows


def _figures(
    name: str, models: Sequence[TableModel], split: str, trained: bool
) -> Iterator[tuple[str, str]]:
    """Yield figures: recall by cutoff, systems beside BM25 by query, circles of models and BM25."""
    shown = [row for row in _rows(name, models, trained, False) if not models or row != RM3]
    reranked = {one.system for one in models if one.reranker}
    first_stages, role = [row for row in shown if row[1] not in reranked], f"{name}-{split}"
    yield (
        "figure1",
        _figure(f"Recall by cutoff on {split} of {name}", role, first_stages)
        + "over: cutoff   # 1, 2, 5, 10, 20, ... docs, up to those of the panel's measure\n"
        "panels: [{id: recall, shows: measure, measure: R@1000, header: Recall}]\n",
    )
    yield (
        "figure2",
        _figure(f"Query by query on {split} of {name}", role, shown)
        + "over: query   # a circle for each pair of values\n"
        "panels: [{id: ndcg, shows: measure, measure: nDCG@10, header: nDCG@10}]\n",
    )
    dense = [row for row in _rows(name, models, trained, False) if row[1] in _dense(models)]
    circles: list[Entry] = [
        {"id": system, "label": label, "dense": system, "lexical": BM25[1]}
        for label, system in dense
    ]
    if circles:
        title = f"Queries that models and BM25 answer on {split} of {name}"
        yield (
            "figure3",
            _head("venn", title, role)
            + "measure: Success@10   # a query is answered by a relevant doc among the first ten\n"
            "rows:   # two circles each; RoC is the share of the model's queries that BM25 lacks\n"
            + _items(circles),
        )


def _dense(models: Sequence[TableModel]) -> set[str]:
    """Return the systems that search by a model's vectors; without models, that of the DPR."""
    return {one.system for one in models if not one.reranker} or {TRAINED[0][1]}


def _head(kind: str, title: str, role: str) -> str:
    """Return the first lines of a figure or of circles."""
    keys = f"kind: {kind}\ntitle: {_text(title)}\nrole: {_text(role)}\n"
    return f"{_schema('papers', '../..')}{keys}"


def _figure(title: str, role: str, shown: Sequence[tuple[str, str]]) -> str:
    """Return the head of a figure, whose series are labels and systems."""
    series: list[Entry] = [
        {"id": system, "label": label, "system": system} for label, system in shown
    ]
    return (
        _head("figure", title, role)
        + f"series:   # the first is tested against each other one\n{_items(series)}"
        + "tests: depths   # a permutation test, corrected within a panel\n"
    )


def _items(listed: Sequence[Entry]) -> str:
    return "".join(f"  - {yamls.dump(item, one_line=True)}\n" for item in listed)


def _put(staged: Path, config: Path, name: str) -> list[Path]:
    """Copy the new files into the configuration; return their paths. A failure leaves none."""
    made: list[Path] = []
    try:
        for below in _paths(name).values():
            if (staged / below).is_file():
                with files.whole(config / below) as temporary:
                    shutil.copyfile(staged / below, temporary)
                made.append(config / below)
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise
    return made
