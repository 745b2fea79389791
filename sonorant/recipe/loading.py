"""Recipes from and to YAML files."""

import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from sonorant.errors import BadRecipe, Unavailable
from sonorant.recipe.document import Document, Override, apply_override, parse_document
from sonorant.recipe.faults import nul_faults, schema_faults, version_fault
from sonorant.recipe.schema import Recipe
from sonorant.section import Interval

__all__ = ["check_recipe", "dump_recipe", "load_recipe", "override_recipe"]

_NEVER_FOLDED = 2**31  # columns: a quoted string that ruamel folds beside control characters gains a space
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")  # anything else is quoted: ruamel misreads a plain ?x in a list


def load_recipe(path: Path, overrides: Iterable[Override] = ()) -> Recipe:
    """Read and check a recipe; later overrides win over earlier ones, and all of them over the file.

    Raises BadRecipe that lists every fault as `file:line: key: what, expected, nearest right key`.
    """
    document = parse_document(_text(path), str(path))
    for override in overrides:
        apply_override(document, override)
    return _checked(document)


def override_recipe(recipe: Recipe, overrides: Iterable[Override]) -> Recipe:
    """Return a recipe with overrides, later ones over earlier ones; raises BadRecipe as `load_recipe`."""
    document = parse_document(dump_recipe(recipe), recipe.name)
    for override in overrides:
        apply_override(document, override)
    return _checked(document)


def check_recipe(values: object, name: str) -> Recipe:
    """Return the recipe that a larger document has at `name`, such as a chart's values; raises BadRecipe as above."""
    if not isinstance(values, Mapping):
        raise BadRecipe(f"{name}: found {json.dumps(values, default=str)}, expected keys such as `version: 1`")
    return _checked(Document(dict(values), {(): name}, [], {}))


def _checked(document: Document) -> Recipe:
    if fault := version_fault(document):
        raise BadRecipe(fault)
    document.faults.extend(nul_faults(document))
    try:
        # As JSON, because pydantic's strict mode takes lists for tuples there, and still no string for a number.
        recipe = Recipe.model_validate_json(json.dumps(_renamed(document.values), default=str), strict=True)
    except ValidationError as error:
        raise _bad(document, schema_faults(error, document)) from error
    if document.faults:
        raise _bad(document, [])
    return recipe


def _renamed(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take keys by the names that they once had, and name the model's family where there was only one."""
    sections: dict[str, Any] = {}
    if isinstance(model := values.get("model"), Mapping):
        sections["model"] = {"family": "lstm_ctc"} | {"family" if k == "kind" else k: v for k, v in model.items()}
    if isinstance(text := values.get("text"), Mapping) and "pieces" not in text:
        sections["text"] = {"pieces" if key == "bpe_units" else key: value for key, value in text.items()}
    corpus = values.get("corpus")
    if isinstance(corpus, Mapping) and isinstance(strings := corpus.get("strings"), Mapping):
        words = {"digits_min": "words_min", "digits_max": "words_max"}  # strings were of digits only
        sections["corpus"] = {**corpus, "strings": {words.get(key, key): value for key, value in strings.items()}}
    return {**values, **sections}


def dump_recipe(recipe: Recipe) -> str:
    """Return the resolved recipe, defaults included, as YAML that `load_recipe` reads back to an equal recipe."""
    yaml = YAML(typ="rt", pure=True)
    yaml.width = _NEVER_FOLDED
    buffer = io.StringIO()
    yaml.dump(_laid_out(recipe.model_dump(mode="json")), buffer)
    return buffer.getvalue()


def _laid_out(value: Any) -> Any:
    """Set short values on one line, such as an interval or a list of numbers; keep the schema's order."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return DoubleQuotedScalarString(value)
    if not isinstance(value, dict | list):
        return value
    if isinstance(value, dict):
        laid_out: CommentedMap | CommentedSeq = CommentedMap((key, _laid_out(inner)) for key, inner in value.items())
        short = set(value) <= set(Interval.model_fields)
    else:
        laid_out = CommentedSeq(_laid_out(inner) for inner in value)
        short = not any(isinstance(inner, dict | list) for inner in value)
    if short:
        laid_out.fa.set_flow_style()
    return laid_out


def _bad(document: Document, faults: list[str]) -> BadRecipe:
    return BadRecipe("\n".join([*document.faults, *faults]))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadRecipe(f"{path}: no such file; give the path of a recipe, such as recipes/digits.yaml") from error
    except UnicodeDecodeError as error:
        raise BadRecipe(f"{path}: is not YAML: byte {error.start} is not UTF-8 text") from error
    except (PermissionError, IsADirectoryError, NotADirectoryError) as error:
        raise BadRecipe(f"{path}: cannot be read: {error.strerror}") from error
    except OSError as error:
        raise Unavailable(f"{path}: cannot be read: {error.strerror}; is its volume mounted and sound?") from error
