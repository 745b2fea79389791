"""A hook for casing: the first letter of a result.

A hook of a punctuation model has the same form.
"""

from collections.abc import Sequence

from sonorant.text.formatting.formatter import Written

__all__ = ["sentence_case"]


def sentence_case(groups: Sequence[Written]) -> Sequence[Written]:
    """Return the groups with an upper-case letter at the beginning, unless they begin with a figure."""
    if not groups:
        return groups
    first, *rest = groups
    return (first._replace(text=first.text[:1].upper() + first.text[1:]), *rest)
