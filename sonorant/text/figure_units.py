"""Units in words after figures with the signs of `formatting`, for scores: 5 dollars is $5, 10 kilometers 10 km."""

import re
from collections.abc import Iterator

from sonorant.text.formatting import english_amounts, french_amounts
from sonorant.text.formatting.korean_counters import PARTICLES, SIGNS
from sonorant.text.formatting.pairs import Amount
from sonorant.text.formatting.rules import Match, Tokens, folded

__all__ = ["with_signs"]

_COUNTED = {"en": english_amounts.counted, "fr": french_amounts.counted}
_WORD = re.compile(r"(?P<sign>[(\u2212]*)(?P<word>.*?)(?P<stop>[.,;:!?)]*)")
_FIGURES = re.compile(r"\d+(?:[.,]\d+)?")
_KOREAN = {**SIGNS, "킬로": "kg"}
_KOREAN_UNIT = re.compile(
    rf"(?<=\d)({'|'.join(sorted(_KOREAN, key=len, reverse=True))})(?=(?:{'|'.join(PARTICLES)})(?!\w))"
)


def with_signs(text: str, language: str) -> str:
    """Return a text, one space between its words, with signs for units. language: one of `formatting.LANGUAGES`."""
    if language not in _COUNTED:
        return _KOREAN_UNIT.sub(lambda match: _KOREAN[match[1]], text)
    return " ".join(_respelt(text.split(), language))


def _respelt(words: list[str], language: str) -> Iterator[str]:
    parts = [_parted(word) for word in words]
    tokens = Tokens(tuple(folded(word) for _, word, _ in parts), tuple(range(len(words))))
    i = 0
    while i < len(words):
        match = _counted(tokens, i, language) if not parts[i][2] else None
        if match and not any(stop for _, _, stop in parts[i : match.end - 1]):
            yield f"{parts[i][0]}{match.text}{parts[match.end - 1][2]}"
            i = match.end
        else:
            yield words[i]
            i += 1


def _parted(word: str) -> tuple[str, str, str]:
    """Return what stands before a word, the word, and the punctuation after it."""
    match = _WORD.fullmatch(word)
    assert match, word
    return match["sign"], match["word"], match["stop"]


def _counted(tokens: Tokens, i: int, language: str) -> Match | None:
    figures = tokens.at(i)
    if not _FIGURES.fullmatch(figures):
        return None
    said = Amount(figures, i + 1, 0 if figures.isdecimal() else -1)  # of whole numbers any will do
    match = _COUNTED[language](tokens, said)
    return match if match and match.text else None
