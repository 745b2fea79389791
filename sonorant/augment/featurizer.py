"""The featurizer: from waveforms to features, between the stages on either."""

import numpy as np

from sonorant.augment.stage import Stage
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.section import FeaturesRecipe

__all__ = ["featurizer_stage"]


def featurizer_stage(recipe: FeaturesRecipe, sample_rate_hz: int) -> Stage:
    """Return the stage that replaces the waveform (of microphone 0, if there are several) by features.

    It raises RejectedExample if the waveform is absent, of another rate, not finite, or too short for one vector.
    """
    extractor = FeatureExtractor(recipe, sample_rate_hz)

    def featurize(example: Example, rng: np.random.Generator) -> Example:
        if example.waveform is None:
            raise RejectedExample("no waveform to compute features from; the featurizer must come last")
        if example.sample_rate_hz != sample_rate_hz:
            raise RejectedExample(f"sample_rate_hz={example.sample_rate_hz}: expected {sample_rate_hz}; prepare again")
        waveform = example.waveform if example.waveform.ndim == 1 else example.waveform[0]
        if not np.isfinite(waveform).all():
            raise RejectedExample("waveform has samples that are not finite; listen to the recording")
        features = extractor(waveform)
        if not len(features):
            shortest_s = extractor.span(0)[1]
            raise RejectedExample(
                f"{waveform.size} samples at {sample_rate_hz} Hz are too short: one vector needs {shortest_s:.4g} s"
            )
        return example._replace(waveform=None, features=features)

    return featurize
