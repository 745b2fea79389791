"""Export a run's model."""

from collections.abc import Sequence
from pathlib import Path

from sonorant.export.manifest import BadExport, read_manifest
from sonorant.export.versions import Export, content_sha256, ensemble_sha256, newest_version
from sonorant.recipe.differences import first_differences
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import read_units
from sonorant.training.checkpoint_average import averaged_checkpoint
from sonorant.training.identity import identity

__all__ = ["best_is_newer", "export_run"]


def export_run(run: RunFolder, which: str = "best", average: int = 1, others: Sequence[Path] = ()) -> Export:
    """Export a checkpoint of `run`: "best" (on dev), "latest", or a step's number; unless the newest version is it.

    It is, too, if its decoding was tuned since. average: the mean of so many checkpoints, see `averaged_checkpoint`.
    others: exported versions that make an ensemble with it. Raises BadCheckpoint, BadRecipe, BadCorpus or BadExport,
    naming what is missing or does not fit.
    """
    recipe = load_recipe(run.recipe)
    units = read_units(run.shards / "units.json")
    checkpoint = averaged_checkpoint(run.checkpoints, which, average)
    if found := first_differences(checkpoint.identity, identity(recipe)):
        raise BadExport(f"{run.recipe}: the checkpoint is of another recipe: {found}; train again")
    version, content = newest_version(run.exports / recipe.name)
    own = content_sha256(checkpoint.evaluated, recipe, units)
    if content == (ensemble_sha256([own, *(read_manifest(o).exported_sha256 for o in others)]) if others else own):
        return Export(run.exports / recipe.name / str(version), version, is_new=False)
    from sonorant.export.saved_ensemble import export_ensemble
    from sonorant.export.saved_language_model import export_language_model  # loads TensorFlow, which takes seconds
    from sonorant.export.saved_model import export_model
    from sonorant.export.warm_up import dev_recordings
    from sonorant.models.language_model import LanguageModel
    from sonorant.models.registry import build_model

    model = build_model(recipe.model, recipe.vector_bins, units.size)
    model.assign(checkpoint.evaluated)
    if checkpoint.progress.layers is not None:
        model.set_layers(checkpoint.progress.layers)
    if isinstance(model, LanguageModel):
        if others:
            raise BadExport(f"{run.recipe}: a language model joins no ensemble, which averages probabilities of speech")
        return export_language_model(model, recipe, units, run.exports)
    recordings, step = dev_recordings(run.shards), checkpoint.progress.step
    if others:
        return export_ensemble(model, others, recipe, units, run.exports, recordings, step)
    return export_model(model, recipe, units, run.exports, recordings, step)


def best_is_newer(run: RunFolder) -> bool:
    """Return whether the best checkpoint is of a later step than those that the newest version was exported from.

    False without a checkpoint or an exported version, and for versions that do not say their step.
    """
    folder = run.exports / load_recipe(run.recipe).name
    version, content = newest_version(folder)
    pointer = run.checkpoints / "best"
    if not (content and pointer.is_file()):
        return False
    exported, best = read_manifest(folder / str(version)).step, pointer.read_text().strip().removeprefix("step-")
    return exported is not None and best.isdecimal() and int(best) > exported
