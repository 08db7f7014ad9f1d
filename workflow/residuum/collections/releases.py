"""Releases that ir_datasets does not list, or cannot read, under ids of its own kind.

Usage: `releases.KNOWN["cord19/fulltext/2020-05-01"]` is a function that streams the docs.
Must not know config/ or paths below results/.
"""

from collections.abc import Iterator
from pathlib import Path

from residuum.collections import cord19

CORD19 = "2020-05-01"  # of TREC-COVID round 2; ir_datasets lists its metadata without the bodies
CORD19_URL = (
    "https://ai2-semanticscholar-cord-19.s3-us-west-2.amazonaws.com/historical_releases/"
    f"cord-19_{CORD19}.tar.gz"
)


def _cord19() -> Iterator[cord19.Paper]:
    """Stream the papers; ir_datasets downloads the release where it is not in its home.

    Its own reader of releases takes the words True and False of the metadata for truth, and knows
    four of the five subsets (ir_datasets/datasets/cord19.py, Cord19Docs).
    """
    from ir_datasets.util import home_path
    from ir_datasets.util.download import Download, RequestsDownload

    folder = Path(home_path()) / "cord19"
    path = folder / f"cord-19_{CORD19}.tar.gz"
    release = Download([RequestsDownload(CORD19_URL)], str(path))
    return cord19.papers(Path(release.path()), folder / f"{CORD19}.bodies.sqlite")


KNOWN = {f"cord19/fulltext/{CORD19}": _cord19}
