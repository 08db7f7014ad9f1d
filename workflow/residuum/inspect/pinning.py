"""Pins: the counts of a dataset, read once and written into its YAML.

Command: `residuum datasets pin mine`. Comments and the order of keys stay; the file is whole or as
it was. Must not know the graph or its results.
"""

import re
from pathlib import Path

import yaml

from residuum import data
from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.collections import splits
from residuum.config import entries
from residuum.config.schema.datasets import Dataset, Edition
from residuum.config.schema.sources import Segmented
from residuum.inspect.datasets import find
from residuum.inspect.ids import Ids

KEY, MARK = "editions", "\ufeff"


def pin(config: Path, name: str, edition: str, force: bool) -> str:
    """Read every record of a dataset, write an edition of its counts, and say what was written.

    One that is pinned already stays. Where others are, a new name adds one to them; `force` writes
    this one in their place.
    """
    dataset, path = find(config, name), config / "datasets" / f"{name}.yaml"
    made = counted(name, dataset, edition)
    pinned = {one.name: one for one in dataset.editions}
    if made in pinned.values():
        return f"{path}: pinned already, and so it is:\n{_block([made])}"
    same = next((one.name for one in pinned.values() if _agrees(one, made)), None)
    if same and not force:
        return f"{path}: what is here is as its edition '{same}' pins it; nothing was written"
    if edition in pinned and not force:
        raise ResiduumError(
            f"{path}: its edition '{edition}' pins other counts than those of what is here:\n"
            f"{_block([made])}Is a file cut short? If this is another edition, add it with --name; "
            "--force replaces all that is pinned."
        )
    kept = [] if force else [*pinned.values()]
    _write(path, [*kept, made], bool(kept))
    return f"{path}: wrote\n{_block([made])}"


def counted(name: str, dataset: Dataset, edition: str) -> Edition:
    """Return the counts of a corpus, and of the splits that a source has, as an edition.

    What a run makes, a split drawn from another or written by a generator, is not counted.
    """
    if isinstance(dataset.source, Segmented):
        text = f"a run cuts it from the docs that play {dataset.source.of}; nothing to read"
        raise ResiduumError(f"{name}: {text}")
    stream = track(data.DOCS[dataset.source.kind](dataset), f"count {name}", None, "docs")
    own = Ids(doc_id for doc_id, _ in stream)
    if not own.count:
        raise ResiduumError(f"{name}: the corpus has no docs. Are its files empty?")
    if own.twice:
        text = f"{own.twice} docs of the corpus have an id that another has"
        raise ResiduumError(f"{name}: {text}; no run takes such a corpus: give each its own")
    sizes = {split: _size(name, dataset, split) for split in dataset.splits}
    known = {split: size for split, size in sizes.items() if size}
    return Edition.model_validate({"name": edition, "docs": own.count, "splits": known})


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
    """Say whether an edition pins these very counts, or fewer of them."""
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
        lines += ["    about: true"] if edition.about else []
        lines += ["    splits:"] if edition.splits else []
        for name, size in edition.splits.items():
            lines.append(f"      {name}: {_plain(size.model_dump(exclude_defaults=True))}")
    return "\n".join(lines) + "\n"


def _plain(value: object) -> str:
    """Write a value as YAML in one line, a mapping in braces."""
    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()


def _write(path: Path, editions: list[Edition], added: bool) -> None:
    """Put editions where a YAML has them, or at its end; a last one beside others is added."""
    given = path.read_bytes().decode()
    mark, end = MARK if given.startswith(MARK) else "", "\r\n" if "\r\n" in given else "\n"
    text = given.removeprefix(MARK).replace("\r\n", "\n")
    lines = text.splitlines(keepends=True)
    place, flow = _place(path, text)
    lines[-1:] = [lines[-1].rstrip("\n") + "\n"]
    last = next((n for n, line in enumerate(lines) if re.match(r"\.\.\.\s", line)), len(lines))
    after, lines = lines[last:], lines[:last]  # the document's end, if it says so
    if added and place and not flow:
        item = _block(editions[-1:]).partition("\n")[2]
        lines[place.stop : place.stop] = _indented(item, lines, place)
    elif place:
        lines[place.start : place.stop] = _block(editions).splitlines(keepends=True)
    else:
        lines += _block(editions).splitlines(keepends=True)
    written = "".join([*lines, *after])
    made = yaml.safe_load(written)
    if "base" not in made:
        entries.validate(str(path), made, Dataset)
    files.write_text(path, mark + written.replace("\n", end))


def _place(path: Path, text: str) -> tuple[range | None, bool]:
    """Return the lines of the key `editions`, and whether it is written in brackets."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise ResiduumError(f"{path}: one mapping in braces; write its keys one a line, then pin")
    for key, value in node.value:
        if key.value == KEY:
            start, stop = key.start_mark.line, value.end_mark.line + (value.end_mark.column > 0)
            lines = text.splitlines()[start:stop]
            while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
                lines.pop()  # what follows is the next key's
            return range(start, start + len(lines)), bool(getattr(value, "flow_style", False))
    return None, False


def _indented(item: str, lines: list[str], place: range) -> list[str]:
    """Write an item as far in as those that the list has."""
    first = next(line for line in lines[place.start + 1 : place.stop] if line.lstrip()[:1] == "-")
    shift = len(first) - len(first.lstrip()) - 2
    return [" " * shift + line if shift >= 0 else line[-shift:] for line in item.splitlines(True)]
