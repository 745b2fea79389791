"""French amounts: cardinals and decimals, and what they count: money, percent, units."""

from typing import NamedTuple

from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.french_numbers import DIGITS, below_hundred, cardinal, digits, goes_on, is_number
from sonorant.text.formatting.french_units import CURRENCIES, PER, SUBUNITS, UNITS
from sonorant.text.formatting.rules import Match, Sign, Tokens, phrase

__all__ = ["FIXED", "THIN", "Amount", "amount", "counted", "multiplied"]

THIN, FIXED = "\u202f", "\u00a0"
"""Spaces that do not break: within a number, and before a sign."""

_SCALES = {"million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9}


class Amount(NamedTuple):
    """A cardinal or decimal: its text, the end of its tokens, exclusive, and its value if it is whole, or -1."""

    text: str
    end: int
    value: int


def amount(tokens: Tokens, i: int) -> Amount | None:
    """Read a cardinal or decimal, all of its run; "un million deux" may be 1,2 million."""
    read = cardinal(tokens, i)
    if read is None or is_number(tokens.at(read.end)):
        return None
    if tokens.at(read.end - 2) in _SCALES and 2 <= read.value % 10**6 <= 9 and read.end > i + 2:
        return None
    text, end, value = grouped(read.value, THIN), read.end, read.value
    scale = _SCALES.get(tokens.at(end - 1), 0)
    if scale and value < 1000 * scale:
        text = f"{value // scale}{FIXED}{tokens.at(end - 1)}"
    elif tokens.at(end) == "virgule" and (fraction := _decimals(tokens, end + 1)):
        text, end, value = f"{text},{fraction[0]}", fraction[1], -1
        if tokens.at(end) in _SCALES:
            text, end = f"{text}{FIXED}{tokens.at(end)}", end + 1
    return None if goes_on(tokens, end) else Amount(text, end, value)


def _decimals(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """Read zeros and a number below thousand, or digits one by one."""
    at = i
    while tokens.at(at) == "zero":
        at += 1
    read = cardinal(tokens, at)
    if read and read.value < 1000 and _ends(tokens, read.end):
        return "0" * (at - i) + str(read.value), read.end
    spelt = digits(tokens, i)
    return spelt if spelt and _ends(tokens, spelt[1]) else None


def _ends(tokens: Tokens, i: int) -> bool:
    return not is_number(tokens.at(i)) or tokens.at(i) in _SCALES


def multiplied(tokens: Tokens, first: Amount, at: int, second: Amount) -> bool:
    """Return whether the scale of the second number, said at `at`, may count the first: "deux à trois mille"."""
    words = set(tokens.keys[at : second.end])
    scale = 1000 if words & {"mille", "mil"} else 100 if words & {"cent", "cents"} else 0
    million = _SCALES.get(tokens.at(second.end - 1), 1)
    return bool(scale and first.value) and second.value // million // scale > first.value


def counted(tokens: Tokens, said: Amount) -> Match | None:
    """Read what an amount counts: money, percent or a unit."""
    text, end, value = said
    if currency := phrase(tokens, end, CURRENCIES):
        return _money(tokens, text, currency, whole=value >= 0 and not text[-1].isalpha())
    if cents := phrase(tokens, end, SUBUNITS):
        return Match(f"{text}{FIXED}{cents.text}", cents.end)
    if tokens.keys[end : end + 2] == ("pour", "cent") and not is_number(tokens.at(end + 2)):
        return Match(f"{text}{FIXED}%", end + 2)
    if unit := phrase(tokens, end, UNITS):
        per = phrase(tokens, unit.end, PER) if unit.text[-1] in "mg" else None
        joined = "" if unit.text == "°" else FIXED
        return Match(f"{text}{joined}{unit.text}{per.text if per else ''}", per.end if per else unit.end)
    return None


def _money(tokens: Tokens, text: str, currency: Sign, *, whole: bool) -> Match:
    """Add cents: "cinq euros cinquante", "cinq euros et vingt centimes", "dix euros zéro cinq" at the end."""
    at = currency.end + (tokens.at(currency.end) == "et")
    zero = tokens.at(at) == "zero" and tokens.at(at + 1) in DIGITS
    cents = below_hundred(tokens, at + zero) if whole else None
    if cents and not goes_on(tokens, cents.end):
        said = phrase(tokens, cents.end, SUBUNITS)
        closed = (cents.value >= 10 or zero) and cents.end == len(tokens)
        if said or (closed and at == currency.end):
            return Match(f"{text},{cents.value:02}{FIXED}{currency.text}", said.end if said else cents.end)
        if closed:
            return Match(None, cents.end)  # "cinq euros et cinquante" of something
    return Match(f"{text}{FIXED}{currency.text}", currency.end)
