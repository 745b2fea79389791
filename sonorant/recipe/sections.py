"""The sections of the configuration tree by their place in it."""

from collections.abc import Iterator
from typing import Any, get_args

from sonorant.recipe.document import KeyPath
from sonorant.section import Section

__all__ = ["sections_at", "sections_in", "tags_of"]


def sections_at(location: KeyPath, root: type[Section]) -> list[type[Section]]:
    """Return the sections that may stand at a location, which has the tags of unions, as pydantic's; of a list, too."""
    sections: list[type[Section]] = [root]
    for part in location:
        if inner := [s.model_fields[part].annotation for s in sections if part in s.model_fields]:
            sections = [section for annotation in inner for section in sections_in(annotation)]
        elif isinstance(part, str):  # the tag of a union
            sections = [section for section in sections if part in tags_of(section)[1]]
    return sections


def sections_in(annotation: Any) -> Iterator[type[Section]]:
    """Yield the sections of a field's annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from sections_in(inner)


def tags_of(section: type[Section]) -> tuple[str, tuple[str, ...]]:
    """Return the key by which a union tells a section from others, and its values there; empty for other sections."""
    kind = next((name for name in ("stage", "family") if name in section.model_fields), "")
    return kind, get_args(section.model_fields[kind].annotation) if kind else ()
