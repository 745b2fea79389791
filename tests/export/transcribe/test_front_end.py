"""Front end in the graph, against the one that trains and recognizes."""

import numpy as np
import pytest
from rigs.babble import murmur

from sonorant.export.transcribe.front_end import TensorFrontEnd
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.section import FeaturesRecipe
from sonorant.tensorflow import graph_function, tf

RATE_HZ = 8000
SIGNATURE = [tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.int32)]


def both(**section):
    """Return the extractor, and a function of waveforms to what the graph gives for them as one batch."""
    extractor = FeatureExtractor(FeaturesRecipe(**section), RATE_HZ)
    function = graph_function(TensorFrontEnd(extractor).__call__, SIGNATURE)

    def features(*waveforms):
        audio = np.full(
            (len(waveforms), max(map(len, waveforms))), 0.3, np.float32
        )  # what does not count is no silence
        for row, waveform in zip(audio, waveforms, strict=True):
            row[: len(waveform)] = waveform
        vectors, counts = function(audio, np.array([len(waveform) for waveform in waveforms], np.int32))
        return [own[:count] for own, count in zip(vectors.numpy(), counts.numpy(), strict=True)]

    return extractor, features


@pytest.mark.parametrize(
    "section",
    [
        {"kind": "power_mel", "low_hz": 60.0, "high_hz": 3900.0},
        {"kind": "log_mel", "stack": 4, "stride": 2, "mel_bins": 80},  # filters too narrow for the shortest FFT
        {"kind": "mfcc", "stack": 1, "stride": 1},
        {"kind": "spectrogram", "window_ms": 20.0, "hop_ms": 12.5},
    ],
    ids=lambda section: section["kind"],
)
def test_features_are_those_of_the_extractor(section):
    extractor, features = both(**section)
    waveforms = [murmur(4.2, seed=1), murmur(0.3, seed=2), np.zeros(900, np.float32), murmur(1.0, seed=3)[:100]]
    for found, waveform in zip(features(*waveforms), waveforms, strict=True):
        expected = extractor(waveform)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-3 if section["kind"] == "spectrogram" else 1e-4)


def test_the_number_of_vectors_is_that_of_the_extractor_at_every_length():
    extractor, features = both(stack=3, stride=2)
    waveforms = [np.zeros(samples, np.float32) for samples in range(300, 1000, 7)]
    assert [len(found) for found in features(*waveforms)] == [extractor.vectors(len(one)) for one in waveforms]
    assert max(extractor.vectors(len(one)) for one in waveforms) == 4
    assert [found.shape for found in features(np.zeros(0, np.float32))] == [(0, extractor.bins)]


def test_bits_do_not_depend_on_the_batch():
    _, features = both(kind="power_mel")
    waveforms = [murmur(seconds, seed=4) for seconds in (2.9, 0.4, 1.7)]
    for together, waveform in zip(features(*waveforms), waveforms, strict=True):
        np.testing.assert_array_equal(together, features(waveform)[0])
