"""Korean decimals and fractions, whose spacing varies: 이십오 점 오 도, 영점오 퍼센트; 삼 분의 이, 십분의 일."""

import re

from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.korean_counters import PARTICLES, SIGNS, SINO_COUNTERS
from sonorant.text.formatting.korean_numbers import DIGIT, SINO, digits, figures, sino
from sonorant.text.formatting.rules import Match, Tokens, listed

__all__ = ["decimal", "fraction"]

_LONGEST = 12  # words
_COUNTERS = "|".join(sorted([*SIGNS, *listed("킬로 도 배 초 시간 달러 유로")], key=len, reverse=True))
_MANY = f"(?P<scale>[만억조])(?: ?(?:{_COUNTERS}|원|명|개))?"
_PARTICLE = "|".join(sorted(PARTICLES, key=len, reverse=True))
_NUMBER = f"(?:{SINO}{{0,32}}[십백천만억조] )*{SINO}{{1,32}}?"
_TAIL = f"(?: ?(?:{_MANY}|(?P<counter>{_COUNTERS})))?(?P<particle>{_PARTICLE})(?= |$)"
_DIGITS = f"{DIGIT}+(?: {DIGIT}+(?=(?:{_COUNTERS})?(?:{_PARTICLE})(?: |$)))*"
_DECIMAL = re.compile(f"(?P<whole>{_NUMBER})(?P<before> ?)점(?P<after> ?)(?P<digits>{_DIGITS})(?P<tail>{_TAIL})")
_FRACTION = re.compile(
    f"(?P<whole>{_NUMBER})(?P<before> ?)분의 (?P<part>{SINO}{{1,32}})(?P<particle>{_PARTICLE})(?= |$)"
)
_WORDS = {"이", "일"}  # this, work: words of their own as well


def decimal(tokens: Tokens, i: int) -> Match | None:
    """Read a decimal, and what it counts; after "points", 구 점 이 사람, a digit may be another word."""
    found = _DECIMAL.match(" ".join(tokens.keys[i : i + _LONGEST]))
    whole = sino(found["whole"].replace(" ", "")) if found else None
    if found is None or whole is None:
        return None
    end = i + found[0].count(" ") + 1
    said, counts = found["digits"].replace(" ", ""), bool(found["counter"] or found["scale"])
    if len(found["whole"]) == 1 and not found["before"] and found["after"] and whole:  # 이점: advantage
        return Match(None, end) if counts else None
    if not (counts or _sure(tokens, end, whole, said, found["particle"])):
        return Match(None, end)
    tail = found["tail"].strip()
    for name in sorted(SIGNS, key=len, reverse=True):
        tail = tail.replace(name, SIGNS[name])
    return Match(f"{grouped(whole, ',', 4)}.{digits(said)}{tail.replace('킬로', 'kg')}", end)


def _sure(tokens: Tokens, end: int, whole: int, said: str, particle: str) -> bool:
    """Return whether digits that count nothing known are the fraction of a number."""
    if not whole or len(said) > 2 or (len(said) == 2 and said[-1] not in _WORDS):
        return True
    if particle:
        return said not in _WORDS
    return end == len(tokens) or (tokens.at(end) in PARTICLES and tokens.at(end) not in SINO_COUNTERS)


def fraction(tokens: Tokens, i: int) -> Match | None:
    """Read a fraction, 삼 분의 이; 이 분의 일 may be this person's work."""
    found = _FRACTION.match(" ".join(tokens.keys[i : i + _LONGEST]))
    if found is None or tokens.at(i - 1).endswith("시"):
        return None
    whole, part, particle = sino(found["whole"].replace(" ", "")), found["part"], found["particle"]
    if part.endswith("만") and len(part) > 1 and (sino(part) or 0) > (whole or 0):  # 십 분의 일만
        part, particle = part[:-1], f"만{particle}"
    value, end = sino(part), i + found[0].count(" ") + 1
    if not whole or value is None:
        return None
    if found["whole"] == "이":
        return Match(None, end)
    return Match(f"{figures(whole, found['whole'])}분의 {figures(value, part)}{particle}", end)
