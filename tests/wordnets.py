"""A WordNet of a few synsets in the layout of its database files, written as wndb(5) has it."""

from pathlib import Path

LICENCE = "  1 This software and database is licensed.  \n  2 By nobody, to everybody.  \n"
SYNSETS = {
    "noun": [
        ["car", "auto", "automobile"],
        ["car", "railcar"],
        ["physician", "doctor"],
        ["exercise", "physical_exertion", "workout"],
        ["Paris", "French_capital"],
        ["fix", "injection"],
    ],
    "verb": [["repair", "mend", "fix"], ["do", "make"]],
    "adj": [["big(p)", "large"]],
    "adv": [["fast", "quickly(ip)"]],
}

OF_PLACES = {  # of words that the replicas' queries and docs have
    "noun": [["rainfall", "rain"], ["village", "small_town"], ["market", "marketplace"],
             ["music", "tunes"], ["island", "islet"], ["museum", "gallery"], ["tower", "turret"]],
    "verb": [["describe", "depict"]],
    "adj": [["quiet", "hushed"]],
    "adv": [["early", "betimes"]],
}  # fmt: skip


def write(folder: Path, synsets: dict[str, list[list[str]]] = SYNSETS) -> Path:
    """Write index and data of each part of speech and return the folder."""
    folder.mkdir(parents=True)
    for part, own in synsets.items():
        lines, index, start = [], {}, len(LICENCE)
        for words in own:
            fields = " ".join(f"{word} 0" for word in words)
            line = f"{start:08d} 03 {part[0]} {len(words):02x} {fields} 000 | a gloss of it  \n"
            for word in words:
                lemma = word.partition("(")[0].lower()
                index.setdefault(lemma, []).append(f"{start:08d}")
            lines.append(line)
            start += len(line)
        (folder / f"data.{part}").write_text(LICENCE + "".join(lines), newline="\n")
        rows = [
            f"{lemma} {part[0]} {len(at)} 2 @ ~ {len(at)} 0 {' '.join(at)}  \n"
            for lemma, at in sorted(index.items())
        ]
        (folder / f"index.{part}").write_text(LICENCE + "".join(rows), newline="\n")
    return folder
