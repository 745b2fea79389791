"""A YAML document as plain values, with the file and line of each."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sonorant.errors import BadRecipe

__all__ = ["Document", "KeyPath", "Override", "apply_override", "dotted", "parse_document"]

_TOO_DEEP = "is nested too deeply, or refers to itself"

_NAMED = re.compile(r"\w+(?:\.\w+|\[\d+\])+|^\w+")  # keys in a message; a word behind its start may be any word

KeyPath = tuple[str | int, ...]


class Document(NamedTuple):
    """Plain values, file and line of each key path ("digits.yaml:12"), and faults of the syntax.

    overridden: the origin of each key path that was given outside the file.
    """

    values: dict[str, Any]
    positions: dict[KeyPath, str]
    faults: list[str]
    overridden: dict[KeyPath, str]

    def position(self, path: KeyPath) -> str:
        """Return file and line of `path`, or of the innermost key around it that was written."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, "")

    def named_position(self, message: str) -> str:
        """Return file and line of the first key of the file that `message` names; the file alone if it names none."""
        written = {dotted(path): where for path, where in self.positions.items() if path not in self.overridden}
        named = (written[key] for key in _NAMED.findall(message) if written.get(key))
        return next(named, re.sub(r":\d+$", "", self.positions.get((), "")))

    def overrides(self, path: KeyPath, message: str) -> list[str]:
        """Return the origins of overrides in the section `path` that its fault may come from.

        Those of the whole document are named by the `message`, as it has many that have no part in a fault.
        """
        below = [(known, origin) for known, origin in self.overridden.items() if known[: len(path)] == path != known]
        return list(dict.fromkeys(origin for known, origin in below if path or dotted(known) in message))


class Override(NamedTuple):
    """One value given outside the file: a dotted key, its YAML value, and its origin."""

    key: str
    value: str
    origin: str


def parse_document(text: str, name: str) -> Document:
    """Parse YAML 1.2; `name` is the file as errors show it. Raises BadRecipe when it is no YAML mapping."""
    node = _compose(text, name)
    if node is None:
        raise BadRecipe(f"{name}: is empty; a recipe starts with `version: 1` and a `name`")
    if not isinstance(node, MappingNode):
        raise BadRecipe(f"{name}:{_line(node)}: found {_kind(node)}, expected keys such as `version: 1`")
    document = Document({}, {(): f"{name}:{_line(node)}"}, [], {})
    document.values.update(_values(node, name, document))
    return document


def apply_override(document: Document, override: Override) -> None:
    """Set one value in `document`; the schema refuses an unknown key.

    An item of a list is named by its index, or by its `stage` or `name`: `stages.room.probability`.
    """
    where = override.origin
    node = _compose(override.value, where)
    inner = Document({}, {}, document.faults, {})
    value = None if node is None else _values(node, where, inner)
    path: KeyPath = ()
    current: Any = document.values
    parts = override.key.split(".")
    for i, part in enumerate(parts):
        step = _step(current, part)
        if step is None:
            document.faults.append(f"{where}: {'.'.join(parts[:i])} has no {part!r}{_items(current)}")
            return
        path = (*path, step)
        if i == len(parts) - 1:
            current[step] = value
        else:
            if isinstance(current, dict) and not isinstance(current.get(step), dict | list):
                current[step] = {}
                document.positions[path] = where
            current = current[step]
    for known in [known for known in document.positions if known[: len(path)] == path]:
        del document.positions[known]
        document.overridden.pop(known, None)
    document.positions[path] = document.overridden[path] = where


def _step(current: Any, part: str) -> str | int | None:
    if isinstance(current, dict):
        return part
    if not isinstance(current, list):
        return None
    if part.isdecimal() and int(part) < len(current):
        return int(part)
    for i, item in enumerate(current):
        if isinstance(item, dict) and part in (item.get("stage"), item.get("name")):
            return i
    return None


def _items(current: Any) -> str:
    """Return what a list has, by which an override may name its items; empty for anything else."""
    if not isinstance(current, list):
        return ""
    names = [item.get("stage") or item.get("name") for item in current if isinstance(item, dict)]
    return f"; it has {', '.join(str(name) for name in names if name) or f'{len(current)} items'}"


def _compose(text: str, name: str) -> Node | None:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        problem = " ".join(p for p in (error.context, error.problem) if p)
        raise BadRecipe(f"{name}{line}: is not YAML: {problem}") from error
    except YAMLError as error:
        raise BadRecipe(f"{name}: is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise BadRecipe(f"{name}: {_TOO_DEEP}") from error
    return node


def _values(node: Node, name: str, document: Document) -> Any:
    try:
        return _plain(node, (), name, document)
    except RecursionError as error:
        raise BadRecipe(f"{name}: {_TOO_DEEP}") from error


def _plain(node: Node, path: KeyPath, name: str, document: Document) -> Any:
    if path:
        document.positions.setdefault(path, f"{name}:{_line(node)}")
    if isinstance(node, MappingNode):
        return _mapping(node, path, name, document)
    if isinstance(node, SequenceNode):
        return [_plain(item, (*path, i), name, document) for i, item in enumerate(node.value)]
    return _scalar(node)


def _mapping(node: MappingNode, path: KeyPath, name: str, document: Document) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        position = f"{name}:{_line(key_node)}"
        key = str(key_node.value) if isinstance(key_node, ScalarNode) else _kind(key_node)
        here = (*path, key)
        if key in values:
            document.faults.append(
                f"{position}: {dotted(here)}: stands twice, first in {document.positions[here]}; keep one"
            )
            continue
        document.positions[here] = position
        values[key] = _plain(value_node, here, name, document)
    return values


def _scalar(node: Node) -> bool | int | float | str | None:
    """Give YAML's core types; anything else (a date, say) stays the text that was written."""
    text = str(node.value)
    match str(node.tag).rsplit(":", 1)[-1]:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return _number(text, _integer)
        case "float":
            return _number(text, _float)
        case _:
            return text


def _number(text: str, read: Callable[[str], float]) -> int | float | str:
    try:
        return read(text)
    except ValueError:  # a tag of the author's own, or thousands of digits
        return text


def _float(text: str) -> float:
    special = {".inf": "inf", "-.inf": "-inf", "+.inf": "inf", ".nan": "nan"}
    return float(special.get(text.lower(), text.replace("_", "")))


def _integer(text: str) -> int:
    digits = text.replace("_", "").lower()
    return int(digits, 0) if digits.lstrip("+-")[:2] in ("0x", "0o", "0b") else int(digits)


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _kind(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, SequenceNode) else f"the single value {str(node.value)[:40]!r}"


def dotted(path: Sequence[str | int]) -> str:
    """Format a key path: `stages[0].alpha`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
