import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.audio.onset import Levels, onset

RATE_HZ = 8000


def noise(seconds, level_db, seed=0):
    rng = np.random.default_rng(seed)
    return (10 ** (level_db / 20) * rng.standard_normal(round(seconds * RATE_HZ))).astype(np.float32)


def levels_of(*parts):
    levels = Levels(RATE_HZ)
    levels.push(np.concatenate(parts))
    return levels


def begins_s(levels, begin_s, end_s):
    return levels.middle_s(onset(levels, levels.frame(begin_s), levels.frame(end_s)))


@given(samples=st.integers(0, 3000), cuts=st.sets(st.integers(0, 3000), max_size=20), seed=st.integers(0, 99))
@settings(max_examples=50)
def test_levels_are_the_same_bits_however_the_samples_are_cut(samples, cuts, seed):
    waveform = noise(3000 / RATE_HZ, -30, seed)[:samples]
    whole, pieces = levels_of(waveform), Levels(RATE_HZ)
    for piece in np.split(waveform, sorted(cuts)):
        pieces.push(piece)
    assert len(whole) == max(0, samples // 80 - 1)
    assert pieces.between(0, len(whole)).tobytes() == whole.between(0, len(whole)).tobytes()


def test_levels_are_those_of_two_hops():
    waveform = noise(0.1, -20)
    expected = [10 * np.log10(np.mean(waveform[at : at + 160].astype(np.float64) ** 2)) for at in range(0, 640, 80)]
    np.testing.assert_allclose(levels_of(waveform).between(0, 8), expected, atol=1e-4)


def test_digital_silence_has_a_level():
    assert np.all(levels_of(np.zeros(800, np.float32)).between(0, 9) == -100)


@pytest.mark.parametrize("snr_db", [15, 30, 60])
@pytest.mark.parametrize("pause_s", [0.1, 0.4])
def test_speech_begins_after_the_pause(snr_db, pause_s):
    levels = levels_of(noise(0.3, -20 - snr_db), noise(0.5, -20), noise(pause_s, -20 - snr_db), noise(0.4, -20))
    assert begins_s(levels, 0.8, 1.1 + pause_s) == pytest.approx(0.8 + pause_s, abs=0.015)


@pytest.mark.parametrize("snr_db", [20, 50])
def test_a_weak_sound_before_the_change_of_level_belongs_to_the_speech(snr_db):
    """A fricative before a vowel."""
    low = -15 - snr_db
    levels = levels_of(noise(0.6, low), noise(0.12, low + 12, 1), noise(0.3, -15, 2))
    assert begins_s(levels, 0.0, 1.0) == pytest.approx(0.6, abs=0.025)


def test_a_closure_amid_speech_is_no_pause():
    """Between the vowel and the burst of a plosive it is louder than the noise."""
    levels = levels_of(noise(0.4, -70), noise(0.5, -20), noise(0.06, -45), noise(0.3, -22))
    begin = levels.frame(0.7)
    assert onset(levels, begin, levels.frame(1.2)) == begin


def test_a_long_pause_is_one_however_quiet_the_stream_was_before():
    """As after digital silence."""
    levels = levels_of(np.zeros(8000, np.float32), noise(0.5, -20), noise(0.3, -45), noise(0.4, -22))
    assert begins_s(levels, 1.5, 2.1) == pytest.approx(1.8, abs=0.015)


@pytest.mark.parametrize("noise_db", [-80, -60, -50])
def test_a_short_pause_is_one_in_noise_that_began_after_digital_silence(noise_db):
    levels = levels_of(
        np.zeros(24000, np.float32), noise(0.2, noise_db), noise(0.5, -20), noise(0.08, noise_db), noise(0.3, -22)
    )
    assert begins_s(levels, 3.4, 4.0) == pytest.approx(3.78, abs=0.02)


def test_a_dropout_in_the_pause_is_not_where_speech_begins():
    levels = levels_of(noise(0.5, -20), np.zeros(160, np.float32), noise(0.1, -50), noise(0.5, -20))
    assert begins_s(levels, 0.5, 1.1) == pytest.approx(0.62, abs=0.015)


def test_silence_after_the_speech_takes_no_pause_away():
    spoken = noise(0.4, -55), noise(0.5, -20), noise(0.06, -55), noise(0.3, -22)
    for levels in (levels_of(*spoken), levels_of(*spoken, np.zeros(8000, np.float32))):
        assert begins_s(levels, 0.7, 1.2) == pytest.approx(0.96, abs=0.015)


@pytest.mark.parametrize("change_db", [0, -30])
def test_speech_that_never_rises_begins_where_it_is_looked_for(change_db):
    steady = np.full(4000, 0.1, np.float32)
    levels = levels_of(steady, steady * np.float32(10 ** (change_db / 20)))
    assert onset(levels, 30, 90) == 30


@given(
    parts=st.lists(st.tuples(st.floats(0.02, 0.5), st.floats(-90, -10)), max_size=6),
    begin=st.integers(0, 200),
    frames=st.integers(0, 200),
)
@settings(max_examples=100)
def test_an_onset_lies_within_and_depends_on_nothing_later(parts, begin, frames):
    waveform = np.concatenate([np.zeros(0, np.float32), *(noise(*part) for part in parts)])
    found = onset(levels_of(waveform), begin, begin + frames)
    assert begin <= found <= max(begin, begin + frames - 1)
    heard = levels_of(waveform[: (begin + frames + 1) * 80])
    assert onset(heard, begin, begin + frames) == found
