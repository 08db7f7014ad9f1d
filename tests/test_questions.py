"""Questions of a generator: they use their doc, follow from it alone, and survive kill -9."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

from contents import contents
from copying import HELD_OUT, draw, train_copying, write_task
from corpora import make_corpus
from killing import as_command, leave_half, run_and_kill
from residuum import questions, train
from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import QuestionGenerator
from residuum.neural import devices
from residuum.neural.learners import Start
from residuum.neural.pretrained import Source
from residuum.neural.questions import begin, others_docs
from residuum.neural.seq2seq import QuestionWriter, Written
from tiny_models import as_options, question_generator_spec, train_arguments

DEVICE = devices.Device("cpu", "fp32")
HOW = {"per_doc": 2, "top_k": 5, "doc_length": 24, "question_length": 8}
HELD = draw(HELD_OUT, 2)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def model(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_copying(task, tmp_path_factory.mktemp("model") / "generator")


def arguments(task: Path, model: Path, folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the arguments of `generate`; changes are of it, or of the spec."""
    own = {key: changes.pop(key) for key in (*HOW, "seed", "docs") if key in changes}
    named = {"queries": folder / "queries.tsv", "qrels": folder / "qrels.trec"}
    return {
        "corpus": task / "held", "model": str(model), "spec": json.dumps({**HOW, **own}),
        "work": folder.with_name(f"{folder.name}.work"), **named, "batch_size": 32, "threads": 1,
        "device": "cpu", **changes,
    }  # fmt: skip


def generate(task: Path, model: Path, folder: Path, **changes: Any) -> dict[str, Any]:
    """Write questions and return the facts of their manifest."""
    folder.mkdir()
    questions.generate(**arguments(task, model, folder, **changes))
    assert not folder.with_name(f"{folder.name}.work").exists()
    facts = json.loads((folder / "queries.tsv.manifest.json").read_text())["artefact"]
    return dict(facts)


def likelihoods(writer: QuestionWriter) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of the held-out questions given their docs, and given other ones."""
    docs = list(writer.tokenise_docs(doc for doc, _ in HELD.values()))
    questions = list(writer.tokenise_questions(question for _, question in HELD.values()))
    pairs = [(f"q-{doc_id}", doc_id) for doc_id in HELD]
    rows = dict(zip(HELD, docs, strict=True))
    others = [rows[doc_id] for doc_id in others_docs(pairs)]
    return writer.errors(docs, questions, 16), writer.errors(others, questions, 16)


def uses_its_doc(writer: QuestionWriter) -> bool:
    right, wrong = likelihoods(writer)
    return bool(right.mean() < wrong.mean() and ttest_rel(right, wrong).pvalue < 0.01)


def test_a_trained_generator_uses_its_doc_and_an_untrained_one_does_not(
    task: Path, model: Path, tmp_path: Path
) -> None:
    trained = QuestionWriter.load(model, DEVICE)
    assert uses_its_doc(trained)
    right, wrong = likelihoods(trained)
    # Seeds 1 to 4 of the training: 0.005 to 0.075, and 5.2 or more; all greedy questions right.
    assert right.mean() < 0.3 and wrong.mean() > 2
    spec = QuestionGenerator.model_validate_json(question_generator_spec())
    assert not uses_its_doc(
        begin(spec, Start(Source(str(task / "start"), new_head=True), DEVICE, 1))
    )
    facts = generate(task, model, tmp_path / "greedy", per_doc=1, top_k=1)
    held = {f"{doc_id}.1": question for doc_id, (_, question) in HELD.items()}
    written = trec.read_queries(tmp_path / "greedy" / "queries.tsv")
    assert written.keys() == held.keys()
    assert sum(written[query_id] == held[query_id] for query_id in held) > 0.9 * HELD_OUT
    # `about` stands in no doc: at best two words of three
    assert facts["copied"] == pytest.approx(2 / 3, abs=0.02)


def test_others_docs_are_no_query_s_own() -> None:
    pairs = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("c", "4")]
    assert others_docs(pairs) == ["3", "3", "4", "1", "2"]
    assert others_docs([("a", "1"), ("a", "2")]) == ["1", "2"], "no doc is another query's"


def test_queries_and_qrels_are_those_of_a_split_and_the_manifest_describes_them(
    task: Path, model: Path, tmp_path: Path
) -> None:
    length = 3  # no room for the end of most, whatever the processor made of the model
    facts = generate(task, model, tmp_path / "made", per_doc=4, question_length=length)
    written = trec.read_queries(tmp_path / "made" / "queries.tsv")
    qrels = trec.read_qrels(tmp_path / "made" / "qrels.trec")
    of = {query_id: query_id.rpartition(".")[0] for query_id in written}
    assert qrels.rows() == [(query_id, doc_id, 1) for query_id, doc_id in of.items()]
    assert [*dict.fromkeys(of.values())] == [doc_id for doc_id in HELD if doc_id in of.values()]
    assert {query_id.rpartition(".")[2] for query_id in written} <= {"1", "2", "3", "4"}
    assert len({*zip(of.values(), written.values(), strict=True)}) == len(written), "none repeats"
    assert facts["queries"] == facts["qrels"] == len(written)
    assert facts["docs"] == HELD_OUT and facts["repeated"] > 0
    assert len(written) + facts["empty"] + facts["repeated"] == 4 * HELD_OUT
    words = [text.split() for text in written.values()]
    assert facts["words_per_question"] == pytest.approx(np.mean([*map(len, words)]), abs=1e-3)
    long = [(w, of[q]) for q, text in written.items() for w in text.split() if len(w) >= 4]
    copied = np.mean([word in HELD[doc_id][0].split() for word, doc_id in long])
    assert facts["copied"] == pytest.approx(copied, abs=1e-4)
    tokenizer = QuestionWriter.load(model, DEVICE).tokenizer
    tokens = [len(tokenizer.tokenize(text)) for text in written.values()]
    cut = sum(count >= length for count in tokens)
    assert facts["cut_off"] == pytest.approx(cut / len(written), abs=1e-4) and cut
    fitting = []
    for query_id, text in written.items():
        own = {w for w in text.split() if len(w) >= 4} & {*HELD[of[query_id]][0].split()}
        fitting.append(sum(own <= {*doc.split()} for doc, _ in HELD.values()))
    assert len(fitting) < 1000 and facts["fits"] == median(fitting) < HELD_OUT
    bigrams = [pair for own in words for pair in pairwise(own)]
    assert facts["distinct_2"] == pytest.approx(len({*bigrams}) / len(bigrams), abs=1e-4)
    record = json.loads((tmp_path / "made" / "queries.tsv.manifest.json").read_text())
    assert {*record["files"]} == {"queries.tsv", "qrels.trec"}
    assert {Path(path).name for path in record["inputs"]} == {"manifest.json", "generator"}


def test_questions_without_their_end_are_counted(task: Path, model: Path, tmp_path: Path) -> None:
    """Greedy questions have three tokens and an end; a length of three has no room for the end."""
    how = {"per_doc": 1, "top_k": 1}
    whole = generate(task, model, tmp_path / "whole", question_length=4, **how)
    short = generate(task, model, tmp_path / "short", question_length=3, **how)
    long = generate(task, model, tmp_path / "long", **how)
    assert short["cut_off"] == 1 and long["cut_off"] == 0
    written = [trec.read_queries(tmp_path / name / "queries.tsv") for name in ("long", "whole")]
    cut = sum(written[0][query_id] != text for query_id, text in written[1].items())
    assert whole["cut_off"] == pytest.approx(cut / len(written[1]), abs=1e-4)


def test_a_question_fits_the_docs_that_hold_all_that_it_has_of_its_own(tmp_path: Path) -> None:
    docs = [
        ("a", "Fever of the lung"),
        ("b", "the lung, in fever: cough"),
        ("c", "lung"),
        ("d", ""),
    ]
    corpus = make_corpus(tmp_path / "corpus", docs)
    asked = [
        ("a", "does fever harm a Lung"), ("b", "fever and cough"), ("c", "lung fever"),
        ("c", "any cough at all"), ("a", "of the"),
    ]  # fmt: skip
    assert questions.fits(corpus, asked) == [2, 1, 3, 4, 4]


def sha256(folder: Path) -> tuple[str, str]:
    return files.sha256(folder / "queries.tsv"), files.sha256(folder / "qrels.trec")


def test_batches_parts_and_neighbours_change_nothing_and_a_seed_does(
    task: Path, model: Path, tmp_path: Path
) -> None:
    generate(task, model, tmp_path / "whole")
    for name, how in {"small": {"batch_size": 3}, "parts": {"part_docs": 7}}.items():
        generate(task, model, tmp_path / name, **how)
        assert sha256(tmp_path / name) == sha256(tmp_path / "whole")
    backwards = make_corpus(
        tmp_path / "turned", [(d, doc) for d, (doc, _) in reversed(HELD.items())]
    )
    generate(task, model, tmp_path / "order", corpus=backwards)
    read = [trec.read_queries(tmp_path / name / "queries.tsv") for name in ("whole", "order")]
    assert read[0] == read[1] and [*read[0]] != [*read[1]]
    for name, how in {"seed": {"seed": 2}, "wide": {"top_k": 50}, "one": {"top_k": 1}}.items():
        generate(task, model, tmp_path / name, **how)
        assert sha256(tmp_path / name) != sha256(tmp_path / "whole")
    greedy = trec.read_queries(tmp_path / "one" / "queries.tsv")
    assert {query_id.rpartition(".")[2] for query_id in greedy} == {"1"}, "the second repeats it"
    generate(task, model, tmp_path / "greedy", top_k=1, seed=2)
    assert sha256(tmp_path / "greedy") == sha256(tmp_path / "one")


def test_drawn_docs_do_not_depend_on_the_rest(task: Path, model: Path, tmp_path: Path) -> None:
    every = generate(task, model, tmp_path / "every")
    some = generate(task, model, tmp_path / "some", docs=20)
    assert (every["docs"], some["docs"]) == (HELD_OUT, 20)
    whole = trec.read_queries(tmp_path / "every" / "queries.tsv")
    few = trec.read_queries(tmp_path / "some" / "queries.tsv")
    assert few.items() < whole.items()
    own = {query_id.rpartition(".")[0] for query_id in few}
    half = make_corpus(
        tmp_path / "half", [(d, HELD[d][0]) for d in HELD if d in own or d[-1] == "3"]
    )
    generate(task, model, tmp_path / "again", docs=20, corpus=half)
    assert trec.read_queries(tmp_path / "again" / "queries.tsv") == few
    assert generate(task, model, tmp_path / "more", docs=10**6)["docs"] == HELD_OUT


def test_killed_generation_goes_on_at_the_first_missing_part(
    task: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(task, model, tmp_path / "whole", part_docs=4)
    (tmp_path / "killed").mkdir()
    given = arguments(task, model, tmp_path / "killed", part_docs=4)
    as_command(monkeypatch, "residuum.questions", "generate", given["spec"])
    words = [
        word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    second = given["work"] / "part-00001.json"
    run_and_kill(["residuum.questions", "generate", *words], when=second.exists)
    leave_half(second.parent / "part-00002.json")
    assert not [*(tmp_path / "killed").iterdir()]
    read: list[str] = []
    write = QuestionWriter.write

    def recording(self: QuestionWriter, docs: Any, keys: list[str], *rest: Any) -> Any:
        read.extend(keys)
        return write(self, docs, keys, *rest)

    monkeypatch.setattr(QuestionWriter, "write", recording)
    questions.generate(**given)
    ids = [*HELD]
    assert not {*ids[:8]} & {*read} and ids[-1] in read
    assert sha256(tmp_path / "killed") == sha256(tmp_path / "whole")
    assert not given["work"].exists()


def test_killed_training_ends_with_the_same_bytes(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = question_generator_spec(steps=120, dropout=0.1)
    as_command(monkeypatch, "residuum.train", "train", spec)
    train.train(**train_arguments(task, tmp_path / "whole", spec))
    given = train_arguments(task, tmp_path / "killed", spec, save_every=0)
    command = ["residuum.train", "train", *as_options(given)]
    run_and_kill(command, when=(given["work"] / "state.pt").exists)
    train.train(**given)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_no_question_at_all_is_an_error(
    task: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        QuestionWriter, "write", lambda self, docs, *_: [[Written("", True)] * 2] * len(docs)
    )
    (tmp_path / "none").mkdir()
    with pytest.raises(ResiduumError, match=r"no question is left: all 200 .*Train the generator"):
        questions.generate(**arguments(task, model, tmp_path / "none"))
    assert not [*(tmp_path / "none").iterdir()]


def test_empty_docs_get_no_question(task: Path, model: Path, tmp_path: Path) -> None:
    docs = [("a", "amber and basil with cedar"), ("b", " "), ("c", ""), ("d", "fern with ivory")]
    facts = generate(task, model, tmp_path / "out", corpus=make_corpus(tmp_path / "few", docs))
    assert facts["docs"] == 2
    assert {*trec.read_qrels(tmp_path / "out" / "qrels.trec")["doc_id"]} == {"a", "d"}
    drawn = generate(task, model, tmp_path / "drawn", corpus=tmp_path / "few", docs=2)
    assert drawn["docs"] == 2
    (tmp_path / "none").mkdir()
    nothing = make_corpus(tmp_path / "blank", docs[1:3])
    with pytest.raises(ResiduumError, match="no doc has a text to ask about"):
        questions.generate(**arguments(task, model, tmp_path / "none", corpus=nothing))


def test_empty_and_repeated_questions_keep_the_numbers_of_the_others(
    task: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["", "about amber", "about amber", "", "about ivory fern"]
    made = [Written(text, not text.endswith("fern")) for text in texts]
    monkeypatch.setattr(QuestionWriter, "write", lambda self, docs, *_: [made for _ in docs])
    corpus = make_corpus(tmp_path / "two", [("1.2", "Ivory."), ("b", "fern")])
    facts = generate(task, model, tmp_path / "out", corpus=corpus, per_doc=5)
    written = trec.read_queries(tmp_path / "out" / "queries.tsv")
    assert [*written] == ["1.2.2", "1.2.5", "b.2", "b.5"]
    assert trec.read_qrels(tmp_path / "out" / "qrels.trec")["doc_id"].to_list() == [
        *["1.2"] * 2, *["b"] * 2,
    ]  # fmt: skip
    assert (facts["empty"], facts["repeated"], facts["words_per_question"]) == (4, 2, 2.5)
    # of about, amber; about, ivory, fern: `ivory` stands in the first doc, `fern` in the second
    assert facts["copied"] == pytest.approx(2 / 10)
    assert facts["distinct_2"] == 0.5, "3 of 6 bigrams"
    assert facts["cut_off"] == 0.5, "of those that are kept"
    # of the first doc ivory, which one doc has, and nothing; of the second fern, and nothing
    assert facts["fits"] == (1 + 2) / 2
    assert pl.Series(written.values()).n_unique() == 2
