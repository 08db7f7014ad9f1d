"""The results as a static site: ledger, tables, figures, what stands behind each number.

Command: `python -m residuum.report write ...`. The site opens from disk and can be sent as one
folder. It shows how long jobs took, so no two runs make the same bytes and no manifest names it.
"""

from pathlib import Path
from typing import Annotated

import typer

from residuum.cli import command
from residuum.site import writing

app = command.app(__doc__)


@app.command()
def write(
    results: Annotated[Path, typer.Option(help="results folder with a ledger")],
    output: Annotated[Path, command.written("folder to write; a report in it is replaced")],
) -> None:
    """Write the report of a results folder."""
    print(f"report: {writing.write([results], output)}")


if __name__ == "__main__":
    command.main(app)
