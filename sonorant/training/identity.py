"""A run's identity: the part of its recipe that may not change between two resumptions, kept in each checkpoint.

Options that are at their defaults are left out, so that a later version, which has more of them, resumes older runs.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from sonorant.recipe.schema import Recipe

__all__ = ["Identity", "identity"]

Identity: TypeAlias = Mapping[str, Any]

_SECTIONS = {"seed", "corpus", "text", "stages", "features", "model"}


def identity(recipe: Recipe) -> Identity:
    """Return data, features, units and model of a recipe as JSON values."""
    found: Identity = json.loads(recipe.model_dump_json(include=_SECTIONS, exclude_defaults=True))
    return found
