import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, murmur

from sonorant.serving.voice_activity import FRAME_MS, VoiceActivity

RNG = np.random.default_rng(5)
WHITE = RNG.standard_normal(20 * RATE_HZ).astype(np.float32) * np.float32(0.1)
MIXED = np.concatenate([WHITE[: 3 * RATE_HZ] * np.float32(0.01), murmur(2.0, seed=4), WHITE[:RATE_HZ]])


def pink():
    spectrum = np.fft.rfft(RNG.standard_normal(20 * RATE_HZ))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    samples = np.fft.irfft(spectrum)
    return (samples / samples.std() * 0.1).astype(np.float32)


def click(at_s):
    samples = np.zeros(4 * RATE_HZ, np.float32)
    samples[round(at_s * RATE_HZ)] = 1.0
    return samples


SILENT = np.zeros(4 * RATE_HZ, np.float32)
NO_SPEECH = {
    "digital silence": SILENT,
    "direct current": SILENT + np.float32(0.7),
    "a step of direct current": np.concatenate([SILENT, SILENT + np.float32(0.7)]),
    "white noise": WHITE,
    "loud white noise": (WHITE * 5).clip(-1, 1),
    "pink noise": pink(),
    "noise that begins suddenly": np.concatenate([SILENT, WHITE]),
    "noise that ends suddenly": np.concatenate([WHITE, SILENT]),
    "noise that becomes louder": np.concatenate([WHITE * np.float32(0.01), WHITE]),
    "the last bit of 16": (RNG.integers(-1, 2, 20 * RATE_HZ) / 32768).astype(np.float32),
    "a click": click(2.0),
    "a tone": np.sin(np.arange(8 * RATE_HZ) * (2 * np.pi * 440 / RATE_HZ)).astype(np.float32) * np.float32(0.3),
}


@pytest.mark.parametrize("name", NO_SPEECH)
def test_what_does_not_rise_and_fall_is_no_speech(name):
    activity = VoiceActivity(RATE_HZ).push(NO_SPEECH[name])
    assert len(activity.speech) == len(NO_SPEECH[name]) // 80 - 1
    assert not activity.speech.any()


def test_speech_after_a_minute_of_silence_is_found_where_it_is():
    samples = np.concatenate([np.zeros(60 * RATE_HZ, np.float32), murmur(2.0, seed=4)])
    frames = np.flatnonzero(VoiceActivity(RATE_HZ).push(samples).speech) * FRAME_MS / 1000
    assert 60.0 <= frames[0] < 60.3
    assert 61.7 < frames[-1] < 62.0


def test_a_voice_70_decibels_below_full_scale_is_found():
    soft = murmur(2.0, seed=4) * np.float32(10 ** (-50 / 20))
    assert 20 * np.log10(soft.std()) < -70
    samples = np.concatenate([np.zeros(RATE_HZ, np.float32), np.round(soft * 32768) / np.float32(32768)])
    assert VoiceActivity(RATE_HZ).push(samples).speech.sum() > 100


def test_speech_in_noise_is_found():
    noise = WHITE[: 12 * RATE_HZ] * np.float32(0.1)
    noise[6 * RATE_HZ : 8 * RATE_HZ] += murmur(2.0, seed=4)
    frames = np.flatnonzero(VoiceActivity(RATE_HZ).push(noise).speech) * FRAME_MS / 1000
    assert 5.9 < frames[0] < 6.3
    assert frames[-1] < 8.1


@given(cuts=st.sets(st.integers(0, len(MIXED)), max_size=12))
@settings(max_examples=25)
def test_decisions_do_not_depend_on_chunks(cuts):
    whole = VoiceActivity(RATE_HZ).push(MIXED)
    detector = VoiceActivity(RATE_HZ)
    parts = [detector.push(part) for part in np.split(MIXED, sorted(cuts))]
    for of_parts, of_whole in zip(zip(*parts, strict=True), whole, strict=True):
        np.testing.assert_array_equal(np.concatenate(of_parts), of_whole)
    assert whole.speech.sum() > 50


def test_decisions_on_single_samples_are_those_on_the_whole():
    samples = MIXED[3 * RATE_HZ - 400 : 3 * RATE_HZ + 6000]
    detector = VoiceActivity(RATE_HZ)
    parts = [detector.push(sample).speech for sample in samples[:, None]]
    whole = VoiceActivity(RATE_HZ).push(samples).speech
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert whole.any()


def test_levels_are_those_of_their_definition():
    """By loops, frame by frame: smoothed powers of bands, their floor, their falls."""
    samples = MIXED[3 * RATE_HZ - 8000 : 3 * RATE_HZ + 8000].astype(np.float64)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi / 160 * np.arange(160))
    edges = [round(hz * 160 / RATE_HZ) for hz in (100, 300, 500, 750, 1050, 1400, 1900, 2700, 3800)]
    powers = [[1e-9] * 8] * 3
    levels = [[-90.0] * 8] * 199
    active, speech = [], []
    for frame in range(len(samples) // 80 - 1):
        power = np.abs(np.fft.rfft(samples[80 * frame :][:160] * hann)) ** 2 * 2 / 160 / np.sum(hann**2)
        powers.append([power[a:b].sum() + 1e-9 for a, b in itertools.pairwise(edges)])
        levels.append(10 * np.log10(np.mean(powers[-4:], axis=0)))
        above = levels[-1] - np.min(levels[-200:], axis=0)
        last = np.array(levels[-40:])
        falls = [max(last[i, b] - last[j, b] for i in range(40) for j in range(i, 40)) for b in range(8)]
        active.append(sorted(above)[4:])
        speech.append(sorted(falls)[4:])
    found = VoiceActivity(RATE_HZ).push(samples.astype(np.float32))
    above, falls = np.mean(active, axis=1), np.mean(speech, axis=1)
    sure = (np.abs(above - 8) > 0.01) & (np.abs(falls - 9) > 0.01)
    np.testing.assert_array_equal(found.active[sure], (above >= 8)[sure])
    np.testing.assert_array_equal(found.speech[sure], ((above >= 8) & (falls >= 9))[sure])
    assert sure.mean() > 0.9
    assert 0 < found.speech.sum() < found.active.sum()


@pytest.mark.parametrize("rate_hz", [100, 500, 4000, 11025, 48000])
def test_any_rate_is_possible(rate_hz):
    with np.errstate(all="raise"):
        activity = VoiceActivity(rate_hz).push(np.zeros(rate_hz, np.float32))
    assert not activity.active.any()
