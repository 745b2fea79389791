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
_WEEKDAYS = {name.lower(): name for name in listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")}
_DATES_FOLLOW = {*listed("on by until till since from to before after"), *_WEEKDAYS}
_JOINTS = {"to", "through", "and", "or"}


def ordinal_text(value: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th."""
    suffix = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value:,}{suffix}"


def date(tokens: Tokens, i: int) -> Match | None:
    """Read a date that has a month: with a day, a year, or both; or with two days; or with the day of the week."""
    if weekday := _WEEKDAYS.get(tokens.at(i)):
        month = _MONTHS.get(tokens.at(i + 1))
        named = _month_first(tokens, i + 1, month) if month else _day_first(tokens, i + 1)
        return Match(f"{weekday}{',' if month else ''} {named.text}", named.end) if named else None
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
    text, end = _days(tokens, day) if ordered else (str(day.value), day.end)
    if tokens.at(end) == "of":  # "to the third of July"
        text, end = str(day.value), day.end
    if (said := _year(tokens, end)) is not None:
        return Match(f"{month} {text}, {said.value}", said.end)
    sure = tokens.at(i - 1) in _DATES_FOLLOW  # else "April three" may begin "April three books"
    if tokens.at(i) not in _VERBS:
        sure = sure or ordered or end == len(tokens)
    if is_number(tokens.at(end)) or not sure or (at > i + 1 and not ordered):
        return None
    return Match(f"{month} {text}", end)


def _day_first(tokens: Tokens, i: int) -> Match | None:
    """Read "the fifth of March": 5 March; "the first to third of May": 1 to 3 May."""
    day = _ordinal_day(tokens, i + (tokens.at(i) == "the"))
    if day is None:
        return None
    text, end = _days(tokens, day)
    month = _MONTHS.get(tokens.at(end + 1)) if tokens.at(end) == "of" else None
    if month is None:
        return None
    said = _year(tokens, end + 2)
    return Match(f"{text} {month} {said.value}", said.end) if said else Match(f"{text} {month}", end + 2)


def _days(tokens: Tokens, first: Read) -> tuple[str, int]:
    """Return the text and the end of a day, and of a later one that it is joined to: "first to the third"."""
    text, end = str(first.value), first.end
    if tokens.at(end) in _JOINTS:
        last = _ordinal_day(tokens, end + 1 + (tokens.at(end + 1) == "the"))
        if (
            last
            and last.value > first.value
            and (
                tokens.at(end) in ("to", "through")
                or tokens.at(last.end) in ("", "of")  # not "june first and second place"
            )
        ):
            return f"{text} {tokens.at(end)} {last.value}", last.end
    return text, end


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
