"""Programs as models: answers become vectors, no text is asked for twice, faults are named."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from conftest import ROOT
from corpora import make_corpus
from killing import run_and_kill
from residuum import program
from residuum.artefacts import contracts, termvectors, trec
from residuum.cli.errors import ResiduumError

DOCS = [("d1", "one"), ("d2", "two two"), ("d3", "one"), ("d4", "fünf")]
BEGIN = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    with open("asked.txt", "a") as file:
        file.write(asked["side"] + " " + asked["id"] + "\\n")
    length = [len(asked["text"]), 4.0 if asked["side"] == "doc" else 1.0]
"""
ANSWER = '    print(json.dumps({"id": asked["id"], "vector": length}), flush=True)\n'
SPEC = {"kind": "program", "command": [sys.executable, "script.py"], "similarity": "dot"}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a function that asks a script for a corpus's vectors, and returns their folder."""
    monkeypatch.chdir(tmp_path)
    make_corpus(Path("corpus"), DOCS)

    def docs(script, corpus="corpus", output="out", **spec):
        Path("script.py").write_text(script)
        program.ask_docs(
            Path(corpus), 0, 1, json.dumps({**SPEC, **spec}), Path("kept"), Path(output),
            [Path("script.py")],
        )  # fmt: skip
        return Path(output)

    return docs


def asked():
    """Return what the script was asked for since the last call."""
    path = Path("asked.txt")
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def facts(folder):
    return json.loads((folder / "manifest.json").read_text())["artefact"]


def test_answers_are_the_vectors_of_docs_and_queries(ask):
    folder = ask(BEGIN + ANSWER)
    ids, vectors = contracts.read_vectors(folder)
    assert ids == ["d1", "d2", "d3", "d4"]
    assert vectors.tolist() == [[3, 4], [7, 4], [3, 4], [4, 4]], "lengths in characters"
    trec.write_queries(Path("queries.tsv"), [("q1", "one"), ("q2", "a word")])
    program.ask_queries(
        ["dev=queries.tsv"], json.dumps(SPEC), Path("kept"), Path("encoded"), [Path("script.py")]
    )
    ids, vectors = contracts.read_vectors(Path("encoded/dev"))
    assert (ids, vectors.tolist()) == (["q1", "q2"], [[3, 1], [6, 1]])
    assert asked() == ["doc d1", "doc d2", "doc d4", "query q1", "query q2"]
    assert facts(Path("encoded"))["weights"] == facts(folder)["weights"]
    assert facts(Path("encoded"))["queries"] == {"dev": 2}
    assert facts(folder)["shard"] == {"number": 0, "of": 1, "docs": 4}


def test_a_cosine_makes_every_length_one(ask):
    _, vectors = contracts.read_vectors(ask(BEGIN + ANSWER, similarity="cosine"))
    np.testing.assert_allclose(vectors[0], [0.6, 0.8], atol=1e-7)


def test_term_weights_are_sparse_vectors(ask):
    answer = '    terms = {word: 0.5 for word in asked["text"].split()}\n'
    folder = ask(BEGIN + answer + ANSWER.replace('"vector": length', '"terms": terms'))
    ids, terms, rows = termvectors.read(folder)
    assert (ids, terms) == (["d1", "d2", "d3", "d4"], ["fünf", "one", "two"])
    assert rows.toarray().tolist() == [[0, 0.5, 0], [0, 0, 0.5], [0, 0.5, 0], [0.5, 0, 0]]


def test_no_text_is_asked_for_twice(ask):
    first = ask(BEGIN + ANSWER)
    assert asked() == ["doc d1", "doc d2", "doc d4"], "d3 has the text of d1"
    make_corpus(Path("other"), [("x9", "fünf"), ("d1", "new"), ("x1", "one")])
    again = ask(BEGIN + ANSWER, "other", "again")
    assert asked() == ["doc d1"], "the id says nothing"
    assert contracts.read_vectors(again)[1].tolist() == [[4, 4], [3, 4], [3, 4]]
    ask(BEGIN + ANSWER, similarity="cosine")
    assert asked() == [], "how vectors are compared changes no answer"
    other = ask("# edited\n" + BEGIN + ANSWER, output="edited")
    assert asked() == ["doc d1", "doc d2", "doc d4"]
    assert facts(other)["weights"] != facts(first)["weights"]
    ask("# edited\n" + BEGIN + ANSWER, command=[*SPEC["command"], "--model=large"])
    assert asked() == ["doc d1", "doc d2", "doc d4"]


def test_a_program_that_fails_is_asked_for_what_it_did_not_answer(ask, capfd):
    script = (
        BEGIN + '    if asked["id"] == "d2" and len(sys.argv) > 1: sys.exit("no credit")\n' + ANSWER
    )
    fails = {"command": [*SPEC["command"], "fail"]}
    text = r"script\.py fail: no answer for doc d2: it ended with status 1 after 1 of 3 texts; its "
    with pytest.raises(ResiduumError, match=text + r"messages stand above\. .* are kept in kept/"):
        ask(script, **fails)
    assert "no credit" in capfd.readouterr().err
    assert not Path("out").exists()
    assert asked() == ["doc d1", "doc d2"]
    with pytest.raises(ResiduumError, match="after 0 of 2 texts"):
        ask(script, **fails)
    assert asked() == ["doc d2"]


def test_an_answer_that_was_cut_short_or_damaged_is_asked_for_again(ask):
    ask(BEGIN + ANSWER)
    asked()
    [path] = Path("kept").rglob("*.answers")
    path.write_bytes(path.read_bytes()[:-9])
    whole = ask(BEGIN + ANSWER)
    assert asked() == ["doc d4"]
    assert contracts.read_vectors(whole)[1].tolist()[3] == [4, 4]
    path.write_bytes(path.read_bytes().replace(b"[7,", b"[8,"))
    whole = ask(BEGIN + ANSWER)
    assert asked() == ["doc d2"]
    assert contracts.read_vectors(whole)[1].tolist()[1] == [7, 4]
    ask(BEGIN + ANSWER)
    assert asked() == []


def test_a_killed_job_goes_on_from_what_was_answered(ask, tmp_path):
    begin = f"import os; os.chdir({str(tmp_path)!r})\n{BEGIN}"
    stops = '    while asked["id"] == "d2" and len(sys.argv) > 1: pass\n'
    script, kept = tmp_path / "script.py", tmp_path / "kept"
    script.write_text(begin + ANSWER + stops)
    spec = json.dumps({**SPEC, "command": [sys.executable, str(script), "wait"]})
    words = ["docs", "--corpus", tmp_path / "corpus", "--shard", "0", "--of", "1", "--spec", spec]
    words += ["--file", script, "--answers", kept, "--output", tmp_path / "out"]

    def answered():
        return sum(file.read_bytes().count(b"\n") for file in kept.rglob("*.answers")) == 2

    run_and_kill(["residuum.program", *map(str, words)], answered)
    assert asked()[:2] == ["doc d1", "doc d2"]
    [path] = kept.rglob("*.answers")
    program.ask_docs(tmp_path / "corpus", 0, 1, spec, kept, tmp_path / "out", [script])
    assert asked() == ["doc d4"]
    assert [*kept.rglob("*.answers")] == [path], "the same job goes on in its file"


def test_the_program_of_an_api_asks_in_batches_and_again_if_the_service_is_busy(ask, monkeypatch):
    """The service answers out of order, as it may; its first answer is that it is busy."""
    bodies = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200 if len(bodies) > 1 else 429)
            self.end_headers()
            texts = [*enumerate(bodies[-1]["input"])]
            data = [{"index": n, "embedding": [len(text), 1.0]} for n, text in reversed(texts)]
            self.wfile.write(json.dumps({"data": data}).encode())

        def log_message(self, *_):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        script = (ROOT / "config/programs/embedding_api.py").read_text().replace("2 **", "0 *")
        folder = ask(script, command=[*SPEC["command"], "a-model"])
        server.shutdown()
    assert bodies == [{"model": "a-model", "input": ["one", "two two", "fünf"]}] * 2
    assert contracts.read_vectors(folder)[1].tolist() == [[3, 1], [7, 1], [3, 1], [4, 1]]


FAULTS = {
    "noise": (
        'print("loading")\n' + BEGIN + ANSWER,
        r"asked for doc d1: a line is .* found 'loading'\. Write messages to standard error",
    ),
    "order": (
        BEGIN + ANSWER.replace('asked["id"]', '"d2"'),
        "asked for doc d1: an answer to 'd2'. Answers have the order of the texts",
    ),
    "vector": (BEGIN + ANSWER.replace("length", "7"), "doc d1: d1: vector is no list of numbers"),
    "both": (
        BEGIN + ANSWER.replace("length", 'length, "terms": {}'),
        "give either vector or terms",
    ),
    "width": (
        BEGIN + ANSWER.replace("length", "length[: 1 + (asked['id'] == 'd2')]"),
        "doc d2: d2: its vector has 2 dimensions, and those before it have 1 dimensions"
        r".*\. If the model behind it is another one now, delete \S+ to ask for all texts again",
    ),
    "huge": (BEGIN + ANSWER.replace("length", "[10**400]"), "doc d1: d1: a value of its vector is"),
    "below": (
        BEGIN + ANSWER.replace('"vector": length', '"terms": {"x": -1}'),
        "doc d1: d1: the weight of 'x' is below 0; weights are 0 or more",
    ),
    "infinite": (BEGIN + ANSWER.replace("length", "[float('nan')]"), "doc d1: d1: a value of its"),
    "silence": ("import sys; sys.stdin.read()\n", r"doc d1: it ended after 0 of 3 texts"),
    "more": (BEGIN + ANSWER + 'print("done")\n', "a line after its last answer: 'done'"),
    "status": (BEGIN + ANSWER + "sys.exit(3)\n", "ended with status 3 after its last answer"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_the_program_and_the_text(fault, ask):
    script, message = FAULTS[fault]
    with pytest.raises(ResiduumError, match=message) as error:
        ask(script)
    assert str(error.value).startswith(f"{sys.executable} script.py: ")
    assert not Path("out").exists()


def test_a_program_that_is_not_there_is_named(ask):
    with pytest.raises(ResiduumError, match=r"nothing-such x: cannot be started \(No such file"):
        ask("", command=["nothing-such", "x"])


def test_answers_of_other_widths_are_refused_in_another_job(ask):
    """Dimensions are those of all answers of a program, not of one job alone."""
    script = BEGIN + ANSWER.replace("length", "length[: 1 + (asked['text'] != 'odd')]")
    ask(script)
    make_corpus(Path("other"), [("x9", "odd")])
    with pytest.raises(ResiduumError, match="doc x9: x9: its vector has 1 dimensions, and those"):
        ask(script, "other", "again")
