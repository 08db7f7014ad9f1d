"""The stated numbers behind every estimate, each with the sentence that a plan prints of it.

Usage: `seconds = queries * assumptions.SEARCH`. None is measured at scale full, which nobody has
run yet. Must not know what is estimated.
"""


class Assumption(float):
    """A number, and what a reader needs to judge it."""

    text: str

    def __new__(cls, value: float, text: str) -> "Assumption":
        """Make it of a number and a sentence in which {} stands for it."""
        made = super().__new__(cls, value)
        made.text = text.format(f"{value:.3g}")
        return made


TOKEN_BYTES = Assumption(4.5, "a token is {} bytes of text")
ZIP = Assumption(0.36, "compressed text takes {} of its bytes (MS MARCO's archive; NFCorpus 0.19)")
EXPORT_MB = Assumption(20, "a core exports {} MB of text a second (growth benchmark: 27)")
SEGMENT_MB = Assumption(1.8, "a core cuts {} MB of text a second into wordpieces and segments")
ANSWERS_MB = Assumption(4, "a core looks for answers in {} MB of text a second")
HELD = Assumption(0.002, "a doc holds an answer to {} of a split's questions")
ANSWERED_HITS = Assumption(5, "{} hits of a question hold an answer, each a training pair")
QUERY_BYTES = Assumption(40, "a query takes {} bytes, a judgement half of that")
INDEX_MB = Assumption(
    2.5,
    "a core indexes {} MB of text a second (growth benchmark: 2.8; published: MS MARCO passages in "
    "3 minutes on a laptop)",
)
INDEX = Assumption(0.5, "an index takes {} of the bytes of its text (NFCorpus: 0.32)")
SEARCH = Assumption(
    1 / 13 / 8.84,
    "a BM25 query takes {} s for each million docs of the corpus (published: 13 queries a second "
    "on one thread over the 8.84 million MS MARCO passages), and 0.003 s at least",
)
RM3 = Assumption(2.5, "with RM3 a query takes {} times as long (random words: 2.3 to 2.8)")
SETTING = Assumption(
    0.75,
    "a setting of RM3 takes {} of a BM25 search of 1,000 hits if its measure looks at 100 or fewer "
    "(a million docs of random words: 0.73), else as long as a query with RM3",
)
DOC_TERMS = Assumption(80, "a sparse vector takes the room of {} numbers (40 terms, 8 bytes each)")
SCORE_US = Assumption(5, "scoring a given doc takes {} µs (mini: 4), and its query a BM25 search")
LINE_BYTES = Assumption(11, "a line of a run takes {} bytes compressed (NFCorpus: 10.7)")
LINE_US = Assumption(3, "reading, fusing, cutting or measuring a line of a run takes {} µs (mini)")
TRIAL_US = Assumption(1, "trying a lambda or a depth on a line takes {} µs (mini)")
EXACT_US = Assumption(1, "the search for an exact lambda takes {} µs a line (mini)")
WEIGHTS = Assumption(0.1, "term weights take {} of the bytes of the text (NFCorpus: 0.04)")
PRODUCT_GFLOPS = Assumption(
    60,
    "a core multiplies vectors at {} GFLOPS (FAISS on one thread, 768 dimensions: 80); vectors are "
    "float32",
)
READ_MB = Assumption(500, "a disk reads {} MB a second")
STEP_S = Assumption(0.05, "a training step takes {} s at least, whatever the card")
MEMORY = Assumption(
    16, "training holds {} bytes a parameter (weights, gradients, Adam's moments), reading 4"
)
ACTIVATIONS = Assumption(
    50,
    "a layer holds {} bytes for each token and hidden unit (Korthikanti et al. 2022: 34, and with "
    "texts of 128 tokens 10 for attention); training holds all layers, reading one",
)
QUERY_TOKENS = Assumption(
    10,
    "a query has {} tokens; operations are 2 a weight of the layers and token read, and 3 times "
    "that in training",
)
LSA_MB = Assumption(0.5, "a core makes a backbone from {} MB of text a second (mini)")
PAGE_S = Assumption(60, "a page takes {} s with its tests and its drawing (mini: 2)")
START_S = Assumption(3, "a job takes {} s of a core to start (mini: 0.5 to 2)")
CORE_GFLOPS = Assumption(60, "without a card a core does {} GFLOPS (MiniLM on NFCorpus: 69)")

ALL = [number for number in globals().values() if isinstance(number, Assumption)]
