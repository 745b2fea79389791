"""Korean digits one by one, of telephone numbers and the like: 공일공 일이삼사 오육칠팔.

Words that are hardly digits stay: a range and its days, 삼사 일; who counts, 일 이 삼; other words, 사이 오.
"""

from sonorant.text.formatting.korean_counters import PARTICLES, counter
from sonorant.text.formatting.korean_numbers import digits, sino_prefix
from sonorant.text.formatting.rules import Match, Tokens

__all__ = ["spelt"]

_GROUP = 3  # digits, of a telephone number
_DIGIT_COUNTERS = {"년", "호", "번"}  # after a number that may be said by its digits
_OWN_WORDS = ("이", "일")  # this; work, day


def spelt(tokens: Tokens, i: int, *, counting: bool) -> Match | None:
    """Read digits one by one, at least three; not those of who counts up, unless `counting`."""
    end = i
    while digits(tokens.at(end)) is not None:
        end += 1
    words = tokens.keys[i:end]
    figures = "".join(digits(word) or "" for word in words)
    last, particle = _last_digits(tokens.at(end), words) if words else ("", "")
    if last:
        return Match(f"{figures}{last}{particle}", end + 1)
    if len(figures) < _GROUP or (len(words) == 1 and len(figures) == _GROUP and figures[0] != "0"):
        return None
    return Match(figures if len(words) == 1 or _sure(tokens, end, words, figures, counting) else None, end)


def _sure(tokens: Tokens, end: int, words: tuple[str, ...], figures: str, counting: bool) -> bool:
    after = tokens.at(end)
    single = max(map(len, words)) == 1
    counted = counter(after)
    if after[:1].isdigit():  # written already; of a text as it was said the digits before would be, too
        return False
    if (counted and counted[0] not in _DIGIT_COUNTERS) or (after and sino_prefix(after) == after):
        return False
    if figures[0] == "0":
        return words[-1] not in _OWN_WORDS or (single and not after)
    counts = figures in "123456789" and not counting
    return words[-1] not in _OWN_WORDS and (max(map(len, words)) >= _GROUP or (single and not counts))


def _last_digits(word: str, before: tuple[str, ...]) -> tuple[str, str]:
    """Return the digits that a word begins with, as many as a telephone number ends with, and its particle."""
    for length in range(len(word) - 1, _GROUP - 1, -1):
        said = digits(word[:length])
        if said and word[length:] in PARTICLES:
            return said, word[length:]
    one = word.removesuffix("입니다")
    single = len(before) >= _GROUP - 1 and max(map(len, before)) == 1
    said = digits(one) if single and one != word and len(one) == 1 and one not in _OWN_WORDS else None
    return (said, "입니다") if said else ("", "")
