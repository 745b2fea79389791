"""A made-up language, and log-probabilities like a trained CTC model's for its sentences.

A thousand pieces of three letters spell words; sentences follow from Zipf's law and a Markov chain. In the frame of a
unit, the unit or a similar one has most of the probability; frames between units are blank.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sonorant.text.units import Units

__all__ = ["Language", "Utterance"]

_PIECES = 500  # that start a word, and as many that go on with one
_WORDS, _SUCCESSORS = 5000, 20
_LEARNT = 0.8  # share of words drawn from the successors of the word before
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxz", "aeiou"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence, and a model's Float32[frames, units + 1] of it."""

    text: str
    log_probs: NDArray[np.float32]


class Language:
    """Words, sentences and sounds that follow from a seed. Each word is spelt in one way."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        syllables = ["".join(parts) for parts in product(_CONSONANTS, _VOWELS, _CONSONANTS)]
        chosen = self._rng.permutation(syllables)[:_PIECES]
        self.units = Units("bpe", tuple(f"\u2581{s}" for s in chosen) + tuple(chosen), b"none")
        self._numbers = {symbol: number for number, symbol in enumerate(self.units.symbols)}
        self._spelt = self._words()
        self.words = ["".join(self.units.symbols[p] for p in pieces)[1:] for pieces in self._spelt]
        self._frequency = _zipf(_WORDS)
        self._follows = np.array(
            [self._rng.choice(_WORDS, _SUCCESSORS, replace=False, p=self._frequency) for _ in range(_WORDS)]
        )
        self._similar = self._rng.integers(0, self.units.size, (self.units.size, 4))

    def sentences(self, count: int) -> Iterator[str]:
        """Yield sentences of 5 to 15 words."""
        for _ in range(count):
            yield " ".join(self.words[word] for word in self._sentence())

    def utterances(self, count: int) -> list[Utterance]:
        """Return sentences with a model's log-probabilities."""
        texts = list(self.sentences(count))
        return [Utterance(text, self._log_probs(self.pieces(text))) for text in texts]

    def pieces(self, text: str) -> list[int]:
        """Return the units of a text: three letters each, the first of a word marked so."""
        spelt = [(f"\u2581{word[:3]}", *(word[at : at + 3] for at in range(3, len(word), 3))) for word in text.split()]
        return [self._numbers[piece] for pieces in spelt for piece in pieces]

    def spellings(self, text: str) -> list[list[int]]:
        """Return all unit sequences with this text: its first piece may lack the mark of a word's start."""
        marked = self.pieces(text)
        unmarked = [self._numbers[piece] for piece in (text[:3],) if piece in self._numbers]
        return [marked, unmarked + marked[1:]] if unmarked else [marked]

    def _words(self) -> list[tuple[int, ...]]:
        spelt: dict[tuple[int, ...], None] = {}
        while len(spelt) < _WORDS:
            more = self._rng.integers(_PIECES, 2 * _PIECES, self._rng.integers(0, 3)).tolist()
            spelt[(int(self._rng.integers(_PIECES)), *more)] = None
        return list(spelt)

    def _sentence(self) -> list[int]:
        words = [int(self._rng.choice(_WORDS, p=self._frequency))]
        for _ in range(self._rng.integers(4, 15)):
            follows = self._rng.random() < _LEARNT
            successors = self._follows[words[-1]]
            drawn = self._rng.choice(_SUCCESSORS, p=_zipf(_SUCCESSORS)) if follows else -1
            words.append(int(successors[drawn] if follows else self._rng.choice(_WORDS, p=self._frequency)))
        return words

    def _log_probs(self, pieces: list[int]) -> NDArray[np.float32]:
        rng = self._rng
        gaps = rng.integers(1, 7, len(pieces) + 1)  # frames of blank
        logits = rng.normal(0, 1.5, (len(pieces) + int(gaps.sum()), self.units.size + 1))
        logits[:, -1] += rng.normal(13, 2, len(logits))
        for frame, piece in zip(np.cumsum(gaps[:-1] + 1) - 1, pieces, strict=True):
            sure = rng.normal(12, 2)
            logits[frame, -1] = rng.normal(7, 3)
            logits[frame, self._similar[piece]] = sure - rng.uniform(0, 8, self._similar.shape[1])
            logits[frame, piece] = sure
            logits[frame + 1, piece] += rng.uniform(0, 10)  # a unit fades
        log_probs: NDArray[np.float32] = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return log_probs.astype(np.float32)


def _zipf(size: int) -> NDArray[np.float64]:
    weights = 1 / np.arange(1, size + 1)
    frequency: NDArray[np.float64] = weights / weights.sum()
    return frequency
