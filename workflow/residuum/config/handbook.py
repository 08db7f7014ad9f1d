"""Make config/README.md from the JSON schemas: every kind of entry with its keys and an example.

Usage: `handbook(schemas, Path("config"))`, with the schemas that `loading` makes. The meaning of a
key is in its class or in `schema/keys.yaml`.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from residuum.config.entries import Folder, Location
from residuum.config.keys import Schema, classes, named_by
from residuum.config.schema.base import ID, Ref

HEAD = """\
# Configuration

*Made of the schemas by `python -m residuum.config.loading schema`: edit their classes instead, or
`keys.yaml` beside them.*

Deploy this workflow by cloning its repository: its rules run the package that lies beside them, so
the graph is no Snakemake module. Everything below `config/` is yours to edit. `config.yaml` says
what to build; every other file holds entries of the kind that its folder is named by.

A file holds one entry, and the file's name is its id. Or its one key is `entries`: then it holds
several, each under its id, and its name means nothing. Here the entries of a paper stand together.

```yaml
# config/systems/mine.yaml
entries:
  bm25-k12:
    base: bm25
    bm25: {k1: 1.2}
  bm25-deep: {base: bm25, k: 10000}
```

Ids are small letters and digits, joined by `-` or `_`. A kind has each id once, in whichever file.
An entry with `base: OTHER` holds only what differs from the entry OTHER of its kind, in its file or
in another one. OTHER has no base itself, and `null` removes a key.

Files are YAML 1.2: 010 is 10, and 10:00, 1_0 and yes are texts. Unknown keys, wrong values and
names that no entry has come all at once, each with file, line and key, before the first job:
`residuum plan` shows them without one. A first line such as
`# yaml-language-server: $schema=../schema/systems.schema.json` lets an editor complete and check a
file of either form. docs/index.md has a page for each task.
"""
ENTRY = "entry"  # the name of an entry's form in a schema's $defs
MOST_LINES = 40  # lines of an example


class Chapter(NamedTuple):
    """The file names of a kind of entry, a sentence about it, and the examples to show.

    A kind without an example here is shown by its shortest entry.
    """

    file: str
    what: str
    examples: tuple[str, ...] = ()


CHAPTERS = {  # schema: its chapter
    "config": Chapter("config.yaml", "What to build.", ("config.yaml",)),
    "scales": Chapter(
        "SCALE.yaml",
        "What plays each role that pages and models name, and how much is spent.",
        ("lengths", "nfcorpus"),
    ),
    "datasets": Chapter(
        "DATASET.yaml",
        "A collection: where its docs come from, its splits, its pinned counts.",
        ("cacm", "nfcorpus"),
    ),
    "models": Chapter(
        "MODEL.yaml",
        "A checkpoint that the graph makes, or term weights and vectors in place of one.",
        ("clear", "reranker-base"),
    ),
    "systems": Chapter(
        "SYSTEM.yaml",
        "What makes a run: a ranked list of docs for each query.",
        ("bm25-rm3", "mining", "clear", "bm25-bert-base"),
    ),
    "papers": Chapter(
        "PAPER/PAGE.yaml",
        "A page of a paper: what it prints, or what its prose says. A page's name has no hyphen.",
    ),
    "tests": Chapter("TESTS.yaml", "How the rows of a page are compared.", ("clear",)),
    "groupings": Chapter(
        "GROUPING.yaml",
        "How the queries of a split are parted into groups.",
        ("lengths",),
    ),
    "fidelities": Chapter(
        "FIDELITY.yaml",
        "How far random projections keep a lexical ranking.",
    ),
    "sweeps": Chapter(
        "SWEEP.yaml",
        "An approximate search that is tried with more and more effort.",
    ),
}
NAMES = {  # the words for references that name no entry of a folder
    "dataset/split": "DATASET/SPLIT",
    "measure": "a measure",
    "tests": "tests",
}


def handbook(schemas: Mapping[str, Schema], folder: Path) -> str:
    """Return the text of config/README.md, with examples from the files of `folder`."""
    headings = {name: f"{name}/{chapter.file}" for name, chapter in CHAPTERS.items()}
    headings["config"] = CHAPTERS["config"].file
    links = [f"| [{h}](#{anchor(h)}) | {CHAPTERS[name].what} |" for name, h in headings.items()]
    parts = [HEAD, *table(("files", "what an entry is"), links)]
    shown: set[str] = set()
    for name, chapter in CHAPTERS.items():
        parts += [f"## {headings[name]}", "", chapter.what, ""]
        parts += _entry(schemas[name], _examples(folder / name, chapter), shown)
    return "\n".join(parts).rstrip() + "\n"


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def table(names: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a table: `names` are those of its columns."""
    yield f"| {' | '.join(names)} |"
    yield "|" + "---|" * len(names)
    yield from rows
    yield ""


def _examples(folder: Path, chapter: Chapter) -> dict[str, list[tuple[str, str]]]:
    """Return location and text of the examples, by the kind of entry."""
    held = [Folder(path).locations for path in (folder, *sorted(folder.glob("*/")))]
    every = [location for locations in held for location in locations.values()]
    named = {location.id: location for location in every}
    named[chapter.file] = Location(folder.parent / chapter.file)
    shown: dict[str, list[tuple[str, str]]] = {}
    for location in (named[name] for name in chapter.examples):
        shown.setdefault(_kind(location), []).append(_shown(location, folder.parent))
    for location in sorted(every, key=lambda location: len(location.text().splitlines())):
        kind = _kind(location)
        if kind not in shown and "base" not in location.read():
            shown[kind] = [_shown(location, folder.parent)]
    return shown


def _kind(location: Location) -> str:
    return str(location.read().get("kind", ""))


def _shown(location: Location, config: Path) -> tuple[str, str]:
    """Return where an entry is written, and its text, which is cut if it is long."""
    lines = location.text().splitlines()
    kept = [line for line in lines if not line.startswith("# yaml-language-server:")]
    cut = [*kept[:MOST_LINES], "# ..."] if len(kept) > MOST_LINES else kept
    file = f"`{location.path.relative_to(config).as_posix()}`"
    return f"`{location.id}` of {file}" if location.inside else file, "\n".join(cut)


def _entry(
    schema: Schema, examples: Mapping[str, list[tuple[str, str]]], shown: set[str]
) -> Iterator[str]:
    """Yield the lines of a kind of entry: its forms, then the parts of these forms."""
    defs = schema.get("$defs", {})
    whole = defs[ENTRY]["else"] if ENTRY in defs else schema
    mapping = whole.get("discriminator", {}).get("mapping", {})
    kinds = {_name(target): kind for kind, target in mapping.items()}
    forms = [defs[_name(form["$ref"])] for form in whole.get("oneOf", [])] or [whole]
    for form in forms:
        kind = kinds.get(form["title"], "")
        yield from [f"### kind: {kind}", ""] if kind else []
        yield from _form(form)
        for where, text in examples.get(kind, []):
            yield from [f"{where}:", "", "```yaml", text, "```", ""]
    waiting = [name for form in forms for name in _parts(form)]
    while waiting:
        name = waiting.pop(0)
        if name not in shown and name not in kinds:
            shown.add(name)
            waiting = [*_parts(defs[name]), *waiting]
            yield from [f"#### {name}", ""]
            yield from _form(defs[name])


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _parts(node: object) -> Iterator[str]:
    """Yield the names of the forms that a schema refers to, in the order of its keys."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield _name(node["$ref"])
        for key, value in node.items():
            if key != "discriminator":
                yield from _parts(value)
    elif isinstance(node, list):
        for value in node:
            yield from _parts(value)


def _form(form: Schema) -> Iterator[str]:
    """Yield the description of a form and a table of its keys."""
    yield from textwrap.wrap(plain(form.get("description", "")), 120, break_on_hyphens=False)
    yield ""
    entry_class, required = classes()[form["title"]], form.get("required", [])
    rows = []
    for key, given in form["properties"].items():
        value = given.get("default")
        shown = "" if value in (None, [], {}, "") else f"`{json.dumps(value, ensure_ascii=False)}`"
        default = "required" if key in required else shown
        named = ", ".join(map(_named, named_by(entry_class, key)))
        meaning = plain(given.get("description", "")) + (f" (names {named})" if named else "")
        rows.append(f"| `{key}` | {typed(given)} | {default} | {meaning} |")
    yield from table(("key", "type", "default", "meaning"), rows)


def _named(ref: Ref) -> str:
    what = NAMES.get(ref.to) or f"a {ref.to}"
    kinds = f" of kind {' or '.join(ref.kinds)}" if ref.kinds and ref.to != "measure" else ""
    return what + kinds + "".join(f", or {word}" for word in ref.besides)


def plain(text: str) -> str:
    """Return a text as one line of a Markdown table, with `<` and `|` escaped."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def typed(node: Schema) -> str:
    """Return the type of a value in words: `list of text`, `0.5 or more`, a link to a form."""
    if "$ref" in node:
        name = _name(node["$ref"])
        return f"[{name}](#{anchor(name)})"
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if members := node.get("anyOf") or node.get("oneOf"):
        return " or ".join(dict.fromkeys(typed(m) for m in members if m.get("type") != "null"))
    kind = node.get("type")
    if kind == "array":
        if "items" in node:
            return f"list of {typed(node['items'])}"
        return "list of " + " and ".join(typed(item) for item in node.get("prefixItems", []))
    if kind == "object":
        values = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
        value = next((schema for schema in values if isinstance(schema, dict)), {})
        return f"mapping of {typed(value)}" if value else "mapping"
    if kind == "string":
        return "id" if node.get("pattern") == ID else "text"
    words = {"integer": "whole number", "number": "number", "boolean": "true or false"}
    return words.get(str(kind), "any value") + _bounds(node)


def _bounds(node: Schema) -> str:
    bounds = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    given = [f"{word} {node[key]:g}" for key, word in bounds.items() if key in node]
    return f" ({', '.join(given)})" if given else ""
