from dataclasses import dataclass

import numpy as np
import pytest

from sonorant.augment.babble import babble
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
    """Return the numbers of the utterances contained in a waveform of 8000 samples."""
    power = np.abs(np.fft.rfft(waveform * np.hanning(len(waveform)))) ** 2
    return {k for k in range(10) if power[200 + 100 * k - 3 : 200 + 100 * k + 4].sum() > 0.01 * power.sum()}


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
