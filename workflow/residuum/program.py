"""Ask a program of yours for the vectors of docs, shard by shard, and of queries.

Command: `python -m residuum.program docs|queries ...`. The program reads JSON lines and writes JSON
lines. Answers are kept by a hash of program, side and text, so that no text is asked for twice.
"""

import hashlib
import json
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Annotated, NamedTuple

import typer

from residuum.artefacts import contracts, files, manifest, textvectors, trec
from residuum.artefacts.answers import Answers, Side, key_of
from residuum.artefacts.shards import ShardNumber
from residuum.artefacts.textvectors import Vector
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.models import Program
from residuum.config.specs import canonical_json

app = command.app(__doc__)

Spec = Annotated[str, typer.Option(help="schema.Program as JSON")]
Read = Annotated[
    list[Path] | None, typer.Option(help="file that the answers depend on, as the script; repeat")
]
Kept = Annotated[Path, typer.Option(help="folder of the answers of programs"), command.MAY_LACK]


@app.command("docs")
def ask_docs(
    corpus: command.Corpus,
    shard: command.Shard,
    of: command.Of,
    spec: Spec,
    answers: Kept,
    output: command.Folder,
    file: Read = None,
) -> None:
    """Write the vectors of one shard of a corpus, as `residuum.encode` writes its own."""
    job = _Job(command.parse_spec(Program, spec), file or [], answers, output)
    texts = dict(contracts.read_corpus(corpus, contracts.shard_of(corpus, shard, of)))
    with files.whole_directory(output) as folder:
        facts = job.write(folder, "doc", texts)
        facts["shard"] = ShardNumber(number=shard, of=of, docs=len(texts))
        job.record(folder, facts, [corpus / "manifest.json"])


@app.command("queries")
def ask_queries(
    split: command.Splits,
    spec: Spec,
    answers: Kept,
    output: command.Folder,
    file: Read = None,
) -> None:
    """Write the vectors of the queries of several splits, each into a folder of its own."""
    job = _Job(command.parse_spec(Program, spec), file or [], answers, output)
    paths, counts = dict(command.pairs(split)), {}
    with files.whole_directory(output) as folder:
        for name, path in paths.items():
            texts = trec.read_queries(path)
            job.write(folder / name, "query", texts)
            counts[name] = len(texts)
        how = textvectors.compared_by(job.form.similarity)
        given = f"vectors of the program `{shlex.join(job.form.command)}`, {how}"
        job.record(folder, {"queries": counts, "given": given}, [*paths.values()])


class _Job:
    """A program with the files that it depends on, and the answers that it gave before."""

    def __init__(self, form: Program, read: Sequence[Path], answers: Path, output: Path) -> None:
        self.form, self.read = form, read
        made = canonical_json([form.command, *map(files.sha256, read)])
        self.identity = hashlib.sha256(made.encode()).hexdigest()
        self.answers = Answers(answers / self.identity[:16], output)

    def write(self, folder: Path, side: Side, texts: dict[str, str]) -> dict[str, object]:
        """Write the vectors of texts, {id: text}, into a folder; return their dimensions.

        The program is asked for texts without a kept answer, each once.
        """
        keys = {name: key_of(side, text) for name, text in texts.items()}
        had, dimensions = self.answers.read({*keys.values()})
        first = {key: name for name, key in reversed(keys.items()) if key not in had}
        new = [Text(name, texts[name], side) for name in keys if first.get(keys[name]) == name]
        if new:
            asked = ask(self.form.command, new, dimensions, self.answers.folder)
            with self.answers.appending() as keep:
                for text, (vector, line) in track(
                    zip(new, asked, strict=True), f"ask for {side} vectors", len(new), "texts"
                ):
                    keep(keys[text.id], line)
                    had[keys[text.id]] = vector
        rows = textvectors.joined([had[key] for key in keys.values()])
        return textvectors.write(folder, [*texts], rows, self.form.similarity, "Mend the program")

    def record(self, folder: Path, facts: dict[str, object], inputs: Sequence[Path]) -> None:
        """Write the manifest; `weights` identifies the program and how its vectors compare."""
        made = canonical_json([self.identity, self.form.similarity])
        facts["weights"] = hashlib.sha256(made.encode()).hexdigest()
        manifest.write(folder, facts, self.form, [*self.read, *inputs], "residuum.program")


class Text(NamedTuple):
    """A text as a program reads it."""

    id: str
    text: str
    side: Side


def ask(
    command: Sequence[str], texts: Sequence[Text], dimensions: int | None, kept: Path
) -> Iterator[tuple[Vector, bytes]]:
    """Yield a program's answer to each text, as a vector and as the line itself.

    `dimensions` is what earlier answers have. `kept` is named in messages: the folder of answers.
    Raises ResiduumError if the program ends early or with an error, or for a line that is no answer
    to the text in turn.
    """
    name = shlex.join(command)
    try:
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise ResiduumError(f"{name}: cannot be started ({error.strerror}: {command[0]})") from None
    assert program.stdin and program.stdout
    Thread(target=_give, args=(program.stdin, texts), daemon=True).start()
    try:
        for number, text in enumerate(texts):
            line = program.stdout.readline()
            if not line.endswith(b"\n"):
                raise _ended(program, name, number, texts, kept)
            vector = _answer(line, text, dimensions, name, kept)
            dimensions = textvectors.dimensions_of(vector)
            yield vector, line
        if more := program.stdout.readline():
            shown = more[: textvectors.SHOWN].decode(errors="replace").rstrip()
            raise ResiduumError(f"{name}: a line after its last answer: {shown!r}")
        if status := program.wait():
            raise ResiduumError(f"{name}: ended with status {status} after its last answer")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def _give(pipe: IO[bytes], texts: Sequence[Text]) -> None:
    """Write texts to a program as JSON lines; one that ended reads no more."""
    with suppress(BrokenPipeError), pipe:
        for text in texts:
            pipe.write(json.dumps(text._asdict(), ensure_ascii=False).encode() + b"\n")


def _answer(line: bytes, text: Text, dimensions: int | None, name: str, kept: Path) -> Vector:
    """Return the vector in a line, which must answer this text."""
    cure = f"Write messages to standard error. {_known(kept)}"
    try:
        answered, vector = textvectors.parse(line)
        if answered != text.id:
            raise ValueError(f"an answer to {answered!r}. Answers have the order of the texts")
        textvectors.check(vector, text.id, None)
        behind = "If the model behind it is another one now"
        cure = f"{behind}, delete {kept} to ask for all texts again"
        textvectors.check(vector, text.id, dimensions)
    except ValueError as error:
        raise ResiduumError(f"{name}: asked for {text.side} {text.id}: {error}. {cure}") from None
    return vector


def _ended(
    program: "subprocess.Popen[bytes]", name: str, number: int, texts: Sequence[Text], kept: Path
) -> ResiduumError:
    """Return the error of a program that ended before it answered all texts."""
    status = program.wait()
    text = f"no answer for {texts[number].side} {texts[number].id}"
    how = f"ended with status {status}" if status else "ended"
    count = f"{number} of {len(texts)} texts"
    return ResiduumError(
        f"{name}: {text}: it {how} after {count}; its messages stand above. {_known(kept)}"
    )


def _known(kept: Path) -> str:
    return f"Answers until then are kept in {kept}: the same command goes on from there"


if __name__ == "__main__":
    command.main(app)
