"""Native Korean numbers and what they count: 세 시, 스물다섯살이, 스물 네 시간."""

from sonorant.text.formatting.korean_counters import NATIVE_COUNTERS, PARTICLES
from sonorant.text.formatting.korean_numbers import native
from sonorant.text.formatting.rules import Match, Tokens, listed

__all__ = ["counts_natively", "native_number"]

_HARDLY_WORDS = set(listed("시 시간 명 살 개 사람"))  # with one digit before them; 열 세대 is ten households


def native_number(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read a native number with its counter; of hours always, of others from ten on."""
    if _range(tokens, i):
        return Match(None, i + 2)
    word, after = tokens.at(i), tokens.at(i + 1)
    one, two = native(word), native(word + after)
    if one is None or two is None:
        return None
    apart = two[1] > len(word) == one[1]
    value, length = two if apart else one
    said, end = (word + after, i + 2) if apart else (word, i + 1)
    joined = length < len(said)
    found = _counter(said[length:] if joined else tokens.at(end))
    if found is None or (apart and joined and found[0] not in _HARDLY_WORDS):
        return None
    name, particle = found
    hour = name == "시간" or (name == "시" and value <= 24)
    if not hour and (value < max(10, words_below) or name == "시"):
        return None
    return Match(f"{value}{name}{particle}", end + (not joined))


def counts_natively(word: str) -> bool:
    """Return whether a word is a native number, alone or with its counter."""
    read = native(word)
    return read is not None and (read[1] == len(word) or _counter(word[read[1] :]) is not None)


def _counter(word: str) -> tuple[str, str] | None:
    for name in NATIVE_COUNTERS:
        if word.startswith(name) and word[len(name) :] in PARTICLES:
            return name, word[len(name) :]
    return None


def _range(tokens: Tokens, i: int) -> bool:
    """Return whether two native numbers are a range: 두 세 시간, 열 스무 명; 한 세 시간 is about three hours."""
    first, second = native(tokens.at(i)), native(tokens.at(i + 1))
    if first is None or second is None or first[1] < len(tokens.at(i)) or not counts_natively(tokens.at(i + 1)):
        return False
    tens = first[0] % 10 == 0 and second[0] % 10 == 0
    return second[0] - first[0] == (10 if tens else 1) and not (first[0] % 10 == 0 and not tens)
