"""Two recipes, or parts of them, that should be the same: which keys differ."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticUndefined

from sonorant.recipe.leaves import leaves
from sonorant.recipe.schema import Recipe
from sonorant.recipe.sections import sections_in, tags_of
from sonorant.section import Section

__all__ = ["differences", "first_differences"]

_FAMILY = ("model", "family")
_FIRST = 5
_UNKNOWN = "default"


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return each key whose value differs, as `model.cells: 192 then, 256 now`; an absent one has its default.

    The model's family comes first, as the keys of one family are not those of another.
    """
    old, new = dict(leaves(then)), dict(leaves(now))
    sections = {path[:length] for path in (*old, *new) for length in range(1, len(path))}  # {} is one without keys
    return [
        f"{'.'.join(path)}: {_value(path, then, old)} then, {_value(path, now, new)} now"
        for path in sorted((old.keys() | new.keys()) - sections, key=lambda path: (path != _FAMILY, path))
        if old.get(path) != new.get(path)
    ]


def _value(path: tuple[str, ...], values: Mapping[str, Any], found: Mapping[tuple[str, ...], Any]) -> str:
    return str(found[path]) if path in found else _default(path, values)


def _default(path: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return the value, in words, of a key that a recipe's `values` lack; "default" where the schema gives none."""
    sections: list[type[Section]] = [Recipe]
    for i, part in enumerate(path):
        field = next((section.model_fields[part] for section in sections if part in section.model_fields), None)
        if field is None:
            break
        if part not in values:
            return _inside(field.get_default(call_default_factory=True), path, i + 1)
        values = values[part]
        if not isinstance(values, Mapping):
            break
        sections = _chosen(list(sections_in(field.annotation)), values)
    return _UNKNOWN


def _chosen(sections: list[type[Section]], values: Mapping[str, Any]) -> list[type[Section]]:
    """Return the section of a union that `values` name, or the first one's."""
    return [
        section
        for section in sections
        for kind, tags in [tags_of(section)]
        if not kind or values.get(kind, tags_of(sections[0])[1][0]) in tags
    ]


def _inside(default: Any, path: tuple[str, ...], known: int) -> str:
    """Return, in words, the value at `path` in the default of its first `known` parts."""
    for i, part in enumerate(path[known:], known):
        if default is None:
            return f"no {'.'.join(path[:i])}"
        default = getattr(default, part, PydanticUndefined)
    return _UNKNOWN if default is PydanticUndefined else f"{default} (default)"


def first_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the first five differences in a line, and how many there are beyond; empty if there are none."""
    found = differences(then, now)
    more = f" and {len(found) - _FIRST} more" if len(found) > _FIRST else ""
    return "; ".join(found[:_FIRST]) + more
