"""The families of models, a line each; a family's module, and TensorFlow with it, is loaded when it is built."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.models.family import Model
    from sonorant.models.section import ModelRecipe

__all__ = ["FAMILIES", "build_model"]

FAMILIES = {
    "bfa": "sonorant.models.bfa:Bfa",
    "conv_lstm_ctc": "sonorant.models.conv_lstm_ctc:ConvLstmCtc",
    "deep_speech": "sonorant.models.deep_speech:DeepSpeech",
    "delayed_lstm": "sonorant.models.delayed_lstm:DelayedLstm",
    "lstm_ctc": "sonorant.models.lstm_ctc:LstmCtc",
    "lstm_lm": "sonorant.models.lstm_lm:LstmLm",
    "mocha": "sonorant.models.mocha:Mocha",
    "transformer_lm": "sonorant.models.transformer_lm:TransformerLm",
}
"""Module and class of each family, by the name that `model.family` has in a recipe."""


def build_model(recipe: "ModelRecipe", bins: int, units: int, seed: int = 0) -> "Model":
    """Return a new model of the recipe's family.

    bins: size of a stacked feature vector; units: number of units, without blank, start or end; seed: of the first
    weights.
    """
    module, _, name = FAMILIES[recipe.family].partition(":")
    model: Model = getattr(import_module(module), name)(recipe, bins, units, seed)
    return model
