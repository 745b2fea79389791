"""Beam search in the graph, against the compiled one."""

import numpy as np
import pytest

from sonorant.decoding import CtcBeamSearch
from sonorant.export.transcribe.beam_search import TensorBeamSearch
from sonorant.tensorflow import graph_function, tf
from sonorant.text.units import Units

ROWS = 8  # as in an export, full SIMD registers


def compiled(units, settings, log_probs):
    """Return the probability of each prefix of the beam, by its units."""
    spelt = Units("characters", tuple(chr(ord("a") + unit) for unit in range(units)))  # no two spell the same text
    search = CtcBeamSearch(spelt, 0.01, *settings[:2], unit_floor=settings[2], blank_only=settings[3])
    search.push(log_probs)
    search.finish()
    return {found.units: found.confidence for found in search.hypotheses(settings[0])}


def in_graph(units, settings):
    search = TensorBeamSearch(units, *settings)
    signature = [tf.TensorSpec([ROWS, None, units + 1], tf.float32), tf.TensorSpec([ROWS], tf.int32)]
    function = graph_function(search.__call__, signature)

    def beams(log_probs, frames):
        found, probability = function(log_probs, np.array(frames, np.int32))
        return [
            {
                tuple(unit for unit in path.tolist() if unit >= 0): mass
                for path, mass in zip(own, masses, strict=True)
                if mass
            }
            for own, masses in zip(found.numpy(), probability.numpy(), strict=True)
        ]

    return beams


def posteriors(rng, shape, sharpness):
    """Log-probabilities with frames of blank alone, and units that last for several frames."""
    logits = rng.normal(0, sharpness, shape)
    logits[..., -1] += sharpness * rng.choice([0, 1, 6], shape[:-1])
    held = rng.random(shape[:-1]) < 0.4
    for t in range(1, shape[1]):
        logits[held[:, t], t] = logits[held[:, t], t - 1] + 0.1 * rng.normal(size=(held[:, t].sum(), shape[2]))
    return (logits - np.logaddexp.reduce(logits, -1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize(
    ("units", "settings"),
    [
        (4, (8, 12, 1e-6, 0.999)),
        (4, (1, 1, 1e-6, 0.999)),
        (3, (40, 3, 0.0, 1.0)),  # prefixes come back that have left
        (30, (5, 12, 1e-6, 0.999)),
    ],
)
def test_the_beam_is_that_of_the_compiled_search(units, settings):
    beams, rng = in_graph(units, settings), np.random.default_rng(units)
    for sharpness in (0.5, 2, 5):
        log_probs = posteriors(rng, (ROWS, 40, units + 1), sharpness)
        frames = [40, 0, 1, 17, 39, 25, 8, 40]
        for found, own, count in zip(beams(log_probs, frames), log_probs, frames, strict=True):
            expected = compiled(units, settings, own[:count])
            assert found.keys() == expected.keys()
            np.testing.assert_allclose([found[path] for path in expected], list(expected.values()), rtol=1e-9)


def test_of_equals_the_older_prefix_and_the_lower_unit_stay():
    settings = (3, 2, 0.0, 1.0)
    log_probs = np.zeros((ROWS, 3, 5), np.float32)  # of exact exponentials
    (found, *_) = in_graph(4, settings)(log_probs, [3] * ROWS)
    assert found.keys() == compiled(4, settings, log_probs[0]).keys()


def test_what_follows_a_recording_does_not_change_a_bit_of_it():
    beams, rng = in_graph(5, (8, 12, 1e-6, 0.999)), np.random.default_rng(0)
    log_probs = posteriors(rng, (ROWS, 30, 6), 2)
    frames = [30, 11, 11, 3, 20, 1, 2, 30]
    others = log_probs[::-1].copy()
    others[0, :11] = log_probs[1, :11]
    assert beams(others, [11, *frames[1:]])[0] == beams(log_probs, frames)[1]


def test_nan_is_refused():
    log_probs = np.log(np.full((ROWS, 4, 5), 0.2, np.float32))
    log_probs[2, 1, 3] = np.nan
    beams = in_graph(4, (8, 3, 0.0, 1.0))
    beams(log_probs, [4, 4, 1, 4, 4, 4, 4, 4])  # it does not count
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
        beams(log_probs, [4] * ROWS)
