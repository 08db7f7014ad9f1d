"""The key `analysis` of a lexical system: how texts become terms, and the id of an index."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from residuum.config.schema.base import Id, Positive, Ref, Strict


class LuceneAnalysis(Strict):
    """How Lucene turns text into terms."""

    language: Literal["en"] = "en"
    stemmer: Literal["porter", "krovetz", "none"]
    stopwords: Literal["lucene", "none"]

    @property
    def named(self) -> str:
        """Its part of an index's id."""
        return f"{self.language}-{self.stemmer}-{self.stopwords}"


class Wordpieces(Strict):
    """The terms are a backbone's wordpieces, as in Luan et al. 2021, section 4.1.

    Wordpieces alone give the paper's BM25-uni; with bigrams they give BM25-bi. A role's models and
    terms have the same wordpieces.
    """

    wordpieces: Annotated[
        Id, Ref("backbone"), Field(description="role whose tokenizer cuts docs and queries")
    ]
    ngrams: Literal[1, 2] = Field(1, description="2: bigrams are terms as well")

    @property
    def named(self) -> str:
        """Its part of an index's id."""
        return f"{self.wordpieces}-{self.ngrams}grams"


class Bioclean(Strict):
    """The words of BioASQ's own clean-up: lower case, most punctuation deleted, hyphens kept."""

    words: Literal["bioclean"]

    @property
    def named(self) -> str:
        """Its part of an index's id."""
        return self.words


TOLD_BY = {"wordpieces": "Wordpieces", "words": "Bioclean"}  # keys of only this form


def _analysis(given: object) -> str:
    """Return the form of an analysis by its keys, so faults are reported for this form only."""
    if not isinstance(given, dict):
        return type(given).__name__
    return next((form for key, form in TOLD_BY.items() if key in given), "LuceneAnalysis")


Analysis = Annotated[
    Annotated[LuceneAnalysis, Tag("LuceneAnalysis")]
    | Annotated[Wordpieces, Tag("Wordpieces")]
    | Annotated[Bioclean, Tag("Bioclean")],
    Discriminator(_analysis),
]


class IndexForm(Strict):
    """What determines a Lucene index of a corpus: the analysis, and the fields kept apart."""

    analysis: Analysis
    fields: list[Id] = Field([], description="empty: the whole text as one field")
    joined: list[Id] = Field([], description="fields that are one text in place of the whole")

    @property
    def vocabulary(self) -> str | None:
        """The backbone role whose tokenizer cuts the texts; None for Lucene's own analysis."""
        return self.analysis.wordpieces if isinstance(self.analysis, Wordpieces) else None

    def index_id(self) -> str:
        """Return the id of the index: en-porter-lucene; en-porter-lucene.body.title with fields;
        en-porter-lucene.title+body with joined fields."""
        joined = ["+".join(self.joined)] * bool(self.joined)
        return ".".join([self.analysis.named, *sorted(self.fields), *joined])


class IndexStatistics(Strict):
    """The counts of a published index. Numbers compare only between indexes of equal counts."""

    documents: Positive
    non_empty_documents: Positive | None = None
    unique_terms: Positive | None = None
    total_terms: Positive | None = None
