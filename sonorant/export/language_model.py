"""Language model and prior of an export: copies below its folder, so that it is complete without the originals."""

import hashlib
import shutil
from pathlib import Path

from sonorant.export.manifest import BadExport, read_manifest
from sonorant.recipe import Recipe

__all__ = ["copy_language_models", "language_model_paths", "language_models_sha256"]

_SECTIONS = ("lm", "prior")  # of decoding; each has a path


def copy_language_models(recipe: Recipe, folder: Path) -> Recipe:
    """Copy the models of the recipe into `folder`; return the recipe with the paths of the copies, relative to it."""
    changed = {}
    for name, path in _paths(recipe).items():
        copy = name if path.is_dir() else f"{name}{path.suffix}"
        if path.is_dir():
            shutil.copytree(path, folder / copy)
        else:
            shutil.copyfile(path, folder / copy)
        changed[name] = getattr(recipe.decoding, name).model_copy(update={"path": copy})
    return recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update=changed)})


def language_models_sha256(recipe: Recipe) -> bytes:
    """Return the digests of the models of the recipe, b"" without any; raises BadExport if one cannot be read."""
    digests = b""
    for name, path in _paths(recipe).items():
        if path.is_dir():
            digests += bytes.fromhex(read_manifest(path).content_sha256)
            continue
        try:
            with open(path, "rb") as file:
                digests += hashlib.file_digest(file, "sha256").digest()
        except OSError as error:
            raise BadExport(
                f"decoding.{name}.path={path}: {error.strerror}; `sonorant lm` makes a language model from text"
            ) from error
    return digests


def language_model_paths(recipe: Recipe, folder: Path) -> dict[str, Path]:
    """Return the path, below `folder`, of each model of the recipe by its section of decoding."""
    return {name: folder / path for name, path in _paths(recipe).items()}


def _paths(recipe: Recipe) -> dict[str, Path]:
    sections = {name: getattr(recipe.decoding, name) for name in _SECTIONS}
    return {name: Path(section.path) for name, section in sections.items() if section is not None}
