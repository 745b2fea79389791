"""French number words, of France, Belgium and Switzerland: cardinals, ordinals and digits.

Each function reads from a token on, as many as it can. Tokens are without accents: "zero", "deuxieme".
"""

from typing import NamedTuple

from sonorant.text.formatting.rules import Tokens, listed

__all__ = ["DIGITS", "SCALES", "Read", "below_hundred", "cardinal", "digits", "is_number", "ordinal", "run_end"]

DIGITS = {word: i for i, word in enumerate(listed("zero un deux trois quatre cinq six sept huit neuf"))}
_ONES = DIGITS | {"une": 1}
_TEENS = {word: i for i, word in enumerate(listed("dix onze douze treize quatorze quinze seize"), 10)}
_TENS = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60}
_TENS |= {"septante": 70, "huitante": 80, "octante": 80, "nonante": 90}
_TEENS_ADDED = {60, 80}  # soixante-dix, quatre-vingt-dix
SCALES = {"mille": 10**3, "mil": 10**3, "million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9}
_LONGEST = 32  # words of an ordinal
_HUNDREDS = {"cent", "cents"}
_WORDS = _ONES.keys() | _TEENS.keys() | _TENS.keys() | SCALES.keys() | _HUNDREDS | {"vingts"}


def _ordinals() -> dict[str, tuple[str, int]]:
    """Return the last word of each ordinal, and the cardinal word and value that it stands for."""
    named = {"cinq": "cinquieme", "neuf": "neuvieme", "un": "unieme", "vingts": "vingtieme"}
    values = DIGITS | _TEENS | _TENS | {"cent": 100, "mille": 1000}
    values.pop("zero")
    return {named.get(word, f"{word.removesuffix('e')}ieme"): (word, value) for word, value in values.items()}


_ORDINALS = _ordinals()


class Read(NamedTuple):
    """A number, and the end, exclusive, of the tokens that it was read from."""

    value: int
    end: int


def is_number(token: str) -> bool:
    """Return whether a token is a cardinal or ordinal number word."""
    return token in _WORDS or token in _ORDINALS


def run_end(tokens: Tokens, i: int) -> int:
    """Return the end of the number words from `i` on."""
    while is_number(tokens.at(i)):
        i += 1
    return i


def below_hundred(tokens: Tokens, i: int) -> Read | None:
    """Read 0 to 99: "dix sept", "vingt et un", "quatre vingt dix neuf"."""
    word = tokens.at(i)
    if word == "quatre" and tokens.at(i + 1) in ("vingt", "vingts"):
        ten, end = 80, i + 2
    elif word in _TENS:
        ten, end = _TENS[word], i + 1
    elif word == "dix" and DIGITS.get(tokens.at(i + 1), 0) >= 7:
        return Read(10 + DIGITS[tokens.at(i + 1)], i + 2)
    else:
        value = _ONES.get(word, _TEENS.get(word))
        return None if value is None else Read(value, i + 1)
    return _added(tokens, ten, end)


def _added(tokens: Tokens, ten: int, end: int) -> Read:
    joined = tokens.at(end) == "et"
    word = tokens.at(end + joined)
    if word in ("un", "une") or (not joined and _ONES.get(word, 0)):
        return Read(ten + _ONES[word], end + joined + 1)
    if ten in _TEENS_ADDED and (word == "onze" or (not joined and word in _TEENS)):
        rest = below_hundred(tokens, end + joined)
        return Read(ten + rest.value, rest.end) if rest else Read(ten, end)
    return Read(ten, end)


def _group(tokens: Tokens, i: int, *, first: bool) -> Read | None:
    """Read 1 to 999, at the beginning also "onze cent" to "dix neuf cent" and more; "cent" alone is hundred."""
    head = below_hundred(tokens, i)
    if tokens.at(i) in _HUNDREDS:
        hundreds, at = 100, i + 1
    elif (
        head
        and tokens.at(head.end) in _HUNDREDS
        and head.value
        and (head.value < 10 or (first and 10 < head.value < 20))
    ):
        hundreds, at = 100 * head.value, head.end + 1
    else:
        return head
    rest = below_hundred(tokens, at)
    return Read(hundreds + rest.value, rest.end) if rest and rest.value else Read(hundreds, at)


def cardinal(tokens: Tokens, i: int) -> Read | None:
    """Read a cardinal: "deux mille vingt cinq", "un million", "mille neuf cent quatre vingt"."""
    total, below, at = 0, 10**12, i
    while True:
        part = Read(1, at) if tokens.at(at) in ("mille", "mil") else _group(tokens, at, first=at == i)
        if part is None:
            break
        scale = SCALES.get(tokens.at(part.end), 1)
        if scale >= below or (part.value == 0 and (at > i or scale > 1)) or (scale > 1 and part.value > 999):
            break
        total, below, at = total + part.value * scale, scale, part.end + (scale > 1)
        if scale == 1:
            break
    return Read(total, at) if at > i else None


def ordinal(tokens: Tokens, i: int) -> Read | None:
    """Read an ordinal: "deuxieme", "vingt et unieme", "centieme"; "premier" is none."""
    for at in range(i, min(i + _LONGEST, len(tokens))):
        if (last := _ORDINALS.get(tokens.at(at))) is not None:
            read = cardinal(Tokens((*tokens.keys[i:at], last[0]), tokens.owners[i : at + 1]), 0)
            return Read(read.value, at + 1) if read and read.end == at + 1 - i else None
        if not is_number(tokens.at(at)) and tokens.at(at) != "et":
            return None
    return None


def digits(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """Read digits one by one; return them and the end."""
    at = i
    while tokens.at(at) in DIGITS:
        at += 1
    return ("".join(str(DIGITS[tokens.at(j)]) for j in range(i, at)), at) if at > i else None
