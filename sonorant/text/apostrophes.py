"""Which apostrophes belong to words, and which are quotation marks."""

import re

from sonorant.text.section import Language

__all__ = ["without_quotes"]

_LETTER = r"[^\W_]"  # or digit
_LATIN = "[A-Za-z\u00c0-\u024f]"
_TOUCHES_NOTHING = re.compile(rf"(?<!{_LETTER})'(?!{_LETTER})")
_NOT_IN_A_WORD = re.compile(rf"(?<!{_LETTER})'|'(?!{_LETTER})")
_NOT_IN_A_LATIN_WORD = re.compile(rf"(?<!{_LATIN})'|'(?!{_LATIN})")

_OPENS = re.compile(rf"(?<!{_LETTER})'(?={_LETTER})")
_CLOSES = re.compile(rf"(?<=[^\s'])'(?!{_LETTER})")
# English words that an apostrophe begins, in place of what they lost: 'tis, rock 'n' roll, the '90s.
_APHAERESIS = re.compile(
    rf"(?<!{_LETTER})'(?:n'|(?:tis|twas|twere|twill|cause|cos|em|n|bout|round|til|till)(?!{_LETTER}|')|\d)",
    re.IGNORECASE,
)


def without_quotes(text: str, language: Language | None) -> str:
    """Return `text` with a space for each ' that is no apostrophe.

    In any language one that touches no letter or digit. English: also the two around a quotation, but not those of
    "the dogs' food" or 'tis. French: all but those inside words. Korean: all but those inside words in Latin letters.
    """
    if language == "fr":
        return _NOT_IN_A_WORD.sub(" ", text)
    if language == "ko":
        return _NOT_IN_A_LATIN_WORD.sub(" ", text)
    return _TOUCHES_NOTHING.sub(" ", _without_quotations(text) if language == "en" else text)


def _without_quotations(text: str) -> str:
    """Take the marks before and after words as brackets; those that find no partner are apostrophes."""
    belonging = {at for match in _APHAERESIS.finditer(text) for at in range(*match.span())}
    marks = [(match.start(), True) for match in _OPENS.finditer(text)]
    marks += [(match.start(), False) for match in _CLOSES.finditer(text)]
    quotes: set[int] = set()
    open_quotes: list[int] = []
    for at, opens in sorted(marks):
        if at in belonging:
            continue
        if opens:
            open_quotes.append(at)
        elif open_quotes:
            quotes |= {open_quotes.pop(), at}
    return "".join(" " if at in quotes else char for at, char in enumerate(text))
