"""Korean: 2025년 3월 5일; 3시 30분; 5,000원; 23만 명; 5%; 10km.

A number is read with its counter, in one word with it or before it, where the counter says what kind of number it is;
alone only where its syllables are hardly a word of their own (이사 is 24, and moving house). A number and its counter
are written together, as 한글 맞춤법 (article 43) allows with figures.
A number goes on in the next word after a power of ten: 백 이십 원 is 120원.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting.korean_counters import EXACT, NATIVE_COUNTERS, PARTICLES, SIGNS, SINO_COUNTERS
from sonorant.text.formatting.korean_fractions import decimal, fraction
from sonorant.text.formatting.korean_numbers import digits, figures, native, sino, sino_prefix
from sonorant.text.formatting.rules import Match, Rule, Tokens

__all__ = ["rules"]

_MONTHS = {"유월": 6, "시월": 10}
_LONG_ENOUGH = 3  # syllables of a number that is no other word
_PHONE = 3
_SCALES = "십백천만억조"
_DIGITS_ALONE = set("삼육칠팔구")  # others are words too: 이 (this), 일 (work), 사 (buy), 오 (oh)


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    counted, natively = partial(_counted, words_below=words_below), partial(_native, words_below=words_below)
    ranged = partial(_ranged, words_below=words_below)
    return (_written, _month, decimal, fraction, ranged, counted, natively, _unsure, _bare)


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
        if name == "대" and sino(tokens.at(at)[:1]) is not None and tokens.at(at)[1:] in PARTICLES:
            return Match(None, at + 1)  # a score: 십 대 칠로
        return Match(f"{_figures(value, number, name)}{SINO_COUNTERS[name]}{rest}", at)
    return None


def _ranged(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read the first number of 이십에서 삼십 명; of 오에서 육백 명, which may be from 500 on, neither."""
    number = tokens.at(i).removesuffix("에서")
    value, second = sino(number), sino(sino_prefix(tokens.at(i + 1)))
    if number == tokens.at(i) or value is None or second is None or value >= second:
        return None
    if (len(number) == 1 and number not in _DIGITS_ALONE | {"오", "십", "백", "천"}) or number in ("이천", "사천"):
        return None  # from here, from work; from Icheon
    counted = decimal(tokens, i + 1) or _counted(tokens, i + 1, words_below=words_below)
    if counted is None or counted.text is None:
        return None
    scaled = value < 10 and tokens.at(i + 1)[1:2] in ("백", "천")
    return Match(None, counted.end) if scaled else Match(f"{_figures(value, number, '')}에서", i + 1)


def _numbers(tokens: Tokens, i: int) -> list[tuple[str, int, str, int]]:
    """Return readings (number, value, rest of its word, end): the longest first, over words such as 이십 삼."""
    said, end = "", i
    found: list[tuple[str, int, str, int]] = []
    while end < len(tokens):
        word = tokens.at(end)
        syllables = sino_prefix(word)
        for length in range(len(syllables), 0, -1):
            value = sino(said + syllables[:length])
            if value is not None and (length in (len(word), *range(2, 40)) or not said or value >= 10**4):
                found.append((said + syllables[:length], value, word[length:], end + 1))
        said, end = said + word, end + 1
        if not syllables or syllables != word or sino(said) is None or not _joins(word, tokens.at(end)):
            break
    return sorted(found, key=lambda reading: (-reading[3], -len(reading[0])))


def _joins(word: str, after: str) -> bool:
    """Return whether a number goes on in the next word: after a power of ten, or of a digit with such a power."""
    if word[-1] in _SCALES:
        return True
    return after[:1] in ("억", "조") or (word in _DIGITS_ALONE and after[:1] in set(_SCALES))


def _counter(word: str) -> tuple[str, str] | None:
    """Return the counter that a word begins with, and the particle after it."""
    for name in SINO_COUNTERS:
        if word.startswith(name) and word[len(name) :] in PARTICLES:
            return name, word[len(name) :]
    return None


def _sure(tokens: Tokens, i: int, number: str, value: int, name: str, *, joined: bool) -> bool:
    """Return whether a number and a counter are no other word: 일일, 이도, 사원, 천만에."""
    if name == "시" and value < 13 and not joined:
        return False  # hours are native numbers
    if name == "월":
        return value <= 12
    if name == "일" and len(number) == 1:
        return tokens.at(i - 1).endswith("월") and value <= 31
    if name in SIGNS or (not joined and len(name) > 1):
        return True
    if name in ("년", "분", "초", "원"):
        return len(number) > 1 or not joined or tokens.at(i - 1).endswith(("시", "분"))
    return len(number) > 1 and (joined or number not in ("이만", "천만", "오만"))


def _figures(value: int, number: str, counter: str) -> str:
    """Return figures: a year without groups; a space before what round numbers count."""
    if counter == "년":
        return str(value)
    return f"{figures(value, number)} " if counter and number.endswith(("만", "억", "조")) else figures(value, number)


def _native(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read a native number with its counter: 세 시, 스물다섯살이; of hours always, of others from ten on."""
    tens = _tens_apart(tokens, i)
    at = i + bool(tens)
    word = tokens.at(at)
    read = native(word)
    if read is None:
        return None
    value, length = tens + read[0], read[1]
    if length == len(word) and not tens and (native(tokens.at(i + 1)) or (0, 0))[0] == value + 1 < 10:
        return Match(None, i + 2)  # 두 세 시: two or three
    rest, end = (word[length:], at + 1) if length < len(word) else (tokens.at(at + 1), at + 2)
    for name in NATIVE_COUNTERS:
        if rest.startswith(name) and rest[len(name) :] in PARTICLES:
            hour = name == "시간" or (name == "시" and value <= 12)
            if hour or (value >= max(10, words_below) and name != "시"):
                return Match(f"{value}{name}{rest[len(name) :]}", end)
            return Match(None, end) if tens else None
    return None


def _tens_apart(tokens: Tokens, i: int) -> int:
    """Return the value of a word that a native number follows, as one number: 열 두 시, 백 스물다섯 명; else 0."""
    word, after = tokens.at(i), native(tokens.at(i + 1))
    if after is None:
        return 0
    if word[-1:] in ("백", "천"):
        return sino(word) or 0
    read = native(word)
    return read[0] if read and read[1] == len(word) and read[0] % 10 == 0 and after[0] < 10 else 0


def _unsure(tokens: Tokens, i: int) -> Match | None:
    """Leave words of which a part alone would be another number: 백 이백 명, 이십 오, 이 만 원 (20,000, or this)."""
    word, after = tokens.at(i), sino_prefix(tokens.at(i + 1))
    whole = after == tokens.at(i + 1) or _counter(tokens.at(i + 1)[len(after) :]) is not None
    if not after or not whole or not word or sino_prefix(word) != word:
        return None
    if word[-1] in _SCALES:
        unsure = len(after) == 1 or sino(word + after) is None
    else:
        unsure = len(word) == 1 and after[0] in _SCALES
    if not unsure:
        return None
    end = i + 2
    while (syllables := sino_prefix(tokens.at(end))) and syllables == tokens.at(end):
        end += 1
    return Match(None, end)


def _bare(tokens: Tokens, i: int) -> Match | None:
    """Read a number that nothing follows which counts, or digits one by one: 공일공."""
    spelt, end = "", i
    while (said := digits(tokens.at(end))) is not None:
        spelt, end = spelt + said, end + 1
    if len(spelt) >= _PHONE and (end > i + 1 or spelt[0] == "0" or len(spelt) > _PHONE):
        return Match(spelt, end)
    for number, value, rest, at in _numbers(tokens, i):
        tens = len(number) == 2 and (number[1] in "십백" or number[0] == "십") and not rest
        if rest in PARTICLES and (tens or len(number) >= _LONG_ENOUGH):
            return Match(f"{_figures(value, number, '')}{rest}", at)
    return None
