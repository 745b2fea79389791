"""The formatters, by language."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from sonorant.text.formatting.formatter import Formatter, Hook
from sonorant.text.formatting.rules import Rule

__all__ = ["LANGUAGES", "formatter"]

LANGUAGES = {"en": "english", "fr": "french", "ko": "korean"}
"""ISO 639-1 codes, and the module with each one's rules."""


class _Language(Protocol):
    def rules(self, words_below: int) -> Sequence[Rule]: ...


def formatter(language: str, *, words_below: int = 10, hooks: tuple[Hook, ...] = ()) -> Formatter:
    """Return the formatter of a language, one of `LANGUAGES`, which is loaded by the first call.

    words_below: cardinals below it that count nothing with a unit stay words; 0: none does, for scoring.
    """
    return Formatter(_rules(language, words_below), hooks)


@cache
def _rules(language: str, words_below: int) -> Sequence[Rule]:
    module = import_module(f"sonorant.text.formatting.{LANGUAGES[language]}")
    return cast(_Language, module).rules(words_below)
