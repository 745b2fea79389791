from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sonorant.corpus.record import Record, encode_audio
from sonorant.corpus.shards import ShardSet, shard_name, write_shard
from sonorant.dsp import scene as scene_module
from sonorant.dsp.resources import StageResources
from sonorant.dsp.scene import draw_scene, room_stage, scene_responses
from sonorant.errors import BadCorpus, BadRecipe, RejectedExample
from sonorant.pipeline.example import Example, Lineage, WordSpan
from sonorant.randomness import generator
from sonorant.recipe.signal import RoomRecipe

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
        places = np.vstack([scene.sources_m, scene.microphones_m])
        assert (places >= recipe.wall_distance_m - 1e-9).all()
        assert (places <= scene.room_m - recipe.wall_distance_m + 1e-9).all()
        spacing = np.linalg.norm(scene.microphones_m[0] - scene.microphones_m[1])
        assert spacing == pytest.approx(recipe.microphone_spacing_m)
        assert 0.1 <= scene.t60_s <= 0.3
        assert 0 < scene.absorption <= 1
        assert 5 <= scene.snr_db <= 25
    assert {len(scene.sources_m) for scene in scenes} == {1, 2, 3, 4}


def test_t60_that_no_wall_gives_is_drawn_again_and_counted():
    redraws = [draw_scene(_recipe(), np.random.default_rng(seed)).redraws for seed in range(100)]
    assert 0 < np.mean(redraws) < 5


def test_a_room_leaves_pink_noise_in_the_band_of_speech():
    pink = np.fft.rfftfreq(8000, 1 / 8000)[1:]  # Hz; power is 1 / frequency
    for seed in range(10):
        scene = draw_scene(_recipe(t60_s={"low": 0.3, "high": 0.5}), np.random.default_rng(seed))
        gain = np.abs(np.fft.rfft(scene_responses(scene, 8000)[1, 0], 8000)[1:]) ** 2
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
    assert replace(played, waveform=None) == replace(EXAMPLE, waveform=None)


def test_direct_sound_stays_where_the_words_are():
    """A click comes out with its strongest sample where it was, at T60 near the shortest and without noise."""
    click = np.zeros(8000, np.float32)
    click[4000] = 0.5
    near = {side: {"low": 3, "high": 3} for side in ("length_m", "width_m", "height_m")}
    recipe = _recipe(noise_sources=(0, 0), t60_s={"low": 0.082, "high": 0.1}, **near)
    stage = room_stage(recipe, NOTHING, 8000)
    for seed in range(20):
        played = stage(replace(EXAMPLE, waveform=click), np.random.default_rng(seed)).waveform
        assert abs(int(np.abs(played).argmax()) - 4000) <= 1


def test_what_stage_and_mixture_say_about_snr_agrees(monkeypatch):
    """The SNR of the drawn scene is the one that is heard, from end to end."""
    mixtures, scenes = [], []
    monkeypatch.setattr(scene_module, "mix", _spy(scene_module.mix, mixtures))
    monkeypatch.setattr(scene_module, "draw_scene", _spy(scene_module.draw_scene, scenes))
    stage = room_stage(_recipe(), NOTHING, 8000)
    for seed in range(10):
        stage(EXAMPLE, np.random.default_rng(seed))
    for mixture, scene in zip(mixtures, scenes, strict=True):
        speech, noise = (np.mean(part[0].astype(float) ** 2) for part in (mixture.speech, mixture.noise))
        assert 10 * np.log10(speech / noise) == pytest.approx(scene.snr_db, abs=0.1)


def _spy(function, results):
    def wrapped(*arguments):
        results.append(function(*arguments))
        return results[-1]

    return wrapped


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
        room_stage(_recipe(), NOTHING, 8000)(replace(EXAMPLE, **change), np.random.default_rng(0))


def test_babble_without_utterances_is_refused():
    with pytest.raises(BadRecipe, match="babble needs at least 2 training utterances, found none"):
        room_stage(_recipe(("babble",)), NOTHING, 8000)


def test_noise_folder_is_looked_for_below_the_data_folder(tmp_path):
    with pytest.raises(BadCorpus, match=str(tmp_path / "bar")):
        room_stage(_recipe(("folder",), "bar"), StageResources(None, tmp_path), 8000)
