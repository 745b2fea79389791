"""Validates values against the chart's schema, as Helm will."""

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from kubernetes.utils import parse_quantity

__all__ = ["misshapen", "unfit_release"]

_RELEASE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")  # Helm's rule
_PLAIN = re.compile(r"[\w/-]+")
_HUGE = re.compile(r"^[0-9.]+[eE][0-9]+$")
_MOST = 2**63
_LONGEST_RELEASE = 53  # Helm's limit

_EXAMPLES = ("512Mi", "500m", "s3://BUCKET/runs", "https://HOST:9000", "redis://:PASSWORD@HOST:6379/0", "a-name")
_TYPES = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false"}
_TYPES |= {"object": "keys and values", "array": "a list", "null": "null"}


def misshapen(values: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each value that the schema refuses: key, found, expected.

    The chart has defaults of all keys. The recipe has checks of its own.
    """
    given = {key: value for key, value in values.items() if key != "recipe"}
    found = [fault for error in Draft202012Validator(schema).iter_errors(given) for fault in _faults(error)]
    return [*dict.fromkeys(found), *_uncountable(given, "")]


def unfit_release(name: str) -> str:
    """Return why Helm refuses a release of this name; empty if it does not."""
    if len(name) > _LONGEST_RELEASE:
        return f"found {len(name)} characters, expected at most {_LONGEST_RELEASE}"
    if not _RELEASE.fullmatch(name):
        return "expected lower-case letters, digits, '-' and '.', at both ends of each part a letter or a digit"
    return ""


def _faults(error: ValidationError) -> Iterator[str]:
    path = _path(error)
    if error.validator == "required" or (error.instance is None and _taken_away(error)):
        return
    if error.validator == "anyOf":
        branches = [e for e in error.context if error.schema["anyOf"][e.schema_path[0]] != {"type": "null"}]
        deeper = [e for e in branches if e.validator != "type" or len(e.relative_path)]
        if deeper and not isinstance(error.instance, str | int | float):
            for inner in deeper:
                yield from _faults(inner)
            return
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        for key in (key for key in error.instance if key not in known):
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.6)
            advice = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
            yield f"{_below(path, key)}: unknown key; {advice}"
        return
    expected = "another key" if "propertyNames" in error.absolute_schema_path else _expected(error.schema)
    yield f"{path}: found {json.dumps(error.instance, default=str)}, expected {expected}"


def _taken_away(error: ValidationError) -> bool:
    """Whether null removes a resource's default, as in Helm."""
    path = list(error.absolute_path)
    return len(path) > 1 and path[-2] in ("requests", "limits", "nodeSelector", "annotations", "labels")


def _path(error: ValidationError) -> str:
    path = ""
    for part in error.absolute_path:
        path = _below(path, part)
    return path


def _below(path: str, part: Any) -> str:
    """Return the path of an item or a key; an ambiguous key is quoted."""
    if isinstance(part, int):
        return f"{path}[{part}]" if path else str(part)
    key = str(part)
    return f"{path}{'.' * bool(path)}{key if _PLAIN.fullmatch(key) else json.dumps(key)}"


def _expected(schema: Mapping[str, Any]) -> str:
    """Return a schema's requirement of a single value, in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_expected(branch) for branch in schema["anyOf"]))
    if "$ref" in schema:
        return _TYPES["object"]
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else str(choices[0])
    kinds = schema.get("type", "another value")
    says = " or ".join(_TYPES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))
    bounds = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "minItems": "with at least"}
    says += "".join(f", {word} {schema[key]:g}" for key, word in bounds.items() if key in schema)
    if (pattern := schema.get("pattern")) is not None:
        example = next((text for text in _EXAMPLES if re.search(pattern, text)), None)
        says += f" such as {example}" if example else f" that matches {pattern}"
    return says


def _uncountable(value: Any, path: str, *, quantity: bool = False) -> Iterator[str]:
    """Yield errors that a schema cannot express: numbers of YAML that JSON lacks, and quantities beyond Kubernetes'."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{path}: found {value}, expected a finite number"
    elif quantity and isinstance(value, str | int | float) and not _counts(value):
        yield f"{path}: found {json.dumps(value)}, expected a quantity below 2^63"
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        named = path.rpartition(".")[2] in ("requests", "limits") or key in ("size", "sizeLimit")
        yield from _uncountable(inner, _below(path, key), quantity=named)


def _counts(quantity: str | float) -> bool:
    try:
        return bool(parse_quantity(quantity) < _MOST)
    except ValueError:
        return not re.search(_HUGE, str(quantity))  # the schema refuses other texts
