"""The language model of an export: a copy below its folder, so that the export is complete without the original."""

import hashlib
import shutil
from pathlib import Path

from sonorant.export.manifest import BadExport
from sonorant.recipe import Recipe

__all__ = ["copy_language_model", "language_model_sha256"]


def copy_language_model(recipe: Recipe, folder: Path) -> Recipe:
    """Copy the recipe's language model into `folder`; return the recipe with the path of the copy, relative to it."""
    lm = recipe.decoding.lm
    if lm is None:
        return recipe
    name = f"lm{Path(lm.path).suffix}"
    shutil.copyfile(lm.path, folder / name)
    decoding = recipe.decoding.model_copy(update={"lm": lm.model_copy(update={"path": name})})
    return recipe.model_copy(update={"decoding": decoding})


def language_model_sha256(recipe: Recipe) -> bytes:
    """Return the digest of the recipe's language model, b"" without one; raises BadExport if it cannot be read."""
    lm = recipe.decoding.lm
    if lm is None:
        return b""
    try:
        with open(lm.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise BadExport(
            f"decoding.lm.path={lm.path}: {error.strerror}; `sonorant lm` makes a language model from text"
        ) from error
