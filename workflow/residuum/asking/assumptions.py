"""The stated assumptions behind every estimate of `residuum plan`, and the form of an estimate.

Usage: `assumed("search")`. None of the numbers is measured at scale full, which nobody has run yet.
Must not know rules or the registry.
"""

from typing import NamedTuple

UNITS = (  # what it is worth, the least number that is told in it, its name
    (1e9, 1e9, " thousand million"),
    (1e6, 1e5, " million"),
    (1, 1e-3, ""),
    (1e-6, 1e-6, " µs"),
    (1e-9, 0, " ns"),
)


class Assumption(NamedTuple):
    """A number and the sentence that a reader needs to judge it; {} stands for the number."""

    value: float
    text: str

    def told(self) -> str:
        """Return the sentence with its number."""
        worth, _, unit = next(row for row in UNITS if self.value >= row[1])
        return self.text.format(f"{self.value / worth:.3g}{unit}")


ASSUMED = {
    "text": Assumption(4.5, "a token is {} bytes of text"),
    "zip": Assumption(
        0.36, "compressed text takes {} of its bytes (MS MARCO's own archive; NFCorpus 0.19)"
    ),
    "export": Assumption(
        20e6, "a core exports {} bytes of text a second (growth benchmark: 27 million)"
    ),
    "query": Assumption(40, "a query takes {} bytes, a judgement half of that"),
    "index": Assumption(
        2.5e6,
        "a core indexes {} bytes of text a second (growth benchmark: 2.8 million; published: MS "
        "MARCO passages in 3 minutes on a laptop)",
    ),
    "index-size": Assumption(0.5, "an index takes {} of the bytes of its text (NFCorpus: 0.32)"),
    "search": Assumption(
        1 / 13 / 8.84e6,
        "a BM25 query takes {} for each doc of the corpus (published: 13 queries a "
        "second on one thread over the 8.84 million MS MARCO passages), and 0.003 s at least",
    ),
    "rm3": Assumption(
        2.5, "with RM3 a query takes {} times as long (a million docs of random words: 2.3 to 2.8)"
    ),
    "setting": Assumption(
        0.75,
        "a setting of RM3 takes {} of a BM25 search of 1,000 hits if its measure looks at 100 "
        "or fewer (a million docs of random words: 0.73), else as long as a query with RM3",
    ),
    "score": Assumption(
        5e-6, "scoring a given doc takes {} (mini: 4 µs), and its query a BM25 search"
    ),
    "hit": Assumption(11, "a line of a run takes {} bytes compressed (NFCorpus: 10.7)"),
    "hit-time": Assumption(
        3e-6, "reading, fusing, cutting or measuring a line of a run takes {} (mini)"
    ),
    "depth-time": Assumption(1e-6, "trying a lambda or a depth on a line takes {} (mini)"),
    "weights": Assumption(0.1, "term weights take {} of the bytes of the text (NFCorpus: 0.04)"),
    "product": Assumption(
        60e9,
        "a core multiplies vectors at {} operations a second (FAISS on one thread, 768 dimensions: "
        "80); vectors are float32",
    ),
    "read": Assumption(500e6, "a disk reads {} bytes a second"),
    "step": Assumption(0.05, "a training step takes {} s at least, whatever the card"),
    "memory": Assumption(
        16,
        "training holds {} bytes a parameter (weights, gradients, Adam's moments), and for each "
        "token and layer 34 bytes a hidden unit and 5 a head and token of the text's limit "
        "(Korthikanti et al. 2022); reading holds 4 bytes a parameter and one layer",
    ),
    "length": Assumption(
        10, "a query has {} tokens; operations are 2 a weight of the layers and token read, with "
        "attention's own, and 3 times that in training"
    ),
    "lsa": Assumption(0.5e6, "a core makes a backbone from {} bytes of text a second (mini)"),
    "page": Assumption(60, "a page takes {} s with its tests and its drawing (mini: 2)"),
    "start": Assumption(3, "a job takes {} s of a core to start (mini: 0.5 to 2)"),
    "core": Assumption(
        60e9, "without a card a core does {} operations a second (MiniLM on NFCorpus: 69)"
    ),
}  # fmt: skip


def assumed(name: str) -> float:
    """Return the number of an assumption."""
    return ASSUMED[name].value


class Cost(NamedTuple):
    """Bytes that stay, seconds of one core, a card's operations, steps and bytes of memory."""

    disk: float = 0.0
    core_s: float = 0.0
    operations: float = 0.0
    steps: int = 0
    card: float = 0.0
