"""config/systems/*.yaml: systems, which make runs."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from residuum.code.tables import Kinds
from residuum.config.schema import base
from residuum.config.schema.analyses import TOLD_BY, Analysis, IndexForm, LuceneAnalysis
from residuum.config.schema.base import Id, K, Name, Positive, Probability, Ref, Role, Strict
from residuum.config.schema.scales import HubReranker, LocalReranker, TrainedReranker
from residuum.config.schema.search import Search
from residuum.config.schema.settings import Depth, Interpolation, Part, Rm3Setting, TunedParameter

Label = Annotated[str, Field(description="for readers; no part of any spec")]
VECTORS = (  # kinds of models
    *("dual-encoder", "released-encoder", "released-vectors", "program", "lexical-vectors"),
)
UNSCORED = ("rerank", "candidates")  # kinds whose scores cannot be added to others
Weights = Annotated[Id, Ref("model", kinds=("term-weights", "released-weights"))]
Unretrieved = Literal["true_score", "minimum", "zero"]
Side = Literal["dense", "lexical"]
Normalisation = Literal["min-max", "max", "sum", "zmuv"]  # by ranx's names


class Bm25(Strict):
    """Parameters of Lucene's BM25."""

    k1: float = Field(ge=0)
    b: Probability


class LexicalSystem(Strict):
    """A Lucene run: BM25 over a text, over term weights, or summed over boosted fields."""

    kind: Literal["lexical"]
    label: Label = ""
    analysis: Analysis
    boosts: dict[Id, PositiveFloat] = Field({}, description="field: factor of its BM25 score")
    joined: list[Id] = Field([], description="fields searched as one text; empty: the docs' text")
    term_weights: Weights | None = Field(
        None, description="model whose predicted weights take the place of tf"
    )
    query_terms: Literal["counted", "binary"] = Field(
        "counted",
        exclude_if=lambda how: how == "counted",
        description="binary: a term that a query repeats counts once",
    )
    bm25: Bm25
    rm3: Rm3Setting | None = None  # a doc's score depends on the query's first hits
    k: K = Field(description="hits requested")
    budgets: base.Budgets = Field(default=[])

    def index(self) -> IndexForm:
        """Return the form of the index that the system searches."""
        return IndexForm(analysis=self.analysis, fields=sorted(self.boosts), joined=self.joined)

    @property
    def tunes_rm3(self) -> bool:
        """Say whether RM3's parameters are chosen, on the split that is searched."""
        return self.rm3 is not None and self.rm3.value is None

    def check(self) -> None:
        if self.boosts and (self.rm3 or self.term_weights):
            raise ValueError("boosts go with plain BM25: without rm3 and term_weights")
        if self.joined and (self.boosts or self.term_weights):
            raise ValueError("joined: one text, without boosts and term_weights")
        of_lucene = isinstance(self.analysis, LuceneAnalysis)
        if not of_lucene and (self.boosts or self.term_weights or self.rm3):
            key = next(iter(self.analysis.model_fields_set & {*TOLD_BY}))
            text = "without boosts, term_weights and rm3, whose terms are Lucene's words"
            raise ValueError(f"analysis.{key}: {text}")
        if of_lucene and self.query_terms == "binary":
            text = "binary goes with wordpieces or bioclean, cut before Lucene counts them"
            raise ValueError(f"query_terms: {text}")


class DenseSystem(Strict):
    """An exact or approximate inner-product search over a model's embeddings.

    A system with default settings needs no entry. If no entry has these ids, `MODEL` and
    `MODEL-embedding` are dense systems of the model MODEL, once a page or a system names them.
    """

    kind: Literal["dense"]
    label: Label = ""
    model: Annotated[Id, Ref("model", kinds=VECTORS)]
    k: K = 1000
    search: Annotated[Search, Kinds("residuum.vectors.approximate:SEARCHES")] | None = Field(
        None, description="approximate search; absent: all docs are compared"
    )
    passages: Literal["all", "first"] = Field(
        "all",
        exclude_if=lambda which: which == "all",
        description="first: of a doc that is read in passages, the first alone, as if it were cut",
    )
    budgets: base.Budgets = Field(default=[])

    @property
    def first(self) -> bool:
        """Say whether only a doc's first passage is searched."""
        return self.passages == "first"

    @property
    def hits_id(self) -> str:
        """The name of its hits in paths, unique for a model: depth, search, passages."""
        named = [str(self.k), self.search.named if self.search else "", "first" * self.first]
        return "-".join(filter(None, named))

    def check(self) -> None:
        if self.search and self.passages != "all":
            raise ValueError("passages: first goes with a search that compares all; leave out one")


class FusionSystem(Strict):
    """A weighted sum of the scores of several systems over the union of their lists.

    `normalise` scales the scores s of each list of a query first, as ranx does. min-max:
    (s - least) / (greatest - least). max: s / greatest. sum: (s - least) / the sum of these
    differences. zmuv: (s - mean) / standard deviation. A true score is scaled as its list is.
    `combine: mnz` multiplies the sum of a doc's scores by the sum of the weights of the lists that
    have it (Wu and Crestani 2002). With equal weights that is CombMNZ (Fox and Shaw 1994).
    """

    kind: Literal["fusion"]
    label: Label = ""
    parts: list[Annotated[Id, Ref("system", but=UNSCORED), Name("part")]] = Field(
        min_length=2, description="systems, in the order of the sum"
    )
    interpolation: Interpolation
    unretrieved: Unretrieved | dict[Part, Unretrieved] = Field(
        description="score of a doc that only another part retrieved: of all parts, or of each"
    )
    normalise: Normalisation | None = Field(
        None,
        exclude_if=lambda how: how is None,
        description="how the scores of each list are scaled first; absent: they are not",
    )
    combine: Literal["sum", "mnz"] = Field(
        "sum",
        exclude_if=lambda how: how == "sum",
        description="mnz: the sum times the weights of the lists that have the doc",
    )
    k: K = Field(description="hits that are kept")

    @property
    def plain(self) -> bool:
        """Say whether scores are added as they are."""
        return self.normalise is None and self.combine == "sum"

    def rule(self, part: str) -> Unretrieved:
        """Return how a part scores a doc that it did not retrieve."""
        return self.unretrieved[part] if isinstance(self.unretrieved, dict) else self.unretrieved

    def true_scores(self) -> list[tuple[str, str]]:
        """Return each part that gives true scores, paired with each part whose docs it scores."""
        scoring = [part for part in self.parts if self.rule(part) == "true_score"]
        return [(part, other) for part in scoring for other in self.parts if other != part]

    def check(self) -> None:
        if isinstance(self.unretrieved, dict) and {*self.parts} - {*self.unretrieved}:
            raise ValueError("unretrieved: name every part, or write one word for all")
        if self.combine == "mnz" and any(self.rule(part) != "zero" for part in self.parts):
            raise ValueError(
                "combine: mnz counts the lists that have a doc, so that the others give nothing; "
                "write unretrieved: zero"
            )


class Function(Strict):
    """A Python function in a file of one's own."""

    file: str = Field(description="Python file; a relative path starts at the working directory")
    name: str = Field("fuse", pattern=r"^[A-Za-z_]\w*$", description="the function's name")


class FunctionSystem(Strict):
    """A fusion by a Python function of one's own, which is called once for each query.

    It gets {part: {doc_id: score}} and the parameters, and returns {doc_id: score}. Scores are in
    the order of ranks. A part without a list has {}. Docs that it leaves out are not in the run.
    """

    kind: Literal["function"]
    label: Label = ""
    parts: list[Annotated[Id, Ref("system", but=UNSCORED), Name("part")]] = Field(
        min_length=1, description="systems, in the order in which the function gets their lists"
    )
    function: Function = Field(description="the file and the function in it")
    parameters: dict[str, int | float | str] = Field({}, description="fixed keyword arguments")
    tuned: TunedParameter | None = Field(None, description="one more, chosen from a grid")
    k: K = Field(description="hits that are kept")

    def check(self) -> None:
        if self.tuned and self.tuned.parameter in self.parameters:
            raise ValueError(f"parameters: {self.tuned.parameter} is tuned; give it no value")


class HybridSystem(Strict):
    """An exact search by a weighted sum of several models' inner products.

    It equals maximum inner product search over concatenated vectors (Ma et al. 2020, section 3),
    with lexical vectors as sparse vectors. A doc with several vectors has each part's best product.
    """

    kind: Literal["hybrid"]
    label: Label = ""
    parts: list[Annotated[Id, Ref("system", kinds=("dense",)), Name("part")]] = Field(
        min_length=2, description="dense systems, of lexical vectors too, in the order of the sum"
    )
    interpolation: Interpolation
    k: K = Field(description="docs that are found")
    budgets: base.Budgets = Field(default=[])

    def weights(self) -> list[float]:
        """Return the weights to search with, all in one pass."""
        given = self.interpolation
        if given.value is not None:
            return [given.value]
        return given.grid if isinstance(given.grid, list) else []

    def coefficients(self, weight: float) -> list[float]:
        """Return the factor of each part's inner products."""
        others = self.interpolation.others
        weighted = self.interpolation.weighted
        return [weight if part == weighted else others.get(part, 1.0) for part in self.parts]

    def check(self) -> None:
        if self.interpolation.grid == "exact":
            raise ValueError("interpolation.grid: a hybrid search has no exact grid; list weights")


class RerankSystem(Strict):
    """A first stage whose top docs a reranker puts into order. The other docs follow."""

    kind: Literal["rerank"]
    label: Label = ""
    first_stage: Annotated[Id, Ref("system", but=("rerank", "external"))]  # gives the candidates
    # A role, or a model.
    reranker: Annotated[Id, Ref("reranker")] | HubReranker | LocalReranker | TrainedReranker
    depth: Depth
    budgets: base.Budgets = Field(default=[])


Md5 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class ExternalSystem(Strict):
    """External runs: TREC run files that are validated and then evaluated like other runs.

    A list of files has a run of each training seed, from 1 on. Their rows show a mean and a spread.
    """

    kind: Literal["external"]
    label: Label = ""
    source: str = Field(description="who made it and where to get it; shown if it is absent")
    runs: dict[Role, str | Annotated[list[str], Field(min_length=1)]] = Field(
        min_length=1, description="role: file below RESIDUUM_DATA, or a file of each training seed"
    )
    md5: dict[Role, Md5 | list[Md5]] = Field(
        {}, description="role: published MD5 of its file, unpacked; another file is refused"
    )
    plays: Side | None = Field(
        None,
        exclude_if=lambda side: side is None,
        description="what it is in a sum of two, for RoC; absent: what the other part is not",
    )
    others: bool = Field(False, description="files list other queries too, which are left out")

    @property
    def seeds(self) -> list[int] | None:
        """The training seeds of the runs, or None if each role has one file."""
        [one, *_] = self.runs.values()
        return None if isinstance(one, str) else [*range(1, len(one) + 1)]

    def files(self, role: str) -> list[str]:
        """Return the file of a role, or its files in the order of seeds."""
        given = self.runs[role]
        return [given] if isinstance(given, str) else given

    def sums(self, role: str) -> list[str]:
        """Return the published MD5 of a role's files; [] if they are unknown."""
        given = self.md5.get(role, [])
        return [given] if isinstance(given, str) else given

    def check(self) -> None:
        if others := sorted(self.md5.keys() - self.runs.keys()):
            raise ValueError(f"md5: no run is given for {', '.join(others)}")
        lists = {None if isinstance(given, str) else len(given) for given in self.runs.values()}
        if len(lists) > 1:
            raise ValueError("runs: give each role one file, or each a list of as many files")
        if odd := [role for role in self.md5 if len(self.sums(role)) != len(self.files(role))]:
            raise ValueError(f"md5.{odd[0]}: give as many as there are files")


class CandidatesPart(Strict):
    """The first docs of a system."""

    system: Annotated[Id, Ref("system", kinds=("lexical", "external")), Name("part")]
    top: K


class CandidatesSystem(Strict):
    """Candidates for other systems to rank: the first docs of systems, and random docs."""

    kind: Literal["candidates"]
    label: Label = ""
    parts: list[CandidatesPart] = Field(min_length=1, description="in the order of their docs")
    random: int = Field(0, ge=0, description="docs of the corpus that are none of these")
    seed: int = Field(1, ge=0, description="seed of the random docs")
    budgets: base.Budgets = Field(default=[])

    @property
    def most(self) -> int:
        """The largest number of docs of a query: no doc is in two lists."""
        return sum(part.top for part in self.parts) + self.random


class ReciprocalRankSystem(Strict):
    """The lists of several systems fused by rank alone: Cormack et al., SIGIR 2009."""

    kind: Literal["rrf"]
    label: Label = ""
    parts: list[Annotated[Id, Ref("system", but=UNSCORED), Name("part")]] = Field(
        min_length=2, description="systems, whose lists count alike"
    )
    rank_constant: Positive = Field(description="k of the paper, 60 there")
    k: K = Field(description="hits that are kept")


System = Annotated[
    LexicalSystem
    | DenseSystem
    | FusionSystem
    | FunctionSystem
    | HybridSystem
    | RerankSystem
    | ExternalSystem
    | ReciprocalRankSystem
    | CandidatesSystem,
    Field(discriminator="kind"),
]
