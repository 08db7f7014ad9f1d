"""The splits of config/datasets/*.yaml: queries, judgements, and splits made from other splits.

Usage: `check(splits)` raises ValueError if splits contradict each other.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from residuum.cli.errors import unknown
from residuum.config.schema import base
from residuum.config.schema.adverse import Adverse
from residuum.config.schema.base import Id, Positive, SplitId, Strict
from residuum.config.schema.files import YourFile
from residuum.config.schema.questions import Synthetic


class Holdout(Strict):
    """A split drawn from another split, from which its queries are removed."""

    of: Id
    queries: Positive
    seed: int | None = Field(None, description="seed of the hash that draws query_ids")
    drawn: Literal["hash", "last"] = Field(
        "hash", exclude_if=lambda drawn: drawn == "hash", description="last: in the split's order"
    )

    def check(self) -> None:
        if (self.seed is None) == (self.drawn == "hash"):
            raise ValueError("give a seed where a hash draws the queries, and for nothing else")


class Listed(Strict):
    """Listed queries of another split, which keeps them, such as a published fold."""

    of: Id
    ids: list[str] = Field(min_length=1, description="query_ids, in quotes")

    def check(self) -> None:
        if len({*self.ids}) < len(self.ids):
            raise ValueError(f"ids: query {max(self.ids, key=self.ids.count)} is given twice")


class Split(Strict):
    """Queries with their judgements. The source's kind decides which keys are required."""

    irds: str | None = Field(None, description="ir_datasets id of queries and qrels")
    queries: YourFile | None = Field(
        None, description="TSV, query_id TAB text; JSON lines, CSV or Parquet; TREC's topics"
    )
    query_field: str = Field("text", description="field of a query; of TREC's topics title, ...")
    qrels: YourFile | None = Field(
        None, description="TREC qrels; or query-id, corpus-id, score as TSV with a header"
    )
    judged_only: bool | None = Field(
        None, description="leave out queries without a judgement; default: true for BEIR's layout"
    )
    bioasq: list[str] = Field([], description="JSON files of BioASQ's task B: questions and docs")
    docpairs: YourFile | None = Field(
        None, description="triples: ir_datasets id, or TSV: query, positive, negative; ids or texts"
    )
    questions: YourFile | None = Field(
        None, description="file in DPR's form: question TAB ['a', 'b']"
    )
    answers_field: str | None = Field(None, description="field of a query's answers")
    questions_of: base.Role | None = Field(
        None, description="role whose split's queries and answers these are"
    )
    unjudged: bool = Field(False, description="no judgements are public: runs, but no metrics")
    relevant_by: Literal["answers"] | None = Field(
        None, description="docs that hold an answer are relevant, in place of published judgements"
    )
    relevant_from: Positive | None = Field(
        None, description="judgements of a lower level are exported as 0, not relevant"
    )
    folds: list[SplitId] = Field([], description="splits that divide it, for cross-validation")
    tune: SplitId | None = Field(
        None,
        description="where `tune_on: own` chooses for its runs; absent: the dataset's own.tune",
    )
    residual_of: list[SplitId] = Field(
        [], description="earlier splits, whose judged docs leave every run of the same query"
    )
    remove_query: bool = Field(
        False, description="the doc with a query's own id leaves its list, as in BEIR and Pyserini"
    )
    holdout: Holdout | None = None
    part: Listed | None = None
    adverse: Adverse | None = Field(None, description="another split's queries, reworded")
    synthetic: Synthetic | None = Field(None, description="questions that a generator writes")
    positive_level: Positive = Field(1, description="least relevance of a train positive")
    measures: list[base.Measure] = Field([], description="measures beside those of tables")

    def check(self) -> None:
        if self.judged_only and self.unjudged:
            raise ValueError("judged_only: no query of an unjudged split is judged; leave it out")
        if self.relevant_from and (self.relevant_by or not self.published):
            text = "only published judgements have levels, and answers replace them"
            raise ValueError(f"relevant_from: {text}; leave it out")
        if self.questions and (self.queries or self.qrels or self.irds):
            raise ValueError("questions brings the queries; leave out queries, qrels and irds")
        if self.bioasq and (self.questions or self.queries or self.qrels or self.irds):
            text = "bioasq brings queries and judgements; leave out queries, qrels, irds, questions"
            raise ValueError(text)
        brought = ("irds", "queries", "qrels", "questions", "bioasq", "answers_field", "docpairs")
        if self.questions_of and (others := [key for key in brought if getattr(self, key)]):
            text = "queries and answers are those of another split"
            raise ValueError(f"questions_of: {text}; leave out {', '.join(others)}")
        given = {*self.model_dump(exclude_defaults=True)}
        if self.synthetic and (others := sorted(given - {"synthetic", "measures"})):
            text = "queries and judgements are a generator's"
            raise ValueError(f"synthetic: {text}; leave out {', '.join(others)}")
        for key in [key for key in ("part", "adverse") if key in given]:
            if others := sorted((OF_ORIGIN | {"part"} - {key}) & given):
                text = f"queries, judgements and answers are those of '{getattr(self, key).of}'"
                raise ValueError(f"{key}: {text}; leave out {', '.join(others)}")

    @property
    def derived(self) -> Holdout | Listed | Adverse | None:
        """The key that makes it from another split's queries; None for a split of the source."""
        return self.holdout or self.part or self.adverse

    @property
    def brought(self) -> bool:
        """Say whether its queries come from elsewhere than the collection's files."""
        others = self.derived or self.synthetic or self.questions or self.questions_of
        return bool(others or self.bioasq)

    @property
    def published(self) -> bool:
        """Say whether its source has judgements of docs."""
        return not (self.questions or self.questions_of or self.unjudged)

    @property
    def answered(self) -> bool:
        """Say whether its source has answers to its queries."""
        return bool(self.questions or self.questions_of or self.answers_field)

    @property
    def judged(self) -> bool:
        """Say whether there are judgements of docs, published or made from answers."""
        return self.published or self.relevant_by is not None


MADE = {Holdout: ("holdout", "a holdout"), Listed: ("part", "a part"), Adverse: ("adverse",) * 2}
OF_ORIGIN = {"irds", "queries", "query_field", "qrels", "docpairs", "questions", "answers_field"}
OF_ORIGIN |= {
    "judged_only",
    "bioasq",
    "questions_of",
    "unjudged",
    "relevant_by",
    "relevant_from",
    "residual_of",
    "remove_query",
    "holdout",
}


class SplitCount(Strict):
    """Pinned counts of a split in its source.

    Holdouts drawn from the split, and judgements made from answers, do not change these counts.
    """

    queries: Positive
    qrels: int = Field(ge=0)
    relevance: dict[int, Positive] = Field({}, description="level of relevance: qrels of it")
    docpairs: Positive | None = Field(None, description="training triples")


Splits = Mapping[str, Split]


def origin(splits: Splits, name: str) -> str:
    """Return the split whose source a split is read from: itself, or the split it is made from."""
    derived = splits[name].derived
    return origin(splits, derived.of) if derived else name


def check(splits: Splits) -> None:
    """Raise ValueError, with the key, if a split contradicts itself or another split."""
    for name, split in splits.items():
        _check_derived(f"splits.{name}", split, splits)
    for name, split in splits.items():
        _check_folds(f"splits.{name}", name, splits)
        _check_residual(f"splits.{name}", name, splits)
        _check_answers(f"splits.{name}", split)


def _check_derived(key: str, split: Split, splits: Splits) -> None:
    if (derived := split.derived) is None:
        return
    where = f"{key}.{MADE[type(derived)][0]}.of"
    if derived.of not in splits:
        raise ValueError(f"{where}: {unknown('split', derived.of, splits)}")
    other, reworded = splits[derived.of], isinstance(derived, Adverse)
    if other.synthetic:
        raise ValueError(f"{where}: '{derived.of}' is what a generator writes, not a source's")
    if other.derived and not (reworded and other.adverse is None):
        raise ValueError(f"{where}: '{derived.of}' is {MADE[type(other.derived)][1]} too")
    if reworded and not other.published:
        raise ValueError(f"{where}: '{derived.of}' has no published judgements of docs")


def _check_folds(key: str, name: str, splits: Splits) -> None:
    folds = splits[name].folds
    listed: dict[str, str] = {}  # the fold of each query
    for fold in folds:
        if fold == name or folds.count(fold) > 1:
            raise ValueError(f"{key}.folds: '{fold}' is the split itself, or is given twice")
        if fold in splits and splits[fold].synthetic:
            raise ValueError(
                f"{key}.folds: '{fold}' is what a generator writes, no fold of queries"
            )
        part = splits[fold].part if fold in splits else None
        for query_id in part.ids if part else ():
            if (other := listed.setdefault(query_id, fold)) != fold:
                text = f"query {query_id} is in {other} and in {fold}"
                raise ValueError(f"{key}.folds: {text}; folds divide the queries")


def _check_residual(key: str, name: str, splits: Splits) -> None:
    split = splits[name]
    if split.holdout and split.residual_of:
        raise ValueError(f"{key}.residual_of: a holdout has that of '{split.holdout.of}'")
    for earlier in split.residual_of:
        if earlier == name or split.residual_of.count(earlier) > 1:
            text = f"'{earlier}' is the split itself, or is given twice"
            raise ValueError(f"{key}.residual_of: {text}")
        if earlier in splits and not splits[origin(splits, earlier)].judged:
            raise ValueError(f"{key}.residual_of: '{earlier}' has no judgements of docs")


def _check_answers(key: str, split: Split) -> None:
    if split.relevant_by is None:
        return
    if split.holdout:
        raise ValueError(f"{key}.relevant_by: a holdout has that of '{split.holdout.of}'")
    if not split.answered:
        text = "the split has no answers: give answers_field, questions or questions_of"
        raise ValueError(f"{key}.relevant_by: {text}")
    if split.residual_of:
        text = "docs judged before leave every run, and may hold an answer; leave out residual_of"
        raise ValueError(f"{key}.relevant_by: {text}")
