"""English amounts, and what they count: 12,500; 2.5 million; $5.50; 50%; 10 km/h."""

from sonorant.text.formatting.english_numbers import (
    OHS,
    Read,
    below_hundred,
    cardinal,
    decimals,
    digits,
    is_figure,
    is_number,
    run_end,
)
from sonorant.text.formatting.english_units import CURRENCIES, PER, SUBUNITS, UNITS
from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.pairs import Amount
from sonorant.text.formatting.rules import LONG_RUN, Match, Sign, Tokens, phrase

__all__ = ["amount", "counted", "dashed_digits", "goes_on", "one_with_cents", "spelt_digits"]

_SCALES = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
_FEWEST_DIGITS = 3  # spoken one by one


def goes_on(tokens: Tokens, i: int) -> bool:
    """Return whether a number follows, also one that is written already: "thirty $10 bills"."""
    return is_number(tokens.at(i)) or is_figure(tokens.at(i))


def amount(tokens: Tokens, i: int) -> Amount | None:
    """Read a cardinal or decimal, all of its run."""
    read = cardinal(tokens, i)
    if read is None or goes_on(tokens, read.end):
        return None
    whole, at = grouped(read.value, ","), read.end
    if tokens.at(at) in OHS and (spelt := spelt_digits(tokens, i)) and spelt.text and spelt.text[0] != "0":
        whole, at = spelt.text, spelt.end  # "one oh five point five"
    if tokens.at(at) == "point" and (fraction := decimals(tokens, at + 1)):
        if at > read.end and tokens.at(fraction[1]) == "point":  # "one oh five point two point three"
            return Amount(_rounded(tokens, read), read.end, read.value)
        text, end = f"{whole}.{fraction[0]}", fraction[1]
        scaled = tokens.at(end) in _SCALES
        return Amount(f"{text} {tokens.at(end)}", end + 1, -1) if scaled else Amount(text, end, -1)
    return Amount(_rounded(tokens, read), read.end, read.value)


def _rounded(tokens: Tokens, read: Read) -> str:
    """Return "5 million" for a number said as one below a thousand, and a scale from a million on; else figures."""
    scale = _SCALES.get(tokens.at(read.end - 1), 0)
    if scale and read.value < 1000 * scale:
        return f"{read.value // scale} {tokens.at(read.end - 1)}"
    return grouped(read.value, ",")


def spelt_digits(tokens: Tokens, i: int, *, counting: bool = False) -> Match | None:
    """Read three digits or more, one by one; not those of who counts up, unless `counting`."""
    read = digits(tokens, i)
    if read is None or len(read[0]) < _FEWEST_DIGITS or (read[0] in "123456789" and not counting):
        return None
    if read[1] - i > LONG_RUN and is_number(tokens.at(read[1])):
        return Match(None, run_end(tokens, read[1]))
    return Match(*read)


def dashed_digits(tokens: Tokens, i: int) -> Match | None:
    """Read groups of three digits or more with a "dash" between them: "five five five dash one two three four"."""
    groups: list[str] = []
    at = end = i
    while at < i + LONG_RUN and (read := digits(tokens, at)) and len(read[0]) >= _FEWEST_DIGITS:
        groups, end = [*groups, read[0]], read[1]
        if tokens.at(end) != "dash":
            break
        at = end + 1
    return Match("-".join(groups), end) if len(groups) > 1 else None


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


def one_with_cents(tokens: Tokens, i: int) -> Match | None:
    """Read "a dollar fifty" at the end, "a dollar and fifty cents"; "a dollar" alone stays."""
    currency = phrase(tokens, i + 1, CURRENCIES) if tokens.at(i) == "a" else None
    if currency is None:
        return None
    money = _money(tokens, f"{currency.text}1", currency, whole=True)
    if money.end > currency.end:
        return money
    more = amount(tokens, currency.end)
    unclear = more is not None and 10 <= more.value < 100 and not counted(tokens, more)
    return Match(None, more.end) if more and unclear else None
