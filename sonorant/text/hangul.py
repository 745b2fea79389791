"""Hangul syllables and the conjoining jamo in them, by arithmetic (The Unicode Standard, section 3.12).

A syllable is a leading consonant L, a vowel V and perhaps a trailing consonant T; the 11,172 syllables are numbered by
(L · 21 + V) · 28 + T, T = 0 being none.
"""

import re

__all__ = ["LEADING", "SYLLABLES", "TRAILING", "VOWELS", "compose", "decompose"]

_S_BASE, _L_BASE, _V_BASE, _T_BASE = 0xAC00, 0x1100, 0x1161, 0x11A7
_L_COUNT, _V_COUNT, _T_COUNT = 19, 21, 28

SYLLABLES = range(_S_BASE, _S_BASE + _L_COUNT * _V_COUNT * _T_COUNT)
LEADING = range(_L_BASE, _L_BASE + _L_COUNT)
VOWELS = range(_V_BASE, _V_BASE + _V_COUNT)
TRAILING = range(_T_BASE + 1, _T_BASE + _T_COUNT)

_SYLLABLE = re.compile(f"[{chr(SYLLABLES[0])}-{chr(SYLLABLES[-1])}]")
_JAMO = re.compile(
    f"(?P<l>[{chr(LEADING[0])}-{chr(LEADING[-1])}])(?P<v>[{chr(VOWELS[0])}-{chr(VOWELS[-1])}])"
    f"(?P<t>[{chr(TRAILING[0])}-{chr(TRAILING[-1])}]?)"
)


def decompose(text: str) -> str:
    """Return `text` with each syllable as its two or three jamo; everything else stays as it is."""
    return _SYLLABLE.sub(_jamo_of, text)


def compose(text: str) -> str:
    """Return `text` with each L V and L V T as one syllable; jamo that make none stay. Undoes `decompose`.

    Exactly so for text in NFC, where no jamo stand beside each other, or beside a syllable, that would make one.
    """
    return _JAMO.sub(_syllable_of, text)


def _jamo_of(match: re.Match[str]) -> str:
    number = ord(match[0]) - _S_BASE
    leading, rest = divmod(number, _V_COUNT * _T_COUNT)
    vowel, trailing = divmod(rest, _T_COUNT)
    jamo = chr(_L_BASE + leading) + chr(_V_BASE + vowel)
    return jamo + chr(_T_BASE + trailing) if trailing else jamo


def _syllable_of(match: re.Match[str]) -> str:
    leading, vowel = ord(match["l"]) - _L_BASE, ord(match["v"]) - _V_BASE
    trailing = ord(match["t"]) - _T_BASE if match["t"] else 0
    return chr(_S_BASE + (leading * _V_COUNT + vowel) * _T_COUNT + trailing)
