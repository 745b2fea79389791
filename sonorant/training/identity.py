"""A run's identity: the part of its recipe that may not change between two resumptions, kept in each checkpoint.

Options that are at their defaults are left out, so that a later version, which has more of them, resumes older runs.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from sonorant.recipe.leaves import leaves
from sonorant.recipe.schema import Recipe

__all__ = ["Identity", "differences", "identity"]

Identity: TypeAlias = Mapping[str, Any]

_FAMILY = "model.family"
_SECTIONS = {"seed", "corpus", "text", "stages", "features", "model"}


def identity(recipe: Recipe) -> Identity:
    """Return data, features, units and model of a recipe as JSON values."""
    found: Identity = json.loads(recipe.model_dump_json(include=_SECTIONS, exclude_defaults=True))
    return found


def differences(then: Identity, now: Identity) -> list[str]:
    """Return each key whose value differs, as `model.cells: 192 then, 256 now`; an absent one has its default.

    The model's family comes first, as the keys of one family are not those of another.
    """
    old, new = ({".".join(path): value for path, value in leaves(one)} for one in (then, now))
    return [
        f"{key}: {old.get(key, 'default')} then, {new.get(key, 'default')} now"
        for key in sorted(old.keys() | new.keys(), key=lambda key: (key != _FAMILY, key))
        if old.get(key) != new.get(key)
    ]
