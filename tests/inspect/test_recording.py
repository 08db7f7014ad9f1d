"""The log of reproductions: what is recorded of bundles, what is refused, what changed."""

import csv
import json
import shutil
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bundles import contents, pack, published, reproduced
from contents import contents as contents_of
from residuum.__main__ import app
from residuum.artefacts import files, yamls
from residuum.cli.errors import ResiduumError
from residuum.inspect import checkpoints, recording, reproductions
from residuum.pages import verdicts
from residuum.site import writing
from results_fixture import build, change


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """Return the small results with another k1, by which `base` has other numbers."""
    return build(tmp_path_factory.mktemp("there") / "results" / "toy", k1=1.2)


@pytest.fixture(scope="module")
def log(results, there, tmp_path_factory):
    """Return a log of two bundles, the later one of the small results."""
    folder = tmp_path_factory.mktemp("log") / "reproductions"
    reproduced(there, folder, 1, "Grace Höpper")
    reproduced(results, folder, 2)
    return folder


def lines(path):
    with path.open(newline="") as text:
        return list(csv.DictReader(text, delimiter="\t"))


def test_a_reproduction_has_the_ledgers_rows_and_where_they_were_made(results, log):
    archive = log.parent / "2.tar.gz"
    [folder] = log.glob("toy/2026-11-02-ada-example-*")
    assert folder.name.endswith(f"-{files.sha256(archive)[:8]}")
    ledger, numbers = lines(results / "ledger.tsv"), lines(folder / "numbers.tsv")
    kept = list(numbers[0])
    assert numbers == [{name: row[name] for name in kept} for row in ledger]
    facts = yamls.read(folder / "reproduction.yaml")
    assert facts["bundle"] == files.sha256(archive)
    assert facts["numbers"] == files.sha256(folder / "numbers.tsv")
    assert facts["published"] == {"by": "Ada Example", "licence": "MIT", "day": "2026-11-02"}
    first = [row["verdict"] for row in ledger if not row["same_as"]]
    assert facts["verdicts"] == {"toy": dict(Counter(first))}
    made = json.loads((results / "ledger.tsv.manifest.json").read_text())["environment"]
    assert facts["machine"]["python"] == [made["python"]]
    assert facts["machine"]["cpu.model"] == [made["cpu"]["model"]]
    assert facts["packages"] == {name: [version] for name, version in made["packages"].items()}


def test_a_name_of_a_folder_is_plain(log):
    assert len([*log.glob("toy/2026-11-01-grace-hopper-*")]) == 1


def test_the_same_bundle_is_recorded_once(log):
    before = contents_of(log)
    assert recording.record(log.parent / "2.tar.gz", log).endswith(": recorded before")
    assert contents_of(log) == before


def test_a_bundle_that_names_nobody_is_refused_with_the_command(archive, tmp_path):
    with pytest.raises(ResiduumError, match=r"names no publisher\. .*bundle write --output .*--by"):
        recording.record(archive, tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_a_bundle_with_a_fault_is_not_recorded(results, tmp_path):
    members = contents(published(results, tmp_path / "good.tar.gz"))
    members["results/ledger.md"] += b"more\n"
    harmed = pack(tmp_path / "harmed.tar.gz", members)
    with pytest.raises(ResiduumError, match=r"not recorded\. results/ledger\.md: was changed"):
        recording.record(harmed, tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_a_scale_that_leads_out_of_the_log_is_refused(results, tmp_path, monkeypatch):
    archive = published(results, tmp_path / "good.tar.gz")
    monkeypatch.setattr(checkpoints, "scale_of", lambda *_: "../../outside")
    with pytest.raises(ResiduumError, match=r"not recorded: scale: .*\.\./\.\./outside"):
        recording.record(archive, tmp_path / "deep" / "log")
    assert list(tmp_path.iterdir()) == [archive]


def test_a_bundle_gives_its_reproduction_again(log, tmp_path):
    [folder] = log.glob("toy/2026-11-02-*")
    archive, runner = log.parent / "2.tar.gz", CliRunner()

    def verified(bundle, place):
        words = ["bundle", "verify", str(bundle), "--reproduction", str(place)]
        return runner.invoke(app, words)

    good = verified(archive, folder)
    assert good.exit_code == 0 and good.output.endswith(f"{folder}: made again, same bytes\n")
    copy = shutil.copytree(folder, tmp_path / "toy" / folder.name)
    change(copy / "numbers.tsv", "reproduced", "close")
    bad = verified(archive, copy)
    assert bad.exit_code == 1
    assert f"FAULT  {copy}: differs: numbers.tsv, line " in bad.output
    (copy / "numbers.tsv").unlink()
    assert f"FAULT  {copy}: lacks numbers.tsv" in verified(archive, copy).output
    shutil.copy(folder / "numbers.tsv", copy)
    (copy / "more.html").write_text("x")
    more = verified(archive, copy)
    assert more.exit_code == 1 and f"{copy}: holds more.html, which no" in more.output
    other = verified(log.parent / "1.tar.gz", folder)
    assert other.exit_code == 1 and f"lies at toy/{folder.name}, and belongs to" in other.output
    moved = shutil.copytree(folder, tmp_path / "mini" / folder.name)
    assert verified(archive, moved).exit_code == 1, "it is not of that scale"
    with pytest.raises(ResiduumError, match=r"no reproduction: it has no reproduction\.yaml"):
        recording.verify(archive, tmp_path)


def test_a_reproduction_is_not_checked_by_a_bundle_with_faults(log, tmp_path):
    [folder] = log.glob("toy/2026-11-02-*")
    members = contents(log.parent / "2.tar.gz")
    members["results/ledger.md"] += b"more\n"
    *_, last = recording.verify(pack(tmp_path / "harmed.tar.gz", members), folder)
    assert (last.what, last.good) == (str(folder), None) and "has faults" in last.message


def test_a_folder_that_is_of_another_bundle_is_no_record(log, tmp_path):
    copy = shutil.copytree(log, tmp_path / "log")
    [folder] = copy.glob("toy/2026-11-02-*")
    change(folder / "reproduction.yaml", "Ada Example", "Eve Example")
    with pytest.raises(ResiduumError, match=r"exists, and is not of this bundle: differs"):
        recording.record(log.parent / "2.tar.gz", copy)


def test_work_of_a_killed_command_is_not_read(log, tmp_path):
    copy = shutil.copytree(log, tmp_path / "log")
    [folder] = copy.glob("toy/2026-11-02-*")
    folder.rename(folder.parent / f".{folder.name}.part")
    assert [one.facts.published.by for one in reproductions.read(copy)] == ["Grace Höpper"]


def test_a_folder_under_another_name_is_refused(log, tmp_path):
    copy = shutil.copytree(log, tmp_path / "log")
    [folder] = copy.glob("toy/2026-11-02-*")
    (copy / "mini").mkdir()
    folder.rename(copy / "mini" / folder.name)
    with pytest.raises(ResiduumError, match=rf"belongs to .*toy/{folder.name}\. Delete its folder"):
        reproductions.read(copy)


def test_the_scales_of_others_are_not_read(log, tmp_path):
    copy = shutil.copytree(log, tmp_path / "log")
    (copy / "mini" / "one").mkdir(parents=True)
    (copy / "mini" / "one" / "reproduction.yaml").write_text("damaged: {")
    assert len(reproductions.read(copy, "toy")) == 2
    with pytest.raises(ResiduumError, match=r"one/reproduction\.yaml"):
        reproductions.read(copy)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        (
            "numbers.tsv",
            "reproduced",
            "close",
            r"numbers\.tsv: not the file that .*reproduction\.yaml",
        ),
        ("reproduction.yaml", "format: 1", "format: 2", r"reproduction\.yaml: format: .*1"),
        (
            "reproduction.yaml",
            "scale: toy",
            "scales: toy",
            r"reproduction\.yaml: scale: missing key",
        ),
        (
            "reproduction.yaml",
            "day: '2026-11-02'",
            "day: soon",
            r"reproduction\.yaml: published\.day: .*soon",
        ),
    ],
)
def test_an_edited_file_is_named(log, tmp_path, name, old, new, says):
    copy = shutil.copytree(log, tmp_path / "log")
    [folder] = copy.glob("toy/2026-11-02-*")
    change(folder / name, old, new)
    with pytest.raises(ResiduumError, match=f"{says}.*residuum record BUNDLE"):
        reproductions.read(copy)


def number(measured, verdict, row="ours", kind="number"):
    claim = "MRR@10 = 0.3"
    return reproductions.Number(
        "toy", "toy-table1", row, "dev", kind, claim, 0.3, measured, None, verdict
    )


def reproduction(version, *rows):
    facts = {"published": {"by": "A", "licence": "MIT", "day": date(2026, 1, 1)}, "scale": "toy"}
    facts |= {"bundle": "0" * 64, "numbers": "0" * 64, "machine": {}, "packages": {}}
    made = reproductions.Facts(**facts, residuum=version, commits=["abcdef012345"], verdicts={})
    return reproductions.Reproduction(
        version, made, {reproductions.key_of(row): row for row in rows}
    )


def test_what_changed_is_shown_with_where_it_began():
    """The fourth digit counts; the fifth does not. A return to the first value is a change too."""
    others = [
        reproduction("1", number(0.30001, "close"), number(0.5, "close", "base")),
        reproduction("2", number(0.30002, "close"), number(0.5, "close", "base")),
        reproduction("3", number(0.3104, "differs"), number(0.5, "differs", "base")),
        reproduction("4", number(0.30001, "close")),
    ]
    shown = [
        (changed.row.row, [(one.name, text) for one, text in changed.values])
        for changed in reproductions.changes(others)
    ]
    assert shown == [
        ("ours", [("1", "0.3 close"), ("3", "0.3104 differs"), ("4", "0.3 close")]),
        ("base", [("1", "0.5 close"), ("3", "0.5 differs")]),
    ]


def ledger_row(measured, verdict):
    return verdicts.LedgerRow(
        *("toy", "Toy, Table 1", "toy-table1", "ours", "dev"),
        kind="number", claim="MRR@10 = 0.3", measured=measured, verdict=verdict, reason="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "verdict", "shown"),
    [
        (0.3, "close", "same in 2 of 3; 0.3104 differs"),
        (0.3104, "differs", "same in 1 of 3; 0.3 close (2)"),
        (0.5, "differs", "same in 0 of 3; 0.3 close (2); 0.3104 differs"),
        (None, "not run", "0.3 close (2); 0.3104 differs"),
    ],
)
def test_a_row_is_compared_with_each_reproduction(measured, verdict, shown):
    others = [
        reproduction("1", number(0.3, "close")),
        reproduction("2", number(0.3, "close")),
        reproduction("3", number(0.3104, "differs")),
        reproduction("4", number(0.3, "close", "base")),
        reproduction("5", number(None, "not run")),
    ]
    assert reproductions.agreement(ledger_row(measured, verdict), others) == shown
    assert reproductions.agreement(ledger_row(measured, verdict), others[3:]) == "", (
        "no verdict agrees with none"
    )


def test_the_log_has_a_line_per_reproduction_and_what_changed(log, tmp_path):
    text = CliRunner().invoke(app, ["record", "--log", str(log)]).output
    every = text.splitlines()
    head, first, second = [line for line in every if line.startswith(("| day", "| 2026"))]
    assert head.split(" | ")[1].strip() == "by"
    assert "Grace Höpper" in first and "Ada Example" in second
    # `base` has every relevant doc third at k1 0.9, and the first, second or third at 1.2: on
    # average (1 + 1/2 + 1/3) / 3.
    [changed] = [line for line in every if line.startswith("| toy-table1/base/rr ")]
    before, after = changed.split(" | ")[3].split("; ")
    assert before == "0.6111 differs (2026-11-01, 1.0.0)"
    assert after.strip(" |") == "0.3333 differs (2026-11-02, 1.0.0)"
    empty = CliRunner().invoke(app, ["record", "--log", str(tmp_path)])
    assert empty.output == "No reproduction is recorded.\n"


def test_equal_reproductions_have_no_changes(results, tmp_path):
    for day in (1, 2):
        reproduced(results, tmp_path / "log", day)
    assert reproductions.log(tmp_path / "log").endswith(
        "All rows of the ledger are the same in all 2 reproductions."
    )


def test_the_report_compares_each_row(results, log, tmp_path):
    site = writing.write([results], tmp_path / "site", reproductions=log).parent
    index = (site / "index.html").read_text()
    changed = 3  # base's RR@10, what ours gains over it, and the claim that rests on the gain
    assert index.count("same in 1 of 2") == changed
    verdicts_of = [row["verdict"] for row in lines(results / "ledger.tsv")]
    judged = len(verdicts_of) - verdicts_of.count("not run")
    assert index.count("same in 2 of 2") == judged - changed > 0
    page = (site / "toy" / "reproductions.html").read_text()
    assert "Grace Höpper" in page and "toy-table1/base/rr" in page
    bare = writing.write([results], tmp_path / "bare", reproductions=Path("none")).parent
    assert "same in" not in (bare / "index.html").read_text()
    assert not (bare / "toy" / "reproductions.html").exists()
