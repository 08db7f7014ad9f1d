"""The recall of a doc's terms in its queries, which DeepCT learns, as DeepCT's script computes it.

Usage: `targets(doc, words, recall([terms(query) for query in queries]))`. Source: Dai and Callan
2019, section 3, and scripts/get_training_query_term_recall.py of AdeDZY/DeepCT. The script runs
with --stem and --stop, both of which DeepCT recommends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain

from residuum.config.roots import packaged

# data/stopwords.txt of AdeDZY/DeepCT, each word once.
STOP_WORDS = frozenset(packaged("neural/words/deepct.txt").read_text(encoding="utf-8").split())
TOKEN = re.compile("[a-zA-Z0-9]+")


def tokens(text: str) -> list[str]:
    """Return a text's words in lower case, without stop words.

    Words consist of ASCII letters and digits; 's is dropped.
    """
    words = (word.lower() for word in TOKEN.findall(text.replace("'s", " ")))
    return [word for word in words if word not in STOP_WORDS]


@cache
def stem(word: str) -> str:
    """Return the stem by which words of queries and docs are matched.

    It is Porter's stem as published. The script uses NLTK's, which differs in a few short words.
    There, dies matches die, and news does not match new.
    """
    from snowballstemmer import stemmer

    return str(stemmer("porter").stemWord(word))


def terms(text: str) -> set[str]:
    """Return the stems of a text's words without stop words."""
    return {stem(word) for word in tokens(text)}


def recall(queries: Collection[Iterable[str]]) -> dict[str, float]:
    """Return QTR(t, d) = |Q(d, t)| / |Q(d)|: the share of a doc's queries that contain a term.

    Each query is its terms. Terms that no query contains are left out: their recall is 0.
    """
    counts = Counter(chain.from_iterable(queries))
    return {term: count / len(queries) for term, count in counts.items()}


def targets(text: str, words: Sequence[str], recalls: Mapping[str, float]) -> list[float]:
    """Return the target of each word that a model reads of a doc: its term's recall, or 0.

    A word that is not among the doc's `tokens`, such as café or a punctuation mark, has target 0.
    """
    known = {token: recalls.get(stem(token), 0.0) for token in tokens(text)}
    return [known.get(word.lower(), 0.0) for word in words]
