"""Sources of generated collections in config/datasets/*.yaml: their recipes and their splits."""

from typing import Literal

from pydantic import Field

from residuum.config.schema.base import Positive, Probability, Strict

FOLDS = ("fold1", "fold2", "fold3", "fold4", "fold5")  # the folds of `topics`
BATCHES = ("batch1", "batch2", "batch3", "batch4", "batch5")  # the batches of `gold`'s test split
QUESTIONS = ("questions", "questions-train", "questions-tune")
LATER = ("questions", "topics", *QUESTIONS[1:])  # their sizes change neither docs nor other splits
GOLD = ("train", "dev", "test", *BATCHES)
SIZED_LATER = ("questions", "question_pairs", "question_tune", "topics", "gold")  # of recipes
GENERATED_SPLITS = {
    "generated": ("train", "tune", "dev", "judged", *LATER, *FOLDS),
    "generated-articles": ("judged", "earlier", *GOLD),
    "generated-pages": ("train", "tune", "dev", "judged"),
}
FIELDS = {  # the fields of docs beside their text
    "generated-articles": ["title", "abstract", "body"],
    "generated-pages": ["title", "body"],
    "pubmed": ["title", "abstract"],
    "bioasq": ["title", "abstract"],
}
ANSWERED = {  # the answers fields of splits
    "generated": dict.fromkeys(QUESTIONS, "place"),
    "generated-pages": dict.fromkeys(("train", "tune", "dev"), "person"),
}


def sized_later(kind: str, split: str) -> bool:
    """Say whether the sizes in SIZED_LATER change a split of this kind of source."""
    return split in {"generated": (*LATER, *FOLDS), "generated-articles": GOLD}.get(kind, ())


class GeneratedSource(Strict):
    """A collection made by residuum.collections.places; see docs/generated-collection.md."""

    kind: Literal["generated"]
    seed: int
    entities: Positive
    passages: Positive = Field(description="attribute passages")
    listings: int = Field(ge=0, description="listing pages, lexical distractors")
    stubs: int = Field(ge=0, description="question stubs, lexical distractors")
    train_pairs: Positive
    train_share: Probability = Field(description="share of passages that train pairs come from")
    tune: Positive
    dev: Positive
    judged: Positive
    questions: int = Field(0, ge=0, description="by description, answered by the place's name")
    question_pairs: int = Field(0, ge=0, description="of such questions, to train on")
    question_tune: int = Field(0, ge=0, description="such questions to tune on")
    topics: int = Field(0, ge=0, description="graded keywords in five folds")
    shift: Probability = Field(description="probability that a concept changes its surface form")


class GeneratedPages(Strict):
    """Long docs with title and body, a section for each passage of `generated`.

    See docs/generated-collection.md.
    """

    kind: Literal["generated-pages"]
    seed: int
    entities: Positive = Field(description="places of all pages")
    subjects: Positive = Field(description="places of a page, which has the name of one as title")
    turns: Positive = Field(description="sections of each place on a page; places take turns")
    passages: Positive = Field(description="sections of all pages, each of which names a person")
    train_pairs: Positive
    train_share: Probability = Field(description="share of sections that train pairs come from")
    tune: Positive
    dev: Positive
    judged: Positive
    shift: Probability = Field(description="probability that a concept changes its surface form")


class Gold(Strict):
    """The numbers of questions, and how their docs were found.

    As in BioASQ, only docs that answer a question are judged.
    """

    train: Positive
    dev: Positive
    test: Positive = Field(multiple_of=len(BATCHES), description="in five batches of one size")
    keywords: float = Field(
        gt=0,
        le=1,
        description="share of the gold docs that a search for the question's words finds",
    )


class GeneratedArticles(Strict):
    """Docs with title, abstract and body, made by residuum.collections.articles.

    See docs/generated-collection.md.
    """

    kind: Literal["generated-articles"]
    seed: int
    articles: Positive = Field(description="studies of one aspect of a condition")
    reviews: int = Field(ge=0, description="papers that cover several aspects, partially relevant")
    notices: int = Field(ge=0, description="calls and letters, lexical distractors")
    conditions: Positive = Field(description="invented illnesses")
    agents: Positive = Field(description="invented drugs")
    judged: int = Field(0, ge=0)
    gold: Gold | None = None
    shift: Probability = Field(description="probability that a concept leaves its usual form")
    judged_before: Probability = Field(
        0, description="share of the judgements that an earlier round made: the split `earlier`"
    )
