"""The compiled n-gram models; `sonorant/lm/ngram.hpp` explains a query, `sonorant/lm/kneser_ney.hpp` training."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class BadLine(Exception):
    """A line that is not what the format says; the message begins with its number."""

class BadBinary(Exception):
    """A binary file that cannot be read; the message says why."""

class State:
    """History of a query: the words that can still change a later probability; hashable."""

    @property
    def words(self) -> Sequence[int]:
        """Indices, the last word first."""

class SentenceScore:
    """What a sentence adds to perplexity."""

    @property
    def log10(self) -> float: ...
    @property
    def log10_unknown(self) -> float:
        """The share of the words that are not in the vocabulary."""
    @property
    def tokens(self) -> int:
        """Words and the sentence's end."""
    @property
    def unknown(self) -> int: ...

class ArpaReader:
    """Reads the ARPA format piece by piece; NgramModel(reader) ends it. Both raise BadLine."""

    def __init__(self, bytes: int) -> None:
        """Expect about `bytes` bytes; no more memory is reserved than they can fill."""

    def feed(self, piece: bytes) -> None: ...

class NgramModel:
    """`sonorant::lm::NgramModel`."""

    def __init__(self, source: ArpaReader | NDArray[np.uint8]) -> None:
        """Take the n-grams of a reader, or of a file of kenlm, UInt8[bytes] (raises BadBinary)."""

    @property
    def order(self) -> int: ...
    @property
    def size(self) -> int:
        """Words in the vocabulary, `<unk>`, `<s>` and `</s>` included."""
    @property
    def begin_word(self) -> int:
        """Index of `<s>`; 0 if there is none."""
    @property
    def end_word(self) -> int:
        """Index of `</s>`; 0 if there is none."""
    def index(self, word: str) -> int:
        """Return the word's index; 0, that of `<unk>`, if it is not in the vocabulary."""
    def word(self, index: int) -> str:
        """Return the word of an index; raises IndexError."""
    def begin(self) -> State:
        """Return the history at the start of a sentence."""
    def null(self) -> State:
        """Return the history of no word."""
    def ngrams(self, order: int) -> int:
        """Return the number of n-grams of an order; raises IndexError."""
    def score(self, state: State, word: int) -> tuple[float, State]:
        """Return log10 p(word | state) and the history after the word; raises IndexError."""
    def score_sentence(self, sentence: str) -> SentenceScore:
        """Score the words, which white space separates, and the end of the sentence."""

class Text:
    """The text to train on: a sentence a line, white space between words, empty lines passed over."""

    def __init__(self) -> None: ...
    def feed(self, piece: bytes) -> None:
        """Add a piece of a file; raises BadLine if a line has `<s>` or `</s>`."""
    def end_file(self) -> None: ...
    def limit_words(self, most: int) -> int:
        """Keep the commonest words, make the others `<unk>`; returns how many tokens that changed."""
    @property
    def words(self) -> int:
        """Words in the vocabulary, `<unk>`, `<s>` and `</s>` included."""
    @property
    def tokens(self) -> int:
        """Words and sentence bounds of the text."""
    @property
    def sentences(self) -> int: ...

class Discounts:
    """Discounts of an order."""

    @property
    def amounts(self) -> list[float]:
        """D1, D2 and D3+."""
    @property
    def fallen_back(self) -> bool:
        """Whether the counts of counts gave none, so that these are 0.5, 1 and 1.5."""

class KneserNey:
    """Training: `count` each order from 1, then `estimate` each order from 1, then `lines`."""

    def __init__(self, text: Text, thresholds: Sequence[int]) -> None:
        """Prepare; thresholds, of each order from 1: n-grams that occur no more often are pruned (order 1: 0)."""

    def count(self, order: int) -> None: ...
    def estimate(self, order: int) -> Discounts: ...
    def kept(self, order: int) -> int:
        """Return how many n-grams are left after pruning."""
    def lines(self, order: int, first: int, bytes: int) -> tuple[bytes, int]:
        """Return some `bytes` bytes of ARPA lines from n-gram `first` on, and the next `first`; b"" at the end."""
