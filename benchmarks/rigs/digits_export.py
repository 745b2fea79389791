"""Writes an export of the size of `recipes/digits.yaml`: `python -m benchmarks.rigs.digits_export FOLDER`.

Its weights are made up, large enough for it to be as sure of its symbols as a trained model.
"""

import sys
from pathlib import Path

import numpy as np

from sonorant.export.saved_model import export_model
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.registry import build_model
from sonorant.recipe.loading import load_recipe
from sonorant.text.units import Units

_RECIPE = Path(__file__).parents[2] / "recipes" / "digits.yaml"
_UNITS = Units("words", ("eight", "five", "four", "nine", "one", "seven", "six", "three", "two", "zero"))


def main(exports: Path) -> None:
    """Write the export below `exports`."""
    recipe = load_recipe(_RECIPE)
    extractor = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz)
    model = build_model(recipe.model, extractor.bins, _UNITS.size, seed=1)
    rng = np.random.default_rng(1)
    vectors = rng.gamma(2, 0.4, (500, extractor.bins)).astype(np.float32)
    model.set_normalisation([vectors], lambda moments: moments)
    weights = model.named_weights()
    weights["projection/kernel"] = weights["projection/kernel"] * np.float32(40)
    weights["projection/bias"] = np.array([0.0] * _UNITS.size + [6.0], np.float32)
    model.assign(weights)
    export_model(model, recipe, _UNITS, exports)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
