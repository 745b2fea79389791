"""English amounts: cardinals and decimals, and what they count: money, percent, units."""

from typing import NamedTuple

from sonorant.text.formatting.english_numbers import DIGITS, OHS, below_hundred, cardinal, decimals, digits, goes_on
from sonorant.text.formatting.english_units import CURRENCIES, PER, SUBUNITS, UNITS
from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.rules import Match, Phrases, Sign, Tokens, phrase

__all__ = ["FEWEST_DIGITS", "FRACTIONS", "Amount", "amount", "counted", "multiplied"]

FEWEST_DIGITS = 3  # spoken one by one
_SCALES = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
FRACTIONS: Phrases = {
    ("and", *words.split()): words
    for words in (
        "a half",
        "one half",
        "a third",
        "one third",
        "two thirds",
        "a quarter",
        "one quarter",
        "three quarters",
    )
}
"""What may follow an amount, which then stays as it is: "ten and a half"."""


class Amount(NamedTuple):
    """A cardinal or decimal: its text, the end of its tokens, exclusive, and its value if it is whole, or -1."""

    text: str
    end: int
    value: int


def amount(tokens: Tokens, i: int) -> Amount | None:
    """Read a cardinal or decimal, all of its run."""
    read = cardinal(tokens, i)
    if read is None:
        return None
    found = Amount(_rounded(tokens, *read), read.end, read.value)
    whole, end = grouped(read.value, ","), read.end
    spelt = digits(tokens, i)
    if spelt and len(spelt[0]) >= FEWEST_DIGITS and spelt[0][0] != "0":
        whole, end = spelt  # "one oh five point five"
    if tokens.at(end) == "point" and (fraction := decimals(tokens, end + 1)):
        text, end = f"{whole}.{fraction[0]}", fraction[1]
        scale = tokens.at(end) if tokens.at(end) in _SCALES or tokens.at(end) == "thousand" else ""
        found = Amount(f"{text} {scale}" if scale else text, end + bool(scale), -1)
    noun = read.value == 1 and tokens.at(i - 1) == "at" and tokens.at(found.end) == "point"  # "at one point ..."
    return None if goes_on(tokens, found.end) and not noun else found


def _rounded(tokens: Tokens, value: int, end: int) -> str:
    """Return "5 million" for a number said as one below a thousand, and a scale from a million on; else figures."""
    scale = _SCALES.get(tokens.at(end - 1), 0)
    if scale and value < 1000 * scale:
        return f"{value // scale} {tokens.at(end - 1)}"
    return grouped(value, ",")


def multiplied(tokens: Tokens, first: Amount, at: int, second: Amount) -> bool:
    """Return whether the scale of the second number, said at `at`, may count the first: "two to three hundred"."""
    words = tokens.keys[at : second.end]
    scale = 1000 if "thousand" in words else 100 if "hundred" in words else 0
    return bool(scale and first.value) and second.value // _SCALES.get(words[-1], 1) // scale > first.value


def counted(tokens: Tokens, said: Amount) -> Match | None:
    """Read what an amount counts: money, percent or a unit."""
    text, end, value = said
    currency = phrase(tokens, end, CURRENCIES)
    if currency:
        return _money(tokens, f"{currency.text}{text}", currency, whole=value >= 0 and not text[-1].isalpha())
    if cents := phrase(tokens, end, SUBUNITS):
        return Match(f"{text} {cents.text}", cents.end)
    if tokens.at(end) == "percent" or tokens.keys[end : end + 2] == ("per", "cent"):
        return Match(f"{text}%", end + 1 + (tokens.at(end) == "per"))
    if unit := phrase(tokens, end, UNITS):
        if tokens.at(end) == "feet" and (inches := below_hundred(tokens, unit.end)) and inches.value < 12:
            unsaid = phrase(tokens, inches.end, UNITS) is None and not goes_on(tokens, inches.end)
            return Match(None, inches.end) if unsaid else Match(f"{text} feet", unit.end)  # "six feet two"
        per = phrase(tokens, unit.end, PER)
        joined = "" if unit.text and unit.text[0] == "°" else " "
        return Match(f"{text}{joined}{unit.text}{per.text if per else ''}", per.end if per else unit.end)
    return None


def _money(tokens: Tokens, text: str, currency: Sign, *, whole: bool) -> Match:
    """Add cents: "five dollars and fifty cents"; "five dollars fifty", "five dollars oh five" at the end."""
    at = currency.end + (tokens.at(currency.end) == "and")
    oh = tokens.at(at) in OHS and tokens.at(at + 1) in DIGITS
    cents = below_hundred(tokens, at + oh) if whole else None
    if cents is None or goes_on(tokens, cents.end):
        return Match(text, currency.end)
    said = phrase(tokens, cents.end, SUBUNITS)
    closed = (cents.value >= 10 or oh) and cents.end == len(tokens)
    if said or (closed and at == currency.end):
        return Match(f"{text}.{cents.value:02}", said.end if said else cents.end)
    return Match(None, cents.end) if closed else Match(text, currency.end)  # "five dollars and fifty" of something
