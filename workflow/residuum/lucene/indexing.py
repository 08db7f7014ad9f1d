"""Make a Lucene index as Anserini does, open it and count what it holds.

Usage: `build((text_doc(doc_id, text) for ...), form, threads, folder)`; no command of its own.
Must not know where docs come from, manifests or systems.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from residuum.artefacts.streams import chunks
from residuum.config.schema.systems import Analysis, IndexForm
from residuum.lucene import jvm
from residuum.lucene.handles import objects
from residuum.lucene.jvm import JavaObject, cast, java, told

LUCENE = "org.apache.lucene"
CONTENTS = "contents"  # the names that Anserini gives the fields of a doc
ID_FIELD = "id"
DOCS_PER_FILE = 4096  # a file is what Anserini gives to a thread
BUFFER_MB = 128  # the postings of 200,000 docs of MS MARCO; 32 takes a third more time, in merges
NO_TERMS = "."  # Anserini drops empty docs, and a full stop has no terms
Doc = dict[str, str | dict[str, int]]  # as Anserini's JSON has it
Counts = dict[str, int | dict[str, dict[str, int]]]


def lucene_field(name: str) -> str:
    """Return the name of a corpus field in Lucene; Anserini has contents, id and others itself."""
    return f"field.{name}"


def versions() -> dict[str, str]:
    """Return the versions of Anserini and Lucene."""
    version = java(f"{LUCENE}.util.Version").LATEST.toString()
    return {"anserini": jvm.anserini_jar().name.split("-")[1], "lucene": str(version)}


def analyzer(analysis: Analysis) -> JavaObject:
    """Return Anserini's English analyzer for an analysis."""
    made = java("io.anserini.analysis.DefaultEnglishAnalyzer")
    return made.fromArguments(analysis.stemmer, analysis.stopwords == "none", None)


def class_name(part: JavaObject) -> str:
    """Return the name of the Java class of an object."""
    return str(part.getClass().getName())


def text_doc(doc_id: str, text: str) -> Doc:
    """Return a doc whose whole text is one field."""
    return {"id": doc_id, CONTENTS: text if _visible(text) else NO_TERMS}


def fields_doc(doc_id: str, fields: dict[str, str]) -> Doc:
    """Return a doc whose fields are kept apart; any of them may be empty."""
    apart = {lucene_field(name): text for name, text in fields.items()}
    return {"id": doc_id, CONTENTS: NO_TERMS, **apart}


def weights_doc(doc_id: str, weights: dict[str, int]) -> Doc:
    """Return a doc of {word: tf}: Anserini repeats each word as often before it is analysed."""
    return {"id": doc_id, "vector": weights if _visible("".join(weights)) else {NO_TERMS: 1}}


def _visible(text: str) -> bool:
    return any(character > " " for character in text)


def build(docs: Iterable[Doc], form: IndexForm, threads: int, folder: Path) -> None:
    """Index docs into `folder` as one segment, with the term vectors that RM3 needs.

    All docs are of one kind: text_doc, fields_doc or weights_doc. They wait on disk in
    `folder`.docs meanwhile, so memory stays flat; gzip would make half of them and cost a tenth
    more time.
    """
    waiting = folder.with_suffix(".docs")
    waiting.mkdir(parents=True)
    kinds = set()
    for number, batch in enumerate(chunks(docs, DOCS_PER_FILE)):
        kinds |= {"vector" in doc for doc in batch}
        lines = (json.dumps(doc) + "\n" for doc in batch)
        (waiting / f"{number:06d}.jsonl").write_text("".join(lines), encoding="ascii")
    collection = "JsonVectorCollection" if True in kinds else "JsonCollection"
    options = ["-collection", collection, "-input", waiting, "-index", folder, "-threads", threads]
    with told(f"indexing into {folder}"):
        java("io.anserini.index.IndexCollection")(_args(options, form)).run()
    for path in [*waiting.iterdir(), folder / "write.lock"]:
        path.unlink()
    waiting.rmdir()


def _args(options: list[object], form: IndexForm) -> JavaObject:
    """Return Anserini's Args, read as its own command line is; RM3 does not go with fields."""
    options += [
        "-stemmer",
        form.analysis.stemmer,
        "-memoryBuffer",
        BUFFER_MB,
        "-optimize",
        "-quiet",
    ]
    options += ["-keepStopwords"] if form.analysis.stopwords == "none" else []
    fields = ["-fields", *map(lucene_field, form.fields)]
    options += fields if form.fields else ["-storeDocvectors"]
    args = java("io.anserini.index.IndexCollection$Args")()
    java("org.kohsuke.args4j.CmdLineParser")(args).parseArgument(objects(map(str, options)))
    return args


def open_reader(folder: Path) -> JavaObject:
    """Open the index in a folder and return Lucene's IndexReader."""
    with told(f"opening the index {folder}"):
        path = java("java.io.File")(str(folder)).toPath()
        directory = java(f"{LUCENE}.store.FSDirectory").open(path)
        opened = java(f"{LUCENE}.index.DirectoryReader").open(directory)
    return cast(f"{LUCENE}.index.IndexReader", opened)


def statistics(reader: JavaObject, fields: Sequence[str]) -> Counts:
    """Count docs, and non-empty docs (the N of BM25), unique and all terms: in all, or by field."""
    counts: Counts = {"documents": int(reader.numDocs())}
    if not fields:
        return {**counts, **_terms(reader, CONTENTS)}
    return {**counts, "by_field": {name: _terms(reader, lucene_field(name)) for name in fields}}


def _terms(reader: JavaObject, field: str) -> dict[str, int]:
    terms = java(f"{LUCENE}.index.MultiTerms").getTerms(reader, field)
    if terms is None:
        return {"non_empty_documents": 0, "unique_terms": 0, "total_terms": 0}
    return {
        "non_empty_documents": int(terms.getDocCount()),
        "unique_terms": int(terms.size()),
        "total_terms": int(terms.getSumTotalTermFreq()),
    }
