"""The models under load: a run's, with and without its language model, or a made-up one."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from sonorant.errors import Unavailable
from sonorant.export.manifest import MANIFEST, checksums, read_manifest
from sonorant.export.versions import newest_version
from sonorant.recipe.loading import dump_recipe, load_recipe

__all__ = ["Model", "copy_version", "made_up_models", "models_of"]

_PLAIN = "without-lm"
_RECIPE = "recipe.yaml"


@dataclass(frozen=True, slots=True)
class Model:
    """A model's name for the recognizer, empty: the only one; and what sets it apart from the others, for cases."""

    name: str = ""
    label: str = ""


def models_of(exports: Path, folder: Path) -> list[Model]:
    """Copy the newest version of each model below `exports` to `folder`, one with a language model also without it."""
    models = []
    for path in sorted(path for path in exports.glob("*") if newest_version(path)[1]):
        copy_version(path / str(newest_version(path)[0]), copied := folder / path.name / "1")
        if load_recipe(copied / _RECIPE).decoding.lm is None:
            models.append(Model(path.name, path.name))
            continue
        _drop_language_model(copied, folder / f"{path.name}-{_PLAIN}" / "1")
        models += [
            Model(path.name, f"{path.name}, with LM"),
            Model(f"{path.name}-{_PLAIN}", f"{path.name}, without LM"),
        ]
    if not models:
        raise Unavailable(f"{exports}: no model to serve; make one with `sonorant export`")
    return [Model(models[0].name)] if len(models) == 1 else models


def made_up_models(folder: Path) -> list[Model]:
    """Write a model of the size of `recipes/digits.yaml` below `folder`; its weights output words now and then."""
    command = [sys.executable, "-m", "benchmarks.rigs.digits_export", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"no model could be made up: {done.stderr.strip()[-300:]}")
    return [Model()]


def copy_version(version: Path, copied: Path) -> None:
    """Copy a version's folder, which appears whole."""
    part = copied.with_name(f".{copied.name}")
    shutil.copytree(version, part)
    (part / MANIFEST).write_text(replace(read_manifest(part), version=int(copied.name)).to_json())
    part.rename(copied)


def _drop_language_model(version: Path, copied: Path) -> None:
    copy_version(version, copied)
    recipe = load_recipe(copied / _RECIPE)
    plain = recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"lm": None})})
    (copied / _RECIPE).write_text(dump_recipe(plain), encoding="utf-8")
    manifest = read_manifest(copied)
    (copied / MANIFEST).write_text(replace(manifest, files=checksums(copied)).to_json())
