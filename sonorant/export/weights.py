"""The weights of an exported model, by name."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.export.manifest import ENSEMBLE, BadExport, member_folder, read_manifest, verify_files
from sonorant.models.registry import build_model
from sonorant.recipe.loading import load_recipe
from sonorant.tensorflow import tf
from sonorant.text.units import read_units

__all__ = ["exported_weights"]


def exported_weights(folder: Path) -> dict[str, NDArray[np.float32]]:
    """Return the weights in `exports/<model>/<version>/` as `Model.named_weights` does; raises BadExport.

    A SavedModel has them by number, in the order of `Model.weights`: a new model of its recipe has their names.
    """
    manifest = read_manifest(folder)
    verify_files(folder, manifest)
    if manifest.signature == ENSEMBLE:
        raise BadExport(f"{folder}: an ensemble has no weights of one model; name a member, {member_folder(folder, 0)}")
    recipe = load_recipe(folder / "recipe.yaml")
    units = read_units(folder / "units.json")
    names = build_model(recipe.model, recipe.vector_bins, units.size).named_weights()
    try:
        saved = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
        return {
            name: np.asarray(saved.get_tensor(f"weights/{i}/.ATTRIBUTES/VARIABLE_VALUE"))
            for i, name in enumerate(names)
        }
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise BadExport(f"{folder}: TensorFlow {tf.__version__} cannot read its weights: {error}") from error
