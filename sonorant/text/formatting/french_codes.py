"""French numbers that are read digit by digit: of telephones, 06 12 34 56 78; postal codes, 69003."""

from sonorant.text.formatting.french_numbers import below_hundred, cardinal, digits, is_number
from sonorant.text.formatting.rules import Match, Tokens

__all__ = ["postal_code", "telephone"]

_FIXED = "\u00a0"
_POSTAL = 5  # digits
_BETWEEN = {"est", "le", "du"}  # "le code postal est le ..."


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


def postal_code(tokens: Tokens, i: int) -> Match | None:
    """Read five digits after "code postal": "soixante neuf zéro zéro trois", "soixante quinze mille un"."""
    before = i - 1
    while tokens.at(before) in _BETWEEN and before > i - 3:
        before -= 1
    if (tokens.at(before - 1), tokens.at(before)) != ("code", "postal"):
        return None
    led = tokens.at(i) == "zero"  # "zéro six mille"
    whole = cardinal(tokens, i + led)
    if whole and len(f"{whole.value}") == _POSTAL - led and not is_number(tokens.at(whole.end)):
        return Match(f"{whole.value:05}", whole.end)
    text, at = "", i
    while len(text) < _POSTAL and (read := below_hundred(tokens, at)):
        text, at = f"{text}{read.value}", read.end
    return Match(text, at) if len(text) == _POSTAL and not is_number(tokens.at(at)) else None
