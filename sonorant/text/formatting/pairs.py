"""Two numbers that share what they count, "five to ten dollars": $5 to $10; both are figures, or neither is.

In "fifty or sixty thousand" the thousand may belong to both numbers: such a pair stays as it was said.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from sonorant.text.formatting.rules import Match, Rule, Tokens

__all__ = ["Amount", "Grammar", "pair"]

_HOURS = 12


class Amount(NamedTuple):
    """A cardinal or decimal: its text, the end, exclusive, and the value if it is whole, or -1."""

    text: str
    end: int
    value: int


@dataclass(frozen=True)
class Grammar:
    """What a language makes pairs of.

    amount: reads a number alone. number: reads a number and what it counts; cardinals below its last argument stay
    words. time: reads a time of day that needs no word before it. pronoun: whether a number is a word of its own.
    scales: words that multiply, and their factors. joints: words between two numbers, and their texts. between: the
    word before a pair, and the one that joins it. openers: words that begin a pair. clock: joints of times of day, and
    the minutes before them. past: words between minutes and the hour that they are written after.
    """

    amount: Callable[[Tokens, int], Amount | None]
    number: Callable[[Tokens, int, int], Match | None]
    time: Rule
    pronoun: Callable[[Tokens, int], bool]
    scales: Mapping[str, int]
    joints: Mapping[str, str]
    between: tuple[str, str]
    openers: Set[str]
    clock: Mapping[str, Set[int]]
    past: Set[str]


class _Two(NamedTuple):
    """A pair: its numbers, the second None within a time; the text between; the second with what it counts."""

    first: Amount
    joint: str
    second: Amount | None
    read: Match


def pair(tokens: Tokens, i: int, *, words_below: int, grammar: Grammar) -> Match | None:
    """Read two numbers that share a scale, a currency, a unit or a time; or of which one alone would be figures."""
    two = _two(tokens, i, grammar)
    if two is None or grammar.pronoun(tokens, i):
        return None
    first, joint, second, read = two
    third = _two(tokens, first.end + 1, grammar)  # "fifty or sixty or seventy thousand"
    for numbers in (two, third):
        if numbers and numbers.second and _share_scale(tokens, numbers.first, numbers.second, grammar):
            return Match(None, numbers.second.end)
    alone = second is not None and read.end == second.end and not second.text[-1].isalpha()
    if alone and not _half(tokens, i, first, words_below, grammar):
        return None
    text = read.text or (second.text if second else "")
    sign = text.partition(second.text)[0] if second else ""
    if any(map(str.isdigit, sign)) or (second and _past_hour(tokens, second, read, grammar)):
        return Match(None, read.end)  # "cinq ou dix heures moins vingt": 9 h 40; "five or ten past three p m": 3:10
    if second and tokens.at(i - 1) not in grammar.openers:
        minutes = grammar.clock.get(tokens.at(first.end), ())
        timed = second.value <= _HOURS and (alone or grammar.time(tokens, first.end + 1))
        if (timed and first.value in minutes) or (alone and first.value == 1):
            return Match(None, read.end)
        if first.value > second.value >= 0 and (sign or (alone and not minutes)):
            return None  # "covid nineteen or ten dollars"
    return Match(f"{sign}{first.text} {joint} {text}", read.end)


def _two(tokens: Tokens, i: int, grammar: Grammar) -> _Two | None:
    first = grammar.amount(tokens, i)
    if first is None:
        return None
    between = (tokens.at(i - 1), tokens.at(first.end)) == grammar.between
    joint = grammar.between[1] if between else grammar.joints.get(tokens.at(first.end))
    if joint is None or not _ends(grammar.number(tokens, i, 0), first.end):
        return None
    at, second = first.end + 1, grammar.amount(tokens, first.end + 1)
    if timed := grammar.time(tokens, at):
        return _Two(first, joint, second, timed)
    read = grammar.number(tokens, at, 0) if second else None
    if second is None or read is None or read.end < second.end or (read.text is None and read.end > second.end):
        return None  # a part of a year, of digits, of an ordinal
    return _Two(first, joint, second, read)


def _past_hour(tokens: Tokens, second: Amount, read: Match, grammar: Grammar) -> bool:
    """Return whether the second number is minutes; in "ten past ten" their figures are those of the hour."""
    return read.end > second.end and tokens.at(second.end) in grammar.past


def _ends(match: Match | None, end: int) -> bool:
    return match is not None and match.end == end


def _half(tokens: Tokens, i: int, first: Amount, words_below: int, grammar: Grammar) -> bool:
    """Return whether one of two numbers alone would be figures."""
    matches = [grammar.number(tokens, at, words_below) for at in (i, first.end + 1)]
    return len({match is None or match.text is None for match in matches}) == 2


def _share_scale(tokens: Tokens, first: Amount, second: Amount, grammar: Grammar) -> bool:
    """Return whether a word of the second number may multiply the first one as well: "two or three hundred"."""
    named = second.text[-1].isalpha()  # "2 or 3 million" shares it, too
    for end in range(first.end + 2, second.end - named):
        scale = grammar.scales.get(tokens.at(end), 0)
        head = grammar.amount(tokens.cut(end), first.end + 1) if scale else None
        if head and head.end == end and 0 != first.value < head.value and head.value * scale <= max(second.value, 0):
            return True
    return False
