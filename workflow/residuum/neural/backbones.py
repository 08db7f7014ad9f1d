"""What a backbone takes from text: vocabulary and word embeddings, or masked-language modelling.

Usage: `vocabulary = train_wordpiece(texts, size=4000)` and `vectors = token_vectors(docs,
len(vocabulary), dimensions=64, seed=1, threads=1)`, or `MaskedLearner(spec, start, texts)`.
Must not know the training loop, corpora or queries.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import MaskedLanguage
from residuum.config.specs import derive
from residuum.neural import devices, pretrained
from residuum.neural.learners import BatchLoss, Learner, Outputs, Start
from residuum.neural.tokens import PackedTokens, padded, tokenise

if TYPE_CHECKING:
    from torch import Tensor

MARKERS = ("[QRY]", "[DOC]")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *MARKERS)
INSIDE = "##"
ALPHABET_LIMIT = 1000
LONGEST_WORD = 100  # BERT's WordPiece reads a longer word as [UNK]
LEAST_COUNT = 2
MASKED, RANDOM = 0.8, 0.1  # of the chosen tokens; the rest stays as it is
DECIMALS = 6  # of embeddings; what lies below depends on the machine's linear algebra

Pair = tuple[str, str]


def train_wordpiece(texts: Iterable[str], size: int) -> list[str]:
    """Return an ordered vocabulary of at most `size` entries: specials, characters, merges.

    The pair with the highest count is merged first; equal counts are ordered by the pair
    itself. A pair seen once is never merged, so that a small corpus gives fewer entries.
    Unlike those of the tokenizers package's trainer, all machines make the same of a text.
    Raises ResiduumError if `size` leaves no room for characters.
    """
    if size <= len(SPECIALS):
        raise ResiduumError(
            f"vocabulary: {size} entries leave no room for text beside the {len(SPECIALS)} "
            "special tokens; give a few thousand"
        )
    words = count_words(texts)
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for letter in _letters(word):
            letters[letter] += count
    ordered = sorted(letters, key=lambda letter: (-letters[letter], letter))
    alphabet = ordered[: min(ALPHABET_LIMIT, size - len(SPECIALS))]
    vocabulary = dict.fromkeys([*SPECIALS, *sorted(alphabet)])
    pairs = PairCounts(words, set(alphabet))
    while len(vocabulary) < size and (pair := pairs.best()):
        vocabulary[pairs.merge(pair)] = None  # two merges may spell one token
    return list(vocabulary)


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count words as BERT's uncased tokenizer cuts them: lower case, no accents, punctuation."""
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    normalizer, splitter = BertNormalizer(lowercase=True), BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        words = splitter.pre_tokenize_str(normalizer.normalize_str(text))
        counts.update(word for word, _ in words if len(word) <= LONGEST_WORD)
    return counts


def _letters(word: str) -> list[str]:
    return [word[0], *(INSIDE + letter for letter in word[1:])]


class PairCounts:
    """Counts of neighbouring pieces, kept up to date from merge to merge."""

    def __init__(self, words: Counter[str], alphabet: set[str]) -> None:
        split = ((_letters(word), count) for word, count in sorted(words.items()))
        known = [(pieces, count) for pieces, count in split if alphabet.issuperset(pieces)]
        self.words = [pieces for pieces, _ in known]
        self.word_counts = [count for _, count in known]
        self.counts: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for number in range(len(self.words)):
            self._add(number, 1)
        self.heap = [(-count, pair) for pair, count in self.counts.items()]
        heapq.heapify(self.heap)

    def _add(self, number: int, sign: int) -> None:
        for pair in pairwise(self.words[number]):
            self.counts[pair] += sign * self.word_counts[number]
            self.places[pair].add(number)

    def best(self) -> Pair | None:
        """Return the pair to merge next; entries of the heap whose count changed are stale."""
        while self.heap:
            count, pair = heapq.heappop(self.heap)
            if -count == self.counts[pair] and -count >= LEAST_COUNT:
                return pair
        return None

    def merge(self, pair: Pair) -> str:
        """Join a pair wherever it stands, count its new neighbours, and return the new token."""
        token = pair[0] + pair[1].removeprefix(INSIDE)
        changed: set[Pair] = set()
        for number in self.places.pop(pair):
            self._add(number, -1)
            changed.update(pairwise(self.words[number]))
            joined: list[str] = []
            for piece in self.words[number]:
                if joined and (joined[-1], piece) == pair:
                    joined[-1] = token
                else:
                    joined.append(piece)
            self.words[number] = joined
            self._add(number, 1)
            changed.update(pairwise(joined))
        for touched in changed:
            if self.counts[touched] > 0:
                heapq.heappush(self.heap, (-self.counts[touched], touched))
        return token


def token_vectors(
    docs: Iterable[np.ndarray], vocabulary: int, dimensions: int, seed: int, threads: int
) -> np.ndarray:
    """Return unit vectors of the tokens, float32 (vocabulary, at most `dimensions`).

    TF-IDF over the token ids of each doc, and a truncated SVD (Deerwester et al. 1990). A small
    corpus gives fewer dimensions, and a token that no doc holds gets zeros.
    """
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from threadpoolctl import threadpool_limits

    rows = [np.unique(ids, return_counts=True) for ids in docs]
    columns = np.concatenate([np.zeros(0, dtype=np.int32), *(ids for ids, _ in rows)])
    values = np.concatenate([np.zeros(0), *(counts for _, counts in rows)])
    starts = np.cumsum([0, *(len(ids) for ids, _ in rows)])
    counts = csr_matrix((values, columns, starts), shape=(len(rows), vocabulary))
    possible = min(dimensions, min(counts.shape) - 1)
    if possible < 1:
        return np.zeros((vocabulary, 0), dtype=np.float32)
    with threadpool_limits(threads):
        weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
        svd = TruncatedSVD(possible, random_state=seed).fit(weights)
    vectors = svd.components_.T * svd.singular_values_
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-9)
    return unit.round(DECIMALS).astype(np.float32)


class Alphabet(NamedTuple):
    """The token that hides others, the special ones, and the ordinary ones, as ids."""

    mask: int
    special: np.ndarray
    ordinary: np.ndarray


class MaskedBatch(NamedTuple):
    """Docs whole, with tokens replaced, and which of their tokens are to be predicted (boolean)."""

    docs: list[np.ndarray]
    rows: list[np.ndarray]
    chosen: list[np.ndarray]


class MaskedLearner(Learner[MaskedBatch]):
    """A masked-language model in training on docs; its head shares the word embeddings."""

    spec: MaskedLanguage

    def __init__(self, spec: MaskedLanguage, start: Start, texts: Iterable[str]) -> None:
        from transformers import AutoModelForMaskedLM

        self.device = start.device
        model, self.tokenizer = pretrained.load(AutoModelForMaskedLM, start.source)
        pretrained.check_length(model, "length", spec.length)
        if self.tokenizer.mask_token_id is None:
            raise ResiduumError(f"{start.source.name}: its tokenizer has no mask token")
        added = self.tokenizer.added_tokens_decoder.items()
        marks = [key for key, token in added if token.special]
        special = np.unique([*self.tokenizer.all_special_ids, *marks])
        ordinary = np.setdiff1d(np.arange(len(self.tokenizer)), special)
        self.alphabet = Alphabet(self.tokenizer.mask_token_id, special, ordinary)
        self.docs = PackedTokens(tokenise(self.tokenizer, texts, spec.length))
        self._with_text = np.flatnonzero(self.docs.lengths > len(self.tokenizer("")["input_ids"]))
        if not len(self._with_text):
            raise ResiduumError("the corpora hold no doc with text to learn from")
        super().__init__(model.to(self.device.name), spec, start, len(self._with_text))

    def save(self, folder: Path) -> None:
        pretrained.save(self.model, self.tokenizer, folder)

    def batch(self, step: int) -> MaskedBatch:
        docs = [self.docs.row(self._with_text[one.number]) for one in self.sampler.visits(step)]
        seed = derive(self.start.seed, "mask", str(step))
        return mask(docs, self.alphabet, self.spec.mask, seed)

    def examples(self, batch: MaskedBatch) -> int:
        """Return the number of hidden tokens."""
        return sum(int(some.sum()) for some in batch.chosen)

    def forward(self, batch: MaskedBatch) -> Outputs:
        """Return the logits (hidden tokens, vocabulary) of some docs."""
        ids, mask = padded(batch.rows, self.tokenizer.pad_token_id or 0, self.device.name)
        where, _ = padded(batch.chosen, False, self.device.name)
        with self.device.autocast():
            return [predictions(self.model, ids, mask, where.bool())]

    def losses(self, batch: MaskedBatch, outputs: Outputs, rows: slice) -> BatchLoss:
        """Return -log p of each hidden token."""
        from torch.nn.functional import cross_entropy

        hidden = [row[some] for row, some in zip(batch.docs, batch.chosen, strict=True)]
        target = devices.put(np.concatenate(hidden).astype(np.int64), self.device.name)
        return BatchLoss(cross_entropy(outputs[0].float(), target, reduction="none"), {})


def predictions(model: Any, ids: Tensor, mask: Tensor, where: Tensor) -> Tensor:
    """Return the logits (chosen tokens, vocabulary) of the tokens that `where` marks.

    BERT's head reads those alone, a sixth of the work; other heads read every token.
    """
    if model.config.model_type != "bert":
        return model(input_ids=ids, attention_mask=mask).logits[where]
    hidden = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
    return model.cls(hidden[where])


def mask(docs: Sequence[np.ndarray], alphabet: Alphabet, share: float, seed: int) -> MaskedBatch:
    """Choose a share of each doc's tokens, at least one; special tokens are never chosen.

    Of the chosen, 80% become the mask, 10% an ordinary token drawn uniformly, 10% stay.
    Devlin et al. 2019 (BERT), section 3.1 and appendix A.
    """
    random = np.random.default_rng(seed)
    chosen = [np.zeros(len(doc), dtype=bool) for doc in docs]
    for doc, own in zip(docs, chosen, strict=True):
        places = np.flatnonzero(~np.isin(doc, alphabet.special))
        count = min(len(places), max(1, round(share * len(places))))
        own[random.choice(places, count, replace=False)] = True
    rows = []
    for doc, own in zip(docs, chosen, strict=True):
        draw, row = random.random(len(doc)), doc.copy()
        row[own & (draw < MASKED)] = alphabet.mask
        other = own & (draw >= MASKED) & (draw < MASKED + RANDOM)
        row[other] = random.choice(alphabet.ordinary, int(other.sum()))
        rows.append(row)
    return MaskedBatch(list(docs), rows, chosen)
