from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import welch

from sonorant.augment.noise import babble, looped, pink_noise, unit_power, white_noise
from sonorant.errors import BadShard, RejectedExample, Unavailable


@dataclass
class _Spoken:
    """A corpus in memory: utterance k is a tone of 200 + 100 k hertz; those in `broken` cannot be read."""

    count: int
    broken: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()

    @dataclass
    class _Recording:
        utterance: str
        samples: np.ndarray

        def waveform(self):
            return self.samples

    @property
    def total(self):
        return self.count

    def locate(self, ordinal):
        return 0, ordinal

    def read(self, shard, index):
        if index in self.broken:
            raise BadShard(f"record {index}")
        tone = np.sin(2 * np.pi * (200 + 100 * index) * np.arange(12_000) / 8000) * (index not in self.silent)
        return self._Recording(str(index), tone.astype(np.float32))


def _tones(waveform):
    """Return the numbers of the utterances heard in a waveform of 8000 samples."""
    power = np.abs(np.fft.rfft(waveform * np.hanning(len(waveform)))) ** 2
    return {k for k in range(10) if power[200 + 100 * k - 3 : 200 + 100 * k + 4].sum() > 0.01 * power.sum()}


def test_white_noise_is_flat_and_pink_noise_falls_by_three_decibels_an_octave():
    for make, slope in ((white_noise, 0.0), (pink_noise, -3.01)):
        frequency, density = welch(make(400_000, np.random.default_rng(0)), 8000, nperseg=4096)
        band = (frequency > 60) & (frequency < 3500)
        fitted = np.polyfit(np.log2(frequency[band]), 10 * np.log10(density[band]), 1)[0]
        assert fitted == pytest.approx(slope, abs=0.1)


def test_babble_is_made_of_other_utterances_only():
    heard = set()
    for seed in range(40):
        voices = _tones(babble(_Spoken(6), 3, 8000, 8000, "2", np.random.default_rng(seed)))
        assert 1 <= len(voices) <= 3
        heard |= voices
    assert heard == {0, 1, 3, 4, 5}


def test_babble_passes_over_utterances_that_are_broken_or_silent():
    for seed in range(10):
        voices = _tones(babble(_Spoken(5, broken=(1,), silent=(3,)), 2, 8000, 8000, "2", np.random.default_rng(seed)))
        assert voices <= {0, 4}


def test_no_other_voice_takes_the_place_of_one_that_cannot_be_read_now():
    class Away(_Spoken):
        def read(self, shard, index):
            raise Unavailable("the volume is away")

    with pytest.raises(Unavailable):
        babble(Away(5), 2, 8000, 8000, "2", np.random.default_rng(0))


def test_babble_without_another_utterance_is_rejected():
    with pytest.raises(RejectedExample, match="no voice for babble"):
        babble(_Spoken(1), 2, 8000, 8000, "0", np.random.default_rng(0))


@settings(max_examples=50)
@given(st.integers(1, 3000), st.integers(1, 9000), st.integers(0, 99))
def test_looped_noise_has_the_length_asked_for(length, samples, seed):
    noise = white_noise(length, np.random.default_rng(1))
    result = looped(noise, samples, 8000, np.random.default_rng(seed))
    assert result.shape == (samples,)
    assert result.dtype == np.float32
    assert np.isfinite(result).all()


def test_noise_that_is_long_enough_is_cut_out_in_one_piece():
    noise = np.arange(5000, dtype=np.float32)
    piece = looped(noise, 2000, 8000, np.random.default_rng(3))
    np.testing.assert_array_equal(np.diff(piece), 1)


def test_loop_keeps_its_power_where_it_is_joined():
    short = white_noise(1600, np.random.default_rng(1))
    power = np.mean(
        [looped(short * sign, 80_000, 8000, np.random.default_rng(2)) ** 2 for sign in (1, -1)], axis=0
    ).reshape(-1, 400)
    assert power.mean(axis=1).min() > 0.7
    assert power.mean(axis=1).max() < 1.4


def test_loop_has_no_click():
    slow = np.sin(2 * np.pi * 3.3 * np.arange(4000) / 8000).astype(np.float32)
    assert np.abs(np.diff(looped(slow, 40_000, 8000, np.random.default_rng(0)))).max() < 0.01


def test_noise_without_samples_is_rejected():
    with pytest.raises(RejectedExample, match="no samples"):
        looped(np.empty(0, np.float32), 10, 8000, np.random.default_rng(0))


def test_unit_power_scales_sound_and_leaves_silence():
    assert np.mean(unit_power(np.full(10, 3, np.float32)) ** 2) == pytest.approx(1)
    assert not unit_power(np.zeros(10, np.float32)).any()
