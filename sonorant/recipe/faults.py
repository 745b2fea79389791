"""What is wrong with a recipe, a line each: file and line, key, found, expected, nearest key."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sonorant.recipe.document import Document, KeyPath, dotted
from sonorant.recipe.other_names import OTHER_NAMES
from sonorant.recipe.schema import VERSION, Recipe
from sonorant.recipe.sections import sections_at, sections_in, tags_of
from sonorant.section import Section

__all__ = ["nul_faults", "schema_faults", "version_fault"]

_CUTOFF = 0.6  # likeness of a misspelled key or value to the right one
_FAMILY_CUTOFF = 0.9  # a name of another family is no misspelling: conformer is none of transformer_lm
_MOST_OUTLINED = 3


def version_fault(document: Document) -> str | None:
    """Return the fault of `version`, or None; a recipe of another version is not checked further."""
    found = document.values.get("version")
    if found == VERSION or not isinstance(found, int) or isinstance(found, bool):
        return None
    position = document.position(("version",))
    if found > VERSION:
        return f"{position}: version: {found} is newer than this sonorant reads ({VERSION}); update sonorant"
    return f"{position}: version: {found} is older than this sonorant reads ({VERSION}); see `sonorant recipe schema`"


def nul_faults(document: Document) -> list[str]:
    """Return one line per text with a NUL character, which no path has, and no word."""
    return [
        f"{document.position(path)}: {dotted(path)}={_shown(text)}: has a NUL character (U+0000); leave it out"
        for path, text in _texts(document.values)
        if "\0" in text
    ]


def _texts(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _texts(inner, (*path, key))


def schema_faults(error: ValidationError, document: Document, root: type[Section] = Recipe) -> list[str]:
    """Return one line per fault, in the order of pydantic's report; root: the section that the document is read as."""
    lines: dict[tuple[str, str], list[str]] = {}
    for details in _faults(error):
        path = _written_path(details["loc"], document.values)
        key = dotted(path)
        valued = details["type"] != "extra_forbidden" or _tags_that_know(details["loc"], root)
        if valued and details["type"] != "missing" and not isinstance(details["input"], dict | list):
            key = f"{key}={_shown(details['input'])}"
        message = _message(details, path, root)
        between_sections = not path and details["type"] == "value_error"
        position = document.named_position(message) if between_sections else document.position(path)
        position = ", ".join(dict.fromkeys([position, *document.overrides(path, message)]))
        messages = lines.setdefault((position, key), [])
        if message not in messages:
            messages.append(message)
    return [
        f"{position}: {key}: {', or '.join(messages)}" if key else f"{position}: {messages[0]}"
        for (position, key), messages in lines.items()
    ]


def _faults(error: ValidationError) -> list[ErrorDetails]:
    """Return pydantic's faults, without those of lists that are too short because their items are at fault."""
    faults = error.errors(include_url=False)
    return [
        fault
        for fault in faults
        if fault["type"] != "too_short"
        or not any(other["loc"][: len(fault["loc"])] == fault["loc"] != other["loc"] for other in faults)
    ]


def _message(details: ErrorDetails, path: KeyPath, root: type[Section]) -> str:
    match details["type"]:
        case "extra_forbidden":
            return _of_a_key_not_known_here(details["loc"], path, root)
        case "missing":
            return "is missing and has no default"
        case "union_tag_not_found":
            tag = details["ctx"]["discriminator"].strip("'")
            return f"names no {tag}; start it with `{tag}: …`"
        case "union_tag_invalid":
            tag, tags = details["ctx"]["tag"], details["ctx"]["expected_tags"]
            cutoff = _FAMILY_CUTOFF if details["ctx"]["discriminator"] == "'family'" else _CUTOFF
            return f"found {tag!r}, expected one of {tags}{_nearest(tag, tags, cutoff)}"
        case "literal_error":
            return f"must be {details['ctx']['expected']}{_nearest(details['input'], details['ctx']['expected'])}"
        case "string_pattern_mismatch":
            return f"must match {details['ctx']['pattern']}"
        case "too_short":
            return f"must have at least {details['ctx']['min_length']} of them, found {details['ctx']['actual_length']}"
        case "model_type":
            return f"must be {_outline(sections_at(details['loc'], root))}"
        case _:
            return details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")


def _outline(sections: Sequence[type[Section]]) -> str:
    """Show the keys that a section has, in place of whose keys a single value or a list stands."""
    names = list(dict.fromkeys(name for section in sections for name in section.model_fields))
    shown = [f"{name}: …" for name in names[:_MOST_OUTLINED]]
    return f"{{{', '.join(shown)}{', …' if len(names) > len(shown) else ''}}}"


def _nearest(wrong: object, expected: str, cutoff: float = _CUTOFF) -> str:
    """Name the nearest of the values that pydantic lists in quotes, if one is near."""
    near = difflib.get_close_matches(str(wrong), re.findall("'([^']*)'", expected), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


def _written_path(location: KeyPath, values: Any) -> KeyPath:
    """Drop from pydantic's location the tags of unions, which nobody wrote."""
    path: KeyPath = ()
    current = values
    for i, part in enumerate(location):
        written = isinstance(part, int) if isinstance(current, list) else isinstance(current, dict) and part in current
        if written:
            current = current[part]
        elif not isinstance(current, dict) or i < len(location) - 1:
            continue
        path = (*path, part)
    return path


def _of_a_key_not_known_here(location: KeyPath, path: KeyPath, root: type[Section]) -> str:
    knowing = _tags_that_know(location, root)
    if not knowing:
        return f"unknown key; {_advice(location, path, root)}"
    here = sections_at(location[:-1], root)
    (kind, _), *_ = map(tags_of, here)
    return (
        f"no key of {dotted((*path[:-1], kind))}={location[-2]}, but of {', '.join(knowing)}; "
        f"known here: {', '.join(sorted({name for section in here for name in section.model_fields}))}"
    )


def _tags_that_know(location: KeyPath, root: type[Section]) -> list[str]:
    """Return the families, or stages, that have the key at `location`, which the one there lacks."""
    if len(location) < 2:
        return []
    *around, tag, wrong = location
    siblings = [(section, tags_of(section)[1]) for section in sections_at(tuple(around), root)]
    if not any(tag in tags for _, tags in siblings):
        return []
    return [name for section, tags in siblings if wrong in section.model_fields for name in tags]


def _advice(location: KeyPath, path: KeyPath, root: type[Section]) -> str:
    """Name the key for another toolkit's, else the nearest of this section, else the same elsewhere, else all of it.

    location: pydantic's, with the tags of unions; path: as it is written.
    """
    wrong = str(path[-1])
    here = sorted({name for section in sections_at(location[:-1], root) for name in section.model_fields})
    keys = list(_all_keys(root, ""))
    meant = OTHER_NAMES.get(wrong, "")
    section, _, name = meant.rpartition(".")
    if name in here and section == dotted(path[:-1]):
        return f"did you mean {name}?"
    if meant in keys and section != dotted(path[:-1]):
        return f"did you mean {meant}?"
    if near := difflib.get_close_matches(wrong, here, n=1, cutoff=_CUTOFF):
        return f"did you mean {near[0]}?"
    same = [key for key in keys if key.rsplit(".", 1)[-1] == wrong]
    if elsewhere := [key for key in same if key != dotted(path)]:
        return f"did you mean {elsewhere[0]}?"
    return f"known here: {', '.join(here)}"


def _all_keys(section: type[Section], prefix: str) -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield prefix + name
        for inner in sections_in(field.annotation):
            yield from _all_keys(inner, f"{prefix}{name}.")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
