"""A formatter: rules from left to right over the words, then hooks over the groups."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sonorant.text.formatting.rules import Rule, Tokens

__all__ = ["Formatter", "Hook", "Written", "text_of"]

_BREAK = re.compile(r"[ \t\r\n]+")


class Written(NamedTuple):
    """A text, and the words that it is the written form of: from `begin` up to `end`, exclusive."""

    text: str
    begin: int
    end: int


Hook = Callable[[Sequence[Written]], Sequence[Written]]
"""Casing or punctuation: maps groups to groups with the same spans."""


class Formatter:
    """Writes words by the rules of a language: at each word the first rule that reads something there."""

    def __init__(self, rules: Sequence[Rule], hooks: Sequence[Hook] = ()) -> None:
        self._rules = tuple(rules)
        self._hooks = tuple(hooks)

    def written(self, words: Sequence[str]) -> tuple[Written, ...]:
        """Return groups that cover all `words`, each once and in order."""
        groups: Sequence[Written] = tuple(self._groups(words))
        spans = [group[1:] for group in groups]
        for hook in self._hooks:
            groups = hook(groups)
            assert [group[1:] for group in groups] == spans, f"{hook} has changed the spans of words"
        return tuple(groups)

    def text(self, text: str) -> str:
        """Return the written form of a text of spoken words; spaces that do not break are parts of words."""
        return text_of(self.written(_BREAK.split(text.strip(" \t\r\n")) if text else ()))

    def _groups(self, words: Sequence[str]) -> Iterator[Written]:
        tokens, at = Tokens.of(words), 0
        while at < len(tokens):
            text, end = self._match(tokens, at)
            begin, after = tokens.owners[at], tokens.owners[end - 1] + 1
            if text is None:
                yield from (Written(words[i], i, i + 1) for i in range(begin, after))
            else:
                yield Written(text, begin, after)
            at = end

    def _match(self, tokens: Tokens, at: int) -> tuple[str | None, int]:
        for rule in self._rules:
            match = rule(tokens, at)
            if match and tokens.whole(at, match.end):
                return match
        end = at + 1
        while end < len(tokens) and tokens.owners[end] == tokens.owners[at]:
            end += 1
        return None, end


def text_of(groups: Sequence[Written]) -> str:
    """Return the text of groups, a space between them."""
    return " ".join(group.text for group in groups)
