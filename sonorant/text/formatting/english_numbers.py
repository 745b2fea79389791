"""English number words: cardinals, ordinals, years, digits and decimals.

Each function reads from a token on and returns a value and the end, exclusive, or None; it reads as much as it can.
"""

from typing import NamedTuple

from sonorant.text.formatting.rules import Tokens, listed

__all__ = [
    "DIGITS", "OHS", "SCALES", "Read", "below_hundred", "cardinal", "decimals", "digits", "is_figure", "is_number",
    "ordinal", "possessive_end", "run_end", "year",
]  # fmt: skip

DIGITS = {word: i for i, word in enumerate(listed("zero one two three four five six seven eight nine"))}
_TEENS = listed("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_TEENS_BY_WORD = {word: 10 + i for i, word in enumerate(_TEENS)}
_TENS = {w: 10 * i for i, w in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"), 2)}
_TENS["fourty"] = 40
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {f"{word}th": word for word in [*DIGITS, *_TEENS, "hundred", *SCALES]}
_ORDINALS |= {f"{word[:-1]}ieth": word for word in _TENS}
_ORDINALS |= {"first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine"}
_ORDINALS["twelfth"] = "twelve"
_CARDINALS = DIGITS.keys() | _TEENS_BY_WORD.keys() | _TENS.keys() | SCALES.keys() | {"hundred"}
_REPEATED = {"double": 2, "triple": 3}
OHS = ("oh", "o")
_NO_YEARS_BEFORE = {*OHS, *_REPEATED, *listed("point percent per cents p pm p.m. am a.m. o'clock past")}
_SIGNS = set("$€¥₹£₩")
_LONGEST = 32  # words: "nine hundred and ninety nine trillion ... nine hundred and ninety ninth" has 29


class Read(NamedTuple):
    """A number, and the end, exclusive, of the tokens that it was read from."""

    value: int
    end: int


def is_number(token: str) -> bool:
    """Return whether a token is a cardinal or ordinal number word."""
    return token in _CARDINALS or token in _ORDINALS


def is_figure(token: str) -> bool:
    """Return whether a token is a number that is written already: 11, $5."""
    return token[:1].isdigit() or (token[:1] in _SIGNS and token[1:2].isdigit())


def run_end(tokens: Tokens, i: int) -> int:
    """Return the end of the number words from `i` on."""
    while is_number(tokens.at(i)):
        i += 1
    return i


def possessive_end(tokens: Tokens, i: int) -> int | None:
    """Return the end of a number whose last word, not its first, has an "'s": "nineteen eighty's", "twenty one's"."""
    end = i
    while end < i + _LONGEST and (is_number(tokens.at(end)) or (end > i and tokens.at(end) in ("and", *OHS))):
        end += 1
    last = tokens.at(end).removesuffix("'s")
    if end == i or last == tokens.at(end) or not is_number(last):
        return None
    said = Tokens((*tokens.keys[i:end], last), tokens.owners[i : end + 1])
    reads = (cardinal(said, 0), year(said, 0))
    return end + 1 if any(read and read.end == len(said) for read in reads) else None


def below_hundred(tokens: Tokens, i: int) -> Read | None:
    """Read 0 to 99: "seven", "twelve", "forty two"."""
    if (ten := _TENS.get(tokens.at(i))) is not None:
        digit = DIGITS.get(tokens.at(i + 1), 0)
        return Read(ten + digit, i + 2) if digit else Read(ten, i + 1)
    value = DIGITS.get(tokens.at(i), _TEENS_BY_WORD.get(tokens.at(i)))
    return None if value is None else Read(value, i + 1)


def cardinal(tokens: Tokens, i: int) -> Read | None:
    """Read a cardinal: "two hundred and five thousand", "a million", "fifteen hundred"."""
    total, below, at, found = 0, 10**15, i, False
    while (part := _group(tokens, at, first=not found)) is not None:
        scale = SCALES.get(tokens.at(part.end), 1)
        if scale >= below or (part.value == 0 and (found or scale > 1)) or (scale > 1 and part.value >= 1000):
            break
        total, below, found = total + part.value * scale, scale, True
        at = part.end + (scale > 1)
        if scale == 1:
            break
        if (
            tokens.at(at) == "and"
            and (rest := below_hundred(tokens, at + 1))
            and rest.value
            and _ends(tokens, rest.end)
        ):
            return Read(total + rest.value, rest.end)
    return Read(total, at) if found else None


def _group(tokens: Tokens, i: int, first: bool) -> Read | None:
    """Read 0 to 999, or at the beginning hundreds up to "ninety nine hundred"."""
    article = first and tokens.at(i) in ("a", "an") and (tokens.at(i + 1) == "hundred" or tokens.at(i + 1) in SCALES)
    head = Read(1, i + 1) if article else below_hundred(tokens, i)
    if head is None or tokens.at(head.end) != "hundred" or not head.value or (head.value > 9 and not first):
        return head
    hundreds, at = 100 * head.value, head.end + 1
    joined = tokens.at(at) == "and"
    rest = below_hundred(tokens, at + joined)
    if rest is None or not rest.value or (joined and not _ends(tokens, rest.end, scaled=True)):
        return Read(hundreds, at)
    return Read(hundreds + rest.value, rest.end)


def _ends(tokens: Tokens, i: int, *, scaled: bool = False) -> bool:
    """Return whether the number after an "and" ends here, and is no number of its own ("and five hundred")."""
    return not is_number(tokens.at(i)) or (scaled and tokens.at(i) in SCALES)


def ordinal(tokens: Tokens, i: int) -> Read | None:
    """Read an ordinal: "third", "twenty first", "two hundred and fiftieth"."""
    for end in range(i, i + _LONGEST):
        if (last := _ORDINALS.get(tokens.at(end))) is not None:
            read = cardinal(Tokens((*tokens.keys[i:end], last), tokens.owners[i : end + 1]), 0)
            return Read(read.value, end + 1) if read and read.end == end + 1 - i else None
        if not is_number(tokens.at(end)) and (tokens.at(end) != "and" or end == i):
            return None
    return None


def year(tokens: Tokens, i: int) -> Read | None:
    """Read a year from 1100 to 2099: "nineteen oh five", "twenty twenty five", "two thousand six", or "oh six"."""
    century = below_hundred(Tokens((tokens.at(i),), (0,)), 0)  # the word alone
    if century and 11 <= century.value <= 20:
        at = i + 1
        if tokens.at(at) in OHS and DIGITS.get(tokens.at(at + 1), 0):
            return Read(100 * century.value + DIGITS[tokens.at(at + 1)], at + 2)
        if (rest := below_hundred(tokens, at)) and rest.value >= 10:
            return Read(100 * century.value + rest.value, rest.end)
    whole = cardinal(tokens, i)
    if tokens.keys[i : i + 2] == ("two", "thousand") and tokens.at(i + 2) in OHS and DIGITS.get(tokens.at(i + 3), 0):
        return whole if tokens.at(i + 4) in _NO_YEARS_BEFORE else Read(2000 + DIGITS[tokens.at(i + 3)], i + 4)
    if whole and 1100 <= whole.value <= 2099 and (whole.value >= 2000 or whole.value % 100 == 0):
        return whole
    return None


def digits(tokens: Tokens, i: int, *, inside: bool = False) -> tuple[str, int] | None:
    """Read digits one by one: "five oh double two"; returns them and the end. inside: the first may be "oh"."""
    found, at = "", i
    while True:
        times = _REPEATED.get(tokens.at(at), 0)
        word = tokens.at(at + bool(times))
        digit = 0 if word in OHS and (found or times or inside) else DIGITS.get(word)
        if digit is None:
            break
        found += str(digit) * (times or 1)
        at += 1 + bool(times)
    last = at
    while last > i and tokens.at(last - 1) == "o":  # an interjection more often than a digit at the end
        last -= 1
    found = found[: len(found) - (at - last)]
    return (found, last) if found else None


def decimals(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """Read what follows "point": digits, or a number below hundred; returns digits and the end."""
    read = digits(tokens, i, inside=True)
    if read and _ends(tokens, read[1], scaled=True) and not is_figure(tokens.at(read[1])):
        return read
    number = below_hundred(tokens, i)
    return (str(number.value), number.end) if number and _ends(tokens, number.end, scaled=True) else None
