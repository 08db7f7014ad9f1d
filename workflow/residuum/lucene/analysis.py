"""How texts become terms: Lucene analyses them, or they are cut into words or wordpieces before.

Usage: `cut = analysis.terms(form.analysis, folder)`; then Lucene gets `cut.tokenise(texts)` with
`cut.analyzer`, docs and queries alike.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from residuum.artefacts import wordpieces
from residuum.artefacts.streams import chunks
from residuum.artefacts.wordpieces import TOKENIZER
from residuum.config.schema.analyses import Analysis, Bioclean, LuceneAnalysis, Wordpieces
from residuum.config.schema.systems import LexicalSystem
from residuum.lucene.handles import LIST, STRING, bound, chain, static
from residuum.lucene.jvm import JavaObject, java

ANALYZER = "org.apache.lucene.analysis.Analyzer"
JOINT = "\N{OPEN BOX}"  # joins the two terms of a bigram; neither a space nor in a vocabulary
TEXTS_AT_ONCE = 4096
DELETED = str.maketrans("", "", "\"'/\\.,?;*!%^&_+():<=>@[]{}")  # characters that bioclean deletes
Tokenise = Callable[[Iterable[str]], Iterator[str]]


class Terms(NamedTuple):
    """Lucene's analyzer, and the function applied to texts before it."""

    analyzer: JavaObject
    tokenise: Tokenise


def terms(analysis: Analysis, folder: Path) -> Terms:
    """Return how texts become terms of an index in `folder`; a tokenizer lies beside the folder."""
    if isinstance(analysis, Wordpieces):
        return Terms(analyzer(analysis), _tokeniser(folder.with_name(TOKENIZER), analysis.ngrams))
    if isinstance(analysis, Bioclean):
        return Terms(analyzer(analysis), bioclean)
    return Terms(analyzer(analysis), lambda texts: iter(texts))


def bioclean(texts: Iterable[str]) -> Iterator[str]:
    """Yield the words of texts by BioASQ's `bioclean`, with spaces between them.

    Characters are deleted, not replaced: p.R53H becomes pr53h. The hyphen stays, since the
    published expression has `:-\\[`, a range. White space is Python's.
    """
    for text in texts:
        yield " ".join(text.lower().translate(DELETED).split())


def for_queries(tokenise: Tokenise, system: LexicalSystem) -> Tokenise:
    """Return the function that makes queries' terms: repeated if counted, otherwise each once."""
    if system.query_terms == "counted":
        return tokenise
    return lambda texts: (" ".join(dict.fromkeys(text.split(" "))) for text in tokenise(texts))


def analyzer(analysis: Analysis) -> JavaObject:
    """Return Anserini's English analyzer, or one that splits at spaces alone."""
    if not isinstance(analysis, LuceneAnalysis):
        return java("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()
    made = java("io.anserini.analysis.DefaultEnglishAnalyzer")
    return made.fromArguments(analysis.stemmer, analysis.stopwords == "none", None)


def listed(analyzer: JavaObject) -> JavaObject:
    """Return a handle from a text to Java's list of its terms."""
    analyze = static("io.anserini.analysis.AnalyzerUtils", "analyze", LIST, ANALYZER, STRING)
    return bound(analyze, 0, analyzer)


def joined(analyzer: JavaObject) -> JavaObject:
    """Return a handle from a text to its terms with spaces between, which no term has."""
    join = static(STRING, "join", STRING, "java.lang.CharSequence", "java.lang.Iterable")
    return chain(listed(analyzer), bound(join, 0, " "))


def keep_tokenizer(vocabulary: str, revision: str | None, folder: Path) -> Path:
    """Copy the tokenizer of a model (folder or hub) beside an index; return the copy's path.

    With its own copy an index can be moved and searched even if the model changes or is deleted.
    """
    shutil.copyfile(wordpieces.find(vocabulary, revision), folder / TOKENIZER)
    return folder / TOKENIZER


def _tokeniser(tokenizer: Path, ngrams: int) -> Tokenise:
    """Return a function that cuts texts into terms joined by spaces, without special tokens.

    With `ngrams` 2 the bigrams follow, in the order of their first terms.
    """
    pieces = wordpieces.load(tokenizer)
    names = {number: piece for piece, number in pieces.get_vocab().items()}

    def tokenise(texts: Iterable[str]) -> Iterator[str]:
        for some in chunks(texts, TEXTS_AT_ONCE):
            for text in pieces.encode_batch_fast(some, add_special_tokens=False):
                terms = [names[number] for number in text.ids]
                bigrams = map(JOINT.join, pairwise(terms))
                yield " ".join([*terms, *bigrams] if ngrams == 2 else terms)

    return tokenise
