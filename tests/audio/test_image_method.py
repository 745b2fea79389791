from functools import cache

import numpy as np
import pyroomacoustics as pra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroomacoustics.experimental import measure_rt60

from sonorant.audio.decay import absorption_of
from sonorant.audio.image_method import LEAD, SPEED_OF_SOUND, ImpossibleRoom, image_responses

ROOMS = range(6)


@cache
def _ours_and_theirs(seed):
    """Responses [2 sources, 2 microphones, taps] of one random room, and pyroomacoustics' ones, cut at T60."""
    rng = np.random.default_rng(seed)
    sample_rate_hz = (8000, 16000)[seed % 2]
    room = rng.uniform([3, 3, 2.4], [8, 6, 4])
    t60_s = rng.uniform(0.17, 0.35)
    absorption = absorption_of(t60_s, room)
    sources, microphones = rng.uniform(0.3, room - 0.3, (2, 2, 3))
    ours = image_responses(room, absorption, sources, microphones, sample_rate_hz, t60_s).astype(float)
    pra.constants.set("rir_hpf_enable", False)
    _, order = pra.inverse_sabine(t60_s, room)
    shoebox = pra.ShoeBox(room, sample_rate_hz, materials=pra.Material(absorption), max_order=order + 2)
    for source in sources:
        shoebox.add_source(source)
    shoebox.add_microphone_array(microphones.T)
    shoebox.compute_rir()
    cut = int(t60_s * sample_rate_hz)
    # They leave out 1 / (4 pi); they keep images up to an order, we keep those up to a delay.
    theirs = np.array([[shoebox.rir[m][s][:cut] for m in range(2)] for s in range(2)]) / (4 * np.pi)
    return ours[..., :cut], theirs, sample_rate_hz, t60_s


@pytest.mark.parametrize("seed", ROOMS)
def test_responses_are_those_of_pyroomacoustics_to_a_percent(seed):
    ours, theirs, _, _ = _ours_and_theirs(seed)
    error = np.linalg.norm(ours - theirs, axis=-1) / np.linalg.norm(theirs, axis=-1)
    correlation = (ours * theirs).sum(-1) / np.linalg.norm(ours, axis=-1) / np.linalg.norm(theirs, axis=-1)
    assert np.median(error) < 0.005
    assert error.max() < 0.01
    assert correlation.min() > 0.9999


@pytest.mark.parametrize("seed", ROOMS)
def test_decay_is_as_near_to_the_drawn_t60_as_that_of_pyroomacoustics(seed):
    ours, theirs, sample_rate_hz, t60_s = _ours_and_theirs(seed)
    for mine, peer in zip(ours.reshape(4, -1), theirs.reshape(4, -1), strict=True):
        measured, expected = (measure_rt60(h, sample_rate_hz, decay_db=20) for h in (mine, peer))
        assert measured == pytest.approx(expected, rel=0.002)
        assert abs(measured - t60_s) < abs(expected - t60_s) + 0.002 * t60_s


@pytest.mark.parametrize("seed", ROOMS)
def test_direct_to_reverberant_ratio_is_that_of_pyroomacoustics(seed):
    ours, theirs, sample_rate_hz, _ = _ours_and_theirs(seed)
    direct = np.argmax(np.abs(theirs), axis=-1)[..., None] + round(0.0025 * sample_rate_hz)
    early = np.arange(ours.shape[-1]) <= direct
    mine, peer = (10 * np.log10((h**2 * early).sum(-1) / (h**2 * ~early).sum(-1)) for h in (ours, theirs))
    assert np.median(np.abs(mine - peer)) < 0.02


def test_it_errs_from_a_sinc_for_each_image_by_less_than_a_thousandth():
    """A small room's images one by one, each as the windowed sinc that it stands for."""
    room, source, microphone, rate, seconds = (
        np.array([3, 4, 2.5]),
        np.array([1, 1.2, 1]),
        np.array([2, 3, 1.3]),
        8000,
        0.06,
    )
    found = image_responses(room, 0.3, source, microphone, rate, seconds)[0, 0].astype(float)
    n = np.stack(np.meshgrid(*[np.arange(-5, 6)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    sign = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), axis=-1).reshape(1, -1, 3)
    distance = np.linalg.norm(2 * n * room + np.where(sign, -source, source) - microphone, axis=-1).ravel()
    gain = np.sqrt(0.7) ** np.abs(2 * n - sign).sum(-1).ravel() / (4 * np.pi * distance)
    heard = distance / SPEED_OF_SOUND <= seconds
    time = np.arange(found.size) - LEAD - distance[heard, None] / SPEED_OF_SOUND * rate
    window = np.where(np.abs(time) < LEAD, 0.5 + 0.5 * np.cos(np.pi * time / LEAD), 0)
    expected = (gain[heard, None] * window * np.sinc(time)).sum(axis=0)
    assert np.linalg.norm(found - expected) < 1e-3 * np.linalg.norm(expected)


@settings(max_examples=25)
@given(st.floats(0.2, 4.8), st.floats(0.2, 3.8), st.floats(0.2, 2.3))
def test_direct_path_arrives_when_and_as_loud_as_its_distance_says(x, y, z):
    source, microphone = np.array([x, y, z]), np.array([2.5, 1.9, 1.1])
    distance = float(np.linalg.norm(source - microphone))
    if distance < 0.2:
        return
    response = image_responses([5, 4, 2.5], 1.0, source, microphone, 16000, 0.03)[0, 0].astype(float)
    spectrum = np.fft.rfft(response, 2048)[50:800]
    phase = np.unwrap(np.angle(spectrum))
    delay = -np.polyfit(np.arange(50, 800), phase, 1)[0] * 2048 / (2 * np.pi)
    assert delay - LEAD == pytest.approx(distance / SPEED_OF_SOUND * 16000, abs=0.005)
    assert np.abs(spectrum).mean() == pytest.approx(1 / (4 * np.pi * distance), rel=0.005)


def test_spreading_costs_no_treble():
    """Over many distances the grid's points average out; what is left near half the sample rate is the sinc's own."""
    microphones = np.random.default_rng(0).uniform([2, 1, 1], [4, 3, 2], (128, 3))
    responses = image_responses([5, 4, 2.5], 1.0, [1, 1, 1], microphones, 16000, 0.03)[0].astype(float)
    distance = np.linalg.norm(microphones - [1, 1, 1], axis=1)
    frequency = np.fft.rfftfreq(2048)
    spectrum = np.fft.rfft(responses, 2048) * 4 * np.pi * distance[:, None]
    delay = LEAD + distance[:, None] / SPEED_OF_SOUND * 16000
    gain = (spectrum * np.exp(2j * np.pi * frequency * delay)).real.mean(axis=0)
    np.testing.assert_allclose(gain[frequency < 0.45], 1, atol=0.002)


def test_source_and_microphone_may_change_places():
    positions = np.random.default_rng(1).uniform(0.3, [4.7, 3.7, 2.2], (2, 3))
    there, back = (image_responses([5, 4, 2.5], 0.4, a, b, 8000, 0.2) for a, b in (positions, positions[::-1]))
    np.testing.assert_allclose(there, back, atol=1e-5 * np.abs(there).max())


def test_a_longer_response_begins_as_the_shorter_one():
    short, long = (image_responses([5, 4, 2.5], 0.4, [1, 1, 1], [4, 3, 2], 8000, s)[0, 0] for s in (0.1, 0.3))
    np.testing.assert_allclose(short[:800], long[:800], atol=1e-6 * np.abs(long).max())
    assert np.abs(long[1200:]).max() > 0


def test_responses_come_as_float32_by_source_microphone_and_tap():
    responses = image_responses([5, 4, 2.5], 0.4, np.ones((3, 3)), [[2, 2, 2], [2, 2.1, 2]], 8000, 0.1)
    assert responses.shape == (3, 2, 800 + 81)
    assert responses.dtype == np.float32


@pytest.mark.parametrize(
    ("source", "microphone", "absorption", "message"),
    [
        ((6, 1, 1), (1, 1, 1), 0.4, r"source at \[6.0, 1.0, 1.0\]"),
        ((2, 1, 1), (1, 1, np.nan), 0.4, "microphone at"),
        ((1, 1, 1), (1, 1, 1.001), 0.4, "0.001 m from a microphone"),
        ((2, 1, 1), (1, 1, 1), 1.5, "absorption=1.5"),
    ],
)
def test_impossible_places_and_walls_are_refused(source, microphone, absorption, message):
    with pytest.raises(ImpossibleRoom, match=message):
        image_responses((5, 4, 3), absorption, source, microphone, 8000, 0.1)
