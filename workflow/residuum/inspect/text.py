"""A provenance as text: each artefact with its command, spec, facts and code, down to its sources.

Usage: `text.described(provenance.ancestors(graph, roots))`. Must not know tables or measures.
"""

import re
import textwrap
from typing import Any

from residuum.inspect.provenance import AGAIN, NO_FILE, Artefact, flat

WIDTH = 100
NUMBERED = re.compile(r"\b(seed|shard-)(\d+)")
HASH = re.compile(r"[0-9a-f]{64}")
LONG = 60  # characters of an argument or a value that are shown unless `full` is requested
# Facts that another artefact's lines or the path show, or nobody reads.
ELSEWHERE = ("shards", "index", "shard")


def line(name: str, text: str, indent: int = 2) -> str:
    """Write a name and its text, wrapped and hanging beside the name."""
    start = f"{' ' * indent}{name:<10} "
    return wrapped(text or "none", start, len(start))


def wrapped(text: str, start: str, hang: int) -> str:
    """Write a text behind `start`, its further lines indented by `hang`."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def together(paths: list[str]) -> str:
    """Write paths that differ by their seed or shard as one: clear.seed{1,2,3}.tsv."""
    if len(paths) < 2:
        return paths[0]
    numbers: dict[str, dict[str, None]] = {}
    for kind, number in (pair for path in paths for pair in NUMBERED.findall(path)):
        numbers.setdefault(kind, {})[number] = None
    return NUMBERED.sub(lambda match: match[1] + _listed([*numbers[match[1]]]), paths[0])


def _listed(numbers: list[str]) -> str:
    """Write numbers as {1,2,3}, a long unbroken sequence as {00000..00017}, a single one bare."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return first
    unbroken = int(last) - int(first) == len(numbers) - 1
    listed = f"{first}..{last}" if unbroken and len(numbers) > 5 else ",".join(numbers)
    return f"{{{listed}}}"


def described(kin: list[Artefact], full: bool = False) -> str:
    """Lay a provenance out: its last artefacts first, sources last, seeds and shards together.

    `kin` comes sources first; `full` keeps long arguments and values whole.
    """
    groups: dict[tuple[str, str], list[Artefact]] = {}
    for artefact in reversed(kin):
        alike = (NUMBERED.sub(r"\1*", artefact.path), artefact.lacks)
        groups.setdefault(alike, []).append(artefact)
    numbers = {a.path: n for n, group in enumerate(groups.values(), 1) for a in group}
    shown = [_group(sorted(group), numbers, full) for group in groups.values()]
    return "\n\n".join(["Provenance", *shown])


def _group(group: list[Artefact], numbers: dict[str, int], full: bool) -> str:
    first = group[0]
    head = f"[{numbers[first.path]}] {together([a.path for a in group])}"
    if not first.record:
        return f"{head}\n{wrapped(_without_record(first), ' ' * 4, 4)}"
    code = first.record["code"]
    parents = sorted({numbers[parent] for a in group for parent in a.parents})
    rows = [("command", _command(first, full)), ("spec", listed(first.record["spec"], full))]
    rows += [("facts", text) for text in _facts(group, full)]
    rows += [("code", f"{code['module']} {code['sha256'][:12]}")]
    rows += [("from", " ".join(f"[{number}]" for number in parents))] * bool(parents)
    return "\n".join([head, *(line(name, text, 4) for name, text in rows)])


def _without_record(artefact: Artefact) -> str:
    if not artefact.lacks:
        return "a file from outside the results folder"
    gone = " and so is the file" if artefact.lacks == NO_FILE else ""
    return f"its manifest is missing{gone}, so what it was made from is not known; {AGAIN}"


def _command(artefact: Artefact, full: bool) -> str:
    text = artefact.record["environment"].get("command") or "not recorded"
    return text if full else re.sub(rf"'\{{.{{{LONG},}}?\}}'(?= |$)", "'{...}'", text)


def _facts(group: list[Artefact], full: bool) -> list[str]:
    """Return the facts of a group once, or by seed and shard where they differ."""
    shown: dict[str, list[str]] = {}
    for artefact in group:
        kept = {k: v for k, v in artefact.record["artefact"].items() if k not in ELSEWHERE}
        label = "/".join(match[0] for match in NUMBERED.finditer(artefact.path))
        shown.setdefault(listed(kept, full), []).append(label or artefact.path)
    if len(shown) == 1:
        return list(shown)
    return [f"{together(labels)}: {text}" for text, labels in shown.items()]


def listed(settings: dict[str, Any], full: bool = False) -> str:
    """Write nested settings as `bm25.k1 0.6; k 1000`, without what is empty."""
    kept = ((key, short(item, full)) for key, item in flat(settings))
    return "; ".join(f"{key} {text}" for key, text in kept if text)


def short(item: object, full: bool = False) -> str:
    """Write one value for reading: hashes and long texts cut, numbers to six digits."""
    if isinstance(item, list):
        plain = all(isinstance(part, (str, int, float)) for part in item)
        text = " ".join(map(str, item)) if plain else f"({len(item)} entries)"
    elif isinstance(item, float) and not full:
        text = f"{item:.6g}"
    else:
        text = "" if item in (None, {}) else str(item)
    if full:
        return text
    cut = text[:12] if HASH.fullmatch(text) else text
    return cut if len(cut) <= LONG else f"{cut[: LONG - 3]}..."
