"""The leaves of JSON values, such as a recipe's, by their paths."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["leaves"]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield path and value of everything below `value`, at `path`, that is no mapping or list with content."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    nested = list(items)
    for key, inner in nested:
        yield from leaves(inner, (*path, str(key)))
    if path and not nested:
        yield path, value
