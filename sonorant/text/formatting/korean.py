"""Korean: 2025년 3월 5일; 3시 30분; 5,000원; 23만 명; 5%; 10km.

A number is read with its counter, in one word with it or before it, where the counter says what kind of number it is;
alone only where its syllables are hardly a word of their own (이사 is 24, and moving house). A number and its counter
are written together, as 한글 맞춤법 (article 43) allows with figures.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting.korean_counters import EXACT, PARTICLES, SIGNS, SINO_COUNTERS, counter
from sonorant.text.formatting.korean_digits import spelt
from sonorant.text.formatting.korean_fractions import decimal, fraction
from sonorant.text.formatting.korean_native import native_number
from sonorant.text.formatting.korean_numbers import LARGE, figures, native, sino, sino_prefix
from sonorant.text.formatting.korean_runs import LENGTHS, counter_at, is_day, one_number, run_end, starts_apart, torn
from sonorant.text.formatting.rules import Match, Rule, Tokens

__all__ = ["rules"]

_MONTHS = {"유월": 6, "시월": 10}
_LONG_ENOUGH = 3  # syllables of a number that is no other word


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    counted, natively = partial(_counted, words_below=words_below), partial(native_number, words_below=words_below)
    said_digits = partial(spelt, counting=not words_below)
    return (_written, _month, decimal, fraction, _amount, counted, natively, said_digits, _bare, torn)


def _written(tokens: Tokens, i: int) -> Match | None:
    """Leave what round figures of a text that is written already count: 3만 세."""
    before = tokens.at(i - 1)
    written = before[:1].isdigit() and before[-1:] in ("만", "억", "조")
    return Match(None, i + 1) if written and counter(tokens.at(i)) else None


def _month(tokens: Tokens, i: int) -> Match | None:
    """Read 유월 and 시월, whose numbers have lost a consonant."""
    for word, month in _MONTHS.items():
        if tokens.at(i).startswith(word) and tokens.at(i)[2:] in PARTICLES:
            return Match(f"{month}월{tokens.at(i)[2:]}", i + 1)
    return None


def _amount(tokens: Tokens, i: int) -> Match | None:
    """Read money whose 억 or 조 is a word of its own, 오 조 이천억 원; 삼 조 오 명 is group three, 이 조 this group."""
    number, end = tokens.at(i), i + 2
    scale, before = tokens.at(i + 1)[:1], tokens.at(i - 1)
    if scale not in ("억", "조") or sino_prefix(number) != number or number in ("이", "일"):
        return None
    if before.endswith("점") or before[:1].isdigit() or sino_prefix(before):
        return None
    number, rest = f"{number}{scale}", tokens.at(i + 1)[1:]
    if not rest:
        below = sino_prefix(tokens.at(end))
        if below:
            number, rest, end = f"{number}{below}", tokens.at(end)[len(below) :], end + 1
        if below and below[-1] != {"조": "억", "억": "만"}[scale]:
            return None
        if not rest:
            rest, end = tokens.at(end), end + 1
    value, found = sino(number), counter(rest)
    if value is None or found is None or found[0] not in ("원", "달러"):
        return None
    return Match(f"{_figures(value, number, found[0])}{found[0]}{found[1]}", end)


def _counted(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read a Sino-Korean number and its counter: 이십명이, 이천이십오 년."""
    for number, value, text, end in _numbers(tokens, i):
        joined = bool(text)
        found, at = (counter(text), end) if joined else (counter_at(tokens, end), end + 1)
        if found is None:
            continue
        name, rest = found
        last = tokens.at(end - 1).removesuffix(text)
        if end > i + 1 and not one_number(tokens, i, last, found, joined=joined):
            continue
        day = name != "일" or is_day(tokens, i, number, rest, at, joined=joined)
        if not day or not _sure(tokens, i, number, value, name, joined=joined):
            continue
        if 0 <= value < words_below and name not in EXACT and name not in SIGNS and name not in ("원", "달러", "유로"):
            continue
        return Match(f"{_figures(value, number, name)}{SINO_COUNTERS[name]}{rest}", at)
    return None


def _numbers(tokens: Tokens, i: int) -> list[tuple[str, int, str, int]]:
    """Return readings (number, value, rest of its word, end): the longest first, over words such as 이천 이십."""
    said, end = "", i
    found: list[tuple[str, int, str, int]] = []
    before = tokens.at(i - 1)
    is_number = sino_prefix(before) == before or (before[:1].isdigit() and before.endswith("일"))  # written as a day
    if tokens.at(i)[:1] in LARGE and before and is_number:
        return found  # 만 of 삼천 만 is no 10,000
    while end < len(tokens):
        word = tokens.at(end)
        syllables = sino_prefix(word)
        if said and syllables[:1] in LARGE:
            break  # 만 of 삼천 만 is no 10,000, either
        for length in range(len(syllables), 0, -1):
            value = sino(said + syllables[:length])
            if value is not None:
                found.append((said + syllables[:length], value, word[length:], end + 1))
        said, end = said + word, end + 1
        if not syllables or syllables != word or sino(said) is None or starts_apart(tokens, i):
            break
    return sorted(found, key=lambda reading: (-reading[3], -len(reading[0])))


def _sure(tokens: Tokens, i: int, number: str, value: int, name: str, *, joined: bool) -> bool:
    """Return whether a number and a counter are no other word: 일일, 이도, 사원, 천만에."""
    if name == "시" and value < 11 and not joined:
        return False  # hours are native numbers
    if number == "이" and name in ("분", "원") and not joined:
        return name == "분" and _lasts(tokens, i)  # this person, this circle
    if name == "월":
        return value <= 12
    if name == "일" or name in SIGNS or (not joined and len(name) > 1):
        return True
    if name in ("년", "분", "초", "원"):
        return len(number) > 1 or not joined or tokens.at(i - 1).endswith(("시", "분"))
    return len(number) > 1 and (joined or number not in ("이만", "천만", "오만"))


def _lasts(tokens: Tokens, i: int) -> bool:
    """Return whether 분 after the number at `i` is a minute: after hours, or before a word of a length of time."""
    rest = tokens.at(i + 1).removeprefix("분") or tokens.at(i + 2)
    return _hours(tokens.at(i - 1)) or rest.startswith(LENGTHS)


def _hours(word: str) -> bool:
    """Return whether a word ends with hours, 시, 세시, 14시, 두시간, and is no other: 다시, 혹시."""
    number = word.removesuffix("간").removesuffix("시")
    read = native(number)
    whole = sino_prefix(number) == number or (read is not None and read[1] == len(number))
    return word.endswith(("시", "시간")) and (whole or number.isdigit())


def _figures(value: int, number: str, counter: str) -> str:
    """Return figures: a year without groups; a space before what round numbers count."""
    if counter in ("년", "년대"):
        return str(value)
    return f"{figures(value, number)} " if counter and number.endswith(("만", "억", "조")) else figures(value, number)


def _bare(tokens: Tokens, i: int) -> Match | None:
    """Read a number that nothing follows which counts, all words of its run; a 일 at its end may be days."""
    end = run_end(tokens, i)
    for number, value, rest, at in _numbers(tokens, i):
        apart = at > i + 1
        tens = len(number) == 2 and (number[1] in "십백" or number[0] == "십") and not rest
        long = (tens and not apart) or len(number) >= _LONG_ENOUGH
        plain = rest in PARTICLES and (not apart or (not rest and not starts_apart(tokens, at - 1)))
        if at >= end and plain and long and number[-1] != "일":
            return Match(f"{_figures(value, number, '')}{rest}", at)
    return None
