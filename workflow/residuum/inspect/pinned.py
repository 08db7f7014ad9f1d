"""Whether files that pin packages agree with the versions that manifests record.

Usage: `compared(Path("requirements.lock"), {"torch": {"2.13.0"}})`. Such files are those of the
checkout that asks, which need not be the one that made the results. Must not know manifests.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PIN = re.compile(r"^(?: *- +)?([A-Za-z0-9][\w.-]*) *==?([0-9][^\s#;*,]*)", re.M)


def files(root: Path) -> Iterator[Path]:
    """Yield the files of a checkout that pin packages: of pip, then of conda."""
    yield from filter(Path.is_file, [root / "requirements.lock"])
    yield from sorted((root / "envs").glob("*.yaml"))


def compared(path: Path, recorded: Mapping[str, set[str]]) -> str:
    """Return a line of Markdown that says whether a file pins what is recorded, by package."""
    pins = {_plain(name): version for name, version in PIN.findall(path.read_text())}
    shared = sorted(pins.keys() & recorded.keys())
    name = f"`{path.parent.name}/{path.name}`" if path.parent.name == "envs" else f"`{path.name}`"
    differ = [
        f"{package} {version} recorded, {pins[package]} pinned"
        for package in shared
        for version in sorted(recorded[package])
        if not f"{version}.".startswith(f"{pins[package]}.")
    ]
    if differ:
        return (
            f"- {name} of this checkout is not what the results were made with: {'; '.join(differ)}"
        )
    if not shared:
        return f"- {name} of this checkout pins none of them"
    return f"- {name} of this checkout pins the versions that are recorded: {', '.join(shared)}"


def _plain(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
