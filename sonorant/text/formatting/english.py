"""English, in American style: 12,500; $5.50; 3:30 p.m.; March 5, 2025; 5 km.

Numbers below ten that count nothing with a unit stay words, as The Associated Press Stylebook has them ("numerals").
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting import english_dates, english_times
from sonorant.text.formatting.english_amounts import (
    amount,
    counted,
    dashed_digits,
    goes_on,
    one_with_cents,
    spelt_digits,
)
from sonorant.text.formatting.english_numbers import (
    DIGITS,
    OHS,
    SCALES,
    cardinal,
    digits,
    is_number,
    ordinal,
    possessive_end,
    run_end,
    year,
)
from sonorant.text.formatting.english_units import CURRENCIES, SUBUNITS, UNITS
from sonorant.text.formatting.pairs import Grammar, pair
from sonorant.text.formatting.rules import Match, Rule, Tokens, listed, phrase, read_once

__all__ = ["rules"]

_YEARS_FOLLOW = {"in", "since", "until", "till", "by", "from", "before", "after", "during", "year", "of", "circa"}
_LED_DIGITS = 5  # of a ZIP code, "oh seven nine four six"; of other lengths the "oh" may be an interjection
_NO_OH_AFTER = {*OHS, "point", "double", "triple"}
_NO_DIGITS_BEFORE = {*OHS, *listed("point double triple percent per p pm p.m. am a.m. o'clock past")}
_DETERMINERS = set(listed("no this that which each every any some another the"))
_CENTURIES = {"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20}
_DECADES = listed("tens twenties thirties forties fifties sixties seventies eighties nineties")


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    pairs = partial(pair, words_below=words_below, grammar=_PAIRS)
    return (
        english_times.times,
        english_times.time,
        english_dates.date,
        pairs,
        partial(_number, words_below=words_below),
    )


def _number(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    return read_once(tokens, i, _read(tokens, i, words_below))


def _read(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read a number and what it counts; a run of number words with several readings stays as it is."""
    if (named := possessive_end(tokens, i)) is not None:
        return Match(None, named)
    if tokens.at(i) == "oh":
        return _led_digits(tokens, i)
    said = amount(tokens, i)
    if match := counted(tokens, said) if said else one_with_cents(tokens, i):
        return match
    if tokens.at(i) in ("a", "an") and (said is None or said.end == i + 2):  # "a hundred" of no unit
        return Match(None, i + 2) if said else None
    if plain := _plain(tokens, i, words_below):
        return plain
    end = run_end(tokens, i)
    return Match(None, end) if end > i else None


def _plain(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read a number that counts nothing known, if there is one reading of the whole run."""
    said = amount(tokens, i)
    if said and said.value < 0:
        return Match(said.text, said.end)
    spelt = partial(spelt_digits, counting=not words_below)
    for read in (dashed_digits, spelt, _year, _decade, partial(_ordinal, words_below=words_below)):
        if (match := read(tokens, i)) and not goes_on(tokens, match.end):
            return match
    if said is None or (tokens.at(i) in ("a", "an") and said.end == i + 2):
        return None
    if 10 <= said.value < 100 and tokens.at(said.end) in OHS and tokens.at(said.end + 1) in DIGITS:
        return Match(None, run_end(tokens, said.end + 1))  # "sixteen oh one": 1601, 16:01, or oh, one
    return Match(None if 0 <= said.value < words_below else said.text, said.end)


def _led_digits(tokens: Tokens, i: int) -> Match | None:
    """Read the five digits of a ZIP code whose first is an "oh"; or an hour, "at oh three hundred hours"."""
    before = tokens.at(i - 1)
    if tokens.at(i + 1) in DIGITS and tokens.keys[i + 2 : i + 4] == ("hundred", "hours"):
        hour = f"0{DIGITS[tokens.at(i + 1)]}00"
        return Match(hour if before == "at" else None, i + 3)  # else the "oh" may be an interjection
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


def _ordinal(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read an ordinal; "twenty second" may be a time, "one hundredth" a fraction."""
    read = ordinal(tokens, i)
    if read is None or read.value < words_below:
        return None
    ambiguous = tokens.at(read.end - 1) == "second" or (read.value >= 100 and read.end == i + 2)
    return Match(None, read.end) if ambiguous else Match(english_dates.ordinal_text(read.value), read.end)


def _pronoun(tokens: Tokens, i: int) -> bool:
    half = tokens.at(i) == "a" and tokens.at(i - 1) == "half"  # "half a million or a million"
    return half or (tokens.at(i) == "one" and tokens.at(i - 1) in _DETERMINERS)


_PAIRS = Grammar(
    amount=amount,
    number=_read,
    time=english_times.whole_time,
    pronoun=_pronoun,
    scales={"hundred": 100, **SCALES},
    joints={"to": "to", "or": "or"},
    between=("between", "and"),
    openers={"between", "from"},
    clock={"to": {5, 10, 20, 25}},
    past={"past"},
)
