"""French: 12 500 ; 5,50 € ; 15 h 30 ; 1er mars 2025 ; 5 km ; XXIe siècle.

By the Lexique des règles typographiques en usage à l'Imprimerie nationale; spaces within a number, and before a sign,
do not break (U+202F, U+00A0). Numbers below ten that count nothing with a unit stay words.
"""

from collections.abc import Sequence
from functools import partial

from sonorant.text.formatting.figures import grouped, roman
from sonorant.text.formatting.french_amounts import FIXED, THIN, Amount, amount, counted, multiplied
from sonorant.text.formatting.french_numbers import DIGITS, below_hundred, digits, goes_on, is_number, ordinal, run_end
from sonorant.text.formatting.french_times import date, time
from sonorant.text.formatting.rules import Match, Phrases, Rule, Tokens, phrase

__all__ = ["rules"]

_FEWEST_DIGITS = 3  # spoken one by one
_HALVES = (("et", "demi"), ("et", "demie"))
_CENTURIES_JOINED: Phrases = {
    (*words.split(),): words for words in ("au", "et", "et au", "et le", "ou", "ou au", "ou le")
}
_HOURS = ("heure", "heures")
_LINKS: Phrases = {("a",): "à", ("ou",): "ou", ("sur",): "", ("et",): "", ("fois",): "", ("plus",): ""}
"""Words between two numbers, and a text if both count the same; of "et" if "entre" comes first."""


def rules(words_below: int) -> Sequence[Rule]:
    """Return the rules, the first that reads something wins."""
    return (date, time, telephone, partial(_number, words_below=words_below))


def telephone(tokens: Tokens, i: int) -> Match | None:
    """Read a telephone number, said in pairs: "zero six douze trente quatre cinquante six soixante dix huit"."""
    if tokens.at(i) != "zero":
        return None
    for pairs, end in _pairs(tokens, i, 5):
        if pairs[0][1] != "0" and not is_number(tokens.at(end)):
            return Match(FIXED.join(pairs), end)
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
    """Read a number and what it counts; a run of number words with several readings stays as it is."""
    if tokens.at(i - 1) == "virgule" and tokens.at(i) in DIGITS:
        return Match(None, run_end(tokens, i))  # the fraction of a number whose whole is not said
    said = amount(tokens, i)
    match = counted(tokens, said) if said else None
    end = match.end if match else said.end if said else i
    if said and tokens.keys[end : end + 2] in _HALVES:
        return Match(None, end + 2)  # "deux millions et demi", "dix euros et demi"
    if match:
        return match
    alone = _alone(tokens, i, said, words_below)
    paired = _paired(tokens, i, said, alone, words_below) if alone else None
    return paired or alone


def _alone(tokens: Tokens, i: int, said: Amount | None, words_below: int) -> Match | None:
    """Read a number that counts nothing known."""
    if ranked := _ordinal(tokens, i):
        return ranked
    spelt = digits(tokens, i)
    if spelt and len(spelt[0]) >= _FEWEST_DIGITS and not goes_on(tokens, spelt[1]):
        return Match(None if spelt[0] in "123456789" else spelt[0], spelt[1])  # who counts up counts
    if said:
        text, end, value = said
        article = end == i + 1 and (tokens.at(i) in ("un", "une", "mille") or tokens.at(i - 1) == "pour")
        return Match(None if 0 <= value < words_below or (article and words_below) else text, end)
    end = run_end(tokens, i)
    return Match(None, end) if end > i else None


def _paired(tokens: Tokens, i: int, said: Amount | None, alone: Match, words_below: int) -> Match | None:
    """Read the first of two numbers: what the second one counts, it counts too; if one stays as it is, so do both."""
    link = phrase(tokens, alone.end, _LINKS)
    article = tokens.at(i) in ("un", "une") and "en" in tokens.keys[max(i - 3, 0) : max(i - 1, 0)]
    if link is None or article:  # "il y en a une à deux heures"
        return None
    second = amount(tokens, link.end)
    match = counted(tokens, second) if second else None
    if said and second and said.end == alone.end and (link.text or tokens.at(i - 1) == "entre"):
        if multiplied(tokens, said, link.end, second):
            return Match(None, match.end if match else second.end)
        if match or tokens.at(second.end) in _HOURS or (second.text[-1].isalpha() and 0 <= said.value < 1000):
            return Match(said.text, said.end)
    if match:
        return None
    other = _alone(tokens, link.end, second, words_below)
    joined = tokens.keys[alone.end - 1 : alone.end + 1] == ("soixante", "et")  # "soixante et dix": 70
    return Match(None, other.end) if other and (joined or (alone.text is None) != (other.text is None)) else None


def _ordinal(tokens: Tokens, i: int) -> Match | None:
    """Read an ordinal from ten on, and that of any century: XXe siècle."""
    read = ordinal(tokens, i)
    if read is None or is_number(tokens.at(read.end)):
        return None
    link = phrase(tokens, read.end, _CENTURIES_JOINED)
    last = ordinal(tokens, link.end) if link else read  # "du seizième au dix-huitième siècle"
    if last and tokens.at(last.end) in ("siecle", "siecles") and 1 <= read.value <= 30:
        return Match(f"{roman(read.value)}e", read.end)
    return Match(f"{grouped(read.value, THIN)}e", read.end) if read.value >= 10 else Match(None, read.end)
