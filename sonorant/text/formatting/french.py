"""French: 12 500 ; 5,50 € ; 15 h 30 ; 1er mars 2025 ; 5 km ; XXIe siècle.

By the Lexique des règles typographiques en usage à l'Imprimerie nationale; spaces within a number, and before a sign,
do not break (U+202F, U+00A0). Numbers below ten that count nothing with a unit stay words.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting.figures import grouped, roman
from sonorant.text.formatting.french_amounts import amount, counted
from sonorant.text.formatting.french_codes import postal_code, telephone
from sonorant.text.formatting.french_numbers import SCALES, cardinal, digits, is_number, ordinal, run_end
from sonorant.text.formatting.french_times import date, time
from sonorant.text.formatting.pairs import Grammar, pair
from sonorant.text.formatting.rules import Match, Rule, Tokens, listed, read_once

__all__ = ["rules"]

_THIN = "\u202f"
_FEWEST_DIGITS = 3  # spoken one by one
_KINGS = set(listed("louis charles henri francois philippe leon benoit pie jean"))  # and popes: "louis quatorze"


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    pairs = partial(pair, words_below=words_below, grammar=_PAIRS)
    return (date, time, telephone, postal_code, pairs, partial(_number, words_below=words_below))


def _number(tokens: Tokens, i: int, *, words_below: int) -> Match | None:
    return read_once(tokens, i, _read(tokens, i, words_below))


def _read(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read a number and what it counts; a run of number words with several readings stays as it is."""
    if ranked := _ordinal(tokens, i, words_below):
        return ranked
    said = amount(tokens, i)
    if said and (match := counted(tokens, said)):
        return match
    spelt = digits(tokens, i)
    if spelt and len(spelt[0]) >= _FEWEST_DIGITS and not is_number(tokens.at(spelt[1])):
        counts = words_below and spelt[0] in "123456789"  # who counts up
        return Match(None if counts else spelt[0], spelt[1])
    if said:
        article = said.end == i + 1 and (tokens.at(i) in ("un", "une", "mille") or tokens.at(i - 1) == "pour")
        words = 0 <= said.value < words_below or ((article or tokens.at(i - 1) in _KINGS) and words_below)
        return Match(None if words else said.text, said.end)
    read = cardinal(tokens, i)
    end = run_end(tokens, read.end if read else i)  # of "vingt et un cent" nothing is written
    return Match(None, end) if end > i else None


def _ordinal(tokens: Tokens, i: int, words_below: int) -> Match | None:
    """Read an ordinal, and that of any century: XXe siècle."""
    read = ordinal(tokens, i)
    if read is None or is_number(tokens.at(read.end)):
        return None
    if tokens.at(read.end) in ("siecle", "siecles") and 1 <= read.value <= 30:
        return Match(f"{roman(read.value)}e", read.end)
    return Match(f"{grouped(read.value, _THIN)}e", read.end) if read.value >= words_below else Match(None, read.end)


def _pronoun(tokens: Tokens, i: int) -> bool:
    """Return whether "une" is no number of a pair: "j'en ai une à dix heures", "une à dix euros"."""
    return (
        tokens.at(i) in ("un", "une")
        and tokens.at(i + 1) == "a"
        and tokens.at(i - 1) != "de"
        and _counted(tokens, i + 2)
    )


def _counted(tokens: Tokens, i: int) -> bool:
    number = amount(tokens, i)
    read = _read(tokens, i, 0) if number else None
    return time(tokens, i) is not None or (number is not None and read is not None and read.end > number.end)


_PAIRS = Grammar(
    amount=amount,
    number=_read,
    time=time,
    pronoun=_pronoun,
    scales={"cent": 100, "cents": 100, **SCALES},
    joints={"a": "à", "ou": "ou"},
    between=("entre", "et"),
    openers={"entre", "de"},
    clock={},
    past=frozenset(),
)
