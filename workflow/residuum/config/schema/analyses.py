"""The key `analysis` of a lexical system: how texts become terms, what names an index."""

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
    """The wordpieces that a backbone reads are the terms: Luan et al. 2021, 4.1.

    By themselves they are its BM25-uni; with bigrams beside them, BM25-bi.
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


TOLD_BY = {"wordpieces": "Wordpieces", "words": "Bioclean"}  # keys that others do not have


def _analysis(given: object) -> str:
    """Tell an analysis by its keys, so that the faults are those of one form alone."""
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
    """What decides a Lucene index of a corpus: the analysis, and fields that are kept apart."""

    analysis: Analysis
    fields: list[Id] = Field([], description="empty: the whole text as one field")
    joined: list[Id] = Field([], description="fields that are one text in place of the whole")

    @property
    def vocabulary(self) -> str | None:
        """The backbone role whose tokenizer cuts the texts; None where Lucene does."""
        return self.analysis.wordpieces if isinstance(self.analysis, Wordpieces) else None

    def index_id(self) -> str:
        """Return the id of the index, such as en-porter-lucene, en-porter-lucene.body.title, or
        en-porter-lucene.title+body where fields are joined."""
        joined = ["+".join(self.joined)] * bool(self.joined)
        return ".".join([self.analysis.named, *sorted(self.fields), *joined])


class IndexStatistics(Strict):
    """What a published index counts; a number compares only with one of an index that counts so."""

    documents: Positive
    non_empty_documents: Positive | None = None
    unique_terms: Positive | None = None
    total_terms: Positive | None = None
