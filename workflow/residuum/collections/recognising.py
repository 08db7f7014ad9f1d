"""Recognise how a folder holds a collection: docs, and the queries and judgements of splits.

Usage: `recognised(Path("data/mine"), "mine")` returns the source and the splits of a dataset entry.
BEIR's and MS MARCO's folders are known by their files. In other folders, names say what a file
holds: `docs`, `queries` or `qrels`, and beside it the split, as in queries.dev.tsv.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import files
from residuum.cli.errors import ResiduumError
from residuum.collections import forms
from residuum.collections.lines import numbered, opened
from residuum.config import entries, roots
from residuum.config.schema.base import ID
from residuum.config.schema.files import ENDINGS

Entry = dict[str, object]
DOCS, QUERIES, QRELS = "docs", "queries", "qrels"
USES = {  # words of a name that say what a file holds; the first match counts
    QRELS: {"qrel", "qrels", "judgement", "judgements", "judgment", "judgments", "relevance"},
    QUERIES: {"query", "queries", "topic", "topics", "question", "questions"},
    DOCS: {
        *("corpus", "collection", "doc", "docs", "document", "documents"),
        *("passage", "passages", "article", "articles"),
    },
}
# Files that hold nothing of a collection, by their names; and forms that nothing reads.
ASIDE = re.compile(
    r"(readme|licen[cs]e|changes|manifest|md5sum|sha256sum)\b.*"
    r"|.*(\.(md|md5|pdf|py|html|bak|dtd|old|orig)|manifest\.json|~)"
)
RUNS = re.compile(r"run\W.*|.*\.run")
CURES = {
    "json": "if it has one object a line, name it .jsonl; if it is an array, write it so",
    **dict.fromkeys(("zip", "tar", "tgz", "rar", "7z", "bz2", "xz", "zst"), "unpack it"),
}
FORMS = {"gz", "z", "txt", "tsv", "csv", "json", "jsonl", "ndjson", "parquet", "arrow", "xml"}
TEST = "test"
TRAINS = ("train", "training")
TUNES = ("tune", "dev", "valid", "val", "validation", "development")
SPLITS = {*TRAINS, *TUNES, TEST}
# Names of columns beside those that every source knows; the first that a file has.
COLUMNS = {
    "doc_id": (
        *("docid", "docno", "document_id", "did", "pid", "passage_id", "paper_id", "cord_uid"),
        *("pmid", "key", "uid"),
    ),
    "query_id": ("qid", "topic_id", "topic", "number", "question_id"),
    "relevance": ("label", "rel", "grade", "judgement", "judgment"),
}
TITLES = ("title", "headline")
BODIES = ("text", "contents", "content", "body", "passage", "abstract", "document", "segment")
ASKED = ("text", "query", "question", "title")
# Columns of docs by their number, where all lines have as many: 4 are MS MARCO's documents.
TSV = {3: ["doc_id", "title", "text"], 4: ["doc_id", "url", "title", "body"]}
LINES = 100  # of a file of docs or queries, which tell its columns or fields
MOST_NAMED = 8  # files in a message
NAMED = "files whose names say what they hold"
LATIN = "latin-1"
KNOWN = (
    "Known are BEIR's layout (corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv), MS MARCO's "
    "(collection.tsv, queries.SPLIT.tsv, qrels.SPLIT.tsv), and files whose names say docs, queries "
    "or qrels, such as docs.jsonl, queries.test.tsv and qrels.test.txt"
)


class Recognised(NamedTuple):
    """How a folder is read: words for its layout, `source` and `splits` of a dataset entry.

    `unread` are files of the folder that hold nothing of the collection, by their names.
    """

    form: str
    source: Entry
    splits: dict[str, Entry]
    unread: Sequence[str] = ()


class _File(NamedTuple):
    """A file of the folder: its path below it, and the split that its name says."""

    path: Path
    split: str


def recognised(folder: Path, name: str) -> Recognised:
    """Return how a folder is read; `name` is what the entry calls the folder.

    Raises ResiduumError, with what was found and what is known, if that cannot be told.
    """
    if not folder.is_dir():
        raise ResiduumError(f"{folder}: no such folder. Name the folder of a collection. {KNOWN}.")
    for known in (_beir, _msmarco):
        if layout := known(folder, name):
            return layout
    return _by_names(folder, name)


def _beir(folder: Path, name: str) -> Recognised | None:
    lies = [roots.as_it_lies(folder / f"{part}.jsonl").is_file() for part in ("corpus", QUERIES)]
    splits = _stems(folder / QRELS, re.compile(r"(?P<split>.+)\.tsv(\.gz)?"))
    if not (all(lies) and splits):
        return None
    if odd := [split for split in splits if not re.fullmatch(ID, split)]:
        text = f"a split's name has {entries.NAMED}; rename it, as {'-'.join(_words(odd[0]))}.tsv"
        raise ResiduumError(f"{folder / QRELS}: {odd[0]}.tsv: {text}.")
    source: Entry = {"kind": "beir", "folder": name}
    read = re.compile(r"(corpus|queries)\.jsonl(\.gz)?|qrels/.+\.tsv(\.gz)?")
    made: dict[str, Entry] = {split: {} for split in splits}
    return Recognised("BEIR's layout", source, made, _others(folder, read))


def _msmarco(folder: Path, name: str) -> Recognised | None:
    corpus = roots.as_it_lies(folder / "collection.tsv")
    queries, qrels = (
        _stems(folder, re.compile(rf"{part}\.(?P<split>.+)\.tsv(\.gz)?"))
        for part in (QUERIES, QRELS)
    )
    dotted = [split for split in qrels if split in queries]
    splits = [split.replace(".", "-") for split in dotted]  # as the source names their files
    if not (corpus.is_file() and splits):
        return None
    source = {"kind": "msmarco", "folder": name, **_tsv_columns(corpus)}
    named = "|".join(map(re.escape, dotted))
    read = re.compile(rf"collection\.tsv(\.gz)?|(queries|qrels)\.({named})\.tsv(\.gz)?")
    unread = _others(folder, read)
    return Recognised("MS MARCO's layout", source, {split: {} for split in splits}, unread)


def _stems(folder: Path, form: re.Pattern[str]) -> list[str]:
    """Return the splits that the files of a folder name, sorted."""
    matches = (form.fullmatch(path.name) for path in sorted(folder.glob("*")))
    return list(dict.fromkeys(match["split"] for match in matches if match))


def _others(folder: Path, read: re.Pattern[str]) -> list[str]:
    """Return the files of a folder whose path below it does not have a form."""
    below = (path.relative_to(folder).as_posix() for path in roots.files_of(folder))
    return [name for name in below if not read.fullmatch(name)]


def _tsv_columns(path: Path) -> Entry:
    """Return the keys that say which columns a TSV of docs has; none for doc_id and text."""
    lines = [line for _, line in islice(numbered(path), LINES)]
    columns = {line.count("\t") + 1 for line in lines}
    if not lines or 1 in columns:
        raise ResiduumError(f"{path}: a line without a tab; a line of docs is doc_id TAB text")
    known = TSV.get(min(columns)) if len(columns) == 1 else None
    return {"columns": known, "text_fields": known[1:]} if known else {}


def _by_names(folder: Path, name: str) -> Recognised:
    held: dict[str, list[_File]] = {use: [] for use in USES}
    unread = []
    for path in roots.files_of(folder):
        within = path.relative_to(folder)
        aside = any(form.fullmatch(path.name.lower()) for form in (ASIDE, RUNS))
        if aside or not (use := _use(folder, within)):
            unread.append(str(within))
        elif cure := CURES.get(roots.ending(path).removeprefix(".")):
            raise ResiduumError(f"{path}: files of this form are not read. Mend it: {cure}.")
        else:
            held[use].append(_File(within, _split(within)))
    for use, of_use in held.items():
        if not of_use:
            named = ", ".join(unread[:MOST_NAMED]) or "nothing"
            others = sorted(str(one.path) for some in held.values() for one in some[:MOST_NAMED])
            found = ", ".join(others) + f"; not told: {named}" * bool(unread) if others else named
            links = [path.name for path in folder.iterdir() if path.is_symlink() and (
                path.is_dir() or not path.exists())]  # fmt: skip
            found += f"; links that are not followed: {', '.join(links)}" * bool(links)
            raise ResiduumError(f"{folder}: no {use} in it (found {found}). {KNOWN}.")
    docs = _docs(folder, held[DOCS], {one.path for use in (QUERIES, QRELS) for one in held[use]})
    source, names, first = _source(folder, docs, name)
    splits = _splits(folder, name, held[QUERIES], held[QRELS], names)
    return Recognised(first, source | ({"names": names} if names else {}), splits, unread)


def _use(folder: Path, within: Path) -> str | None:
    """Return what a file holds by the words of its name, its folders' names, or its first line."""
    for part in reversed(within.parts):
        words = {*_words(part)}
        if use := next((use for use, known in USES.items() if words & known), None):
            return use
    return DOCS if _is_sgml(folder / within) else None


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _is_sgml(path: Path) -> bool:
    return _start(path).lstrip().lower().startswith(b"<doc>")


def _start(path: Path) -> bytes:
    try:
        with opened(path) as handle:
            return handle.read(4096)
    except (OSError, *files.DAMAGE):
        return b""  # its reader says what is wrong with it


def _split(within: Path) -> str:
    """Return what a name says beside the use of the file, as `dev` of queries.dev.tsv; or ""."""
    uses = {word for words in USES.values() for word in words}
    words = [word for part in within.parts for word in _words(part)]
    return "-".join(word for word in words if word not in uses | FORMS)


def _docs(folder: Path, held: Sequence[_File], others: Iterable[Path]) -> Path:
    """Return the file or the folder that holds the docs, below the collection's folder."""
    if len(held) == 1:
        return held[0].path
    common = Path(os.path.commonpath([one.path.parent for one in held]))
    if common == Path() or any(path.is_relative_to(common) for path in others):
        named = ", ".join(str(one.path) for one in held[:MOST_NAMED])
        text = f"{len(held)} files may hold docs: {named}"
        raise ResiduumError(f"{folder}: {text}. Put docs alone into a folder of their own: docs/")
    return common


def _source(folder: Path, docs: Path, name: str) -> tuple[Entry, dict[str, str], str]:
    """Return the source of docs, the meanings of its columns, and words for the layout."""
    every, place = roots.files_of(folder / docs), folder / docs
    readable = [path for path in every if _is_sgml(path) or roots.ending(path) in ENDINGS]
    if place.is_dir() and not readable:
        has = ", ".join(sorted({path.suffix or path.name for path in every})[:MOST_NAMED])
        text = f"a folder of docs, whose files end in {has}; known are {', '.join(ENDINGS)}"
        raise ResiduumError(f"{place}: {text} and TREC's SGML. Write the docs into one docs.jsonl.")
    first = readable[0] if readable else every[0]
    if _is_sgml(first):
        source: Entry = {"kind": "trec", "docs": f"{name}/{docs}"}
        aside = [path for path in every if ASIDE.fullmatch(path.name.lower())]
        kept = {path.suffix for path in every if path not in aside}
        if aside and len(kept) == 1 and not kept & {"", *(path.suffix for path in aside)}:
            source["below"] = f"**/*{next(iter(kept))}"
        encoding = {} if _is_utf8(readable) else {"encoding": LATIN}
        return source | encoding, {}, "docs in TREC's SGML"
    source = {"kind": "files", "corpus": f"{name}/{docs}"}
    if not forms.named(first):
        return source | _tsv_columns(first), {}, NAMED
    where, record = _first(first)
    names = _meaning(where, record, "doc_id")
    fields = [*islice((one for one in TITLES if one in record), 1)]
    fields += [*islice((one for one in BODIES if one in record), 1)]
    if not {*fields} & {*BODIES}:
        known = ", ".join(BODIES)
        raise ResiduumError(
            f"{where}: none of its fields is known as the text: {', '.join(record)}. Known are "
            f"{known}. Rename one, or write the dataset by hand, with `text_fields`."
        )
    return source | ({} if fields == ["text"] else {"text_fields": fields}), names, NAMED


def _is_utf8(paths: Sequence[Path]) -> bool:
    """Say whether the first bytes of files are UTF-8; the last character may be cut."""
    for start in map(_start, paths):
        try:
            start.decode()
        except UnicodeDecodeError as error:
            if error.end < len(start) or error.reason != "unexpected end of data":
                return False
    return True


def _first(path: Path) -> tuple[str, Mapping[str, object]]:
    """Return where the first record of a file with named columns stands, and its fields.

    Fields of the next records count, too: a record may leave out what it has not.
    """
    records = [*islice(forms.records(path), LINES)]
    if not records:
        raise ResiduumError(f"{path}: it holds no record")
    fields: dict[str, object] = {}
    for _, record in records:
        fields = {**record, **fields}
    return records[0][0], fields


def _meaning(where: str, record: Mapping[str, object], meaning: str) -> dict[str, str]:
    """Return {column: meaning} for the column of an id, or {} if its name is known anyway."""
    if any(name in record for name in forms.KNOWN[meaning]):
        return {}
    column = next((name for name in COLUMNS[meaning] if name in record), None)
    if column is None:
        known = ", ".join([*forms.KNOWN[meaning], *COLUMNS[meaning]])
        text = f"none of its columns is known as the {meaning}: {', '.join(record)}"
        raise ResiduumError(
            f"{where}: {text}. Known are {known}. Rename one, or write the dataset by hand, with "
            "`names`."
        )
    return {column: meaning}


def _splits(
    folder: Path,
    name: str,
    queries: Sequence[_File],
    qrels: Sequence[_File],
    names: dict[str, str],
) -> dict[str, Entry]:
    """Return the splits that judgements make, each with its files; adds to `names`."""
    made: dict[str, Entry] = {}
    for judged in qrels:
        fitting = [one for one in queries if one.split == judged.split]
        if not fitting and len({one.split for one in queries}) == 1:
            fitting = list(queries)
        if len(fitting) != 1:
            named = ", ".join(str(one.path) for one in fitting or queries)
            raise ResiduumError(
                f"{folder / judged.path}: whose queries it judges is not told; there are {named}. "
                "Let both names say the split: queries.dev.tsv and qrels.dev.tsv."
            )
        split = judged.split if len(qrels) > 1 or judged.split in SPLITS else TEST
        (asked,) = fitting
        entry: Entry = {"queries": f"{name}/{asked.path}", "qrels": f"{name}/{judged.path}"}
        entry |= _of_queries(folder / asked.path, names)
        if forms.named(folder / judged.path):
            for meaning in ("query_id", "doc_id", "relevance"):
                names |= _meaning(*_first(folder / judged.path), meaning)
        if len(qrels) > len(queries):
            entry["judged_only"] = True
        made[split or TEST] = entry
    return dict(sorted(made.items()))


def _of_queries(path: Path, names: dict[str, str]) -> Entry:
    """Return the keys that say how a split's queries are read; adds to `names`."""
    if not forms.named(path):
        return {}
    where, record = _first(path)
    names |= _meaning(where, record, "query_id")
    field = next((name for name in ASKED if name in record), None)
    if field is None:
        known = ", ".join(ASKED)
        text = f"none of its fields is known as the query's text: {', '.join(record)}"
        raise ResiduumError(f"{where}: {text}. Known are {known}. Rename one.")
    return {} if field == "text" else {"query_field": field}
