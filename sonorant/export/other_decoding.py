"""The next version of an exported model, which differs in the decoding of its recipe alone."""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sonorant.corpus.record import Record
from sonorant.export.language_model import copy_language_models, language_model_paths, language_models_sha256
from sonorant.export.manifest import (
    BEFORE_TRANSCRIBE,
    ENSEMBLE,
    MANIFEST,
    Manifest,
    checksums,
    name_and_version,
    read_manifest,
    verify_files,
)
from sonorant.export.transcribe.obstacle import obstacle
from sonorant.export.versions import Export, next_version
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe, load_recipe
from sonorant.serving.warm_up import WARM_UP
from sonorant.text.units import read_units

__all__ = ["export_with_decoding"]

_RECIPE = "recipe.yaml"


def export_with_decoding(folder: Path, recipe: Recipe, recordings: Sequence[Record] = ()) -> Export:
    """Write the next version beside that in `folder`, with the decoding of this recipe; unless it has the same.

    The recorded requests have the transcripts of that decoding. recipe: paths of its language models are absolute, or
    below the working folder; these are copied, and so is the model. recordings: of dev, on which the stability of
    interim results is measured anew; without any it stays that of the decoding before. Raises BadExport for damage,
    Unavailable as `next_version`.
    """
    manifest = read_manifest(folder)
    verify_files(folder, manifest)
    before = load_recipe(folder / _RECIPE)
    recipe = before.model_copy(update={"decoding": recipe.decoding})
    copies = language_model_paths(before, folder)
    if _searching(recipe) == _searching(_located(before, copies)):
        return Export(folder, name_and_version(folder, manifest)[1], is_new=False)
    with next_version(folder.parent) as (draft, export):
        left_out = {folder / MANIFEST, folder / _RECIPE, *copies.values()}
        shutil.copytree(folder, draft, ignore=partial(_among, left_out), dirs_exist_ok=True)
        (draft / _RECIPE).write_text(dump_recipe(copy_language_models(recipe, draft)), encoding="utf-8")
        why_not = _transcribing(folder, manifest, recipe, draft)
        content = hashlib.sha256(f"{manifest.content_sha256}{_searching(recipe)}".encode()).hexdigest()
        changed = replace(
            manifest,
            version=export.version,
            content_sha256=content,
            before_tuning_sha256=manifest.exported_sha256,
            files=checksums(draft),
            without_transcribe=why_not,
        )
        (draft / MANIFEST).write_text(changed.to_json(), encoding="utf-8")
        if recordings or (draft / WARM_UP).exists():
            _recognize_anew(draft, recordings)
    return export


def _recognize_anew(folder: Path, recordings: Sequence[Record]) -> None:
    from sonorant.export.loading import load_exported
    from sonorant.export.stability import add_stability
    from sonorant.export.warm_up import renew_warm_up

    model = load_exported(folder)
    renew_warm_up(folder, model)
    add_stability(folder, model, recordings)


def _transcribing(folder: Path, manifest: Manifest, recipe: Recipe, draft: Path) -> str:
    """Give the model in `draft`, a copy of that in `folder`, the recipe's signature `transcribe`; return why not."""
    if manifest.signature == ENSEMBLE or manifest.without_transcribe == BEFORE_TRANSCRIBE:
        return manifest.without_transcribe
    units = read_units(folder / "units.json")
    why_not = obstacle(manifest.search, recipe, units)
    if not (why_not and manifest.without_transcribe):
        from sonorant.export.transcribe.resaved import resave  # loads TensorFlow, which takes seconds

        resave(folder, draft, recipe, units, transcribes=not why_not)
    return why_not


def _among(left_out: set[Path], folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder) / name in left_out]


def _searching(recipe: Recipe) -> str:
    """Return what determines the search: the section without paths, and the language models' digests."""
    section = recipe.decoding.model_dump_json(exclude={"lm": {"path"}, "prior": {"path"}})
    return section + language_models_sha256(recipe).hex()


def _located(recipe: Recipe, paths: dict[str, Path]) -> Recipe:
    """Return the recipe with these paths of its language models, by section."""
    changed = {
        name: getattr(recipe.decoding, name).model_copy(update={"path": str(path)}) for name, path in paths.items()
    }
    return recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update=changed)})
