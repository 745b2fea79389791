"""English times of day: 3 p.m., 3:30 p.m., 3 o'clock; half past three, a quarter to four."""

from sonorant.text.formatting.english_numbers import DIGITS, Read, below_hundred, is_number
from sonorant.text.formatting.rules import Match, Tokens, phrase

__all__ = ["time", "times", "whole_time"]

_HALVES = {
    ("am",): "a.m.", ("pm",): "p.m.", ("a.m.",): "a.m.", ("p.m.",): "p.m.",
    ("a", "m"): "a.m.", ("p", "m"): "p.m.", ("a.m",): "a.m.", ("p.m",): "p.m.",
}  # fmt: skip
_TIMES_FOLLOW = {"at", "until", "till", "around", "before", "after", "by", "from"}
_PARTS = {"half": 30, "quarter": 15}


def time(tokens: Tokens, i: int) -> Match | None:
    """Read a time of day; hour and minute alone count as one after "at" and the like."""
    if relative := _relative(tokens, i):
        return relative
    hour = _hour(tokens, i)
    if hour is None:
        return None
    if tokens.at(hour.end) == "o'clock":
        return _closed(tokens, f"{hour.value} o'clock", hour.end + 1)
    if half := phrase(tokens, hour.end, _HALVES):
        return Match(f"{hour.value} {half.text}", half.end)
    minute = _minute(tokens, hour.end)
    if minute is None or is_number(tokens.at(minute.end)):
        return None
    if half := phrase(tokens, minute.end, _HALVES):
        return Match(f"{hour.value}:{minute.value:02} {half.text}", half.end)
    if tokens.at(i - 1) in _TIMES_FOLLOW and minute.end == len(tokens):
        return Match(f"{hour.value}:{minute.value:02}", minute.end)
    return None


def whole_time(tokens: Tokens, i: int) -> Match | None:
    """Read a time with a half of the day, or "o'clock": one that needs no word before it."""
    match = time(tokens, i)
    return match if match and match.text and match.text.endswith(("m.", "o'clock")) else None


def times(tokens: Tokens, i: int) -> Match | None:
    """Read two times of one half of the day, the first with its minutes: "three thirty to five p m"."""
    hour = _hour(tokens, i)
    minute = _minute(tokens, hour.end) if hour else None
    if hour is None or minute is None or not _joined(tokens, i, minute.end):
        return None
    last = whole_time(tokens, minute.end + 1)
    return Match(f"{hour.value}:{minute.value:02} {tokens.at(minute.end)} {last.text}", last.end) if last else None


def _joined(tokens: Tokens, begin: int, end: int) -> bool:
    return tokens.at(end) in ("to", "or") or (tokens.at(end) == "and" and tokens.at(begin - 1) == "between")


def _relative(tokens: Tokens, i: int) -> Match | None:
    """Read "half past three", "a quarter to four", "ten past three"."""
    at = i + (tokens.at(i) == "a" and tokens.at(i + 1) == "quarter")
    minutes = _PARTS.get(tokens.at(at), 0)
    before = tokens.at(at + 1) in ("to", "till") and minutes == 15
    if not minutes and (said := below_hundred(tokens, i)) and said.value in (5, 10, 20, 25):
        minutes, at = said.value, said.end - 1
    if not minutes or not (before or tokens.at(at + 1) == "past"):
        return None
    hour = _hour(tokens, at + 2)
    if hour is None or is_number(tokens.at(hour.end)):
        return None
    closed = hour.end == len(tokens) or phrase(tokens, hour.end, _HALVES) or tokens.at(i - 1) in _TIMES_FOLLOW
    if before and not closed:
        return None  # "a quarter to two people"
    text = f"{(hour.value - 2) % 12 + 1}:{60 - minutes}" if before else f"{hour.value}:{minutes:02}"
    return _closed(tokens, text, hour.end)


def _closed(tokens: Tokens, text: str, end: int) -> Match:
    half = phrase(tokens, end, _HALVES)
    return Match(f"{text} {half.text}", half.end) if half else Match(text, end)


def _hour(tokens: Tokens, i: int) -> Read | None:
    read = below_hundred(tokens, i)
    return read if read and 1 <= read.value <= 12 else None


def _minute(tokens: Tokens, i: int) -> Read | None:
    if tokens.at(i) in ("oh", "o") and DIGITS.get(tokens.at(i + 1), 0):
        return Read(DIGITS[tokens.at(i + 1)], i + 2)
    read = below_hundred(tokens, i)
    return read if read and 10 <= read.value <= 59 else None
