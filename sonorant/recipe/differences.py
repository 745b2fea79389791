"""Two recipes, or parts of them, that should be the same: which keys differ."""

from collections.abc import Mapping
from typing import Any

from sonorant.recipe.leaves import leaves

__all__ = ["differences", "first_differences"]

_FAMILY = "model.family"
_FIRST = 5


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return each key whose value differs, as `model.cells: 192 then, 256 now`; an absent one has its default.

    The model's family comes first, as the keys of one family are not those of another.
    """
    old, new = ({".".join(path): value for path, value in leaves(one)} for one in (then, now))
    return [
        f"{key}: {old.get(key, 'default')} then, {new.get(key, 'default')} now"
        for key in sorted(old.keys() | new.keys(), key=lambda key: (key != _FAMILY, key))
        if old.get(key) != new.get(key)
    ]


def first_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the first five differences in a line, and how many there are beyond; empty if there are none."""
    found = differences(then, now)
    more = f" and {len(found) - _FIRST} more" if len(found) > _FIRST else ""
    return "; ".join(found[:_FIRST]) + more
