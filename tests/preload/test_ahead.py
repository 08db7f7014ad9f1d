"""A job finds residuum's modules imported, as their files are when it comes."""

import shutil
import subprocess

import pytest

from preloading import client, environment, parents

JOB = """
import sys
before = "residuum.thing" in sys.modules
from residuum import thing

def main():
    print(before, thing.WORD, thing.TEXT)
    thing.WORD = "changed by the last job"

if __name__ == "__main__": main()
"""
THING = """
from pathlib import Path
WORD = "first"
TEXT = Path(__file__).with_name("words.txt").read_text()
"""


@pytest.fixture
def package(tmp_path):
    """Return the folder of a package `residuum` of its own."""
    folder = tmp_path / "workflow" / "residuum"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "job.py").write_text(JOB)
    (folder / "thing.py").write_text(THING)
    (folder / "words.txt").write_text("data")
    return folder


@pytest.fixture
def job(package):
    """Return a function that runs a job and returns its status, its output and its last error."""
    with parents() as (sockets, _):
        more = {"RESIDUUM_PRELOAD": sockets, "PYTHONPATH": str(package.parent)}
        env, command = environment(more), client("-m", "residuum.job")

        def run():
            folder = package.parents[1]
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
            return done.returncode, done.stdout.strip(), done.stderr.strip().split("\n")[-1]

        yield run


def test_it_finds_them_imported_and_nothing_that_the_last_job_did(job):
    assert job() == (0, "True first data", "")
    assert job() == (0, "True first data", "")


def test_it_finds_looked_up_what_all_manifests_of_its_stage_say(job, package):
    """After an edit it is looked up anew, because it includes the code."""
    (package / "artefacts").mkdir()
    (package / "artefacts" / "manifest.py").write_text(
        "from residuum import thing\n"
        "def look_ahead(stage): thing.TEXT = f'{stage} with {thing.TEXT}'\n"
    )
    assert job() == (0, "True first residuum.job with data", "")
    (package / "words.txt").write_text("other data")
    assert job() == (0, "True first residuum.job with other data", "")


def test_it_sees_what_was_edited_added_or_taken_away(job, package):
    job()
    (package / "words.txt").write_text("other data")
    assert job() == (0, "True first other data", "")
    (package / "added.py").write_text("WORD = 'added'\n")
    (package / "thing.py").write_text(f"{THING}from residuum.added import WORD\n")
    assert job() == (0, "True added other data", "")
    (package / "job.py").write_text(f"{JOB.rstrip()}, print('and the stage itself')\n")
    assert job() == (0, "True added other data\nand the stage itself", "")
    (package / "added.py").unlink()
    assert job() == (1, "", "ModuleNotFoundError: No module named 'residuum.added'")


def test_it_says_itself_what_cannot_be_imported_until_that_is_mended(job, package):
    (package / "thing.py").write_text("WORD =\n")
    assert job() == (1, "", "SyntaxError: invalid syntax")
    (package / "thing.py").write_text("raise SystemExit(3)\n")
    assert job() == (3, "", "")
    (package / "thing.py").write_text(THING)
    assert job() == (0, "True first data", "")


def test_modules_are_imported_once_also_beside_a_link_to_nowhere(job, package):
    """Editors leave one beside a file that is not saved."""
    (package / ".#thing.py").symlink_to("nowhere")
    imports = package.parents[1] / "imports"
    (package / "thing.py").write_text(f"{THING}open({str(imports)!r}, 'a').write('.')\n")
    assert [job()[0] for _ in range(3)] == [0, 0, 0]
    assert imports.read_text() == "."


def test_a_stage_that_starts_a_thread_runs_by_itself(job, package):
    """A fork would lose the thread."""
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True)"
    (package / "thing.py").write_text(f"{THING}{thread}.start()\n")
    assert job() == (0, "False first data", "")
    assert job() == (0, "False first data", "")


def test_a_package_in_the_folder_of_the_job_goes_first(job, package):
    """As with `python -m`, which looks there before PYTHONPATH."""
    own = package.parents[1] / "residuum"
    shutil.copytree(package, own)
    (own / "words.txt").write_text("of the folder")
    assert job() == (0, "True first of the folder", "")
