"""Korean: 2025년 3월 5일; 3시 30분; 5,000원; 23만 명; 5%; 10km.

A number is read with its counter, in one word with it or before it, where the counter says what kind of number it is;
alone only where its syllables are hardly a word of their own (이사 is 24, and moving house). A number and its counter
are written together, as 한글 맞춤법 (article 43) allows with figures.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting.korean_counters import EXACT, NATIVE_COUNTERS, PARTICLES, SIGNS, SINO_COUNTERS
from sonorant.text.formatting.korean_fractions import decimal, fraction
from sonorant.text.formatting.korean_numbers import digits, figures, native, sino, sino_prefix
from sonorant.text.formatting.rules import Match, Rule, Tokens, listed

__all__ = ["rules"]

_MONTHS = {"유월": 6, "시월": 10}
_LONG_ENOUGH = 3  # syllables of a number that is no other word
_PHONE = 3
_SCALES = ("만", "억", "조")
_LENGTHS = tuple(listed("동안 전 후 뒤 만에 안에 이내 이상 간 쯤 정도 짜리"))


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    counted, natively = partial(_counted, words_below=words_below), partial(_native, words_below=words_below)
    return (_written, _month, decimal, fraction, _amount, counted, natively, _bare)


def _written(tokens: Tokens, i: int) -> Match | None:
    """Leave what round figures of a text that is written already count: 3만 세."""
    before = tokens.at(i - 1)
    written = before[:1].isdigit() and before[-1:] in ("만", "억", "조")
    return Match(None, i + 1) if written and _counter(tokens.at(i)) else None


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
    value, counter = sino(number), _counter(rest)
    if value is None or counter is None or counter[0] not in ("원", "달러"):
        return None
    return Match(f"{_figures(value, number, counter[0])}{counter[0]}{counter[1]}", end)


def _counted(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read a Sino-Korean number and its counter: 이십명이, 이천이십오 년."""
    for number, value, text, end in _numbers(tokens, i):
        counter, at = text, end
        if not counter:
            counter, at = tokens.at(end), end + 1
        if (found := _counter(counter)) is None:
            continue
        name, rest = found
        if not _sure(tokens, i, number, value, name, joined=bool(text)):
            continue
        if 0 <= value < words_below and name not in EXACT and name not in SIGNS and name not in ("원", "달러", "유로"):
            continue
        return Match(f"{_figures(value, number, name)}{SINO_COUNTERS[name]}{rest}", at)
    return None


def _numbers(tokens: Tokens, i: int) -> list[tuple[str, int, str, int]]:
    """Return readings (number, value, rest of its word, end): the longest first, over words such as 만 이천."""
    said, end = "", i
    found: list[tuple[str, int, str, int]] = []
    before = tokens.at(i - 1)
    if tokens.at(i)[:1] in _SCALES and before and sino_prefix(before) == before:
        return found  # 만 of 삼천 만 is no 10,000
    while end < len(tokens):
        word = tokens.at(end)
        syllables = sino_prefix(word)
        for length in range(len(syllables), 0, -1):
            value = sino(said + syllables[:length])
            if value is not None and (length == len(word) or not said or value >= 10**4):
                found.append((said + syllables[:length], value, word[length:], end + 1))
        if not syllables or syllables != word or (syllables[-1] not in "만억조"):
            break
        said, end = said + word, end + 1
        if sino(said) is None:
            break
    return sorted(found, key=lambda reading: (-reading[3], -len(reading[0])))


def _counter(word: str) -> tuple[str, str] | None:
    """Return the counter that a word begins with, and the particle after it."""
    for name in SINO_COUNTERS:
        if word.startswith(name) and word[len(name) :] in PARTICLES:
            return name, word[len(name) :]
    return None


def _sure(tokens: Tokens, i: int, number: str, value: int, name: str, *, joined: bool) -> bool:
    """Return whether a number and a counter are no other word: 일일, 이도, 사원, 천만에."""
    if name == "시" and value < 11 and not joined:
        return False  # hours are native numbers
    if number == "이" and name in ("분", "원") and not joined:
        return name == "분" and _lasts(tokens, i)  # this person, this circle
    if name == "월":
        return value <= 12
    if name == "일" and len(number) == 1:
        return tokens.at(i - 1).endswith("월") and value <= 31
    if name in SIGNS or (not joined and len(name) > 1):
        return True
    if name in ("년", "분", "초", "원"):
        return len(number) > 1 or not joined or tokens.at(i - 1).endswith(("시", "분"))
    return len(number) > 1 and (joined or number not in ("이만", "천만", "오만"))


def _lasts(tokens: Tokens, i: int) -> bool:
    """Return whether 분 after the number at `i` is a minute: after hours, or before a word of a length of time."""
    rest = tokens.at(i + 1).removeprefix("분") or tokens.at(i + 2)
    return _hours(tokens.at(i - 1)) or rest.startswith(_LENGTHS)


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


def _native(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read a native number with its counter: 세 시, 스물다섯살이; of hours always, of others from ten on."""
    word = tokens.at(i)
    read = native(word)
    if read is None:
        return None
    value, length = read
    rest, end = (word[length:], i + 1) if length < len(word) else (tokens.at(i + 1), i + 2)
    for name in NATIVE_COUNTERS:
        if rest.startswith(name) and rest[len(name) :] in PARTICLES:
            hour = name == "시간" or (name == "시" and value <= 24)
            if hour or (value >= max(10, words_below) and name != "시"):
                return Match(f"{value}{name}{rest[len(name) :]}", end)
    return None


def _bare(tokens: Tokens, i: int) -> Match | None:
    """Read a number that nothing follows which counts, or digits one by one: 공일공."""
    spelt, end = "", i
    while (said := digits(tokens.at(end))) is not None:
        spelt, end = spelt + said, end + 1
    last, particle = _last_digits(tokens.at(end)) if spelt else ("", "")
    if last:
        return Match(f"{spelt}{last}{particle}", end + 1)
    if len(spelt) >= _PHONE and (end > i + 1 or spelt[0] == "0" or len(spelt) > _PHONE):
        return Match(spelt, end)
    for number, value, rest, at in _numbers(tokens, i):
        tens = len(number) == 2 and (number[1] in "십백" or number[0] == "십") and not rest
        if rest in PARTICLES and (tens or len(number) >= _LONG_ENOUGH):
            return Match(f"{_figures(value, number, '')}{rest}", at)
    return None


def _last_digits(word: str) -> tuple[str, str]:
    """Return the digits that a word begins with, as many as a telephone number ends with, and its particle."""
    for length in range(len(word) - 1, _PHONE - 1, -1):
        said = digits(word[:length])
        if said and word[length:] in PARTICLES:
            return said, word[length:]
    return "", ""
