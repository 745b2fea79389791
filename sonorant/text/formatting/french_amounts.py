"""French amounts, and what they count: 12 500 ; 2,5 millions ; 5,50 € ; 5 % ; 10 km/h."""

from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.french_numbers import below_hundred, cardinal, digits, is_number
from sonorant.text.formatting.french_units import CURRENCIES, PER, SUBUNITS, UNITS
from sonorant.text.formatting.pairs import Amount
from sonorant.text.formatting.rules import Match, Sign, Tokens, phrase

__all__ = ["amount", "counted"]

_THIN, _FIXED = "\u202f", "\u00a0"
_SCALES = {"million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9}


def amount(tokens: Tokens, i: int) -> Amount | None:
    """Read a cardinal or decimal, all of its run."""
    read = cardinal(tokens, i)
    if read is None or is_number(tokens.at(read.end)) or tokens.at(read.end)[:1].isdigit():
        return None
    text, end, value = grouped(read.value, _THIN), read.end, read.value
    scale = _SCALES.get(tokens.at(end - 1), 0)
    if scale and value < 1000 * scale:
        text = f"{value // scale}{_FIXED}{tokens.at(end - 1)}"
    elif tokens.at(end) == "virgule" and (fraction := _decimals(tokens, end + 1)):
        text, end, value = f"{text},{fraction[0]}", fraction[1], -1
        if tokens.at(end) in _SCALES:
            text, end = f"{text}{_FIXED}{tokens.at(end)}", end + 1
    return Amount(text, end, value)


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


def counted(tokens: Tokens, said: Amount) -> Match | None:
    """Read what an amount counts: money, percent or a unit."""
    text, end, value = said
    if currency := phrase(tokens, end, CURRENCIES):
        return _money(tokens, text, currency, whole=value >= 0 and not text[-1].isalpha())
    if cents := phrase(tokens, end, SUBUNITS):
        return Match(f"{text}{_FIXED}{cents.text}", cents.end)
    if tokens.keys[end : end + 2] == ("pour", "cent") and not is_number(tokens.at(end + 2)):
        return Match(f"{text}{_FIXED}%", end + 2)
    if unit := phrase(tokens, end, UNITS):
        per = phrase(tokens, unit.end, PER) if unit.text[-1] in "mg" else None
        joined = "" if unit.text == "°" else _FIXED
        return Match(f"{text}{joined}{unit.text}{per.text if per else ''}", per.end if per else unit.end)
    return None


def _money(tokens: Tokens, text: str, currency: Sign, *, whole: bool) -> Match:
    """Add cents: "cinq euros cinquante", "cinq euros et vingt centimes", "cinq dollars et dix cents"."""
    at = currency.end + (tokens.at(currency.end) == "et")
    cents = below_hundred(tokens, at) if whole else None
    alone = Match(f"{text}{_FIXED}{currency.text}", currency.end)
    if cents is None:
        return alone
    with_cents = f"{text},{cents.value:02}{_FIXED}{currency.text}"
    if tokens.at(cents.end) in ("cent", "cents") and currency.text in "$€" and not is_number(tokens.at(cents.end + 1)):
        end = cents.end + 1
        hundreds = cents.value < 20 and cents.value != 10 and end < len(tokens)  # "et douze cents personnes"
        return Match(None if hundreds else with_cents, end)
    if is_number(tokens.at(cents.end)):
        return alone
    said = phrase(tokens, cents.end, SUBUNITS)
    if said or (at == currency.end and cents.value >= 10 and cents.end == len(tokens)):
        return Match(with_cents, said.end if said else cents.end)
    return alone
