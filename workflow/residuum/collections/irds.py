"""Read collections through ir_datasets, by any of its ids, with fields joined as configured.

Usage: `docs(collection)`, `split(collection, name)`. ir_datasets looks into IR_DATASETS_HOME first
and downloads what is missing. READERS has readers of docs that ir_datasets changes on reading.
"""

import fcntl
import heapq
import locale
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from residuum.cli.errors import ResiduumError
from residuum.collections import cord19, faults, files, marked
from residuum.collections.records import Rows, join_fields, unquoted
from residuum.config import roots
from residuum.config.schema.datasets import Collection
from residuum.config.schema.sources import IrdsSource

MOST_SHOWN = 300  # characters shown of another library's error
CORD19 = "2020-05-01"  # TREC-COVID's round 2; ir_datasets lists its metadata without bodies
CORD19_URL = (
    "https://ai2-semanticscholar-cord-19.s3-us-west-2.amazonaws.com/historical_releases/"
    f"cord-19_{CORD19}.tar.gz"
)


class Doc(Protocol):
    """A doc of ir_datasets: a named tuple with an id."""

    @property
    def doc_id(self) -> str:
        """The doc's id."""
        ...

    def _asdict(self) -> dict[str, object]: ...


def docs(collection: Collection) -> Iterator[tuple[str, dict[str, str]]]:
    """Stream (doc_id, fields) in the collection's order.

    A doc without an id raises ResiduumError. So do fewer docs than pinned, if a file explains them.
    """
    source = collection.source
    assert isinstance(source, IrdsSource)
    with _explained(source.docs, collection.access) as seen:
        chosen = _sampled(collection, source) if source.sample else None
        count = 0
        for doc in _named_docs(source.docs):
            if chosen is None or doc.doc_id in chosen:
                count += 1
                yield doc.doc_id, _fields(doc, source)
        pins = [edition.docs for edition in collection.editions]
        fewer = count < max(pins, default=0) and count not in pins
        if fewer and (fault := faults.first(seen, faults.TooFewDocs())):
            access = f"Access: {collection.access}"
            raise ResiduumError(f"The corpus has too few docs. {fault}\n{access}")


def _named_docs(irds_id: str) -> Iterator[Doc]:
    read = READERS.get(irds_id) or _load(irds_id).docs_iter
    for number, doc in enumerate(read(), start=1):
        if not doc.doc_id:
            raise faults.MissingDocId(f"doc number {number} has no doc_id")
        yield doc


def _cord19() -> Iterator[cord19.Paper]:
    """Stream the papers of CORD-19's release; ir_datasets downloads a missing release.

    ir_datasets' own reader turns the words True and False of the metadata into booleans, and knows
    four of the five subsets (ir_datasets/datasets/cord19.py, Cord19Docs).
    """
    from ir_datasets.util import home_path
    from ir_datasets.util.download import Download, RequestsDownload

    folder = Path(home_path()) / "cord19"
    release = Download([RequestsDownload(CORD19_URL)], str(folder / f"cord-19_{CORD19}.tar.gz"))
    return cord19.papers(Path(release.path()), folder / f"{CORD19}.bodies.zip")


class _Passage(NamedTuple):
    doc_id: str
    text: str


def _raw_passages() -> Iterator[_Passage]:
    """Stream MS MARCO's passages as distributed, from ir_datasets' download.

    ir_datasets' own reader repairs texts that were encoded twice
    (ir_datasets/datasets/msmarco_passage.py, FixEncoding). Anserini and the papers index
    collection.tsv unchanged.
    """
    from ir_datasets.datasets.msmarco_passage import DUA, NAME
    from ir_datasets.util import DownloadConfig, TarExtract, home_path

    downloads = DownloadConfig.context(NAME, home_path() / NAME, dua=DUA)
    with TarExtract(downloads["collectionandqueries"], "collection.tsv").stream() as lines:
        for line in lines:
            columns = line.decode().rstrip("\n").split("\t")
            if len(columns) != 2:
                raise ValueError(f"expected 2 fields, got {len(columns)}")
            yield _Passage(*columns)


READERS: dict[str, Callable[[], Iterator[Doc]]] = {
    f"cord19/fulltext/{CORD19}": _cord19,
    "msmarco-passage/raw": _raw_passages,  # not an id of ir_datasets
}


def _sampled(collection: Collection, source: IrdsSource) -> set[str]:
    """Return a sample's doc ids: docs judged at its level, marked docs, docs of lowest hashes."""
    sample = source.sample
    assert sample is not None
    judged = {
        doc_id
        for name in sample.keep
        for _, doc_id, relevance in split(collection, name).qrels
        if relevance >= sample.level
    }
    if sample.marked:
        judged |= _marked(source, files.resolve(sample.marked, collection.access))
    if len(judged) > sample.docs:
        beside = f", with those that {sample.marked} marks" if sample.marked else ""
        raise ResiduumError(
            f"sample: {', '.join(sample.keep)} judge {len(judged)} docs at level {sample.level} "
            f"and above{beside}, more than the {sample.docs} required"
        )
    others = (doc.doc_id for doc in _named_docs(source.docs) if doc.doc_id not in judged)
    size, seed = sample.docs - len(judged), sample.seed
    drawn = heapq.nsmallest(size, others, key=lambda i: sha256(f"{seed}/{i}".encode()).digest())
    return judged.union(drawn)


def _marked(source: IrdsSource, path: Path) -> set[str]:
    """Return the docs that match DPR's gold passages, and print how many of these match.

    A file of which nothing matches raises ResiduumError.
    """
    paragraphs = marked.read(path)

    def passages() -> Iterator[marked.Passage]:
        for doc in _named_docs(source.docs):
            fields = _fields(doc, source)
            yield doc.doc_id, fields["title"], fields["body"]

    found = marked.matched(paragraphs, passages())
    count = sum(map(bool, found))
    if not count:
        raise ResiduumError(f"{path}: no passage of {source.docs} matches any of its paragraphs")
    docs = set[str]().union(*found)
    text = f"{count:,} of {len(found):,} paragraphs match {len(docs):,} docs"
    print(f"{path}: {text}; the sample keeps them", file=sys.stderr)
    return docs


def _fields(doc: Doc, source: IrdsSource) -> dict[str, str]:
    record = dict(doc._asdict())
    try:
        for name in record.keys() & source.quoted:
            if not isinstance(text := record[name], str):
                raise ValueError(f"not a text, but {type(text).__name__}")
            record[name] = unquoted(text)
    except ValueError as error:
        raise ValueError(f"doc {doc.doc_id}, {name}: {error}") from None
    try:
        return join_fields(record, source)
    except ValueError as error:
        fix = "Fix source.text_fields and source.fields in the dataset's YAML."
        raise ResiduumError(f"{source.docs}: {error}. {fix}") from None


def split(collection: Collection, name: str) -> Rows:
    """Return the queries, qrels and answers that ir_datasets has for a split."""
    entry = collection.splits[name]
    assert entry.irds is not None
    with _alone(entry.irds), _explained(entry.irds, collection.access) as seen:
        data = _load(entry.irds)
        known = data.queries_cls()._fields
        for key in ("query_field", "answers_field"):
            field = getattr(entry, key)
            if field is not None and field not in known:
                raise ResiduumError(
                    f"{entry.irds} has no query field {field}; it has {', '.join(known)}. Fix "
                    f"{key} in the dataset's YAML."
                )
        queries = list(data.queries_iter())
        judged = data.qrels_iter() if entry.published else ()
        answered = queries if entry.answers_field else []
        return Rows(
            [(q.query_id, str(getattr(q, entry.query_field))) for q in queries],
            [(q.query_id, q.doc_id, int(q.relevance)) for q in judged],
            {q.query_id: list(getattr(q, str(entry.answers_field))) for q in answered},
            seen,
        )


def docpairs(collection: Collection, name: str) -> Iterator[tuple[str, str, str]]:
    """Stream a split's training triples (query_id, positive, negative), in the file's order."""
    irds_id = str(collection.splits[name].docpairs)
    with _explained(irds_id, collection.access):
        data = _load(irds_id)
        if not data.has_docpairs():
            raise ResiduumError(f"{irds_id} has no docpairs. Fix docpairs in the dataset's YAML.")
        for pair in data.docpairs_iter():
            yield pair.query_id, pair.doc_id_a, pair.doc_id_b


def _load(irds_id: str) -> Any:
    import ir_datasets

    if irds_id.startswith("nano-beir/"):  # ir_datasets reads its Parquet by pyarrow
        from ir_datasets.datasets import nano_beir

        nano_beir.parquet_iter = _parquet_rows

    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") != "utf8":
        raise ResiduumError(
            f"ir_datasets would read files as {encoding}, this machine's default, but they are "
            "UTF-8. Set PYTHONUTF8=1 and run the same command again."
        )
    try:
        return ir_datasets.registry[irds_id]
    except KeyError:
        raise ResiduumError(
            f"ir_datasets knows no id {irds_id!r}. Fix source.docs, or the split's irds, in the "
            "dataset's YAML; https://ir-datasets.com lists the ids."
        ) from None


def _parquet_rows(path: Path) -> Iterator[dict[str, object]]:
    """Stream the rows of a Parquet file by column name."""
    import polars as pl

    yield from pl.read_parquet(path).iter_rows(named=True)


@contextmanager
def _alone(irds_id: str) -> Iterator[None]:
    """Let only one process at a time read splits, if ir_datasets' home can be written.

    All processes share the name of a temporary file for DPR's questions
    (ir_datasets/datasets/dpr_w100.py, DprW100Manager).
    """
    with ExitStack() as held:
        with suppress(OSError):
            roots.irds().mkdir(parents=True, exist_ok=True)
            lock = roots.irds() / f".{irds_id.partition('/')[0]}.lock"
            fcntl.flock(held.enter_context(open(lock, "a")), fcntl.LOCK_EX)
        yield


@contextmanager
def _explained(irds_id: str, access: str) -> Iterator[list[Path]]:
    """Yield a list of the files read; give ir_datasets' errors a file, a line and access notes."""
    home = roots.irds()
    with faults.opened_below(home) as seen:
        try:
            yield seen
        except ResiduumError:
            raise
        except Exception as error:
            last = f"The last file read was {seen[-1]}.\n" if seen else ""
            message = faults.first(seen, error) or (
                f"ir_datasets could not provide {irds_id} ({_cause(error)}).\n{last}It looks in "
                f"{home} (set IR_DATASETS_HOME to change that) and downloads what is not there."
            )
            raise ResiduumError(f"{message}\nAccess: {access}") from None


def _cause(error: BaseException) -> str:
    """Describe the first error of a chain; for failed downloads, list the addresses tried."""
    while error.__context__ is not None and not isinstance(error.__context__, KeyError):
        reworded = error.__suppress_context__ and error.__cause__ is None  # raise ... from None
        if reworded or "http" in str(error).lower():
            break
        error = error.__context__
    if len(error.args) == 2 and isinstance(error.args[1], list):
        tried = ", ".join(getattr(source, "url", str(source)) for source, _ in error.args[1])
        return f"{error.args[0]}: {tried}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:MOST_SHOWN]}{' ...' * (len(text) > MOST_SHOWN)}"
