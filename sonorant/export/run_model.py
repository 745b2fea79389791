"""Export what a run has trained."""

from pathlib import Path

from sonorant.dsp.features import FeatureExtractor
from sonorant.export.manifest import BadExport
from sonorant.export.saved_model import Export, export_model
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.recipe import Recipe
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units
from sonorant.training.checkpoints import fingerprint, load_checkpoint

__all__ = ["export_run"]


def export_run(run: RunFolder, which: str = "best") -> Export:
    """Export a checkpoint of `run`: "best" (on dev), "latest", or a step's number.

    Raises BadCheckpoint, BadRecipe or BadExport, saying what is missing or does not fit.
    """
    recipe = load_recipe(run.recipe)
    units = _units(run.shards / "units.json")
    checkpoint = load_checkpoint(run.checkpoints, which)
    if checkpoint.fingerprint != fingerprint(recipe):
        raise BadExport(
            f"{run.recipe}: the checkpoint was trained with another corpus, features, model or seed; train again"
        )
    model = _model(recipe, units)
    model.assign(checkpoint.evaluated)
    return export_model(model, recipe, units, run.exports)


def _model(recipe: Recipe, units: Units) -> LstmCtc:
    bins = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz).bins
    return LstmCtc(recipe.model, bins, units.size)


def _units(path: Path) -> Units:
    try:
        return Units.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadExport(f"{path}: {error.strerror}; expected the units that `sonorant prepare` wrote") from error
