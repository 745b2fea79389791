"""The versions of an exported model, and their digests; without TensorFlow, which takes seconds."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.atomic import atomic_folder
from sonorant.export.language_model import language_models_sha256
from sonorant.export.manifest import BadExport, read_manifest, verify_files
from sonorant.recipe import Recipe
from sonorant.serving.labels import LABELS
from sonorant.text.units import Units

__all__ = ["Export", "content_sha256", "ensemble_sha256", "newest_version", "newest_versions", "next_version"]


@dataclass(frozen=True, slots=True)
class Export:
    """Where the model is; `is_new` is False when the newest version has the same weights, recipe and units.

    The newest version's decoding may have been tuned since.
    """

    path: Path
    version: int
    is_new: bool


# Changes where recognizers come to compute exports otherwise, so that `sonorant export` writes them anew.
_COMPUTATION = b"4"


def content_sha256(weights: Mapping[str, NDArray[np.float32]], recipe: Recipe, units: Units) -> str:
    """Return the digest of all that determines a model's transcripts; independent of the order of `weights`.

    Exports of before, which are computed otherwise, have others. Raises BadExport if the recipe's language model cannot
    be read.
    """
    digest = hashlib.sha256(_COMPUTATION)
    for name, array in sorted(weights.items()):
        digest.update(f"{name}{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(recipe.model_dump_json(exclude={"pipeline", "training", "tracking"}).encode())
    digest.update(units.to_json().encode())
    digest.update(language_models_sha256(recipe))
    return digest.hexdigest()


def ensemble_sha256(members: Sequence[str]) -> str:
    """Return the digest of an ensemble; members: their digests, of which the first has recipe and units of all."""
    return hashlib.sha256(" ".join(members).encode()).hexdigest()


def newest_version(folder: Path) -> tuple[int, str]:
    """Return the newest version of the model in `folder`, 0 if there is none, and its digest when it was exported.

    A copy with tuned decoding has that of the version before. The digest is "", unlike any other, if a file of the
    version is missing or damaged.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    version = max((int(name) for name in names if name.isdecimal()), default=0)
    try:
        manifest = read_manifest(folder / str(version))
        verify_files(folder / str(version), manifest)
    except BadExport:
        return version, ""
    return version, manifest.exported_sha256


@contextmanager
def next_version(folder: Path) -> Iterator[tuple[Path, Export]]:
    """Yield an empty folder to fill, and the version of the model in `folder` that it becomes at the end, atomically.

    Raises Unavailable if the file system refuses, or another process has written this version meanwhile.
    """
    version = newest_version(folder)[0] + 1
    path = folder / str(version)
    with atomic_folder(path, replaces=False) as draft:
        yield draft, Export(path, version, is_new=True)


def newest_versions(exports: Path) -> dict[str, str]:
    """Return the newest version, NAME/VERSION, of each model by its name; none where labels say which is served."""
    if any(exports.glob(f"[!.]*/{LABELS}")):
        return {}
    found = {path.name: newest_version(path)[0] for path in exports.glob("[!.]*") if path.is_dir()}
    return {name: f"{name}/{version}" for name, version in found.items() if version}
