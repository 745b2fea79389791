"""Korean numbers whose parts are words apart: 이천 이십 오 년 is 2025년.

A run of such words is one number or none: of two numbers (이십 삼십 명) or a range (이십 이삼 명) none is written.
"""

from sonorant.text.formatting.korean_counters import EXACT, NATIVE_COUNTERS, PARTICLES, counter
from sonorant.text.formatting.korean_native import counts_natively
from sonorant.text.formatting.korean_numbers import LARGE, digits, sino, sino_prefix
from sonorant.text.formatting.rules import Match, Tokens, listed

__all__ = ["LENGTHS", "counter_at", "is_day", "one_number", "run_end", "starts_apart", "torn"]

_OWN_WORDS = {"이", "일", "오"}  # this; work, day; oh
_DAYS = 31
_DATED = {"에", "에는", "부터", "까지"}  # behind a day
_HARDLY_WORDS = {"년", "월", "분", "초", "명", "살"}  # with one digit before them; 사과, 이번, 일층 are words

LENGTHS = tuple(listed("동안 전 후 뒤 만에 안에 이내 이상 간 쯤 정도 짜리"))
"""What words after a length of time begin with."""


def starts_apart(tokens: Tokens, i: int) -> bool:
    """Return whether the word at `i` may stand for itself, before a number: 이 천 원, 2,000 or this 1,000."""
    return tokens.at(i) in _OWN_WORDS


def counter_at(tokens: Tokens, i: int) -> tuple[str, str] | None:
    """Return the counter that the word at `i` is, and its particle; 세 of 세 시 is three."""
    three = tokens.at(i) == "세" and tokens.at(i + 1).startswith(tuple(NATIVE_COUNTERS))
    return None if three else counter(tokens.at(i))


def run_end(tokens: Tokens, i: int) -> int:
    """Return the end of the number words from `i` on, the last one with its counter or particle."""
    end = i
    while (word := tokens.at(end)) and sino_prefix(word) == word and _may_go_on(word, begins=end == i):
        end += 1
    if end == i:
        return i
    if tokens.at(end - 1)[-1] in "백천만억조" and tokens.keys[i:end] != ("만",):
        while counts_natively(tokens.at(end)):  # 이백 스물 네 시간
            end += 1
    said = sino_prefix(word)
    rest = word[len(said) :]
    if said and rest and counter(rest):
        return end + 1
    goes_on = len(said) > 1 or rest == "입니다"
    return end + (goes_on and sino(said) is not None and rest in PARTICLES)


def _may_go_on(word: str, *, begins: bool) -> bool:
    """Return whether a number word may be a part of a run; 조 is a group as well, and 억 begins nothing."""
    return word != "조" and not (begins and word == "억")


def one_number(tokens: Tokens, i: int, last: str, found: tuple[str, str], *, joined: bool) -> bool:
    """Return whether words from `i` on and a counter are one number; `last`, the last of them, may be a word.

    found: the counter and its particle. joined: whether it is a part of the last word.
    """
    name, particle = found
    if name == "일" and len(last) == 1 and (joined or last == "일"):  # 이십 일 일, 이십 이일
        return tokens.at(i - 1).endswith("월") and particle in ("", "에")
    if joined and len(last) == 1:
        return len(name) > 1 or name in _HARDLY_WORDS
    return last != "일" or len(name) > 1 or name in EXACT or name == "원"


def is_day(tokens: Tokens, i: int, number: str, particle: str, end: int, *, joined: bool) -> bool:
    """Return whether 일 after a number is a day: after a month, or by what follows; 이십 일 is 21 as well."""
    month = tokens.at(i - 1).endswith("월")
    if len(number) == 1:
        return month and (sino(number) or 0) <= _DAYS
    if sino(f"{number}일") is None:
        return True
    after = tokens.at(end)
    large = sino_prefix(after)
    scaled = large[:1] in LARGE and (large == after or counter(after[len(large) :]) is not None)
    if particle == "만" or scaled or (not joined and counter_at(tokens, end)):
        return False
    dated = (sino(number) or 0) <= _DAYS and (month or particle in _DATED)
    return dated or (not particle and after.startswith(LENGTHS))


def torn(tokens: Tokens, i: int) -> Match | None:
    """Leave a run of several number words that no rule reads as a whole."""
    word, after = tokens.at(i), sino_prefix(tokens.at(i + 1))
    if starts_apart(tokens, i) and not (after and (sino(word + after) or _follows(word, after[0]))):
        return None
    end = run_end(tokens, i)
    return Match(None, end) if end > i + 1 else None


def _follows(digit: str, after: str) -> bool:
    """Return whether two digits may be a range: 이 삼십 명, 20 to 30."""
    first, second = digits(digit), digits(after)
    return first is not None and second is not None and int(second) == int(first) + 1
