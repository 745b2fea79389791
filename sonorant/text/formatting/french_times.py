"""French times of day and dates: 15 h 30; 1er mars 2025."""

from sonorant.text.formatting.french_numbers import DIGITS, Read, below_hundred, cardinal, is_number
from sonorant.text.formatting.french_units import CURRENCIES, UNITS
from sonorant.text.formatting.rules import Match, Phrases, Tokens, listed, phrase

__all__ = ["date", "time"]

_FIXED = "\u00a0"
_MONTHS = listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre")
_DAYS_FOLLOW = {"du", "le", "les", "au"}
_LINKS: Phrases = {(*words.split(),): words for words in ("au", "et", "et le", "ou", "ou le")}
_BY_TOKEN = {month.replace("é", "e").replace("û", "u"): month for month in _MONTHS}


def date(tokens: Tokens, i: int) -> Match | None:
    """Read a day with its month, and the year if it is said; a month with its year; the first of two days."""
    if month := _BY_TOKEN.get(tokens.at(i)):
        year = _year(tokens, i + 1)
        return Match(f"{month} {year.value}", year.end) if year else None
    if whole := _day_first(tokens, i):
        return whole
    day = _day(tokens, i)
    link = phrase(tokens, day.end, _LINKS) if day else None
    second = _day_first(tokens, link.end) if link else None
    if day is None or second is None:
        return None
    return Match(_numeral(day), day.end) if tokens.at(i - 1) in _DAYS_FOLLOW else Match(None, second.end)


def _day_first(tokens: Tokens, i: int) -> Match | None:
    day = _day(tokens, i)
    month = _BY_TOKEN.get(tokens.at(day.end)) if day else None
    if day is None or month is None:
        return None
    year = _year(tokens, day.end + 1)
    text = f"{_numeral(day)} {month}"
    return Match(f"{text} {year.value}", year.end) if year else Match(text, day.end + 1)


def _day(tokens: Tokens, i: int) -> Read | None:
    day = Read(1, i + 1) if tokens.at(i) == "premier" else below_hundred(tokens, i)
    return day if day and 1 <= day.value <= 31 else None


def _numeral(day: Read) -> str:
    return "1er" if day.value == 1 else str(day.value)


def _year(tokens: Tokens, i: int) -> Read | None:
    read = cardinal(tokens, i)
    return read if read and 1000 <= read.value <= 2999 and not is_number(tokens.at(read.end)) else None


def time(tokens: Tokens, i: int) -> Match | None:
    """Read hours, of a day or as a length of time, with their minutes; "une heure" alone is not known to be either."""
    if tokens.at(i) in ("midi", "minuit"):
        hour, at = 12 if tokens.at(i) == "midi" else 0, i + 1
        minutes = _minutes(tokens, at, spelt=False)
        return _written(hour, minutes) if minutes else None
    read = below_hundred(tokens, i)
    if read is None or read.value > 24 or tokens.at(read.end) not in ("heure", "heures"):
        return None
    at = read.end + 1
    if minutes := _minutes(tokens, at, spelt=True):
        return _written(read.value, minutes)
    if read.value == 1 and tokens.at(i - 1) != "a":
        return None
    numbered = is_number(tokens.at(at)) or tokens.at(at)[:1].isdigit()  # in figures: text that is written already
    return None if numbered else Match(f"{read.value}{_FIXED}h", at)


def _written(hour: int, minutes: Read) -> Match:
    if minutes.value < 0:
        hour, minutes = (hour - 1) % 24, Read(60 + minutes.value, minutes.end)
    return Match(f"{hour}{_FIXED}h{_FIXED}{minutes.value:02}", minutes.end)


def _minutes(tokens: Tokens, i: int, *, spelt: bool) -> Read | None:
    """Read "et demie", "et quart", "moins le quart", "moins dix", "trente"; before the hour, less than zero."""
    word = tokens.at(i)
    if word == "et" and tokens.at(i + 1) in ("demie", "demi", "quart"):
        return Read(15 if tokens.at(i + 1) == "quart" else 30, i + 2)
    if tokens.keys[i : i + 3] == ("moins", "le", "quart"):
        return Read(-15, i + 3)
    zero = spelt and word == "zero" and DIGITS.get(tokens.at(i + 1), 0) > 0  # "dix heures zéro cinq"
    read = below_hundred(tokens, i + 1 if word == "moins" or zero else i)
    if read is None or not 1 <= read.value <= 59 or is_number(tokens.at(read.end)):
        return None
    if phrase(tokens, read.end, CURRENCIES) or phrase(tokens, read.end, UNITS):
        return None  # "huit heures dix euros"
    if tokens.at(read.end) in ("minute", "minutes"):
        read = Read(read.value, read.end + 1)
    if word == "moins":
        return Read(-read.value, read.end)
    return read if spelt and (read.value >= 5 or read.end > i + 1) else None
