import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.audio import decay
from sonorant.audio.decay import absorption_of, image_power
from sonorant.audio.image_method import LEAD, ImpossibleRoom, image_responses
from sonorant.augment.room import RoomRecipe, draw_scene, scene_responses

RATE = 8000
ROOM = np.array([6.0, 5.0, 3.0])


def t20_s(response, rate_hz):
    """Three times the time from -5 to -25 dB of Schroeder's integral, by the regression of ISO 3382-1."""
    integral = np.cumsum(response[::-1].astype(float) ** 2)[::-1]
    level_db = 10 * np.log10(integral / integral[0])
    first, last = np.argmax(level_db <= -5), np.argmax(level_db <= -25)
    fall_db = np.polyfit(np.arange(first, last), level_db[first:last], 1)[0]
    return -60 / (fall_db * rate_hz)


@pytest.mark.parametrize(("rate_hz", "tail_after_ms"), [(8000, None), (16000, None), (8000, 50)])
def test_rooms_have_the_t60_that_they_were_asked_for(rate_hz, tail_after_ms):
    """Medians over all responses of default scenes: 0.78 at 0.1 to 0.2 s and 1.07 at 0.5 to 0.6 s with Sabine's."""
    asked, found = [], []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        scene = draw_scene(RoomRecipe(stage="room"), rng)
        for response in scene_responses(scene, rate_hz, tail_after_ms, rng)[:, 0]:
            asked.append(scene.t60_s)
            found.append(t20_s(response, rate_hz) / scene.t60_s)
    assert np.median(found) == pytest.approx(1, abs=0.03)
    for tenths in range(1, 6):
        among = np.floor(10 * np.array(asked)) == tenths
        assert among.sum() > 60
        assert np.median(np.array(found)[among]) == pytest.approx(1, abs=0.05), f"from 0.{tenths} s on"


@pytest.mark.parametrize(("room", "t60_s"), [((6, 5, 3), 0.3), ((10, 3, 2.4), 0.6), ((8, 8, 4), 0.2), ((3, 3, 3), 0.6)])
def test_the_decay_over_random_directions_has_that_t20(room, t60_s):
    """In time and with random directions instead of the quadrature; begins after the mean distance of two points."""
    exponent = -np.log(1 - absorption_of(t60_s, room))
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((20_000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    fall = 343 * exponent * (np.abs(direction) / room).sum(axis=1)
    begin_s = np.linalg.norm(np.subtract(*rng.uniform(0, room, (2, 20_000, 3))), axis=1).mean() / 343
    time_s = begin_s + np.linspace(0, 0.6 * t60_s, 200)
    level_db = 10 * np.log10([np.mean(np.exp(-fall * t) / fall) for t in time_s])
    level_db -= level_db[0]
    fitted = (level_db <= -5) & (level_db >= -25)
    assert -60 / np.polyfit(time_s[fitted], level_db[fitted], 1)[0] == pytest.approx(t60_s, rel=0.025)


def test_a_cube_decays_nearly_as_eyring_says_and_a_corridor_more_slowly():
    """Eyring: absorption = 1 - exp(-24 ln(10) V / (c S T60)); what takes longer needs more absorption."""

    def eyring(t60_s, length, width, height):
        surface = 2 * (length * width + width * height + height * length)
        return 1 - np.exp(-24 * np.log(10) * length * width * height / (343 * surface * t60_s))

    assert absorption_of(0.4, (4, 4, 4)) == pytest.approx(eyring(0.4, 4, 4, 4), rel=0.06)
    assert absorption_of(0.4, (15, 3, 2.4)) > 1.2 * eyring(0.4, 15, 3, 2.4)


@given(st.floats(0.3, 2.0), st.floats(1.05, 3))
def test_absorption_falls_with_t60_and_is_the_same_at_another_scale(t60_s, factor):
    room = np.array([9, 3, 2.4])
    assert 0 < absorption_of(factor * t60_s, room) < absorption_of(t60_s, room) < 1
    assert absorption_of(factor * t60_s, factor * room) == pytest.approx(absorption_of(t60_s, room))


def test_t60_below_what_the_room_allows_is_refused_with_the_shortest():
    with pytest.raises(ImpossibleRoom, match=r"t60_s=0.1 in a room of 10 x 8 x 4 m: .* 0.17 s"):
        absorption_of(0.1, (10, 8, 4))


def test_few_directions_and_rounds_are_enough(monkeypatch):
    rng = np.random.default_rng(0)
    scenes = [draw_scene(RoomRecipe(stage="room"), rng) for _ in range(300)]
    monkeypatch.setattr(decay, "_FEW_NODES", 24)
    monkeypatch.setattr(decay, "_ROUNDS", 20)
    exact = [absorption_of(scene.t60_s, scene.room_m) for scene in scenes]
    error = np.log1p(-np.array([scene.absorption for scene in scenes])) / np.log1p(-np.array(exact)) - 1
    assert np.abs(error).mean() < 0.001
    assert np.abs(error).max() < 0.013


def test_not_a_number_is_refused():
    with pytest.raises(ImpossibleRoom, match="t60_s=nan"):
        absorption_of(float("nan"), (4, 3, 2.4))


def random_responses(rooms, t60_s, duration_s):
    """Exact responses between random positions of ROOM."""
    positions = np.random.default_rng(7).uniform(0.4, ROOM - 0.4, (2, rooms, 3))
    absorption = absorption_of(t60_s, ROOM)
    return image_responses(ROOM, absorption, *positions, RATE, duration_s).reshape(-1, int(duration_s * RATE) + 81)


def band_power(responses):
    """Power above 500 Hz in windows of 25 ms: Float64[responses, windows]."""
    windows = responses[:, LEAD:][:, : responses.shape[1] // 200 * 200 - 200].astype(float)
    whole = windows.reshape(len(responses), -1, 200)
    return (np.abs(np.fft.rfft(whole * np.hanning(200)))[..., 13:-3] ** 2).mean(axis=-1) / (np.hanning(200) ** 2).sum()


def test_image_power_is_that_of_the_image_method():
    """Averaged over positions, from 50 ms on, within the spread that 64 responses leave."""
    exact = band_power(random_responses(8, 0.4, 0.4)).mean(axis=0)[2:]
    centre_s = 0.025 * (np.arange(2, 2 + len(exact)) + 0.5)
    predicted = image_power(ROOM, absorption_of(0.4, ROOM), centre_s) / RATE
    np.testing.assert_allclose(10 * np.log10(exact), 10 * np.log10(predicted), atol=0.8)
    assert abs(np.mean(10 * np.log10(exact / predicted))) < 0.25


def test_image_power_starts_as_if_walls_swallowed_nothing():
    found = image_power(ROOM, 0.4, np.array([0.0, 0.1]))
    assert found[0] == pytest.approx(343 / (4 * np.pi * 90))
    np.testing.assert_allclose(image_power(ROOM, 0.0, np.array([0.0, 0.1, 1.0])), found[0])
    assert found[1] < found[0]


def test_image_power_is_a_mean_over_directions():
    """Random directions instead of the quadrature."""
    direction = np.random.default_rng(0).standard_normal((400_000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    reflections = 343 * 0.3 * (np.abs(direction) / ROOM).sum(axis=1)
    expected = 343 / (4 * np.pi * 90) * np.mean(0.7**reflections)
    assert image_power(ROOM, 0.3, np.array([0.3]))[0] == pytest.approx(expected, rel=0.01)
