"""Run the notebooks of docs/notebooks on the results of `make mini`, and keep what they show.

Usage: `python docs/site/notebooks.py` (`make notebooks`). They run in a copy of the project,
because one of them writes entries and results.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
FOLDER = "docs/notebooks"
LEFT_OUT = {"results", "build", "data", "tests"}  # of the project, with hidden folders
SECONDS = 600  # that a cell may take


def run(notebook: nbformat.NotebookNode, project: Path) -> None:
    """Run a notebook's cells in a project, and put in what they show.

    A cell that fails raises nbclient's CellExecutionError.
    """
    place = project / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name != "RESIDUUM_DATA"}
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(place)}},
    )
    client.execute(env={**kept, "PATH": commands})
    notebook.metadata["language_info"] = {"name": "python"}  # without the version that ran it


def left_out(folder: str, names: list[str]) -> set[str]:
    """Return what a copy of the project leaves out of a folder."""
    return {name for name in names if name[0] == "." or (name in LEFT_OUT and folder == str(ROOT))}


def main() -> None:
    """Run all notebooks, and write each whole with its outputs."""
    results = ROOT / "results" / "mini"
    if not (results / "ledger.tsv").is_file():
        raise SystemExit(f"{results}: no finished results. Run `make mini` first.")
    made = {}
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        shutil.copytree(ROOT, project, ignore=left_out)
        (project / "results").mkdir()
        (project / "results" / "mini").symlink_to(results)
        for path in sorted((ROOT / FOLDER).glob("*.ipynb")):
            print(path.name, file=sys.stderr)
            made[path] = nbformat.read(path, as_version=4)
            run(made[path], project)
    for path, notebook in made.items():
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
