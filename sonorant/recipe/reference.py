"""The reference of recipes as a page in Markdown, written from their JSON Schema: each key on a line of a table."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["reference"]

_HEAD = """# The recipe

Every section and key of a recipe, with type, default, range and meaning. This page is written from the schema by
`sonorant recipe reference`; `make verify` compares them.

A key without a default must be given. An *interval* is `{low: …, high: …}`, a uniform distribution over [low, high].
`--set corpus.sample_rate_hz=8000` changes one key, and so does the variable `SONORANT_CORPUS__SAMPLE_RATE_HZ=8000`;
an item of a list is named by its position, or by its `stage` or `name`: `--set stages.room.probability=0.5`.
"""
_INTERVAL = "Interval"
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}

_Schema = Mapping[str, Any]


class _Section(NamedTuple):
    title: str
    schema: _Schema

    @property
    def anchor(self) -> str:
        return "".join(c for c in self.title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def reference(schema: _Schema) -> str:
    """Return the page for the JSON Schema of `Recipe`; a section that stands in several others has one table."""
    sections: dict[str, _Section] = {}
    _collect(schema, "", schema["$defs"], sections)
    parts = [_HEAD, "## The whole\n", str(schema["description"]) + "\n", _table(schema, sections)]
    for section in sections.values():
        parts += [f"## {section.title}\n", section.schema["description"] + "\n", _table(section.schema, sections)]
    return "\n".join(parts)


def _collect(schema: _Schema, path: str, definitions: _Schema, found: dict[str, _Section]) -> None:
    """Add the sections below `schema`, depth first, under the names that they have in a recipe."""
    for key, value in schema["properties"].items():
        where = f"{path}.{key}" if path else key
        for name in _references(value):
            if name in found or name == _INTERVAL:
                continue
            title = f"`{where}`"
            for tag in ("stage", "family"):  # the members of a union are told apart by it
                if "const" in definitions[name]["properties"].get(tag, {}):
                    title = f"{key.removesuffix('s')} `{definitions[name]['properties'][tag]['const']}`"
            found[name] = _Section(title, definitions[name])
            _collect(definitions[name], where, definitions, found)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for key, inner in value.items():
            if key not in ("default", "discriminator"):
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _table(schema: _Schema, sections: Mapping[str, _Section]) -> str:
    required = set(schema.get("required", ()))
    rows = ["| key | type | default | range | meaning |", "| --- | --- | --- | --- | --- |"]
    for key, value in schema["properties"].items():
        default = "" if key in required else _default(value)
        meaning = value.get("description") or _meaning(value, sections)
        cells = (f"`{key}`", _type(value, sections), default, ", ".join(_ranges(value)), meaning)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*rows, ""])


def _meaning(value: _Schema, sections: Mapping[str, _Section]) -> str:
    """Return the description of the section that a key holds: pydantic leaves out the key's own if it is the same."""
    return next(str(sections[name].schema["description"]) for name in _references(value))


def _type(value: _Schema, sections: Mapping[str, _Section]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return "interval" if name == _INTERVAL else f"[{sections[name].title}](#{sections[name].anchor})"
    if "anyOf" in value or "oneOf" in value:
        return " or ".join(_type(one, sections) for one in value.get("anyOf") or value["oneOf"])
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if value["type"] == "array":
        if "prefixItems" in value:
            return "list of " + ", ".join(_type(one, sections) for one in value["prefixItems"])
        return f"list of {_type(value['items'], sections)}"
    if value["type"] == "object":
        return f"map of string to {_type(value['additionalProperties'], sections)}"
    return str(value["type"])


def _default(value: _Schema) -> str:
    default = value.get("default", {})
    if isinstance(default, Mapping):
        if set(default) == {"low", "high"}:
            return f"`{{low: {default['low']:g}, high: {default['high']:g}}}`"
        return "its defaults" if default or "$ref" in value else "`{}`"
    if isinstance(default, float):
        return f"`{default:.6g}`"
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def _ranges(value: _Schema) -> Iterator[str]:
    for one in value.get("anyOf", (value,)):
        yield from (f"{sign} {one[bound]:.10g}" for bound, sign in _BOUNDS.items() if bound in one)
        if "pattern" in one:
            yield f"`{one['pattern']}`"
        for inner in filter(None, (one.get("items"), one.get("additionalProperties") or None)):
            yield from (f"each {sign} {inner[bound]:.10g}" for bound, sign in _BOUNDS.items() if bound in inner)
    if "minItems" in value and "prefixItems" not in value:
        yield f"at least {value['minItems']}"
    if "maxItems" in value and "prefixItems" not in value:
        yield f"at most {value['maxItems']}"
