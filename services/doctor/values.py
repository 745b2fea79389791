"""Whether values have the shape that the chart's schema gives them: what Helm would refuse, said before it is tried."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["misshapen"]

_Schema = Mapping[str, Any]


def misshapen(values: Any, schema: _Schema) -> list[str]:
    """Return a sentence for each key that the schema does not know, and each section that is none.

    The recipe has checks of its own, and single values are left to Helm.
    """
    return list(_walk(values, schema, schema, ""))


def _walk(value: Any, node: _Schema, schema: _Schema, path: str) -> Iterator[str]:
    node = _resolved(value, node, schema)
    known, others = node.get("properties", {}), node.get("additionalProperties")
    if node.get("type") != "object" or path == "recipe.":
        return
    if not isinstance(value, Mapping):
        yield f"{path[:-1]}: found {json.dumps(value)}, expected keys and values"
        return
    for key, inner in value.items():
        if key in known:
            yield from _walk(inner, known[key], schema, f"{path}{key}.")
        elif isinstance(others, Mapping):
            yield from _walk(inner, others, schema, f"{path}{key}.")
        elif others is False:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.6)
            advice = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
            yield f"{path}{key}: unknown key; {advice}"


def _resolved(value: Any, node: _Schema, schema: _Schema) -> _Schema:
    """Return what a node says of a value: of the alternatives, null's for null."""
    if "anyOf" in node:
        nulls = [branch for branch in node["anyOf"] if branch.get("type") == "null"]
        others = [branch for branch in node["anyOf"] if branch.get("type") != "null"]
        node = nulls[0] if value is None and nulls else others[0]
    if "$ref" in node:
        found: _Schema = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        return found
    return node
