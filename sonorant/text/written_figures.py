"""One spelling for figures that are written in several ways, for scores: $5,200 and $5200; 3:30pm and 3:30 p.m.

`normalise` strips punctuation, and with it what tells figures apart (-5° and 5°) or holds them together (5,200). Here
figures get the spelling of `formatting`, without separators, before.
"""

import re
from collections.abc import Callable
from fractions import Fraction

from sonorant.text.figure_units import with_signs
from sonorant.text.formatting.korean_counters import PARTICLES, SINO_COUNTERS

__all__ = ["respell_figures"]

_MINUS = "\u2212"  # no punctuation, so that `normalise` keeps it
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_ORDINAL = "(?:st|nd|rd|th)"
_SCALES = {"만": 10**4, "억": 10**8, "조": 10**12, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALES |= {"thousand": 10**3, "millions": 10**6, "milliard": 10**9, "milliards": 10**9}
_SIGNED = (r"(?<!\S)[-\u2013\u2212](?=[$€£¥₩]?\d)", _MINUS)
_SPACED = (r"(?<=\d)\s+(?=[%°€$£¥₩](?!\d))|(?<=[$€£¥₩])\s+(?=\d)", "")
_NUMBER = r"(?<![\d.,$€£¥₹])\d+(?:\.\d+)?"
_AREA = r"(?:1[-\s])?(?:\(?\d{3}\)?[-\s]\s?)?"
_TELEPHONE = rf"(?<![\d.,$€£¥₹-])(?<!\d\s){_AREA}\d{{3}}(?:-|\s(?!1[89]|20))\d{{4}}(?![\d-]|[.,]\d)"
_ONE_BY_ONE = r"(?<![\d.,:$€£-])(?<!\d\s)\d(?:\s\d){2,}(?![\d:%°]|[.,]\d)"


def _either(words: set[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _in_full(match: re.Match[str]) -> str:
    """Return the figures of "1억 2000만", "1.5억", "2,5 millions"."""
    parts = re.findall(r"(\d+(?:[.,]\d+)?)\s?([^\W\d_]*)", match[0])
    return str(round(sum(Fraction(said.replace(",", ".")) * _SCALES.get(scale.lower(), 1) for said, scale in parts)))


_Spelling = list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]


def _spelling(*pairs: tuple[str, str | Callable[[re.Match[str]], str]]) -> _Spelling:
    return [(re.compile(pattern, re.IGNORECASE), spelling) for pattern, spelling in pairs]


def _in_money(match: re.Match[str]) -> str:
    """Return "$1 to $5" of "1 to $5"; of a number that is larger, 19 or $10, what it was."""
    first, joint, sign, second = match.groups()
    return f"{sign}{first}{joint}{sign}{second}" if float(first) < float(second) else match[0]


def _digits(match: re.Match[str]) -> str:
    """Return the digits of "555-1234", "1 2 3 4"."""
    return re.sub(r"\D", "", match[0])


_SPELLINGS = {
    "en": _spelling(
        _SIGNED,
        (_TELEPHONE, _digits),
        (_ONE_BY_ONE, _digits),
        (r"\b(?:minus|negative)\s(?=[$€£¥₩]?\d)", _MINUS),
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        (r"(?<![\d.])\d+(?:\.\d+)?\s(?:thousand|million|billion|trillion)\b", _in_full),
        (r"(?<=\d)\sper\s?cent\b", "%"),
        (r"(?<=\d)\s?([ap])\.?\s?m\b\.?", r" \1 m"),
        (rf"\b({_MONTH})\s(\d\d?){_ORDINAL}\b", r"\1 \2"),
        (rf"\b(?:the\s)?(\d\d?){_ORDINAL}\sof\s({_MONTH})\b", r"\1 \2"),
        (rf"(?<=\d)(?!(?:{_ORDINAL}|s)\b)(?=[^\W\d_])", " "),
    ),
    "fr": _spelling(
        _SIGNED,
        (r"\bmoins\s(?=\d)", _MINUS),
        (r"(?<![\d,.])\d{1,3}(?:\s\d{3})+(?!\d)", lambda match: "".join(match[0].split())),
        (r"(?<![\d,])\d+(?:,\d+)?\s(?:million|milliard)s?\b", _in_full),
        (r"(?<=\d)\spour\scent\b", "%"),
        (r"(?<!\d)(\d\d?)(?::|\s?h(?:eures?)?\s?)(?=\d\d(?!\d))", r"\1 h "),
        (r"(?<=\d)\s?h(?:eures?)?\b", " h"),
        (r"(?<=\d)i?[èe]me(s?)\b", r"e\1"),
        (r"(?<=\d)(?!(?:er|ers|re|res|ère|ères|e|es)\b)(?=[^\W\d_])", " "),
    ),
    "ko": _spelling(
        _SIGNED,
        (r"(?<!\d)0\d{1,2}[-\s]\d{3,4}[-\s]\d{4}(?!\d)", _digits),
        (r"(?:영하|마이너스)\s?(?=\d)", _MINUS),
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        (r"(?<!\d)(\d\d?):(\d\d)(?!\d)", r"\1시 \2분"),
        (r"(?<=\d)천(?=[만억조\s원명개])", "000"),
        (r"(?<![\d.])\d+(?:\.\d+)?[만억조](?:\s?\d+[만억])*(?:\s?\d+(?![\d.]))?", _in_full),
        (r"₩(\d+)", r"\1원"),
        (r"(?<=\d[년월일시분])(?=\d)", " "),
        (rf"(?<=\d)\s(?=(?:{_either(set(SINO_COUNTERS))})(?:{_either(PARTICLES)})(?!\w))", ""),
        (r"(?<=\d)\s(?=[a-z%°])", ""),
    ),
}
_SIGNS = {
    "en": _spelling(
        _SPACED,
        (r"(?<![\d.])(\d+(?:\.\d+)?)([€$£¥₹])(?!\d)", r"\2\1"),
        (r"([$€£])(\d+) (?:and )?(\d) cents?\b", r"\1\2.0\3"),
        (r"([$€£])(\d+) (?:and )?(\d\d) cents?\b", r"\1\2.\3"),
        (rf"({_NUMBER})( (?:to|or) )([$€£¥₹])(\d+(?:\.\d+)?)", _in_money),
        (rf"(?<=between )({_NUMBER})( and )([$€£¥₹])(\d+(?:\.\d+)?)", _in_money),
    ),
    "fr": _spelling(
        _SPACED,
        (r"([€$£¥])(\d+(?:,\d+)?)(?![\d€$£¥])", r"\2\1"),
        (r"(?<![\d,])(\d+)([€$])(?: et )?(\d\d)(?:\scentimes)?\b", r"\1,\3\2"),
    ),
    "ko": _spelling(_SPACED),
}


def respell_figures(text: str, language: str) -> str:
    """Return a text with its figures in one spelling. language: one of `formatting.LANGUAGES`."""
    for pattern, spelling in _SPELLINGS[language]:
        text = pattern.sub(spelling, text)
    text = with_signs(text, language)
    for pattern, spelling in _SIGNS[language]:
        text = pattern.sub(spelling, text)
    return text
