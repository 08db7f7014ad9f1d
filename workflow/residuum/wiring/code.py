"""Which source files a job's result depends on, as an input of every rule.

Usage: `code("residuum.fusion")`. Must not know rules.
"""

import os

from residuum.core.sources import sources


def code(module: str) -> list[str]:
    """Return the sources behind a stage, relative to the working folder."""
    return [os.path.relpath(path) for path in sources(module)]
