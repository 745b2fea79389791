from pathlib import Path

import numpy as np
import pytest

from sonorant.augment import noise_styles as styles_module
from sonorant.augment.noise_source import NoiseSource
from sonorant.augment.noise_styles import NoiseStylesRecipe, draw_catalogue, noise_styles_stage
from sonorant.augment.resources import StageResources
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.randomness import generator

NOTHING = StageResources(None, Path("nowhere"))
RATE_HZ = 8000
SPEECH = (0.1 * np.random.default_rng(0).standard_normal(4000)).astype(np.float32)
EXAMPLE = Example(Lineage(0, 0, 0), "u", "one", RATE_HZ, 0.5, waveform=SPEECH)


def recipe(**keys):
    values = {"stage": "noise_styles", "t60_s": {"low": 0.08, "high": 0.2}, "noise": {"kinds": ["white", "pink"]}}
    return NoiseStylesRecipe.model_validate(values | keys)


def catalogue(**keys):
    return draw_catalogue(recipe(**keys), NoiseSource(recipe(**keys).noise, NOTHING, RATE_HZ))


def figures(style):
    scene = style.scene
    return (
        *scene.room_m,
        scene.t60_s,
        scene.snr_db,
        *scene.sources_m.ravel(),
        *scene.microphones_m.ravel(),
        style.kinds,
    )


def test_the_catalogue_follows_from_its_own_seed():
    first = [figures(style) for style in catalogue(styles=30)]
    assert first == [figures(style) for style in catalogue(styles=30)]
    assert first[:10] == [figures(style) for style in catalogue(styles=10)]
    assert not set(first) & {figures(style) for style in catalogue(styles=30, catalogue_seed=1)}
    assert len(set(first)) == 30
    kinds = [style.kinds for style in catalogue(styles=30)]
    assert all(len(style.kinds) == len(style.scene.sources_m) - 1 for style in catalogue(styles=30))
    assert {kind for played in kinds for kind in played} == {"white", "pink"}


def test_rooms_of_the_catalogue_and_impossible_ones_are_counted():
    resources = StageResources(None, Path("nowhere"))
    noise_styles_stage(recipe(styles=30), resources, RATE_HZ)
    redraws = sum(style.scene.redraws for style in catalogue(styles=30))
    assert resources.counts == {"rooms": 30, "rooms_redrawn": redraws}
    assert redraws > 0


def test_utterances_share_styles_but_no_noise():
    """Of one style with no noise, all utterances sound alike; with noise, each has other noise of the same kind."""
    dry = noise_styles_stage(recipe(styles=1, noise_sources=(0, 0)), NOTHING, RATE_HZ)
    noisy = noise_styles_stage(recipe(styles=1, noise_sources=(1, 1)), NOTHING, RATE_HZ)
    keys = [generator(0, epoch, "u", "noise_styles") for epoch in (0, 1, 0, 1)]
    np.testing.assert_array_equal(dry(EXAMPLE, keys[0]).waveform, dry(EXAMPLE, keys[1]).waveform)
    assert not np.array_equal(noisy(EXAMPLE, keys[2]).waveform, noisy(EXAMPLE, keys[3]).waveform)


def test_each_index_is_drawn_and_its_responses_are_computed_once(monkeypatch):
    computed = []

    def spy(scene, *arguments):
        computed.append(scene)
        return original(scene, *arguments)

    original = styles_module.scene_responses
    monkeypatch.setattr(styles_module, "scene_responses", spy)
    stage = noise_styles_stage(recipe(styles=4, noise_sources=(0, 0)), NOTHING, RATE_HZ)
    heard = [stage(EXAMPLE, generator(0, epoch, "u", "noise_styles")).waveform.tobytes() for epoch in range(40)]
    assert len(set(heard)) == 4
    assert len(computed) == 4
    again = stage(EXAMPLE, generator(0, 5, "u", "noise_styles")).waveform.tobytes()
    assert again == heard[5]


def test_bits_do_not_depend_on_what_was_played_before():
    first, second = (noise_styles_stage(recipe(styles=5), NOTHING, RATE_HZ) for _ in range(2))
    for epoch in range(6):
        first(EXAMPLE, generator(0, epoch, "v", "noise_styles"))
    keys = [generator(3, 3, "u", "noise_styles") for _ in range(2)]
    np.testing.assert_array_equal(first(EXAMPLE, keys[0]).waveform, second(EXAMPLE, keys[1]).waveform)


def test_silent_speech_and_impossible_rooms_are_refused():
    with pytest.raises(RejectedExample, match="speech is silent"):
        noise_styles_stage(recipe(styles=1), NOTHING, RATE_HZ)(
            Example(Lineage(0, 0, 0), "u", "", RATE_HZ, 0.5, waveform=0 * SPEECH), np.random.default_rng(0)
        )
    with pytest.raises(RejectedExample, match=r"noise_styles got shape \(2, 4000\)"):
        noise_styles_stage(recipe(styles=1), NOTHING, RATE_HZ)(
            Example(Lineage(0, 0, 0), "u", "", RATE_HZ, 0.5, waveform=np.stack([SPEECH] * 2)), np.random.default_rng(0)
        )
    with pytest.raises(BadRecipe, match="stage noise_styles: style 0: no possible room in 1000 draws"):
        catalogue(t60_s={"low": 0.01, "high": 0.075})
