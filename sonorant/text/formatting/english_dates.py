"""English dates: March 5, 2025; 5 March; March 2025."""

from sonorant.text.formatting.english_numbers import Read, below_hundred, is_number, ordinal, year
from sonorant.text.formatting.rules import Match, Tokens, listed

__all__ = ["date", "ordinal_text"]

_MONTHS = {
    name.lower(): name
    for name in listed("January February March April May June July August September October November December")
}
_VERBS = {"march", "may", "august"}  # words of their own as well
_DAYS = 31
_DATES_FOLLOW = set(listed("on by until till since from to before after"))
_DATES_FOLLOW |= set(listed("monday tuesday wednesday thursday friday saturday sunday"))


def ordinal_text(value: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th."""
    suffix = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value:,}{suffix}"


def date(tokens: Tokens, i: int) -> Match | None:
    """Read a date that has a month: with a day, a year, or both."""
    month = _MONTHS.get(tokens.at(i))
    return _month_first(tokens, i, month) if month else _day_first(tokens, i)


def _month_first(tokens: Tokens, i: int, month: str) -> Match | None:
    if (said := _year(tokens, i + 1)) is not None:
        return Match(f"{month} {said.value}", said.end)
    at = i + 1 + (tokens.at(i + 1) == "the")
    day = _ordinal_day(tokens, at)
    ordered = day is not None
    if day is None:
        day = _cardinal_day(tokens, at)
    if day is None:
        return None
    if (said := _year(tokens, day.end)) is not None:
        return Match(f"{month} {day.value}, {said.value}", said.end)
    sure = tokens.at(i - 1) in _DATES_FOLLOW  # else "April three" may begin "April three books"
    if tokens.at(i) not in _VERBS:
        sure = sure or ordered or day.end == len(tokens)
    if is_number(tokens.at(day.end)) or not sure or (at > i + 1 and not ordered):
        return None
    return Match(f"{month} {day.value}", day.end)


def _day_first(tokens: Tokens, i: int) -> Match | None:
    """Read "the fifth of March": 5 March."""
    at = i + (tokens.at(i) == "the")
    day = _ordinal_day(tokens, at)
    if day is None:
        return None
    if tokens.at(day.end) != "of":
        return None
    month = _MONTHS.get(tokens.at(day.end + 1))
    if month is None:
        return None
    said = _year(tokens, day.end + 2)
    return Match(f"{day.value} {month} {said.value}", said.end) if said else Match(f"{day.value} {month}", day.end + 2)


def _ordinal_day(tokens: Tokens, i: int) -> Read | None:
    read = ordinal(tokens, i)
    return read if read and read.value <= _DAYS else None


def _cardinal_day(tokens: Tokens, i: int) -> Read | None:
    """Read a day, in the shorter way if a year follows only then: "nineteen" of "nineteen twenty twenty five"."""
    read = below_hundred(tokens, i)
    if read and not 1 <= read.value <= _DAYS:
        read = None
    if read and read.end == i + 2 and _year(tokens, read.end) is None and _year(tokens, i + 1) is not None:
        return Read(read.value - read.value % 10, i + 1)
    return read


def _year(tokens: Tokens, i: int) -> Read | None:
    read = year(tokens, i)
    return read if read and not is_number(tokens.at(read.end)) else None
