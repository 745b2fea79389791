"""Warped speech beside what it should be: a voice that is made with all its partials where Equation 1 puts them."""

import numpy as np
import pytest
import soundfile

from sonorant.augment.vtlp import warp, warp_frequency
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.section import FeaturesRecipe

RATE = 8000
LOG_MEL = FeatureExtractor(FeaturesRecipe(kind="log_mel", stack=1, stride=1, low_hz=60), RATE)
FORMANTS = ((600, 80, 1.0), (1200, 100, 0.5), (2500, 150, 0.25))  # centre and half width in hertz, gain


def voice(alpha):
    """Syllables of a voice whose pitch glides between 90 and 150 Hz and trembles; partials keep their own gains."""
    t = np.arange(2 * RATE) / RATE
    pitch = 120 * (1 + 0.25 * np.sin(2 * np.pi * 0.7 * t) + 0.01 * np.sin(2 * np.pi * 5.5 * t))
    total = np.zeros(t.size)
    for k in range(1, 26):
        gain = sum(g / (1 + ((k * pitch - centre) / width) ** 2) for centre, width, g in FORMANTS)
        omega = warp_frequency(2 * np.pi * k * pitch / RATE, alpha)
        total += gain * np.cos(np.cumsum(omega) + k * k)
    syllables = 0.5 - 0.5 * np.cos(2 * np.pi * 3 * t)
    return (0.1 * syllables * total).astype(np.float32)


def copied_bins(waveform, alpha):
    """What `warp` avoids: each frame's bins are sampled at the inverse map, with the phases that they have."""
    hop, window = 100, 400
    hann = 0.5 - 0.5 * np.cos(2 * np.pi / window * np.arange(window))
    padded = np.pad(waveform, window).astype(float)
    total, sources = np.zeros(padded.size), warp_frequency(np.linspace(0, np.pi, 201), 2 - alpha) * 200 / np.pi
    for start in range(0, padded.size - window, hop):
        bins = np.fft.rfft(padded[start : start + window] * hann)
        taken = np.interp(sources, np.arange(201), bins.real) + 1j * np.interp(sources, np.arange(201), bins.imag)
        total[start : start + window] += np.fft.irfft(taken) * hann / 1.5
    return total[window:-window].astype(np.float32)


def distance_db(waveform, ideal):
    """Return the root mean square difference of log-mel energies within 40 dB of the ideal's peak, in decibels."""
    here, there = (10 / np.log(10) * LOG_MEL(one) for one in (waveform, ideal))
    heard = there > there.max() - 40
    return float(np.sqrt(np.mean((here - there)[heard] ** 2)))


def louder_db(waveform, ideal):
    return float(20 * np.log10(waveform.std() / ideal.std()))


@pytest.mark.parametrize("alpha", [0.8, 0.9, 1.1, 1.2])
def test_a_voice_comes_out_as_if_spoken_by_the_warped_tract(alpha):
    ideal, warped = voice(alpha), warp(voice(1.0), alpha, RATE)
    assert abs(louder_db(warped, ideal)) < 0.1
    assert distance_db(warped, ideal) < 1.7
    assert distance_db(voice(1.0), ideal) > 7


@pytest.mark.parametrize("alpha", [0.8, 1.2])
def test_copied_bins_would_cancel(alpha):
    ideal, copied = voice(alpha), copied_bins(voice(1.0), alpha)
    assert louder_db(copied, ideal) < -6
    assert distance_db(copied, ideal) > 8


BANDS = 12  # of equal width before the warp


def band_power(waveform, edges):
    """Power between edges, in radians per sample, of frames of 1,024: Float64[frames, bands]."""
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(waveform.astype(float), 1024), 1024)[::256]
    power = np.abs(np.fft.rfft(frames * np.hanning(1024))) ** 2
    below = np.pad(np.cumsum(power, axis=1), ((0, 0), (1, 0)))  # a bin reaches half a bin to either side
    reach = np.clip(np.arange(514) - 0.5, 0, 512) * np.pi / 512
    return np.diff([np.interp(edges, reach, frame) for frame in below], axis=1)


def changes_db(waveform, alpha, rate_hz):
    """Return changes: level, each band, and root mean square over frames and bands within 40 dB of the peak."""
    warped, edges = warp(waveform, alpha, rate_hz), np.linspace(0, np.pi, BANDS + 1)
    before, after = band_power(waveform, edges), band_power(warped, warp_frequency(edges, alpha))
    heard = before > 1e-4 * before.max()
    difference_db = 10 * np.log10(after[heard] / before[heard])
    bands_db = 10 * np.log10(after.sum(axis=0) / before.sum(axis=0))
    return louder_db(warped, waveform), bands_db, np.sqrt(np.mean(difference_db**2))


@pytest.mark.parametrize(
    ("alpha", "softest_db", "softest_band_db"),
    [(0.8, -0.3, -1.7), (0.9, -0.2, -1.1), (1.1, -0.3, -0.8), (1.2, -0.6, -1.1)],
)
def test_read_sentences_lose_little_level_and_more_in_bands_that_are_squeezed(
    data_folder, alpha, softest_db, softest_band_db
):
    paths = [*data_folder.glob("harvard-sentences/**/*.wav"), *data_folder.glob("librispeech-sample/**/*.flac")]
    assert len(paths) >= 14
    sentences = (soundfile.read(path, dtype="float32") for path in paths)
    found = [changes_db(waveform, alpha, rate_hz) for waveform, rate_hz in sentences]
    levels, bands, differences = (np.array(column) for column in zip(*found, strict=True))
    assert softest_db - 0.05 < levels.min() < softest_db + 0.1
    assert levels.max() < 0.1
    assert softest_band_db - 0.05 < bands.min() < softest_band_db + 0.1
    assert bands.max() < 0.1
    assert differences.max() < 1.1


@pytest.mark.parametrize(("alpha", "squeezed"), [(0.8, -1), (1.2, 0)])
def test_white_noise_loses_most_where_the_map_squeezes_it(alpha, squeezed):
    """Bins between two peaks that approach each other are dropped: next to nothing of tones."""
    noise = (0.1 * np.random.default_rng(0).standard_normal(4 * RATE)).astype(np.float32)
    level, bands, _ = changes_db(noise, alpha, RATE)
    assert level == pytest.approx(-0.8, abs=0.1)
    assert bands[squeezed] == pytest.approx(-1.55, abs=0.15)
    assert bands.min() == bands[squeezed]
    assert bands.max() > -0.5
