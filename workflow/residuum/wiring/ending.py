"""What a run prints at its end of the pages that it made.

Usage: `show(pages, ledger, {"all"})`. Must not know Snakemake, nor what a page is about.
"""

from collections import Counter
from collections.abc import Iterable, Set
from pathlib import Path

from residuum.pages.layout import MORE


def show(pages: Iterable[str], ledger: str, targets: Set[str]) -> str:
    """Return the text of the pages that were requested by name, each under its path.

    Of the rule all, whose pages are many, the ledger up to its mark, and where the others are.
    """
    made = [path for path in [*pages, ledger] if Path(path).is_file()]
    shown = targets | ({ledger} if "all" in targets else set())
    folders = Counter(str(Path(path).parent) for path in made) if "all" in targets else {}
    counts = ", ".join(f"{count} in {folder}" for folder, count in folders.items())
    texts = [f"\nPages: {counts}"] if counts else []
    for path in made:
        if path in shown:
            text = Path(path).read_text(encoding="utf-8").partition(MORE)[0]
            texts.append(f"\n{path}\n\n{text}")
    return "\n".join(texts)
