"""Korean decimals and fractions that have one reading: 이십오 점 오 도, 영점오 퍼센트; 삼 분의 이, 십분의 일."""

import re

from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.korean_counters import PARTICLES, SIGNS
from sonorant.text.formatting.korean_numbers import DIGIT, SINO, digits, figures, sino, sino_prefix
from sonorant.text.formatting.rules import Match, Tokens, listed

__all__ = ["decimal", "fraction"]

_LONGEST = 12  # words
_MOST_DIGITS = 4  # more may be a telephone number: 십 점 공일공 ...
_FEWEST_DIGITS = 2  # behind a point, of a number of one syllable that counts nothing
_COUNTERS = listed("킬로 도 배 초 시간")
_MONEY = listed("원 달러 유로")  # apart from the point, a price of so many garments: 옷 삼 점 오 달러
_SCALES = listed("만 억 조")


def _either(words: list[str] | set[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_END = f"(?P<particle>{_either(PARTICLES)})(?= |$)"
_UNIT = f"(?P<gap> ?)(?P<unit>{_either([*SIGNS, *_COUNTERS])})"
_PRICE = (
    f"(?P<gap> ?)(?P<unit>(?:{_either(_SCALES)}) ?(?:{_either(_MONEY)}|명)|{_either([*SIGNS, *_COUNTERS, *_MONEY])})"
)
_WHOLE = f"(?P<whole>(?!(?:이|일|오) {SINO}){SINO}{{1,16}}(?: {SINO}{{1,16}}){{0,3}})"  # 이 십 점: these ten points
_APART = re.compile(f"{_WHOLE} 점 (?P<digits>{DIGIT}{{1,8}}?(?: {DIGIT}{{1,8}}?)*)(?:{_UNIT})?{_END}")
_JOINED = re.compile(f"(?P<whole>{SINO}{{1,16}}?)점(?P<digits>{DIGIT}{{1,8}}?)(?:{_PRICE})?{_END}")
_FRACTION = re.compile(f"{_WHOLE} ?분의 (?P<part>{SINO}{{1,16}}?)(?P<particle>가|를|입니다|)(?= |$)")
_WORDS = {"이", "일"}  # this, work: words of their own as well


def decimal(tokens: Tokens, i: int) -> Match | None:
    """Read a decimal, and what it counts; 이 점 is this point, and other points may be counted: 구 점 이 사람."""
    said = " ".join(tokens.keys[i : i + _LONGEST])
    found = _APART.match(said) or _JOINED.match(said)
    whole = sino(found["whole"].replace(" ", "")) if found else None
    if found is None or whole is None or _counts_on(tokens.at(i - 1)):
        return None
    spelt, unit, end = found["digits"].replace(" ", ""), found["unit"] or "", i + found[0].count(" ") + 1
    apart = " 점 " in found[0]
    if (apart and (found["whole"] == "이" or found["whole"][-1] in _SCALES)) or _counts_on(tokens.at(end)):
        return None
    if not apart and found["gap"] and spelt in _WORDS:
        return None  # 오점이 배로 늘었다: "the stains have doubled"
    if not unit:
        closes = end == len(tokens) and len(found["whole"]) > 1  # 이십일 점 오
        sure = (
            (1 if closes else _FEWEST_DIGITS) <= len(spelt) <= _MOST_DIGITS
            and not spelt.startswith("공")
            and (spelt[-1] not in _WORDS or (closes and apart))
            and found["whole"] not in _WORDS
        )
        if not sure or found["particle"] not in ("", "입니다") or (apart and not _closed(tokens, end, found)):
            return None
    elif apart and unit == "도" and not found["gap"] and len(found["whole"]) == 1 and whole:
        return None  # 구 점 오도: "nine points, five, too"
    text = f"{grouped(whole, ',', 4)}.{digits(spelt)}"
    return Match(f"{text}{_sign(unit)}{found['particle']}", end)


def _closed(tokens: Tokens, end: int, found: re.Match[str]) -> bool:
    return end == len(tokens) or bool(found["particle"])


def _sign(unit: str) -> str:
    many = f"{unit[0]} {unit[1:].strip()}" if unit[:1] in _SCALES else unit
    return {**SIGNS, "킬로": "kg"}.get(unit, many)


def _counts_on(word: str) -> bool:
    """Return whether a word beside a decimal or fraction may be a part of a number that is longer."""
    return (
        word.startswith("점") or word.endswith("점") or word[:1].isdigit() or (word != "" and sino_prefix(word) == word)
    )


def fraction(tokens: Tokens, i: int) -> Match | None:
    """Read a fraction at the end of a text, or before a particle; 오 분의 일은 may be five minutes' work."""
    found = _FRACTION.match(" ".join(tokens.keys[i : i + _LONGEST]))
    if found is None or _counts_on(tokens.at(i - 1)) or tokens.at(i - 1).endswith(("시", "시간")):
        return None
    number, part, particle = found["whole"].replace(" ", ""), found["part"], found["particle"]
    whole, value, end = sino(number), sino(part), i + found[0].count(" ") + 1
    if not whole or not value or value >= whole or number in _WORDS or part == "만":
        return None
    sure = end == len(tokens) if not particle else (part == "이" or particle == "입니다") and part != "일"
    if not sure:
        return None
    return Match(f"{figures(whole, number)}분의 {figures(value, part)}{particle}", end)
