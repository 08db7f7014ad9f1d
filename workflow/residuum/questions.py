"""Questions that a generator writes for the docs of a corpus: the queries and qrels of a split.

Command: `python -m residuum.questions generate ...`. Killed and started again, it goes on at the
first missing part. The relevant doc of a question is the doc that it was written for.
"""

from __future__ import annotations

import heapq
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from residuum.artefacts import contracts, files, manifest, trec
from residuum.artefacts.streams import chunks
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.questions import Sampling
from residuum.config.specs import derive
from residuum.neural import devices, pretrained
from residuum.neural.pretrained import Source
from residuum.neural.resumable import fingerprint, open_folder
from residuum.neural.seq2seq import Lengths, QuestionWriter

app = command.app(__doc__)
CONTENT = re.compile(r"\w{4,}")  # approximates content words
OF_DISTINCT = 100_000  # first questions, whose bigrams count: the share falls with more
RELEVANT = 1
OF_FITS = 1000  # questions, drawn by a hash, that are compared with all docs
COUNTS = ("empty", "repeated", "words", "content", "copied", "cut_off")
Doc = tuple[str, str]  # doc_id and text


@app.command("generate")
def generate(
    corpus: command.Corpus,
    model: Annotated[
        str, typer.Option(help="generator: checkpoint folder, or hub id"), command.LOCAL
    ],
    spec: Annotated[str, typer.Option(help="JSON of Sampling")],
    work: Annotated[Path, command.written("folder of the finished parts")],
    queries: Annotated[Path, command.written("queries.tsv to write")],
    qrels: Annotated[Path, command.written("qrels.trec to write")],
    batch_size: Annotated[int, typer.Option(min=1, help="docs at once on a GPU")],
    revision: command.Revision = None,
    pickled: command.Pickled = False,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    part_docs: Annotated[int, typer.Option(min=1, help="docs in a part")] = 4096,
) -> None:
    """Write questions for docs, with ids <doc_id>.<n>; memory holds one part of the docs.

    Questions that are empty, or repeat a question of their doc, are left out and counted. The
    manifest has `words_per_question`, `copied`, `cut_off`, `fits` and `distinct_2`. `copied` is the
    share of words of four letters or more that are in the question's doc. `cut_off` is the share of
    questions without an end within the length. `fits` is the median number of docs that hold all of
    a question's copied words, over 1,000 questions. `distinct_2` is the share of different bigrams
    among those of the first 100,000 questions.
    """
    how, local = command.parse_spec(Sampling, spec), Path(model).is_dir()
    chosen = devices.choose(device, precision, threads, arithmetic)
    lengths = Lengths(doc_length=how.doc_length, question_length=how.question_length)
    writer = QuestionWriter(Source(model, revision, pickled=pickled), lengths, chosen).freeze()
    setting = {
        "sampling": how.model_dump(),
        "hub": None if local else [model, pretrained.commit(writer.model) or revision],
        **({} if chosen.name == "cpu" else {"batch_size": batch_size}),
        "threads": threads,
        **chosen._asdict(),
    }
    inputs = [corpus / "manifest.json"]
    read = [*inputs, *(pretrained.parts(Path(model)) if local else [])]
    parted = {**setting, "part_docs": part_docs}
    with files.alone(work):
        open_folder(work, fingerprint("residuum.questions", parted, read))
        total = contracts.corpus_manifest(corpus)["docs"]
        count = min(how.docs or total, total)
        parts = chunks(drawn(corpus, how, total), part_docs)
        paths = []
        for docs in track(parts, "generate", total=-(-count // part_docs), unit="parts"):
            paths.append(work / f"part-{len(paths):05d}.json")
            if not paths[-1].exists():
                files.write_text(paths[-1], json.dumps(written(writer, docs, how, batch_size)))
        facts = described(paths)
        facts["fits"] = median(fits(corpus, sample(paths))) if facts["queries"] else None
        if not facts["docs"]:
            raise ResiduumError(f"{corpus}: no doc has a text to ask about")
        if not facts["queries"]:
            raise ResiduumError(
                f"{model}: no question is left: all {facts['empty']} that it wrote for the "
                f"{facts['docs']} docs with text are empty. Train the generator for more steps, or "
                "bind another one to its role"
            )
        trec.write_qrels(qrels, ((query, doc, RELEVANT) for query, doc, _ in questions(paths)))
        trec.write_queries(queries, ((query, text) for query, _, text in questions(paths)))
        inputs += [Path(model)] if local else []
        facts |= writer.sizes.facts()
        manifest.write(queries, facts, setting, inputs, "residuum.questions", [queries, qrels])
        shutil.rmtree(work)


def drawn(corpus: Path, how: Sampling, total: int) -> Iterator[Doc]:
    """Yield the non-empty docs that questions are written for, in the order of the corpus."""
    kept = None
    if how.docs is not None and how.docs < total:
        ids = (doc_id for doc_id, text in contracts.read_corpus(corpus) if text.strip())
        by_hash = ((derive(how.seed, "docs", doc_id), doc_id) for doc_id in ids)
        kept = {doc_id for _, doc_id in heapq.nsmallest(how.docs, by_hash)}
    for doc_id, text in contracts.read_corpus(corpus):
        if text.strip() and (kept is None or doc_id in kept):
            yield doc_id, text


def written(
    writer: QuestionWriter, docs: Sequence[Doc], how: Sampling, batch_size: int
) -> dict[str, object]:
    """Return the questions of docs, by doc_id and number, and their counts."""
    tokens = list(writer.tokenise_docs(text for _, text in docs))
    made = writer.write(tokens, [doc_id for doc_id, _ in docs], how, batch_size)
    kept: dict[str, dict[int, str]] = {}
    counts = dict.fromkeys(COUNTS, 0)
    for (doc_id, text), asked in zip(docs, made, strict=True):
        of_doc, texts = content_words(text), [question.text for question in asked]
        first = {question: n for n, question in reversed([*enumerate(texts, start=1)])}
        counts["empty"] += texts.count("")
        counts["repeated"] += len(texts) - texts.count("") - len({*texts} - {""})
        kept[doc_id] = {
            n: text for text, n in sorted(first.items(), key=lambda item: item[1]) if text
        }
        for n, question in kept[doc_id].items():
            content = CONTENT.findall(question.lower())
            counts["cut_off"] += not asked[n - 1].ended
            counts["words"] += len(question.split())
            counts["content"] += len(content)
            counts["copied"] += sum(word in of_doc for word in content)
    return {"questions": kept, "counts": counts}


def questions(parts: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield (question id, doc_id, text) in the order of the corpus."""
    for path in parts:
        for doc_id, asked in json.loads(files.read_bytes(path))["questions"].items():
            yield from ((f"{doc_id}.{n}", doc_id, text) for n, text in asked.items())


def described(parts: Sequence[Path]) -> dict[str, Any]:
    """Return the facts on all questions for the manifest."""
    sums, docs, count = Counter[str](), 0, 0
    for path in parts:
        part = json.loads(files.read_bytes(path))
        sums.update(part["counts"])
        docs += len(part["questions"])
        count += sum(map(len, part["questions"].values()))
    words = (text.lower().split() for _, _, text in islice(questions(parts), OF_DISTINCT))
    bigrams = [*chain.from_iterable(map(pairwise, words))]
    return {
        "docs": docs,
        "queries": count,
        "qrels": count,
        "empty": sums["empty"],
        "repeated": sums["repeated"],
        "words_per_question": round(sums["words"] / max(count, 1), 3),
        "copied": round(sums["copied"] / max(sums["content"], 1), 4),
        "cut_off": round(sums["cut_off"] / max(count, 1), 4),
        "distinct_2": round(len({*bigrams}) / max(len(bigrams), 1), 4),
    }


def content_words(text: str) -> set[str]:
    """Return the different words of a text that count as content words, in lower case."""
    return {*CONTENT.findall(text.lower())}


def sample(parts: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the doc_id and text of 1,000 questions drawn by a hash, or of all."""
    by_hash = ((derive(0, "fits", name), doc_id, text) for name, doc_id, text in questions(parts))
    return [(doc_id, text) for _, doc_id, text in heapq.nsmallest(OF_FITS, by_hash)]


def fits(corpus: Path, asked: Sequence[tuple[str, str]]) -> list[int]:
    """Return how many docs each question fits, given the doc_id and text of each.

    A question fits a doc that holds all the content words that its own doc has of it. One that has
    no word of its own doc fits all docs. The corpus is read twice, and no doc is kept.
    """
    named = {doc_id for doc_id, _ in asked}
    docs = {d: content_words(text) for d, text in contracts.read_corpus(corpus) if d in named}
    copied = [content_words(text) & docs[doc_id] for doc_id, text in asked]
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(copied):
        by_word[max(words, key=lambda word: (len(word), word), default="")].append(number)
    counts = [0] * len(asked)
    for _, text in contracts.read_corpus(corpus):
        held = content_words(text)
        for word in ["", *(held & by_word.keys())]:
            for number in by_word.get(word, ()):
                counts[number] += copied[number] <= held
    return counts


if __name__ == "__main__":
    command.main(app)
