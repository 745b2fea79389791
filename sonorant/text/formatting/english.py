"""English, in American style: 12,500; $5.50; 3:30 p.m.; March 5, 2025; 5 km.

Numbers below ten that count nothing with a unit stay words, as The Associated Press Stylebook has them ("numerals").
Two numbers of a range are written both, $5 to $10, 1 to 2%, or neither.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting import english_dates, english_times
from sonorant.text.formatting.english_amounts import (
    FEWEST_DIGITS,
    FRACTIONS,
    Amount,
    amount,
    counted,
    multiplied,
)
from sonorant.text.formatting.english_numbers import DIGITS, OHS, cardinal, digits, goes_on, ordinal, run_end, year
from sonorant.text.formatting.english_units import CURRENCIES, UNITS
from sonorant.text.formatting.rules import Match, Phrases, Rule, Tokens, listed, phrase

__all__ = ["rules"]

_YEARS_FOLLOW = {"in", "since", "until", "till", "by", "from", "before", "after", "during", "year", "of", "circa"}
_MOST_UNSURE = 4  # digits of which the first is an "oh", an interjection as well
_YEARS_BEFORE = {"in", "since", "during", "year"}
_POINTS = {"this", "that", "which", "some", "any"}  # words before a point that is no decimal one
_HALF = ("and", "a", "half")
_PRONOUNS = {"this", "that", "which", "no", "each", "every", "any"}  # words before a "one" that is no number
_LINKS: Phrases = {(word,): word for word in ("to", "or", "through", "by")}
_LINKS |= {(word,): "" for word in ("and", "plus", "minus", "times", "foot")} | {("out", "of"): ""}
"""Words between two numbers, and a text if both count the same; of "and" if "between" comes first."""

_CENTURIES = {"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20}
_DECADES = listed("tens twenties thirties forties fifties sixties seventies eighties nineties")


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    return (english_times.time, english_dates.date, partial(_number, words_below=words_below))


def _number(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    """Read a number and what it counts; a run of number words with several readings stays as it is."""
    if _after_point(tokens, i):
        return Match(None, run_end(tokens, i))
    said = amount(tokens, i)
    if said and tokens.at(i) in ("a", "an") and tokens.at(i - 1) == "half":  # "half a million dollars"
        return Match(None, said.end)
    match = counted(tokens, said) if said else None
    if match:  # "ten dollars and a half"
        return Match(None, match.end + 3) if tokens.keys[match.end : match.end + 3] == _HALF else match
    if said and (fraction := phrase(tokens, said.end, FRACTIONS)):
        return Match(None, fraction.end)
    alone = _alone(tokens, i, said, words_below)
    paired = _paired(tokens, i, said, alone, words_below) if alone else None
    return paired or alone


def _after_point(tokens: Tokens, i: int) -> bool:
    """Return whether a number may be the fraction of one whose whole is not said: "point five percent"."""
    noun = tokens.at(i - 2) in _POINTS or tokens.keys[max(i - 3, 0) : i - 1] == ("at", "one")
    return tokens.at(i - 1) == "point" and tokens.at(i) in DIGITS and not noun


def _alone(tokens: Tokens, i: int, said: Amount | None, words_below: int) -> Match | None:
    """Read a number that counts nothing known."""
    if tokens.at(i) in ("a", "an") and (said is None or said.end == i + 2):  # "a hundred" of no unit
        return Match(None, i + 2) if said else None
    if plain := _plain(tokens, i, said, words_below):
        return plain
    end = run_end(tokens, i)
    return Match(None, end) if end > i else None


def _paired(tokens: Tokens, i: int, said: Amount | None, alone: Match, words_below: int) -> Match | None:
    """Read the first of two numbers: what the second one counts, it counts too; if one stays as it is, so do both."""
    link = phrase(tokens, alone.end, _LINKS)
    if link is None or (tokens.at(i) == "one" and tokens.at(i - 1) in _PRONOUNS):
        return None
    second = amount(tokens, link.end)
    match = counted(tokens, second) if second else None
    if said and second and said.end == alone.end and (link.text or tokens.at(i - 1) == "between"):
        if multiplied(tokens, said, link.end, second):
            return Match(None, match.end if match else second.end)
        if match:
            return _sharing(tokens, i, said, second, link.text)
        if second.text[-1].isalpha() and 0 <= said.value < 1000:
            return Match(said.text, said.end)  # "two to three million"
    if match:
        return None
    other = _alone(tokens, link.end, second, words_below)
    return Match(None, other.end) if other and (alone.text is None) != (other.text is None) else None


def _sharing(tokens: Tokens, i: int, said: Amount, second: Amount, link: str) -> Match | None:
    """Write an amount whose unit is said after a second one: "five to ten dollars"."""
    currency = phrase(tokens, second.end, CURRENCIES)
    if currency is None:
        return Match(said.text, said.end)
    if link == "by" or (tokens.at(i - 1) in _YEARS_BEFORE and 1100 <= said.value < 2100):
        return None  # "from five dollars in two thousand to ten dollars"
    return Match(f"{currency.text}{said.text}", said.end)


def _plain(tokens: Tokens, i: int, said: Amount | None, words_below: int) -> Match | None:
    """Read a number that counts nothing known, if there is one reading of the whole run."""
    for read in (_digits, _year, _decade, _ordinal):
        if (match := read(tokens, i)) and not goes_on(tokens, match.end):
            return match
    if said is None or (tokens.at(i) in ("a", "an") and said.end == i + 2):
        return None
    return Match(None if 0 <= said.value < words_below else said.text, said.end)


def _digits(tokens: Tokens, i: int) -> Match | None:
    led = tokens.at(i) in OHS
    read = digits(tokens, i, inside=led)
    if read is None or len(read[0]) < FEWEST_DIGITS + led:
        return None
    counts = read[0][led:] in "123456789"  # who counts up
    if led:
        return Match(None if counts or len(read[0]) <= _MOST_UNSURE else read[0], read[1])
    return None if counts else Match(*read)


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
