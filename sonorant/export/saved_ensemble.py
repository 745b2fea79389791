"""Write a model and exported ones as an ensemble: a version that holds them all."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sonorant.corpus.record import Record
from sonorant.decoding import load_scorer
from sonorant.export.ensemble import check_members
from sonorant.export.language_model import copy_language_models
from sonorant.export.loading import load_exported, load_member
from sonorant.export.manifest import ENSEMBLE, MANIFEST, BadExport, checksums, member_folder, read_manifest
from sonorant.export.neural_language_model import load_language_model
from sonorant.export.saved_model import write_model
from sonorant.export.stability import add_stability
from sonorant.export.transcribe.obstacle import AN_ENSEMBLE
from sonorant.export.versions import Export, content_sha256, ensemble_sha256, next_version
from sonorant.export.warm_up import add_warm_up
from sonorant.models.family import Model
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.text.units import Units

__all__ = ["export_ensemble"]


def export_ensemble(
    model: Model,
    others: Sequence[Path],
    recipe: Recipe,
    units: Units,
    exports: Path,
    recordings: Sequence[Record] = (),
    step: int | None = None,
) -> Export:
    """Write `exports/<recipe.name>/<version>/`, as `export_model` does, with copies of the other exports in it.

    Decoding section and language model are the recipe's, for the average; those of members are not used. Raises
    BadExport for an export that is damaged, itself an ensemble, of other units or frames, or there twice; else as
    `export_model`.
    """
    load_scorer(units, recipe.decoding, recipe.text, Path(), load_language_model)
    content = content_sha256(model.named_weights(), recipe, units)
    alone = recipe.model_copy(update={"decoding": recipe.decoding.model_copy(update={"lm": None, "prior": None})})
    loaded = {other: load_member(other) for other in others}
    digests = [content, *(read_manifest(other).exported_sha256 for other in others)]
    with next_version(exports / recipe.name) as (draft, export):
        first = member_folder(draft, 0)
        first.mkdir(parents=True)
        write_model(first, model, alone, units, export.version, content, step)
        check_members({export.path: load_member(first)} | loaded)
        _check_distinct(digests, others)
        for number, other in enumerate(others, 1):
            shutil.copytree(other, member_folder(draft, number))
        (draft / "recipe.yaml").write_text(dump_recipe(copy_language_models(recipe, draft)), encoding="utf-8")
        (draft / "units.json").write_text(units.to_json(), encoding="utf-8")
        manifest = replace(
            read_manifest(first),
            content_sha256=ensemble_sha256(digests),
            files=checksums(draft),
            signature=ENSEMBLE,
            without_transcribe=AN_ENSEMBLE,
        )
        (draft / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        exported = load_exported(draft)
        add_warm_up(draft, exported, recordings)
        add_stability(draft, exported, recordings)
    return export


def _check_distinct(digests: Sequence[str], others: Sequence[Path]) -> None:
    """Raise BadExport, naming it, for a member that is one of those before; digests: of the first and the others."""
    for number, other in enumerate(others, 1):
        if digests[number] in digests[:number]:
            raise BadExport(f"{other}: the same model as an ensemble's member before it; expected one that differs")
