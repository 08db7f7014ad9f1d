"""Sources of the user's own files: the layouts of folders and the names of columns.

Usage: `BeirSource(kind="beir", folder="mine").split_files("test")` names queries and qrels. Paths
start at the folder of RESIDUUM_DATA, or name a dataset of the Hugging Face hub.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from residuum.config import roots
from residuum.config.schema.base import Strict


def _not_taken(name: str) -> str:
    if name in ("doc_id", "text"):
        raise ValueError(f"{name}: every doc has that already; name other fields")
    return name


def _below(glob: str) -> str:
    if glob.startswith("/") or {"", ".."} & {*glob.split("/")}:
        raise ValueError(f"{glob}: not a pattern of paths below the folder, such as ft/**/ft*")
    return glob


def _address(name: str) -> str:
    if name.startswith("hf:") and not roots.HUB.fullmatch(name):
        form = "hf://datasets/ORGANISATION/NAME@COMMIT/PATH"
        commit = "a commit has 40 digits of 0-9a-f, as the hub's page of files shows; branches move"
        raise ValueError(f"not {form}: {commit}. A path has no . or .. and no empty part")
    return name


NamedFields = Annotated[
    list[Annotated[str, AfterValidator(_not_taken)]],
    Field(description="kept beside text by their names, for systems that search by field"),
]
WHERE = "below the folder of RESIDUUM_DATA, or hf://datasets/ORGANISATION/NAME@COMMIT/PATH"
YourFile = Annotated[str, AfterValidator(_address)]
ENDINGS = (".jsonl", ".ndjson", ".csv", ".parquet", ".arrow", ".tsv")
TextFields = Annotated[list[str], Field(min_length=1, description="joined in order by a space")]


Below = Annotated[
    Annotated[str, AfterValidator(_below)] | None,
    Field(
        exclude_if=lambda below: below is None,
        description="glob of the files of a folder that are read, such as ft/**/ft*",
    ),
]


class OfYours(Strict):
    """The base of sources whose docs are in the user's files."""

    @property
    def within(self) -> roots.Within:
        """Return which files are read if the docs are a folder."""
        return roots.EVERY

    @property
    @abstractmethod
    def corpus_file(self) -> str:
        """Return the file or the folder of the docs, as YAML names it."""

    def split_files(self, split: str) -> Mapping[str, str]:
        """Return the files `queries` and `qrels` of a split if the layout decides them, else {}."""
        return {}


class InFiles(OfYours):
    """The base of sources with files of docs, queries and judgements, each read by its form."""

    judged_only: ClassVar[bool] = False  # leave out unjudged queries; a split can override it

    text_fields: TextFields = Field(default=["text"])
    fields: NamedFields = Field(default=[])
    names: dict[str, Literal["doc_id", "query_id", "relevance"]] = Field(
        {},
        exclude_if=lambda names: not names,
        description="meaning of your columns; known: _id, id, query-id, corpus-id, score",
    )
    columns: list[str] = Field(
        [],
        exclude_if=lambda columns: not columns,
        description="columns of a corpus in TSV, which has no header; absent: doc_id, text",
    )

    def check(self) -> None:
        if self.columns and isinstance(self, BeirSource | TrecSource):
            raise ValueError(
                f"columns: only TSV needs it; docs of kind {self.kind} name theirs. Leave it out"
            )
        if self.columns and "doc_id" not in {*self.columns, *map(self.names.get, self.columns)}:
            raise ValueError(f"columns: none of {', '.join(self.columns)} is the doc_id")
        if len({*self.columns}) < len(self.columns):
            twice = max(self.columns, key=self.columns.count)
            raise ValueError(f"columns: '{twice}' is given twice; which column is meant?")


class FilesSource(InFiles):
    """A collection of your own files: JSON lines, CSV, Parquet or TSV, by the file's name.

    A corpus may be a folder: its files with such endings, or the files that `below` names, are
    read. TSV is doc_id TAB text, without a header.
    """

    kind: Literal["files"]
    corpus: YourFile = Field(description=WHERE)
    below: Below = None

    @property
    def within(self) -> roots.Within:
        return roots.Within(self.below) if self.below else roots.Within(endings=ENDINGS)

    @property
    def corpus_file(self) -> str:
        return self.corpus


class BeirSource(InFiles):
    """A folder in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv, maybe gzipped.

    A split has the queries that its qrels judge.
    """

    judged_only: ClassVar[bool] = True

    kind: Literal["beir"]
    folder: YourFile = Field(description=WHERE)
    text_fields: TextFields = Field(default=["title", "text"])

    @property
    def corpus_file(self) -> str:
        return f"{self.folder}/corpus.jsonl"

    def split_files(self, split: str) -> Mapping[str, str]:
        return {
            "queries": f"{self.folder}/queries.jsonl",
            "qrels": f"{self.folder}/qrels/{split}.tsv",
        }


class MsMarcoSource(InFiles):
    """A folder in MS MARCO's layout: collection.tsv, queries.SPLIT.tsv, qrels.SPLIT.tsv."""

    kind: Literal["msmarco"]
    folder: YourFile = Field(description=WHERE)

    @property
    def corpus_file(self) -> str:
        return f"{self.folder}/collection.tsv"

    def split_files(self, split: str) -> Mapping[str, str]:
        return {key: self._named(key, split) for key in ("queries", "qrels")}

    def _named(self, key: str, split: str) -> str:
        """Return a split's file. For dev-small it may be queries.dev.small.tsv, as in MS MARCO."""
        usual, dotted = (f"{self.folder}/{key}.{s}.tsv" for s in (split, split.replace("-", ".")))
        lies = [roots.as_it_lies(roots.data() / name).is_file() for name in (usual, dotted)]
        return dotted if lies == [False, True] else usual


class TrecSource(InFiles):
    """Docs in TREC's SGML, topics and qrels; gzipped, compressed (.Z) or plain.

    A doc has a title and a body, as ir_datasets extracts them from TREC's disks.
    """

    kind: Literal["trec"]
    docs: YourFile = Field(description="a file, or a folder all of whose files are read")
    below: Below = None
    text_fields: TextFields = Field(default=["title", "body"])
    encoding: str = Field("utf-8", description="encoding of docs, topics; TREC's disks: latin-1")

    @property
    def within(self) -> roots.Within:
        return roots.Within(self.below) if self.below else roots.EVERY

    @property
    def corpus_file(self) -> str:
        return self.docs
