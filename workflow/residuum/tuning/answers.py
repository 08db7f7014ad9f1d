"""Which docs hold an answer to which question, as DPR matches them.

Usage: `for doc_id, queries in holders(docs, answers): ...`. Measures, judgements made of answers
and negatives without them all use this one definition. Karpukhin et al., Dense Passage Retrieval,
EMNLP 2020, section 3.2 and their evaluation script.
"""

import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping

Answers = Mapping[str, list[str]]  # answers by query_id
Docs = Iterable[Mapping[str, str]]  # records of a corpus


def tokens(text: str) -> list[str]:
    """Return a text's tokens in lower case, split as DPR does.

    The text is decomposed canonically. A token is a run of letters, digits and marks, or another
    single character except space and control.
    """
    import regex

    text = unicodedata.normalize("NFD", text)
    found = regex.findall(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]", text)
    return [token.lower() for token in found]


class _Node:
    """The tokens that may follow a prefix of answers, and the queries whose answers end here."""

    __slots__ = ("after", "queries")

    def __init__(self) -> None:
        self.after: dict[str, _Node] = {}
        self.queries: list[str] = []


class Questions:
    """Queries by the tokens of their answers: a passage is read once for any number of queries."""

    def __init__(self, answers: Answers) -> None:
        """Take the answers; an answer without a token matches nothing."""
        self._first = _Node()
        for query_id, texts in answers.items():
            for words in filter(None, map(tokens, texts)):
                node = self._first
                for word in words:
                    node = node.after.setdefault(word, _Node())
                node.queries.append(query_id)

    def answered_by(self, passage: str) -> set[str]:
        """Return the queries with an answer whose tokens stand in a row in the passage."""
        words, held = tokens(passage), set[str]()
        for start, word in enumerate(words):
            node, end = self._first.after.get(word), start + 1
            while node is not None:
                held.update(node.queries)
                node = node.after.get(words[end]) if end < len(words) else None
                end += 1
        return held


def holders(
    docs: Docs, answers: Answers, among: Container[str] | None = None
) -> Iterator[tuple[str, set[str]]]:
    """Yield the id of each doc that holds an answer, and the queries that it answers.

    Docs are read once, in their order; with `among`, only docs with these ids are searched. A doc's
    passage is its field `body`, or its text if it has no body: titles are not searched.
    """
    questions = Questions(answers)
    for doc in docs:
        looked_at = among is None or doc["doc_id"] in among
        if looked_at and (queries := questions.answered_by(doc.get("body", doc["text"]))):
            yield doc["doc_id"], queries
