"""Releases that ir_datasets can read but does not list, under ids of its own kind.

Usage: `releases.register()`, then `ir_datasets.load("cord19/fulltext/2020-05-01")`.
Must not know config/ or paths below results/.
"""

from typing import Any

CORD19 = "2020-05-01"  # of TREC-COVID round 2; ir_datasets lists its metadata without the bodies
CORD19_URL = (
    "https://ai2-semanticscholar-cord-19.s3-us-west-2.amazonaws.com/historical_releases/"
    f"cord-19_{CORD19}.tar.gz"
)


def register() -> None:
    """Add the releases to ir_datasets' registry, once per process."""
    import ir_datasets

    name = f"cord19/fulltext/{CORD19}"
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, _cord19())


def _cord19() -> Any:
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.datasets.cord19 import Cord19Docs
    from ir_datasets.util import home_path
    from ir_datasets.util.download import Download, RequestsDownload

    base = home_path() / "cord19"
    release = Download([RequestsDownload(CORD19_URL)], base / f"cord-19_{CORD19}.tar.gz")
    docs = Cord19Docs(release, base / f"{CORD19}.fulltext", CORD19, include_fulltext=True)
    return Dataset(docs)
