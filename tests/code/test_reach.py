"""The modules that each verb's results depend on are those of tests/code/reach.txt.

A line too many there is a job too many after an edit; a line too few, a stale result. Where a
change is meant: `PYTHONPATH=workflow:tests python tests/code/test_reach.py` writes the file anew.
"""

import textwrap
from pathlib import Path

import pytest

from residuum.cli.errors import ResiduumError
from residuum.code.closure import APART, _Walk, closure
from residuum.code.closure import INSTALLED as LIBRARY
from residuum.code.normal import MESSAGES, RAISED, WORDY
from residuum.pages.kinds import ENTRIES

LISTED = Path(__file__).with_name("reach.txt")
RULES = sorted(path.stem for path in (LIBRARY.folder.parents[1] / "rules").glob("*.smk"))
STAGES = [f"pages.{name}.make" if name in ENTRIES else name for name in RULES]
# Kinds for which a verb is listed once more, as a spec of it would name them.
KINDS = {
    ("data", "corpus"): ["files", "generated", "generated-articles", "irds"],
    ("rerank", "score"): ["cross-encoder"],
    ("train", "train"): [
        "cross-encoder",
        "dual-encoder",
        "question-generator",
        "term-gate",
        "term-weights",
    ],
}


def verbs():
    """Yield (stage, verb, kinds) of all that is listed."""
    for stage in STAGES:
        module = LIBRARY.module(f"residuum.{stage}")
        for verb in [s.verb for s in module.statements if s.verb] if module else []:
            yield stage, verb, None
            yield from ((stage, verb, kind) for kind in KINDS.get((stage, verb), []))


def reached(stage, verb, kind):
    """Return the modules that a verb reaches."""
    lines = closure(f"residuum.{stage}", verb, frozenset([kind]) if kind else None)
    return sorted({line.split(":")[0].removeprefix("residuum.") for line in lines})


def listing(stage, verb, kind):
    """Write what a verb reaches, under its name."""
    name = " ".join(filter(None, (stage, verb, kind)))
    text = textwrap.fill(" ".join(reached(stage, verb, kind)), 96)
    return f"{name}\n{textwrap.indent(text, '    ')}\n"


@pytest.mark.parametrize(("stage", "verb", "kind"), list(verbs()))
def test_a_verb_reaches_the_modules_that_are_listed(stage, verb, kind):
    assert listing(stage, verb, kind) in LISTED.read_text(), "see the docstring of this file"


def test_one_verb_alone_writes_the_words_of_an_exception_into_its_result():
    """Elsewhere a better message reruns nothing: no statement reads what an exception says."""
    reading = set()
    for stage, verb, kind in verbs():
        start = [s for s in LIBRARY.existing(f"residuum.{stage}").statements if s.verb == verb]
        reached = _Walk(LIBRARY, frozenset([kind]) if kind else None).follow(start)
        reading |= {(s.module, s.name) for s in reached if s.reads_errors}
    assert reading == {("residuum.external", "accept")}


@pytest.mark.parametrize(("stage", "verb"), [
    ("evaluate", "run"), ("pages.figure.make", "draw"), ("fusion", "tune"), ("rerank", "depths"),
    ("rm3", "tune"),
])  # fmt: skip
def test_a_measure_of_ours_counts_for_the_jobs_that_name_it(stage, verb):
    def reaches_it(kind):
        lines = closure(f"residuum.{stage}", verb, frozenset([kind]))
        return any("residuum.tuning.evaluation:answer_accuracy" in line for line in lines)

    assert reaches_it("AnswerAccuracy")
    assert not reaches_it("RR")


def test_the_stop_words_of_deepct_count_for_its_training_alone():
    def reads_them(verb, kind):
        lines = closure("residuum.train" if kind else "residuum.termweights", verb, kind)
        return any("neural/words/deepct.txt=" in line for line in lines)

    assert reads_them("train", frozenset(["term-weights"]))
    assert not reads_them("train", frozenset(["dual-encoder"]))
    assert not reads_them("predict", None)


def test_the_error_whose_words_rerun_nothing_holds_them_and_no_more():
    assert f"{ResiduumError.__module__}.ResiduumError" in WORDY
    assert ResiduumError.__bases__ == (Exception,)
    assert not {"__init__", "__new__"} & {*vars(ResiduumError)}


def test_what_is_listed_exists():
    listed = [line for line in LISTED.read_text().splitlines() if not line.startswith(" ")]
    assert listed == [" ".join(filter(None, names)) for names in verbs()]


def test_what_stands_apart_and_what_says_messages_exists():
    for name in APART:
        assert LIBRARY.module(name) or LIBRARY.find(name), name
    for name in [*MESSAGES, *RAISED]:
        module, _, function = name.rpartition(".")
        assert not module.startswith("residuum.") or LIBRARY.find(f"{module}:{function}"), name


def test_every_name_in_the_package_can_be_followed():
    """No verb is refused once it reaches more of the package."""
    for path in sorted(LIBRARY.folder.rglob("*.py")):
        parts = path.relative_to(LIBRARY.folder.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        for statement in LIBRARY.existing(name).statements:
            members = [use for _, use in statement.branches if isinstance(use, tuple)]
            uses = {*statement.wordless.uses, *statement.worded.uses, *members}
            assert all(LIBRARY.resolve(statement, use) for use in uses)


if __name__ == "__main__":
    LISTED.write_text("".join(listing(*names) for names in verbs()))
