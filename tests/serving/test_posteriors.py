import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, murmur

from sonorant.serving.posteriors import Averaged, SingleModel, open_posteriors
from sonorant.serving.steps import alone

AUDIO = murmur(1.0, seed=4)
JITTER_MS = 5.0
SHIFT = RATE_HZ * 5 // 1000


def posteriors(opened, cuts=()):
    parts = [alone(opened.push(part)) for part in np.split(AUDIO, sorted(cuts))]
    return np.concatenate([*parts, alone(opened.finish())])


def offline(model, waveform):
    log_probs, _ = model.step(model.extractor(waveform), model.initial_state())
    return log_probs


@pytest.mark.parametrize("shift", [-SHIFT, 0, SHIFT])
def test_a_shift_is_a_translation_that_keeps_the_length(model, shift):
    silence = np.zeros(abs(shift), np.float32)
    moved = {
        -1: np.concatenate([AUDIO[abs(shift) :], silence]),
        0: AUDIO,
        1: np.concatenate([silence, AUDIO[: len(AUDIO) - shift]]),
    }[int(np.sign(shift))]
    np.testing.assert_array_equal(posteriors(SingleModel(model, shift), [1, 30, 31, 4000]), offline(model, moved))


@given(cuts=st.sets(st.integers(0, len(AUDIO)), max_size=8))
@settings(max_examples=10, deadline=None)
def test_jitter_has_the_bits_of_the_whole_however_the_audio_is_cut(model, cuts):
    np.testing.assert_array_equal(
        posteriors(open_posteriors(model, JITTER_MS), cuts), posteriors(open_posteriors(model, JITTER_MS))
    )


def test_jitter_averages_probabilities_over_three_translations(model):
    views = [np.exp(np.float64(posteriors(SingleModel(model, shift)))) for shift in (-SHIFT, 0, SHIFT)]
    np.testing.assert_allclose(np.exp(posteriors(open_posteriors(model, JITTER_MS))), np.mean(views, axis=0), atol=1e-6)
    assert np.abs(views[0] - views[2]).max() > 1e-3


def test_audio_shorter_than_the_shift_has_no_frames(model):
    opened = open_posteriors(model, JITTER_MS)
    assert alone(opened.push(AUDIO[:3])).shape == alone(opened.finish()).shape == model.no_frames.shape


class Given:
    """Posteriors that come as they are told to, whatever is pushed."""

    def __init__(self, *parts):
        self._parts = [np.log(np.array(part, np.float32).reshape(-1, 2)) for part in parts]

    def push(self, samples):
        yield from ()
        return self._parts.pop(0)

    def finish(self):
        return self.push(None)


def test_frames_that_one_member_has_early_wait_for_the_others():
    averaged = Averaged([Given([[0.2, 0.8], [0.6, 0.4]], []), Given([], [[0.4, 0.6], [0.2, 0.8]])])
    assert len(alone(averaged.push(AUDIO))) == 0
    np.testing.assert_allclose(np.exp(alone(averaged.finish())), [[0.3, 0.7], [0.4, 0.6]], rtol=1e-6)
