import numpy as np
import pytest

from sonorant.audio.comfort_noise import after_speech, before_speech


@pytest.mark.parametrize("rate_hz", [8000, 16000, 44100])
def test_what_an_utterance_lacks_is_noise_of_minus_70_db(rate_hz):
    for quiet, seconds in ((before_speech(0, rate_hz), 0.1), (after_speech(0, rate_hz), 0.2)):
        assert quiet.dtype == np.float32
        assert len(quiet) == round(seconds * rate_hz)
        assert 10 * np.log10(np.mean(np.square(quiet))) == pytest.approx(-70, abs=0.5)


def test_what_is_there_is_not_lacking():
    assert len(before_speech(300, 8000)) == 500
    assert len(after_speech(1599, 8000)) == 1
    assert len(before_speech(800, 8000)) == len(before_speech(801, 8000)) == len(after_speech(10**6, 8000)) == 0


def test_it_is_the_same_always_and_nobody_can_change_it():
    np.testing.assert_array_equal(after_speech(0, 8000)[:300], before_speech(500, 8000))
    with pytest.raises(ValueError, match="read-only"):
        after_speech(0, 8000)[0] = 1
