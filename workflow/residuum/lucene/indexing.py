"""Make a Lucene index of a corpus as Anserini does, open it and count its docs and terms.

Usage: `build(corpus, form, weights, threads, folder)`.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from residuum.artefacts import contracts
from residuum.artefacts.streams import chunks
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.analyses import Analysis, IndexForm, LuceneAnalysis
from residuum.lucene import jvm
from residuum.lucene.analysis import Tokenise, analyzer, terms
from residuum.lucene.jvm import JavaObject, cast, java, java_errors

LUCENE = "org.apache.lucene"
CONTENTS, ID_FIELD = "contents", "id"  # Anserini's names of a doc's fields
DOCS_PER_FILE = 4096  # Anserini gives a thread one file at a time
BUFFER_MB = 128  # the postings of 200,000 docs of MS MARCO; 32 takes a third more time, in merges
MOST_TEXT, MOST_ID = 20_000_000, 32_766  # limits of Anserini's JSON and of a term
BLANK = "".join(map(chr, range(ord(" ") + 1)))  # characters that Java's trim removes
NO_TERMS = "."  # contents of a doc whose text is in fields: a full stop has no terms
Doc = dict[str, str | dict[str, int]]  # in the form of Anserini's JSON
Named = tuple[str, Doc]  # with the text by which Anserini takes a doc for empty
Counts = dict[str, int | dict[str, dict[str, int]]]


def lucene_field(name: str) -> str:
    """Return a corpus field's name in Lucene; Anserini itself uses contents, id and others."""
    return f"field.{name}"


def class_name(part: JavaObject) -> str:
    """Return the name of the Java class of an object."""
    return str(part.getClass().getName())


def tools(analysis: Analysis) -> dict[str, str]:
    """Return the class of the analyzer, and the versions of Anserini and Lucene."""
    lucene = str(java(f"{LUCENE}.util.Version").LATEST.toString())
    versions = {"anserini": jvm.anserini_jar().name.split("-")[1], "lucene": lucene}
    return {"analyzer": class_name(analyzer(analysis)), **versions}


def build(
    corpus: Path, form: IndexForm, weights: Path | None, threads: int, folder: Path
) -> list[str]:
    """Index a corpus into `folder` as one segment, with the term vectors that RM3 needs.

    `weights` are term weights that replace tf. A tokenizer that cuts texts into terms lies beside
    `folder`. The docs wait on disk in `folder`.docs, so memory stays flat. gzip would halve them
    and take a tenth more time. Returns the ids of empty docs, which Anserini leaves out. Raises
    ResiduumError if a doc lacks a field of the form or is too long, or if the weights belong to
    other docs.
    """
    waiting = folder.with_suffix(".docs")
    waiting.mkdir(parents=True)
    total = contracts.corpus_manifest(corpus)["docs"]
    empty: list[str] = []
    docs = _weighted(corpus, weights) if weights else _docs(corpus, form)
    if not isinstance(form.analysis, LuceneAnalysis):
        docs = _tokenised(docs, terms(form.analysis, folder).tokenise)
    fitting = _noting_empty(_fitting(docs, corpus), empty)
    for number, batch in enumerate(chunks(track(fitting, "read", total, "docs"), DOCS_PER_FILE)):
        lines = (json.dumps(doc) + "\n" for doc in batch)
        (waiting / f"{number:06d}.jsonl").write_text("".join(lines), encoding="ascii")
    collection = "JsonVectorCollection" if weights else "JsonCollection"
    options = ["-collection", collection, "-input", waiting, "-index", folder, "-threads", threads]
    options += ["-memoryBuffer", BUFFER_MB, "-optimize", "-quiet", *_analysed(form.analysis)]
    fields = ["-fields", *map(lucene_field, form.fields)]
    options += fields if form.fields else ["-storeDocvectors"]  # RM3 does not work with fields
    with java_errors(f"indexing into {folder}"):
        java("io.anserini.index.IndexCollection").main(list(map(str, options)))
    for path in [*waiting.iterdir(), folder / "write.lock"]:
        path.unlink()
    waiting.rmdir()
    return empty


def _analysed(analysis: Analysis) -> list[str]:
    if not isinstance(analysis, LuceneAnalysis):
        return ["-pretokenized"]
    kept = ["-keepStopwords"] if analysis.stopwords == "none" else []
    return ["-stemmer", analysis.stemmer, *kept]


def _tokenised(docs: Iterable[Named], tokenise: Tokenise) -> Iterator[Named]:
    for some in chunks(docs, DOCS_PER_FILE):
        for (_, doc), text in zip(some, tokenise(text for text, _ in some), strict=True):
            yield text, {**doc, CONTENTS: text}


def _fitting(docs: Iterable[Named], corpus: Path) -> Iterator[Named]:
    """Pass docs on. Raises ResiduumError for a doc that is too long."""
    for text, doc in docs:
        doc_id = str(doc["id"])
        if len(text) > MOST_TEXT or len(doc_id.encode()) > MOST_ID:
            limits = f"Lucene takes texts of {MOST_TEXT} characters and ids of {MOST_ID} bytes"
            raise ResiduumError(
                f"{corpus}: doc {doc_id[:60]} is too long to index: {limits}. Cut it into docs."
            )
        yield text, doc


def _noting_empty(docs: Iterable[Named], empty: list[str]) -> Iterator[Doc]:
    """Pass docs on, and note the empty docs, which Anserini drops.

    A doc is empty if Java's trim leaves nothing. Source: createDocument of Anserini's
    DefaultLuceneDocumentGenerator, EmptyDocumentException.
    """
    for text, doc in docs:
        if not text.strip(BLANK):
            empty.append(str(doc["id"]))
        yield doc


def _docs(corpus: Path, form: IndexForm) -> Iterator[Named]:
    """Stream docs and their texts: a doc's own text, its joined fields, or separate fields.

    Anserini takes a doc for empty by its contents alone. Here a doc with fields is left out only if
    all its fields are empty, so that no searchable text is lost.
    """
    for record in contracts.read_docs(corpus):
        doc_id, texts = record["doc_id"], [record.get(n, "") for n in form.joined or ["text"]]
        text = " ".join(filter(None, texts))
        if missing := [name for name in (*form.fields, *form.joined) if name not in record]:
            known = ", ".join(name for name in record if name != "doc_id")
            fault = f"doc {doc_id} has no field {', '.join(missing)}; it has {known}"
            remedy = "Keep the field in the dataset's YAML, or index without it."
            raise ResiduumError(f"{corpus}: {fault}. {remedy}")
        fields = {lucene_field(name): record[name] for name in form.fields}
        if form.fields:
            text = "".join(fields.values())
        contents = NO_TERMS if form.fields and text.strip(BLANK) else text
        yield text, {"id": doc_id, CONTENTS: contents, **fields}


def _weighted(corpus: Path, weights: Path) -> Iterator[Named]:
    """Stream words, and docs as {word: tf}. Anserini repeats each word before analysis."""
    both = zip_longest(contracts.read_docs(corpus), contracts.read_docs(weights))
    for doc, predicted in both:
        if not doc or not predicted or doc["doc_id"] != predicted["doc_id"]:
            ids = " and ".join(one["doc_id"] if one else "no doc" for one in (doc, predicted))
            fault = f"{weights} is not of the docs of {corpus}: {ids} are at the same position"
            raise ResiduumError(f"{fault}. Predict the weights of this corpus.")
        words = predicted["weights"]
        yield "".join(words), {"id": doc["doc_id"], "vector": words}


def open_reader(folder: Path) -> JavaObject:
    """Open the index in a folder, compare its checksums, and return Lucene's IndexReader."""
    with java_errors(f"opening the index {folder} (delete its folder to have it made again)"):
        path = java("java.io.File")(str(folder)).toPath()
        directory = java(f"{LUCENE}.store.FSDirectory").open(path)
        opened = java(f"{LUCENE}.index.DirectoryReader").open(directory)
        for leaf in opened.leaves():
            leaf.reader().checkIntegrity()
    return cast(f"{LUCENE}.index.IndexReader", opened)


def statistics(folder: Path, form: IndexForm) -> Counts:
    """Count docs, non-empty docs (BM25's N), unique terms and all terms, in all or by field."""
    reader = open_reader(folder)

    def counted(field: str) -> dict[str, int]:
        held = java(f"{LUCENE}.index.MultiTerms").getTerms(reader, field)
        if held is None:
            return dict.fromkeys(["non_empty_documents", "unique_terms", "total_terms"], 0)
        return {
            "non_empty_documents": int(held.getDocCount()),
            "unique_terms": int(held.size()),
            "total_terms": int(held.getSumTotalTermFreq()),
        }

    counts: Counts = {"documents": int(reader.numDocs())}
    if form.fields:
        counts["by_field"] = {name: counted(lucene_field(name)) for name in form.fields}
    else:
        counts |= counted(CONTENTS)
    reader.close()
    return counts
