"""French: 12 500 ; 5,50 € ; 15 h 30 ; 1er mars 2025 ; 5 km ; XXIe siècle.

By the Lexique des règles typographiques en usage à l'Imprimerie nationale; spaces within a number, and before a sign,
do not break (U+202F, U+00A0). Numbers below ten that count nothing with a unit stay words.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting.figures import grouped, roman
from sonorant.text.formatting.french_numbers import below_hundred, cardinal, digits, is_number, ordinal, run_end
from sonorant.text.formatting.french_times import date, time
from sonorant.text.formatting.french_units import CURRENCIES, PER, SUBUNITS, UNITS
from sonorant.text.formatting.rules import Match, Rule, Sign, Tokens, phrase, read_once

__all__ = ["rules"]

_THIN, _FIXED = "\u202f", "\u00a0"
_SCALES = {"million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9}
_FEWEST_DIGITS = 3  # spoken one by one


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    return (date, time, telephone, partial(_number, words_below=words_below))


def telephone(tokens: Tokens, i: int) -> Match | None:
    """Read a telephone number, said in pairs: "zero six douze trente quatre cinquante six soixante dix huit"."""
    if tokens.at(i) != "zero":
        return None
    for pairs, end in _pairs(tokens, i, 5):
        if pairs[0][1] != "0" and not is_number(tokens.at(end)):
            return Match(_FIXED.join(pairs), end)
    return None


def _pairs(tokens: Tokens, i: int, count: int) -> list[tuple[list[str], int]]:
    """Return the ways to read `count` pairs of digits, those with the longest pairs first."""
    if not count:
        return [([], i)]
    if tokens.at(i) == "zero":
        heads = [(f"0{read[0]}", i + 2) for read in (digits(tokens.cut(i + 2), i + 1),) if read]
    else:
        cuts = (below_hundred(tokens.cut(end), i) for end in range(min(i + 4, len(tokens)), i, -1))
        heads = list(dict.fromkeys((str(read.value), read.end) for read in cuts if read and read.value >= 10))
    return [([head, *rest], end) for head, at in heads for rest, end in _pairs(tokens, at, count - 1)]


def _number(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    return read_once(tokens, i, _read(tokens, i, words_below))


def _read(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read a number and what it counts; a run of number words with several readings stays as it is."""
    if ranked := _ordinal(tokens, i):
        return ranked
    amount = _amount(tokens, i)
    if amount and (counted := _counted(tokens, *amount)):
        return counted
    spelt = digits(tokens, i)
    if spelt and len(spelt[0]) >= _FEWEST_DIGITS and not is_number(tokens.at(spelt[1])):
        return Match(None if spelt[0] in "123456789" else spelt[0], spelt[1])  # who counts up counts
    if amount:
        text, end, value = amount
        article = end == i + 1 and (tokens.at(i) in ("un", "une", "mille") or tokens.at(i - 1) == "pour")
        return Match(None if 0 <= value < words_below or (article and words_below) else text, end)
    read = cardinal(tokens, i)
    end = run_end(tokens, read.end if read else i)  # of "vingt et un cent" nothing is written
    return Match(None, end) if end > i else None


def _amount(tokens: Tokens, i: int) -> tuple[str, int, int] | None:
    """Read a cardinal or decimal, all of its run; return its text, the end, and the value if it is whole, or -1."""
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
    return text, end, value


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


def _counted(tokens: Tokens, text: str, end: int, value: int) -> Match | None:
    """Read what an amount counts: money, percent or a unit."""
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
    """Add cents: "cinq euros cinquante", "cinq euros et vingt centimes"."""
    at = currency.end + (tokens.at(currency.end) == "et")
    cents = below_hundred(tokens, at) if whole else None
    if cents and not is_number(tokens.at(cents.end)):
        said = phrase(tokens, cents.end, SUBUNITS)
        if said or (at == currency.end and cents.value >= 10 and cents.end == len(tokens)):
            return Match(f"{text},{cents.value:02}{_FIXED}{currency.text}", said.end if said else cents.end)
    return Match(f"{text}{_FIXED}{currency.text}", currency.end)


def _ordinal(tokens: Tokens, i: int) -> Match | None:
    """Read an ordinal from ten on, and that of any century: XXe siècle."""
    read = ordinal(tokens, i)
    if read is None or is_number(tokens.at(read.end)):
        return None
    if tokens.at(read.end) in ("siecle", "siecles") and 1 <= read.value <= 30:
        return Match(f"{roman(read.value)}e", read.end)
    return Match(f"{grouped(read.value, _THIN)}e", read.end) if read.value >= 10 else Match(None, read.end)
