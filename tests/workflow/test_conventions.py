"""What others expect of a repository: catalog, continuous integration, hooks, versions, extras."""

import re
import shutil
import subprocess
import sys
import tomllib
from email import message_from_string

import pytest
import yaml
from packaging.requirements import Requirement

import residuum
from conftest import ROOT
from residuum.inspect import reproductions

LOCKED = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line]
MAKEFILE = (ROOT / "Makefile").read_text()
RULES = re.compile(r"^rule (\w+):$", re.M)


def read(name):
    return yaml.safe_load((ROOT / name).read_text())


def test_the_catalog_finds_what_it_looks_for():
    """Keys and files as the Snakemake workflow catalog's page on adding workflows names them."""
    usage = read(".snakemake-workflow-catalog.yml")["usage"]
    assert usage == {"software-stack-deployment": {"conda": True}, "report": True}
    assert (ROOT / "workflow" / "Snakefile").is_file() and (ROOT / "config" / "README.md").is_file()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme


def test_the_catalogs_snakefile_is_the_same_graph():
    command = [sys.executable, "-m", "snakemake", "-s", "workflow/Snakefile", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    written = [path.read_text() for path in (ROOT / "rules").glob("*.smk")]
    rules = {name for text in written for name in RULES.findall(text)} | {"all"}
    assert rules == {line.partition(" ")[0] for line in done.stdout.splitlines() if line}


def test_continuous_integration_runs_what_any_machine_would():
    jobs = read(".github/workflows/ci.yml")["jobs"]
    commands = [step["run"] for step in jobs["checks"]["steps"] if "run" in step]
    assert commands == [".ci/run"]
    weekly = " ".join(step["run"] for step in jobs["mini"]["steps"] if "run" in step)
    assert "make mini" in weekly and "--report" in weekly and "bundle verify" in weekly
    inside = [step["run"] for step in jobs["container"]["steps"] if "run" in step]
    assert inside == ["docker build --tag residuum .", "docker run --rm residuum"]
    for name, job in jobs.items():
        uses = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in uses)
        if name == "container":
            continue  # Python is in the image
        [python] = [
            s["with"] for s in job["steps"] if s.get("uses", "").startswith("actions/setup")
        ]
        assert python["python-version"] == "3.11" and python["cache"] == "pip"
        assert [*ROOT.glob(python["cache-dependency-path"])]


def test_hooks_are_targets_of_the_makefile_and_pin_nothing():
    [repository] = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    targets = {hook["entry"].removeprefix("make ") for hook in repository["hooks"]}
    checks = re.search(r"^check: (.*)$", MAKEFILE, re.M)[1].split()
    assert targets == {*checks, "generated"}
    assert all(re.search(rf"^{target}: ", MAKEFILE, re.M) for target in targets)
    assert all(hook["language"] == "system" for hook in repository["hooks"])


def test_package_citation_and_changelog_name_one_version():
    citation = read("CITATION.cff")
    head, date = re.search(
        r"^## (\S+) - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    ).groups()
    assert residuum.__version__ == head == str(citation["version"])
    assert date == str(citation["date-released"])


def test_codemeta_says_what_the_citation_and_the_package_say():
    described, citation = read("codemeta.json"), read("CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert described["identifier"] == project["name"]
    assert described["version"] == residuum.__version__
    assert described["dateModified"] == str(citation["date-released"])
    assert described["license"].rpartition("/")[2] == citation["license"] == project["license"]
    assert [one["name"] for one in described["author"]] == [a["name"] for a in citation["authors"]]
    assert described["keywords"] == citation["keywords"]
    least = project["requires-python"].removeprefix(">=")
    assert described["runtimePlatform"] == f"Python {least}"


def test_every_reproduction_of_the_log_can_be_read():
    folder = ROOT / "reproductions"
    assert len(reproductions.read(folder)) == len([*folder.glob("*/*/")]) > 0


def test_pip_gives_the_command_alone_and_with_each_extra_its_lock(tmp_path):
    """By the metadata that the build backend makes of a copy."""
    locks = {"graph": "requirements.lock", "slurm": "requirements-slurm.lock"}
    for name in ("pyproject.toml", "README.md", "LICENSE", *locks.values()):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "workflow" / "residuum").mkdir(parents=True)
    shutil.copy(ROOT / "workflow" / "residuum" / "__init__.py", tmp_path / "workflow" / "residuum")
    code = "import setuptools.build_meta as b; b.prepare_metadata_for_build_wheel('made')"
    (tmp_path / "made").mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
    [path] = tmp_path.glob("made/*.dist-info/METADATA")
    made = message_from_string(path.read_text())
    needs = [Requirement(text) for text in made.get_all("Requires-Dist")]
    for name, lock in locks.items():
        extra = {one for one in needs if one.marker and one.marker.evaluate({"extra": name})}
        assert pins(extra) == pins(map(Requirement, pinned(ROOT / lock)))
    alone = [one for one in needs if not one.marker]
    assert len(alone) < len(pinned(ROOT / "requirements.lock")) / 5
    assert made["Version"] == residuum.__version__


def test_the_lock_has_every_pin_of_what_is_imported():
    locked = {canonical(one.name): one for one in map(Requirement, LOCKED)}
    lines = (ROOT / "requirements.in").read_text().splitlines()
    for one in map(Requirement, (line for line in lines if line and line[0] != "#")):
        pin = locked[canonical(one.name)]
        assert not one.specifier or one.specifier == pin.specifier, one


def pinned(lock):
    return [line for line in lock.read_text().splitlines() if line and line[0] != "#"]


def pins(requirements):
    return {canonical(one.name): str(one.specifier) for one in requirements}


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_file_names_the_address_of_a_package_registry():
    names = (".toml", ".in", ".lock", ".yml", ".yaml", ".cfg", "Makefile", "run")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout")
    for name in listed.stdout.splitlines():
        if name.endswith(names) and not name.startswith("config/"):
            text = (ROOT / name).read_text()
            assert not re.search(r"pypi\.org|download\.pytorch|anaconda\.org|index-url", text), name


def test_the_files_of_data_go_with_the_package_wherever_it_lies(tmp_path):
    """An installed package has no folder `workflow` above it."""
    shutil.copytree(ROOT / "workflow" / "residuum", tmp_path / "residuum")
    code = "from residuum.collections.places import words; from residuum.config import keys;"
    code += "from residuum.neural.termrecall import STOP_WORDS; assert keys.words() and STOP_WORDS"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={}, check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, patterns in project["package-data"].items():
        folder = ROOT / "workflow" / package.replace(".", "/")
        assert all([*folder.glob(pattern)] for pattern in patterns)
    shipped = {
        path
        for package, patterns in project["package-data"].items()
        for pattern in patterns
        for path in (ROOT / "workflow" / package.replace(".", "/")).glob(pattern)
    }
    kept = {*(ROOT / "workflow" / "residuum").rglob("*")}
    data = {path for path in kept if path.suffix in (".yaml", ".txt")}
    assert data <= shipped
