"""Step 1: the tests that compare a card with the CPU, those of `tests/gpu` marked `cuda`."""

from collections import Counter
from xml.etree import ElementTree

from gpu.records import Records
from gpu.setting import Setting
from residuum.config.roots import ROOT

FOLDER = "tests/gpu"
NONE_FOUND, RAN = 5, (0, 1)  # pytest's status


def measure(setting: Setting, records: Records) -> None:
    """Record how many tests passed, failed and were skipped, and why."""
    import pytest

    path = setting.scratch / "parity.xml"
    words = ["-q", str(ROOT / FOLDER), "-m", "cuda", "-p", "no:cacheprovider"]
    status = pytest.main([*words, f"--rootdir={ROOT}", f"--junitxml={path}"])
    if status == NONE_FOUND:
        reason = f"no test in {FOLDER} is marked cuda"
        if setting.device == "cuda":
            raise LookupError(reason)
        records.skipped("tests", reason)
        return
    if status not in RAN:
        raise RuntimeError(f"pytest ended with status {int(status)}; the log says why")
    report(path, setting.device, records)


def report(path: object, device: str, records: Records) -> None:
    """Record what a JUnit report holds. On a card a parity that was not tested is a failure."""
    cases = ElementTree.parse(path).getroot().iter("testcase")
    results = [(case.get("name"), *_result(case)) for case in cases]
    counts = Counter(kind for _, kind, _ in results)
    for kind in ("passed", "failed", "skipped"):
        records.add(f"tests {kind}", counts[kind], "tests")
    for name, kind, reason in results:
        if kind == "failed":
            records.failed(reason, f"test {name}")
    reasons = Counter(reason for _, kind, reason in results if kind == "skipped")
    for reason, count in reasons.items():
        records.skipped("tests", f"{count} of {len(results)}: {reason}")
    if device == "cuda" and not counts["passed"]:
        raise AssertionError(f"none of {len(results)} tests passed")


def _result(case: ElementTree.Element) -> tuple[str, str]:
    """Return how a test ended, and why; pytest's error is a failure here."""
    for child in case:
        if child.tag in ("failure", "error"):
            return "failed", str(child.get("message"))
        if child.tag == "skipped":
            return "skipped", str(child.get("message"))
    return "passed", ""
