from pathlib import Path

import numpy as np
import pytest
import soundfile

from sonorant.audio.image_method import LEAD
from sonorant.augment import room as scene_module
from sonorant.augment.resources import StageResources
from sonorant.augment.room import RoomRecipe, draw_scene, room_stage, scene_responses
from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import ShardSet, shard_name, write_shard
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import BadCorpus, BadRecipe, RejectedExample
from sonorant.randomness import generator

MIX = scene_module.mix
NOTHING = StageResources(None, Path("nowhere"))
WAVEFORM = (0.1 * np.random.default_rng(0).standard_normal(8000)).astype(np.float32)
EXAMPLE = Example(Lineage(0, 0, 0), "u", "one", 8000, 1.0, waveform=WAVEFORM, words=(WordSpan("one", 0.2, 0.8),))


def _recipe(kinds=("white", "pink"), folder="", **keys):
    noise = {"kinds": kinds, "folder": folder, "babble_voices": 2}
    return RoomRecipe.model_validate({"stage": "room", "t60_s": {"low": 0.1, "high": 0.3}, "noise": noise, **keys})


@pytest.fixture
def utterances(tmp_path):
    audio = encode_audio(WAVEFORM, 8000, "flac")
    records = [Record(f"u{k}", "s", "one", 8000, 1.0, "flac", audio) for k in range(4)]
    write_shard(tmp_path / shard_name("train", 0, 1), records)
    return ShardSet.open(tmp_path, "train")


def test_scenes_stay_within_the_recipe():
    recipe = _recipe(microphones=2, noise_sources=(0, 3))
    scenes = [draw_scene(recipe, np.random.default_rng(seed)) for seed in range(300)]
    for scene in scenes:
        positions = np.vstack([scene.sources_m, scene.microphones_m])
        assert (positions >= recipe.wall_distance_m - 1e-9).all()
        assert (positions <= scene.room_m - recipe.wall_distance_m + 1e-9).all()
        spacing = np.linalg.norm(scene.microphones_m[0] - scene.microphones_m[1])
        assert spacing == pytest.approx(recipe.microphone_spacing_m)
        assert 0.1 <= scene.t60_s <= 0.3
        assert 0 < scene.absorption <= 1
        assert 5 <= scene.snr_db <= 25
    assert {len(scene.sources_m) for scene in scenes} == {1, 2, 3, 4}


def test_t60_that_no_wall_gives_is_drawn_again_and_counted():
    redraws = [draw_scene(_recipe(), np.random.default_rng(seed)).redraws for seed in range(100)]
    assert 0 < np.mean(redraws) < 5


def test_the_stage_counts_rooms_and_redraws(monkeypatch):
    scenes, resources = [], StageResources(None, Path("nowhere"))
    monkeypatch.setattr(scene_module, "draw_scene", _spy(draw_scene, scenes))
    stage = room_stage(_recipe(), resources, 8000)
    for seed in range(12):
        stage(EXAMPLE, np.random.default_rng(seed))
    assert resources.counts == {"rooms": 12, "rooms_redrawn": sum(scene.redraws for scene in scenes)}
    assert resources.counts["rooms_redrawn"] > 0


def test_a_room_leaves_pink_noise_in_the_band_of_speech():
    pink = np.fft.rfftfreq(8000, 1 / 8000)[1:]  # Hz; power is 1 / frequency
    for seed in range(10):
        scene = draw_scene(_recipe(t60_s={"low": 0.3, "high": 0.5}), np.random.default_rng(seed))
        response = scene_responses(scene, 8000, None, np.random.default_rng(0))[1, 0]
        gain = np.abs(np.fft.rfft(response, 8000)[1:]) ** 2
        power = gain / pink
        assert power[pink < 50].sum() < 0.2 * power.sum()  # without the high-pass: 0.99


def test_recipe_with_hardly_a_possible_room_rejects_examples():
    with pytest.raises(RejectedExample, match="no possible room in 1000 draws"):
        draw_scene(_recipe(t60_s={"low": 0.01, "high": 0.075}), np.random.default_rng(0))


@pytest.mark.parametrize("microphones", [1, 2])
def test_the_same_generator_gives_the_same_bits_and_another_gives_others(utterances, microphones):
    stage = room_stage(
        _recipe(("white", "pink", "babble"), microphones=microphones), StageResources(utterances, Path()), 8000
    )
    heard = [stage(EXAMPLE, generator(1, epoch, "u", "room")).waveform for epoch in (0, 1, 0)]
    assert heard[0].shape == ((8000,) if microphones == 1 else (2, 8000))
    assert heard[0].dtype == np.float32
    assert np.abs(heard[0]).max() <= 1
    np.testing.assert_array_equal(heard[0], heard[2])
    assert not np.array_equal(heard[0], heard[1])


def test_only_the_waveform_changes():
    played = room_stage(_recipe(), NOTHING, 8000)(EXAMPLE, np.random.default_rng(0))
    assert played._replace(waveform=None) == EXAMPLE._replace(waveform=None)


def test_direct_sound_stays_where_the_words_are():
    """A click comes out with its strongest sample where it was, at T60 near the shortest and without noise."""
    click = np.zeros(8000, np.float32)
    click[4000] = 0.5
    near = {side: {"low": 3, "high": 3} for side in ("length_m", "width_m", "height_m")}
    recipe = _recipe(noise_sources=(0, 0), t60_s={"low": 0.082, "high": 0.1}, **near)
    stage = room_stage(recipe, NOTHING, 8000)
    for seed in range(20):
        played = stage(EXAMPLE._replace(waveform=click), np.random.default_rng(seed)).waveform
        assert abs(int(np.abs(played).argmax()) - 4000) <= 1


def test_what_stage_and_mixture_say_about_snr_agrees(monkeypatch):
    """The SNR of the output equals the drawn scene's, from end to end."""
    for _, scene, mixture in _played(monkeypatch, snr_speech="reverberant"):
        assert _level_db(mixture.speech[0]) - _level_db(mixture.noise[0]) == pytest.approx(scene.snr_db, abs=0.01)


def test_the_snr_counts_the_direct_sound_and_what_follows_within_50_ms(monkeypatch):
    """The early response is cut out of the whole one in time, after the speech's flight to the microphone."""
    for arguments, scene, mixture in _played(monkeypatch, t60_s={"low": 0.3, "high": 0.5}):
        speech, _, responses = arguments[:3]
        flight = np.linalg.norm(scene.sources_m[0] - scene.microphones_m[0]) / 343 * 8000
        early = np.where(np.arange(responses.shape[-1]) < LEAD + flight + 400, responses[0, 0], 0)
        heard, whole = np.convolve(speech, early), np.convolve(speech, responses[0, 0])
        kept = whole[LEAD + round(flight) :][: speech.size]
        early_db = _level_db(mixture.speech[0]) + 10 * np.log10(np.sum(heard**2) / np.sum(kept**2))
        assert early_db - _level_db(mixture.noise[0]) == pytest.approx(scene.snr_db, abs=0.02)
        assert np.sum(whole**2) > 1.03 * np.sum(heard**2)  # so that the test can tell


def test_noise_is_as_loud_in_the_first_10_ms_as_later(monkeypatch):
    """White and pink noise in rooms of long T60; noise that begins with the utterance is 5.7 dB too soft (median)."""
    for kind in ("white", "pink"):
        rise_db = []
        keys = {"t60_s": {"low": 0.3, "high": 0.6}, "snr_db": {"low": 20, "high": 20}}
        for _, _, mixture in _played(monkeypatch, 60, kinds=(kind,), **keys):
            rise_db.append(_level_db(mixture.noise[0]) - _level_db(mixture.noise[0, :80]))
        assert np.median(rise_db) == pytest.approx(0, abs=0.5), kind


def _played(monkeypatch, examples=5, **keys):
    """Return what `mix` was given, the scene and the mixture, for some examples."""
    given, mixtures, scenes = [], [], []
    monkeypatch.setattr(scene_module, "mix", _spy(MIX, mixtures, given))
    monkeypatch.setattr(scene_module, "draw_scene", _spy(draw_scene, scenes))
    stage = room_stage(_recipe(**{"noise_sources": (1, 2)} | keys), NOTHING, 8000)
    for seed in range(examples):
        stage(EXAMPLE, np.random.default_rng(seed))
    return list(zip(given, scenes, mixtures, strict=True))


def _spy(function, results, given=None):
    def wrapped(*arguments):
        results.append(function(*arguments))
        if given is not None:
            given.append(arguments)
        return results[-1]

    return wrapped


def _level_db(waveform):
    return 10 * np.log10(np.mean(np.square(waveform, dtype=float)))


def test_the_direct_delay_is_kept_on_request_and_moves_the_words(monkeypatch):
    keys = {"t60_s": {"low": 0.1, "high": 0.2}, "noise_sources": (0, 0)}
    removed, kept = (_played(monkeypatch, direct_delay=way, **keys) for way in ("removed", "kept"))
    for (_, scene, early), (_, _, late) in zip(removed, kept, strict=True):
        flight_s = np.linalg.norm(scene.sources_m[0] - scene.microphones_m[0]) / 343
        flight = round(flight_s * 8000)
        assert early.waveform.shape == late.waveform.shape == (1, 8000)
        there, here = late.waveform[0, flight:].astype(float), early.waveform[0, : 8000 - flight]
        assert there @ here > 0.9999 * np.linalg.norm(there) * np.linalg.norm(here)
    played = room_stage(_recipe(direct_delay="kept", **keys), NOTHING, 8000)(EXAMPLE, np.random.default_rng(4))
    ((_, start_s, end_s),) = played.words
    assert (start_s, end_s) == pytest.approx((0.2 + flight_s, 0.8 + flight_s))


def test_kept_words_end_with_the_recording():
    words = (WordSpan("one", 0.99, 1.0),)
    stage = room_stage(_recipe(direct_delay="kept"), NOTHING, 8000)
    ((_, start_s, end_s),) = stage(EXAMPLE._replace(words=words), np.random.default_rng(0)).words
    assert 0.99 < start_s <= end_s == 1.0


def test_a_statistical_tail_takes_the_place_of_late_reflections():
    """Up to its start the response is the exact one; after it, another one for each generator, and none is absent."""
    scene = draw_scene(_recipe(t60_s={"low": 0.3, "high": 0.3}, microphones=2), np.random.default_rng(3))
    exact, tail, again, other = (
        scene_responses(scene, 8000, after_ms, np.random.default_rng(seed))
        for after_ms, seed in ((None, 0), (50, 0), (50, 0), (50, 1))
    )
    start = LEAD + int((scene.direct_delays_s().max() + 0.05) * 8000)
    assert tail.shape == exact.shape
    np.testing.assert_array_equal(tail, again)
    np.testing.assert_allclose(tail[..., : start - 41], exact[..., : start - 41], atol=1e-6)
    np.testing.assert_array_equal(tail[..., :start], other[..., :start])
    assert np.abs(tail - other)[..., start + 50 :].max(axis=-1).min() > 0
    late = [10 * np.log10((h[..., start + 50 :].astype(float) ** 2).sum()) for h in (exact, tail)]
    assert late[0] == pytest.approx(late[1], abs=1.5)


def test_a_tail_that_would_begin_after_t60_changes_nothing():
    scene = draw_scene(_recipe(), np.random.default_rng(0))
    exact, tail = (scene_responses(scene, 8000, after, np.random.default_rng(0)) for after in (None, 300))
    np.testing.assert_array_equal(exact, tail)


def test_one_microphone_needs_no_room_for_two():
    """Side walls leave 0.6 m: two microphones 0.7 m apart do not fit there, one does."""
    sides = {side: {"low": 1.2, "high": 1.2} for side in ("length_m", "width_m")}
    height = {"height_m": {"low": 2.4, "high": 2.4}}
    recipe = _recipe(microphone_spacing_m=0.7, noise_sources=(0, 0), **sides, **height)
    scene = draw_scene(recipe, np.random.default_rng(0))
    assert (scene.microphones_m >= 0.3).all()
    with pytest.raises(ValueError, match=r"1.2 m, leaves no space between walls 0.3 m away for microphones 0.7 m"):
        _recipe(microphones=2, microphone_spacing_m=0.7, **sides, **height)


def test_microphones_lie_level_so_a_low_room_holds_them():
    low = _recipe(microphones=2, microphone_spacing_m=1.0, height_m={"low": 1.2, "high": 1.2})
    assert draw_scene(low, np.random.default_rng(0)).microphones_m.shape == (2, 3)


def test_probability_is_the_share_of_utterances_in_rooms():
    stage = room_stage(_recipe(probability=0.3), NOTHING, 8000)
    changed = [stage(EXAMPLE, np.random.default_rng(seed)) is not EXAMPLE for seed in range(300)]
    assert np.mean(changed) == pytest.approx(0.3, abs=0.08)


def test_utterance_outside_the_probability_has_two_equal_channels_for_two_microphones():
    stage = room_stage(_recipe(probability=0, microphones=2), NOTHING, 8000)
    np.testing.assert_array_equal(stage(EXAMPLE, np.random.default_rng(0)).waveform, [WAVEFORM, WAVEFORM])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"waveform": None}, "no waveform"),
        ({"waveform": WAVEFORM[:0]}, r"shape \(0,\)"),
        ({"waveform": np.stack([WAVEFORM, WAVEFORM])}, r"shape \(2, 8000\)"),
        ({"sample_rate_hz": 16000}, "16000 Hz; it needs one channel at 8000 Hz"),
        ({"waveform": WAVEFORM * 0}, "speech is silent"),
    ],
)
def test_examples_that_cannot_be_played_are_rejected(change, message):
    with pytest.raises(RejectedExample, match=message):
        room_stage(_recipe(), NOTHING, 8000)(EXAMPLE._replace(**change), np.random.default_rng(0))


def test_silent_noise_leaves_speech_alone(tmp_path):
    soundfile.write(tmp_path / "silence.wav", np.zeros(16000, np.float32), 8000)
    recipe = _recipe(("folder",), tmp_path.name, noise_sources=(2, 2))
    noisy = room_stage(recipe, StageResources(None, tmp_path.parent), 8000)(EXAMPLE, np.random.default_rng(0))
    quiet = room_stage(_recipe(noise_sources=(2, 2), snr_db={"low": 200, "high": 200}), NOTHING, 8000)
    alone = quiet(EXAMPLE, np.random.default_rng(0))
    assert np.isfinite(noisy.waveform).all()
    np.testing.assert_allclose(noisy.waveform, alone.waveform, atol=1e-5)


def test_noise_shorter_than_the_utterance_is_heard_all_along(tmp_path):
    short = np.random.default_rng(1).standard_normal(1600, dtype=np.float32) * 0.1
    soundfile.write(tmp_path / "short.wav", short, 8000)
    recipe = _recipe(("folder",), tmp_path.name, noise_sources=(1, 1), snr_db={"low": -40, "high": -40})
    played = room_stage(recipe, StageResources(None, tmp_path.parent), 8000)(EXAMPLE, np.random.default_rng(0))
    power = (played.waveform.astype(float) ** 2).reshape(-1, 400).mean(axis=1)
    assert power.min() > 0.4 * power.max()


def test_babble_without_utterances_is_refused():
    with pytest.raises(BadRecipe, match="babble needs at least 2 training utterances, found none"):
        room_stage(_recipe(("babble",)), NOTHING, 8000)


def test_noise_folder_is_looked_for_below_the_data_folder(tmp_path):
    with pytest.raises(BadCorpus, match=str(tmp_path / "bar")):
        room_stage(_recipe(("folder",), "bar"), StageResources(None, tmp_path), 8000)
