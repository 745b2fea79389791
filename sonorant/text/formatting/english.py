"""English, in American style: 12,500; $5.50; 3:30 p.m.; March 5, 2025; 5 km.

Numbers below ten that count nothing with a unit stay words, as The Associated Press Stylebook has them ("numerals").
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting import english_dates, english_times
from sonorant.text.formatting.english_numbers import (
    OHS,
    Read,
    below_hundred,
    cardinal,
    decimals,
    digits,
    is_figure,
    is_number,
    ordinal,
    possessive_end,
    run_end,
    year,
)
from sonorant.text.formatting.english_units import CURRENCIES, PER, SUBUNITS, UNITS
from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.rules import LONG_RUN, Match, Rule, Sign, Tokens, listed, phrase, read_once

__all__ = ["rules"]

_SCALES = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
_YEARS_FOLLOW = {"in", "since", "until", "till", "by", "from", "before", "after", "during", "year", "of", "circa"}
_FEWEST_DIGITS = 3  # spoken one by one
_LED_DIGITS = 5  # of a ZIP code, "oh seven nine four six"; of other lengths the "oh" may be an interjection
_NO_OH_AFTER = {*OHS, "point", "double", "triple"}
_NO_DIGITS_BEFORE = {*OHS, *listed("point double triple percent per p pm p.m. am a.m. o'clock past")}
_CENTURIES = {"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20}
_DECADES = listed("tens twenties thirties forties fifties sixties seventies eighties nineties")


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    return (english_times.time, english_dates.date, partial(_number, words_below=words_below))


def _number(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    return read_once(tokens, i, _read(tokens, i, words_below))


def _read(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read a number and what it counts; a run of number words with several readings stays as it is."""
    if (named := possessive_end(tokens, i)) is not None:
        return Match(None, named)
    if tokens.at(i) == "oh":
        return _led_digits(tokens, i)
    amount = _amount(tokens, i)
    if amount and (counted := _counted(tokens, *amount)):
        return counted
    if tokens.at(i) in ("a", "an") and (amount is None or amount[1] == i + 2):  # "a hundred" of no unit
        return Match(None, i + 2) if amount else None
    if plain := _plain(tokens, i, words_below):
        return plain
    end = run_end(tokens, i)
    return Match(None, end) if end > i else None


def _goes_on(tokens: Tokens, i: int) -> bool:
    """Return whether a number follows, also one that is written already: "thirty $10 bills"."""
    return is_number(tokens.at(i)) or is_figure(tokens.at(i))


def _amount(tokens: Tokens, i: int) -> tuple[str, int, float] | None:
    """Read a cardinal or decimal, all of its run; return its text, the end, and the value if it is whole, or -1."""
    read = cardinal(tokens, i)
    if read is None or _goes_on(tokens, read.end):
        return None
    whole, at = grouped(read.value, ","), read.end
    if tokens.at(at) in OHS and (spelt := _digits(tokens, i)) and spelt.text and spelt.text[0] != "0":
        whole, at = spelt.text, spelt.end  # "one oh five point five"
    if tokens.at(at) == "point" and (fraction := decimals(tokens, at + 1)):
        if at > read.end and tokens.at(fraction[1]) == "point":  # "one oh five point two point three"
            return _rounded(tokens, read), read.end, read.value
        text, end = f"{whole}.{fraction[0]}", fraction[1]
        return (f"{text} {tokens.at(end)}", end + 1, -1) if tokens.at(end) in _SCALES else (text, end, -1)
    return _rounded(tokens, read), read.end, read.value


def _rounded(tokens: Tokens, read: Read) -> str:
    """Return "5 million" for a number said as one below a thousand, and a scale from a million on; else figures."""
    scale = _SCALES.get(tokens.at(read.end - 1), 0)
    if scale and read.value < 1000 * scale:
        return f"{read.value // scale} {tokens.at(read.end - 1)}"
    return grouped(read.value, ",")


def _counted(tokens: Tokens, text: str, end: int, value: float) -> Match | None:
    """Read what an amount counts: money, percent or a unit."""
    currency = phrase(tokens, end, CURRENCIES)
    if currency:
        return _money(tokens, f"{currency.text}{text}", currency, whole=value >= 0 and not text[-1].isalpha())
    if cents := phrase(tokens, end, SUBUNITS):
        return Match(f"{text} {cents.text}", cents.end)
    if tokens.at(end) == "percent" or tokens.keys[end : end + 2] == ("per", "cent"):
        return Match(f"{text}%", end + 1 + (tokens.at(end) == "per"))
    if unit := phrase(tokens, end, UNITS):
        per = phrase(tokens, unit.end, PER)
        joined = "" if unit.text and unit.text[0] == "°" else " "
        return Match(f"{text}{joined}{unit.text}{per.text if per else ''}", per.end if per else unit.end)
    return None


def _money(tokens: Tokens, text: str, currency: Sign, *, whole: bool) -> Match:
    """Add cents: "five dollars and fifty cents", or "five dollars fifty" at the end."""
    at = currency.end + (tokens.at(currency.end) == "and")
    cents = below_hundred(tokens, at) if whole else None
    if cents is None or is_number(tokens.at(cents.end)):
        return Match(text, currency.end)
    said = phrase(tokens, cents.end, SUBUNITS)
    if said or (at == currency.end and cents.value >= 10 and cents.end == len(tokens)):
        return Match(f"{text}.{cents.value:02}", said.end if said else cents.end)
    return Match(text, currency.end)


def _plain(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read a number that counts nothing known, if there is one reading of the whole run."""
    amount = _amount(tokens, i)
    if amount and amount[2] < 0:
        return Match(*amount[:2])
    for read in (_digits, _year, _decade, _ordinal):
        if (match := read(tokens, i)) and not _goes_on(tokens, match.end):
            return match
    if amount is None or (tokens.at(i) in ("a", "an") and amount[1] == i + 2):
        return None
    text, end, value = amount
    return Match(None if 0 <= value < words_below else text, end)


def _digits(tokens: Tokens, i: int) -> Match | None:
    read = digits(tokens, i)
    if read is None or len(read[0]) < _FEWEST_DIGITS or read[0] in "123456789":  # who counts up counts
        return None
    if read[1] - i > LONG_RUN and is_number(tokens.at(read[1])):
        return Match(None, run_end(tokens, read[1]))
    return Match(*read)


def _led_digits(tokens: Tokens, i: int) -> Match | None:
    """Read the five digits of a ZIP code whose first is an "oh"."""
    before = tokens.at(i - 1)
    if len(before) == 1 or before in _NO_OH_AFTER or before[:1].isdigit() or is_number(before):
        return None
    read = digits(tokens, i + 1)
    if read is None or len(read[0]) != _LED_DIGITS - 1 or read[0] in "123456789" or is_number(tokens.at(read[1])):
        return None
    counts = any(phrase(tokens, read[1], signs) for signs in (CURRENCIES, SUBUNITS, UNITS))
    if counts or tokens.at(read[1]) in _NO_DIGITS_BEFORE:
        return None
    return Match(f"0{read[0]}", read[1])


def _year(tokens: Tokens, i: int) -> Match | None:
    read = year(tokens, i)
    if read is None or tokens.at(read.end) == "hundred":
        return None
    whole = cardinal(tokens, i)
    if whole and whole.end == read.end:
        return None  # no pair: "two thousand" is a cardinal like others
    if phrase(tokens, read.end, CURRENCIES) or phrase(tokens, read.end, UNITS):
        return Match(None, read.end)  # "nineteen ninety nine dollars": $19.99 or $1999
    two = read.value >= 2030 and read.value % 10 == 0  # numbers: "twenty thirty people"
    plausible = (read.value >= 1700 and not two) or tokens.at(i - 1) in _YEARS_FOLLOW
    return Match(str(read.value), read.end) if plausible else None


def _decade(tokens: Tokens, i: int) -> Match | None:
    """Read "nineteen eighties"."""
    century, decade = _CENTURIES.get(tokens.at(i)), tokens.at(i + 1)
    return Match(f"{century}{_DECADES.index(decade) + 1}0s", i + 2) if century and decade in _DECADES else None


def _ordinal(tokens: Tokens, i: int) -> Match | None:
    """Read an ordinal from tenth on; "twenty second" may be a time, "one hundredth" a fraction."""
    read = ordinal(tokens, i)
    if read is None or read.value < 10:
        return None
    ambiguous = tokens.at(read.end - 1) == "second" or (read.value >= 100 and read.end == i + 2)
    return Match(None, read.end) if ambiguous else Match(english_dates.ordinal_text(read.value), read.end)
