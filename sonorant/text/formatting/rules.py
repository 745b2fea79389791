"""What a rule sees: the tokens of an utterance; and what it gives: a match."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["LONG_RUN", "Match", "Phrases", "Rule", "Sign", "Tokens", "folded", "listed", "phrase", "read_once"]

LONG_RUN = 64
"""Words of a run that is not read again from each of its words."""


class Match(NamedTuple):
    """What a rule reads from its position up to the token `end`, exclusive.

    text: the written form; None: the words stay as they are, and no other rule is tried on them.
    """

    text: str | None
    end: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words folded for comparison, the parts of a hyphenated word apart.

    keys: one for each token. owners: index of the word that each token is a part of.
    """

    keys: tuple[str, ...]
    owners: tuple[int, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Tokens":
        """Return the tokens of `words`."""
        pairs = [(part, i) for i, word in enumerate(words) for part in folded(word).split("-")]
        return cls(tuple(part for part, _ in pairs), tuple(i for _, i in pairs))

    def __len__(self) -> int:
        return len(self.keys)

    def at(self, i: int) -> str:
        """Return the token `i`; "" before the first and after the last."""
        return self.keys[i] if 0 <= i < len(self.keys) else ""

    def cut(self, end: int) -> "Tokens":
        """Return the tokens before `end`."""
        return Tokens(self.keys[:end], self.owners[:end])

    def whole(self, begin: int, end: int) -> bool:
        """Return whether the tokens from `begin` to `end`, exclusive, are whole words."""
        return (begin == 0 or self.owners[begin] != self.owners[begin - 1]) and (
            end == len(self.keys) or self.owners[end] != self.owners[end - 1]
        )

    def word_end(self, end: int) -> int:
        """Return the end of the word that the token before `end` is a part of."""
        while 0 < end < len(self.keys) and self.owners[end] == self.owners[end - 1]:
            end += 1
        return end


Rule = Callable[[Tokens, int], Match | None]
"""Reads what begins at a token; None: nothing that it knows."""


Phrases = dict[tuple[str, ...], str]
"""Phrases of at most four tokens, and their signs."""


class Sign(NamedTuple):
    """The sign of a phrase, and the end, exclusive, of the phrase."""

    text: str
    end: int


def folded(word: str) -> str:
    """Return a word without case and without accents of Latin letters, its apostrophes straight."""
    word = word.casefold().replace("\u2019", "'")
    if word.isascii():
        return word
    bare = "".join(char for char in unicodedata.normalize("NFD", word) if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def listed(words: str) -> list[str]:
    """Return the words of a table's line."""
    return words.split()


def phrase(tokens: Tokens, i: int, phrases: Phrases) -> Sign | None:
    """Return the longest of `phrases` that begins at `i`."""
    for length in range(min(4, len(tokens) - i), 0, -1):
        if (text := phrases.get(tokens.keys[i : i + length])) is not None:
            return Sign(text, i + length)
    return None


def read_once(tokens: Tokens, i: int, match: Match | None) -> Match | None:
    """Return a match from `i`; of a long run that ends within a word, one that leaves it as it was said."""
    if match and match.end - i > LONG_RUN and not tokens.whole(i, match.end):
        return Match(None, tokens.word_end(match.end))
    return match
