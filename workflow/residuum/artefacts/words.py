"""Words that no query is matched by: Lucene's English stop words, as its analyzers drop them.

Usage: `word in STOP_WORDS`, in small letters. Must not know any stage.
"""

# EnglishAnalyzer.ENGLISH_STOP_WORDS_SET of Lucene 9.
ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
STOP_WORDS = frozenset(ENGLISH.split())
