"""A written export's SavedModel once more, with the signature `transcribe` of another decoding."""

from pathlib import Path

from sonorant.export.transcribe.signature import TRANSCRIBE, transcribe_function
from sonorant.recipe import Recipe
from sonorant.tensorflow import save_module, tf
from sonorant.text.units import Units

__all__ = ["resave"]


def resave(folder: Path, draft: Path, recipe: Recipe, units: Units, *, transcribes: bool) -> None:
    """Write the SavedModel in `folder` into `draft`, over a copy of it, with the recipe's search, or without any.

    Weights and other signatures are the same.
    """
    loaded = tf.saved_model.load(str(folder))
    module = tf.Module()
    module.weights = list(loaded.weights)
    signatures = {name: function for name, function in loaded.signatures.items() if name != TRANSCRIBE}
    functions = {name: getattr(loaded, name) for name in signatures}
    for name, function in functions.items():
        setattr(module, name, function)
    if transcribes:
        module.transcribe = transcribe_function(recipe, recipe.corpus.sample_rate_hz, units, functions)
        signatures[TRANSCRIBE] = module.transcribe
    save_module(module, draft, signatures)
