"""French times of day and dates: 15 h 30; 1er mars 2025."""

from sonorant.text.formatting.french_numbers import Read, below_hundred, cardinal, digits, is_number
from sonorant.text.formatting.french_units import CURRENCIES, UNITS
from sonorant.text.formatting.rules import Match, Tokens, listed, phrase

__all__ = ["date", "time"]

_FIXED = "\u00a0"
_MONTHS = listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre")
_JOINTS = {"au", "et", "ou"}
_BY_TOKEN = {month.replace("é", "e").replace("û", "u"): month for month in _MONTHS}


def date(tokens: Tokens, i: int) -> Match | None:
    """Read a day, or two, with the month, and the year if it is said; or a month with its year."""
    if month := _BY_TOKEN.get(tokens.at(i)):
        year = _year(tokens, i + 1)
        return Match(f"{month} {year.value}", year.end) if year else None
    first = _day(tokens, i)
    if first is None:
        return None
    text, end = _days(tokens, first)
    month = _BY_TOKEN.get(tokens.at(end))
    if month is None:
        return None
    year = _year(tokens, end + 1)
    return Match(f"{text} {month} {year.value}", year.end) if year else Match(f"{text} {month}", end + 1)


def _day(tokens: Tokens, i: int) -> Read | None:
    read = Read(1, i + 1) if tokens.at(i) == "premier" else below_hundred(tokens, i)
    return read if read and 1 <= read.value <= 31 else None


def _days(tokens: Tokens, first: Read) -> tuple[str, int]:
    """Return the text and the end of a day, and of a later one that it is joined to: "cinq au dix"."""
    text, end = "1er" if first.value == 1 else str(first.value), first.end
    if tokens.at(end) in _JOINTS:
        the = tokens.at(end + 1) == "le"
        last = _day(tokens, end + 1 + the)
        if last and last.value > first.value:
            return f"{text} {tokens.at(end)} {'le ' if the else ''}{last.value}", last.end
    return text, end


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
    return None if _number_at(tokens, at) else Match(f"{read.value}{_FIXED}h", at)


def _number_at(tokens: Tokens, i: int) -> bool:
    """Return whether a number follows the hours, also one that is written already: "cinq heures 1000"."""
    century = tokens.at(i).strip("ivx") == "e" and tokens.at(i + 1) in ("siecle", "siecles")
    return is_number(tokens.at(i)) or tokens.at(i)[:1].isdigit() or century


def _written(hour: int, minutes: Read) -> Match:
    if minutes.value < 0:
        hour, minutes = (hour - 1) % 24, Read(60 + minutes.value, minutes.end)
    return Match(f"{hour}{_FIXED}h{_FIXED}{minutes.value:02}", minutes.end)


def _counted(tokens: Tokens, i: int) -> bool:
    return bool(phrase(tokens, i, CURRENCIES) or phrase(tokens, i, UNITS))


def _minutes(tokens: Tokens, i: int, *, spelt: bool) -> Read | None:
    """Read "et demie", "moins le quart", "moins dix", "trente", "zéro cinq"; before the hour, less than zero."""
    word = tokens.at(i)
    if word == "et" and tokens.at(i + 1) in ("demie", "demi", "quart"):
        return Read(15 if tokens.at(i + 1) == "quart" else 30, i + 2)
    if tokens.keys[i : i + 3] == ("moins", "le", "quart"):
        return Read(-15, i + 3)
    if spelt and word == "zero":
        said = digits(tokens.cut(i + 2), i)
        whole = said is not None and said[1] == i + 2 and not is_number(tokens.at(i + 2))
        counts = tokens.at(i + 2) in ("minute", "minutes") or _counted(tokens, i + 2)
        return Read(int(said[0]), i + 2) if said and whole and not counts else None
    read = below_hundred(tokens, i + 1 if word == "moins" else i)
    if read is None or not 1 <= read.value <= 59 or is_number(tokens.at(read.end)):
        return None
    if _counted(tokens, read.end):
        return None  # "huit heures dix euros"
    if tokens.at(read.end) in ("minute", "minutes"):
        read = Read(read.value, read.end + 1)
    if word == "moins":
        return Read(-read.value, read.end)
    return read if spelt and (read.value >= 5 or read.end > i + 1) else None
