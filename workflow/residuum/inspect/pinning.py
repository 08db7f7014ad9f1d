"""Count a dataset once, and write the counts as pins into its YAML.

Command: `residuum datasets pin mine`. Comments and the order of keys are kept. The file is replaced
whole or not at all. Other entries in the same file keep their text.
"""

import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

from residuum import data
from residuum.artefacts import files, yamls
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections import splits
from residuum.config.entries import SEVERAL, Folder, Location
from residuum.config.schema.datasets import Dataset, Edition
from residuum.config.schema.sources import Segmented
from residuum.inspect.datasets import Ids, find

KEY = "editions"


def pin(config: Path, name: str, edition: str, force: bool) -> str:
    """Read every record of a dataset, write its counts as an edition, and describe the change.

    An edition that is already pinned stays as it is. A new name adds an edition; `force` replaces
    all editions by this one.
    """
    if not edition.strip() or not edition.isprintable():
        text = "an edition's name is a text that can be printed, as 'of 2026'"
        raise ResiduumError(f"--name {edition!a}: {text}")
    dataset = find(config, name)
    location = Folder(config / "datasets").located(name)
    path = location.path
    made = counted(name, dataset, edition)
    pinned = {one.name: one for one in dataset.editions}
    if made in pinned.values():
        return f"{path}: these counts are pinned already:\n{_block([made])}"
    same = next((one.name for one in pinned.values() if _agrees(one, made)), None)
    if same and not force:
        unchanged = f"{path}: its edition '{same}' pins these counts already; nothing was written"
        if pinned[same].doc_bytes:
            return unchanged
        return f"{unchanged}. For plans, add what it lacks by hand: `doc_bytes: {made.doc_bytes}`"
    if edition in pinned and not force:
        raise ResiduumError(
            f"{path}: its edition '{edition}' pins other counts than these, which were counted:\n"
            f"{_block([made])}Is a file cut short? Add another edition with --name, or replace all "
            "that is pinned with --force."
        )
    kept = [] if force else [*pinned.values()]
    _write(location, [*kept, made], bool(kept))
    return f"{path}: wrote\n{_block([made])}"


def counted(name: str, dataset: Dataset, edition: str) -> Edition:
    """Return the counts of a corpus and of its splits, as an edition.

    Splits drawn from another split or written by a generator are not counted: a run makes them.
    """
    if isinstance(dataset.source, Segmented):
        reason = f"a run cuts it from the docs that play {dataset.source.of}; nothing to read"
        raise ResiduumError(f"{name}: {reason}")
    stream = track(data.DOCS[dataset.source.kind](dataset), f"count {name}", None, "docs")
    text = 0

    def doc_ids() -> Iterator[str]:
        nonlocal text
        for doc_id, record in stream:
            text += len(record["text"].encode(errors="surrogatepass"))
            yield doc_id

    ids = Ids(doc_ids())
    if not ids.count:
        raise ResiduumError(f"{name}: the corpus has no docs. Are its files empty?")
    if ids.twice:
        fault = f"{ids.twice} docs of the corpus repeat an id"
        raise ResiduumError(f"{name}: {fault}; no run accepts that: give each doc its own id")
    sizes = {split: _size(name, dataset, split) for split in dataset.splits}
    known = {split: size for split, size in sizes.items() if size}
    each = max(1, round(text / ids.count))
    made = {"name": edition, "docs": ids.count, "doc_bytes": each, "splits": known}
    return Edition.model_validate(made)


def _size(name: str, dataset: Dataset, split: str) -> dict[str, object] | None:
    entry = dataset.splits[split]
    if entry.derived or entry.synthetic or entry.questions_of:
        return None
    size = splits.count(splits.whole(name, dataset, split)).model_dump(exclude_none=True)
    if not entry.docpairs:
        return size
    triples = data.DOCPAIRS[dataset.source.kind](dataset, split)
    return {**size, "docpairs": sum(1 for _ in track(triples, f"count triples of {split}"))}


def _agrees(pinned: Edition, made: Edition) -> bool:
    """Say whether an edition pins no other counts than those that were made."""
    sizes = {
        name: size.model_dump(exclude_defaults=True)
        for name, size in pinned.splits.items()
        if name in made.splits
    }
    given = {name: size.model_dump() for name, size in made.splits.items()}
    fits = all(size.items() <= given[name].items() for name, size in sizes.items())
    return pinned.docs == made.docs and fits and sizes.keys() == given.keys()


def _block(editions: list[Edition]) -> str:
    lines = [f"{KEY}:"]
    for edition in editions:
        lines += [f"  - name: {_plain(edition.name)}", f"    docs: {edition.docs}"]
        lines += [f"    doc_bytes: {edition.doc_bytes}"] if edition.doc_bytes else []
        lines += ["    about: true"] if edition.about else []
        lines += ["    splits:"] if edition.splits else []
        for name, size in edition.splits.items():
            lines.append(f"      {_plain(name)}: {_plain(size.model_dump(exclude_defaults=True))}")
    return "\n".join(lines) + "\n"


def _plain(value: object) -> str:
    return yamls.dump(value, one_line=True)


def _write(location: Location, editions: list[Edition], added: bool) -> None:
    """Write editions into an entry: in place of its editions, or at its end.

    `added` appends only the last edition to the present ones. The file keeps its other text and its
    mode. An edit that would change any other value raises ResiduumError.
    """
    path, inside = location
    given = path.read_bytes().decode()
    mark, end = files.BOM * given.startswith(files.BOM), "\r\n" if "\r\n" in given else "\n"
    text = given.removeprefix(files.BOM).replace("\r\n", "\n")
    try:
        written = _edited_within(text, inside, editions, added)
    except ValueError as error:
        raise ResiduumError(f"{path}: {error}, then pin") from None
    if not _says(written, text, inside, editions):
        text = "its layout is not one that can be edited, so nothing was written"
        hand = f"write this in place of its editions:\n{_block(editions)}"
        raise ResiduumError(f"{path}: {text}; {hand}")
    with files.whole(path) as temporary:
        temporary.write_bytes((mark + written.replace("\n", end)).encode())
        shutil.copymode(path, temporary)


def _says(written: str, text: str, inside: str, editions: list[Edition]) -> bool:
    """Say whether an edited text differs from the text before in the entry's editions only."""
    before = yamls.load(text)
    try:
        made = yamls.load(written)
        entry, old = (content[SEVERAL][inside] if inside else content for content in (made, before))
        now = [*map(Edition.model_validate, entry[KEY])]
    except (ValueError, TypeError, KeyError):
        return False
    others = (content[SEVERAL] | {inside: 0} if inside else {} for content in (made, before))
    same = {**entry, KEY: 0} == {**old, KEY: 0} and next(others) == next(others)
    return now == editions and same


def _edited_within(text: str, inside: str, editions: list[Edition], added: bool) -> str:
    """Return a text with an entry's editions; `inside` is the id of an entry among several."""
    found = yamls.lines_of(text, SEVERAL, inside) if inside else None
    if found is None:
        return _edited(text, editions, added)
    if found[1]:
        raise ValueError(f"{inside}: one mapping in braces; write its keys one a line")
    lines = text.splitlines(keepends=True)
    start, stop = found[0].start + 1, found[0].stop
    shifts = {line: len(line) - len(line.lstrip()) for line in lines[start:stop] if line.strip()}
    indent = min(shift for line, shift in shifts.items() if line.lstrip()[0] != "#")
    if min(shifts.values()) < indent:
        raise ValueError(f"{inside}: a comment stands left of its keys; indent it as they are")
    entry = _edited("".join(line[indent:] or "\n" for line in lines[start:stop]), editions, added)
    lines[start:stop] = [textwrap.indent(entry, " " * indent)]
    return "".join(lines)


def _edited(text: str, editions: list[Edition], added: bool) -> str:
    """Return a text with the given editions; a ValueError says why it cannot be edited."""
    lines = text.splitlines(keepends=True)
    lines[-1:] = [lines[-1].rstrip("\n") + "\n"]
    place, bracketed = yamls.lines_of(text, KEY) or (None, False)
    last = next((n for n, line in enumerate(lines) if re.match(r"\.\.\.\s", line)), len(lines))
    after, lines = lines[last:], lines[:last]  # the document's end marker and what follows
    column = None if bracketed else _column(lines, place)
    if added and place and column is not None:
        item = _block(editions[-1:]).partition("\n")[2].splitlines(keepends=True)
        lines[place.stop : place.stop] = [" " * column + line[2:] for line in item]
    elif place:
        lines[place.start : place.stop] = _block(editions).splitlines(keepends=True)
    else:
        lines += _block(editions).splitlines(keepends=True)
    return "".join([*lines, *after])


def _column(lines: list[str], place: range | None) -> int | None:
    """Return the indentation of the list's items, or None if no item starts a line."""
    below = lines[place.start + 1 : place.stop] if place else []
    first = next((line for line in below if line.lstrip()[:1] == "-"), None)
    return None if first is None else len(first) - len(first.lstrip())
