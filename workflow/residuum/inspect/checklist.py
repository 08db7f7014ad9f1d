"""Answer the checklists of reproducibility tracks from a results folder.

Usage: `residuum checklist --results results/mini > checklist.md`. Questions come from the ACM's
artifact review and badging (version 1.1), the machine learning reproducibility checklist (version
2.0), and the NeurIPS paper checklist. Others come from the calls of ECIR's and SIGIR's
reproducibility tracks. Each answer is read from a file or says that nothing is recorded. Answers
include run times and host names, so a bundle holds no checklist.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from residuum import __version__, ledger
from residuum.config.roots import ROOT
from residuum.inspect import citing
from residuum.inspect.checkpoints import PATHS, scales_of
from residuum.inspect.citing import UNKNOWN
from residuum.inspect.integrity import Changes
from residuum.inspect.provenance import refuse_unfinished
from residuum.inspect.recorded import Recorded, Row
from residuum.pages import verdicts
from residuum.pages.entries import parts_of
from residuum.pages.layout import grid
from residuum.pages.verdicts import LedgerRow

ACM, ML, IR, NEURIPS = "ACM", "ML checklist", "IR tracks", "NeurIPS"
NOT_RUN = "not run"


HEAD = """\
# Artifact checklist, {scale}

Written by residuum {version} from the files of `{results}`. "Code and machines" says what made
them. The questions are those of the ACM's artifact review and badging ({acm}), the machine learning
reproducibility checklist ({ml}), the NeurIPS paper checklist ({neurips}), the reproducibility
tracks of ECIR and SIGIR ({ir}). Answer by hand where it says *{unknown}*.
"""


class Question(NamedTuple):
    """A question: its text, the checklists that contain it, and its function for answers."""

    checklists: tuple[str, ...]
    text: str
    answer: Callable[[Recorded], str]


def write(results: Path, config: Path) -> str:
    """Return the checklist as Markdown; a folder without a ledger raises ResiduumError."""
    refuse_unfinished(results)
    made = Recorded.read(results, config)
    names = {"acm": ACM, "ml": ML, "neurips": NEURIPS, "ir": IR, "unknown": UNKNOWN}
    scale = made.scale()
    parts = [HEAD.format(scale=scale, version=__version__, results=results, **names)]
    for title, questions in QUESTIONS.items():
        parts.append(f"## {title}\n")
        for question in questions:
            named = ", ".join(question.checklists)
            parts.append(f"**{question.text}** ({named})\n\n{question.answer(made) or UNKNOWN}\n")
    return "\n".join(parts).rstrip()


def table(header: Sequence[str], rows: list[Row]) -> str:
    """Lay out rows under a header; without rows, return UNKNOWN."""
    texts = [
        [cell.replace("|", "\\|").replace("\n", " ") or UNKNOWN for cell in row] for row in rows
    ]
    return grid([*header], texts) if rows else UNKNOWN


def tabled(rows: Callable[[Recorded], list[Row]], *header: str) -> Callable[[Recorded], str]:
    """Return a question's answer that is a table."""
    return lambda made: table(header, rows(made))


def _papers(made: Recorded) -> list[str]:
    """Return the papers of all pages, including papers whose pages report no numbers."""
    pages = filter(None, map(PATHS.page_of, made.graph))
    return sorted({parts_of(page)[0] for page in pages})


def _rows(made: Recorded) -> list[LedgerRow]:
    return verdicts.ledger(made.results / PATHS.ledger)


def _verdicts(made: Recorded) -> str:
    if not (rows := _rows(made)):
        return "No page reports a number that was published. Tests: `significance/`."
    return f"{ledger.counts(rows)}\n\nEvery row: `ledger.md`; the verdicts: docs/verdicts.md."


def _scale(made: Recorded) -> str:
    """Return, per scale, whether its numbers compare with the papers', from the pages' specs."""
    return "\n".join(f"- {scale}: {compares}" for scale, compares in scales_of(made.graph).items())


def _not_run(made: Recorded) -> str:
    """Return a table of the reasons why rows were not run, with row counts and pages."""
    reasons: dict[str, list[str]] = {}
    for row in _rows(made):
        if row.verdict == NOT_RUN:
            reasons.setdefault(row.reason or UNKNOWN, []).append(row.table)
    if not reasons:
        return "All that the papers print of the chosen pages was run."
    lines = [[why, str(len(on)), ", ".join(dict.fromkeys(on))] for why, on in reasons.items()]
    return table(("reason", "rows", "pages"), lines)


def _code(made: Recorded) -> str:
    """Return the commits that made the results; manifests do not record residuum's version."""
    commits = [f"- commit {name}: {count} artefacts" for name, count in made.counted("git_commit")]
    codes = {record.sha256 for record in made.all}
    lines = [
        *commits,
        f"- {len(codes)} closures of code, each artefact's in its manifest",
        f"- version of residuum that made them: {UNKNOWN}, but by commit",
        f"- licence of residuum: Apache-2.0; the address of its repository: {UNKNOWN}",
    ]
    return "\n".join(lines)


def _pins(made: Recorded) -> str:
    """Return the recorded versions, and which files of this checkout pin exactly these versions."""
    rows = made.counted("python", "platform", "packages")
    lines = [compared(path, made.packages()) for path in files(ROOT)]
    header = ("Python", "platform", "packages", "artefacts")
    return "\n".join([table(header, rows), "", *lines])


def _cited(made: Recorded) -> str:
    papers = [f"- {paper}" for paper in citing.papers(_papers(made))]
    return "\n".join([*papers, f"\n```bibtex\n{citing.software()}\n```"])


def _models(made: Recorded) -> str:
    untrained = [
        f"`{checkpoint.name}`" for checkpoint in made.checkpoints() if not checkpoint.trained
    ]
    others = f"\n\nMade, not trained: {', '.join(untrained)}." if untrained else ""
    return table(MODELS, made.models()) + others


def _machines(made: Recorded) -> str:
    kinds = sorted({str(record.cpu) for record in made.all if record.cpu})
    used = {
        " ".join(str(checkpoint.made.spec[key]) for key in ("device", "precision", "arithmetic"))
        for checkpoint in made.trained()
        if "device" in checkpoint.made.spec
    }
    lines = [f"- processor: {kind}" for kind in kinds] or [f"- processor: {UNKNOWN}"]
    lines += [f"- trained on: {text}" for text in sorted(used)]
    return "\n".join([*lines, f"- memory and disk of the machine: {UNKNOWN}"])


def _seeds(made: Recorded) -> str:
    """Return the number of trainings of each model, and where their spread is shown."""
    seeds: dict[str, list[str]] = {}
    for checkpoint in made.trained():
        seeds.setdefault(checkpoint.name, []).append(str(checkpoint.made.spec.get("seed", UNKNOWN)))
    rows = [[name, str(len(numbers)), ", ".join(numbers)] for name, numbers in seeds.items()]
    shown = (
        "Tables print the deviation over seeds where a model has several, and say which rows rest "
        "on one training; `significance/` has intervals over queries, and over seeds."
    )
    return f"{shown}\n\n{table(('model', 'trainings', 'seeds'), rows)}"


def _whole(made: Recorded) -> str:
    """Return which files differ from their manifests; large files are compared by size only."""
    changes = Changes(made.results, made.graph)
    changed = changes.among(made.graph.values(), ())
    lines = [f"- {len(made.all)} manifests, each with the hashes of its files and inputs"]
    lines += [f"- changed since: {change}" for change in changed] or ["- no file changed since"]
    return "\n".join(lines)


def _again(made: Recorded) -> str:
    papers = ",".join(_papers(made))
    scale = made.scale()
    return (
        f"```\nsnakemake --cores all --config scale={scale} 'papers=[{papers}]'\n"
        f"residuum explain PAPER/PAGE/ROW/COLUMN --results {made.results}\n"
        f"residuum bundle write --results {made.results} --output {scale}.tar.gz\n"
        f"residuum bundle verify {scale}.tar.gz\n```\n\n"
        "The same command resumes. A bundle makes the pages again without data, Java or a GPU."
    )


def _by_hand(_: Recorded) -> str:
    return UNKNOWN


COLLECTIONS = ("dataset", "title", "docs", "edition", "source", "licence", "access", "citation")
MODELS = ("model", "kind", "seed", "start", "training", "steps", "loss at the end", "learned")
TUNINGS = ("tuned", "on", "by", "settings tried", "chosen", "at an edge of the grid")
COST = ("stage", "jobs", "time", "core time", "largest memory, MB")


QUESTIONS: dict[str, list[Question]] = {
    "Claims": [
        Question((ACM, IR, NEURIPS), "What is claimed, and what was reproduced?", _verdicts),
        Question((IR,), "Do the numbers compare with those that were published?", _scale),
        Question((ACM, IR), "What was not run, and why?", _not_run),
        Question((IR,), "Whose work is reproduced, and how is residuum cited?", _cited),
    ],
    "Data": [
        Question(
            (ACM, ML, NEURIPS, IR),
            "Which data, from where, and under which licence?",
            tabled(Recorded.collections, *COLLECTIONS),
        ),
        Question(
            (ML,),
            "How many examples are in which split, and what is each for?",
            tabled(Recorded.splits, "split", "queries", "judgements", "used for"),
        ),
        Question((NEURIPS,), "Consent, personal data, and harm that may be done", _by_hand),
    ],
    "Code and machines": [
        Question((ACM, ML, IR), "Which code, in which version, under which licence?", _code),
        Question((ACM, ML, NEURIPS), "Which dependencies, and are they pinned?", _pins),
        Question((ML, NEURIPS), "Which hardware?", _machines),
        Question((ACM,), "Is it archived where it has a DOI?", _by_hand),
    ],
    "Models and their settings": [
        Question(
            (ML, NEURIPS, IR),
            "Which models were trained, and how?",
            _models,
        ),
        Question(
            (ML, IR),
            "With which settings were runs made?",
            tabled(Recorded.systems, "system", "settings"),
        ),
        Question(
            (ML, NEURIPS, IR),
            "What was tuned: over which range, by what, on which data, and what was chosen?",
            tabled(Recorded.tunings, *TUNINGS),
        ),
        Question((ML, NEURIPS), "How many trainings, and is their variation reported?", _seeds),
    ],
    "Evaluation": [
        Question(
            (ML, IR),
            "Which measures, on which data?",
            tabled(Recorded.measures, "measure", "splits"),
        ),
        Question(
            (ML, NEURIPS, IR),
            "Which tests, with which correction?",
            tabled(Recorded.tests, "page", "how", "comparisons"),
        ),
    ],
    "Cost": [
        Question(
            (ML, NEURIPS),
            "How long did it take, and in how much memory?",
            tabled(Recorded.spent, *COST),
        ),
    ],
    "To make it again": [
        Question((ACM, IR, NEURIPS), "Which commands?", _again),
        Question((ACM,), "Are the results complete, and unchanged since?", _whole),
    ],
}


PIN = re.compile(r"^(?: *- +)?([A-Za-z0-9][\w.-]*) *==?([0-9][^\s#;*,]*)", re.M)


def files(root: Path) -> Iterator[Path]:
    """Yield the files of a checkout that pin packages: first pip's, then conda's."""
    yield from filter(Path.is_file, [root / "requirements.lock"])
    yield from sorted((root / "envs").glob("*.yaml"))


def compared(path: Path, recorded: Mapping[str, set[str]]) -> str:
    """Return a Markdown line that says whether a file pins the recorded versions."""
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
    """Return a package's normalised name, as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()
