import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sonorant.augment.chain import StageResources, apply_stage, build_chain, build_stage, stage_names
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.links.payload import as_carried
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.recipe.schema import Recipe

NOTHING = StageResources(None, Path("nowhere"))
ROOM = {"stage": "room", "t60_s": {"low": 0.1, "high": 0.2}, "noise": {"kinds": ["white", "pink"]}}
WAVEFORM = (0.1 * np.random.default_rng(0).standard_normal(8000)).astype(np.float32)
EXAMPLE = Example(Lineage(3, 0, 0), "u", "one", 8000, 1.0, waveform=WAVEFORM)

DIGEST = """
import hashlib
from tests_dsp_stages import EXAMPLE, NOTHING, recipe
from sonorant.augment.chain import apply_stage, build_chain
example = EXAMPLE
for name, stage in build_chain(recipe(), NOTHING).items():
    example = apply_stage(name, stage, example, 7)
print(hashlib.sha256(example.features.tobytes()).hexdigest())
"""


def recipe(*stages):
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "test",
            "corpus": {"reader": "fsdd", "path": "fsdd", "sample_rate_hz": 8000},
            "stages": stages or [{"stage": "vtlp"}, ROOM],
        }
    )


def test_the_chain_follows_the_recipe_and_the_featurizer_stands_before_stages_on_features():
    assert stage_names(recipe()) == ("vtlp", "room", "featurizer")
    assert stage_names(recipe(ROOM, {"stage": "spec_augment"})) == ("room", "featurizer", "spec_augment")
    assert list(build_chain(recipe(ROOM, {"stage": "vtlp"}), NOTHING)) == ["room", "vtlp", "featurizer"]


def test_an_utterance_passes_the_whole_chain():
    example = EXAMPLE
    for name, stage in build_chain(recipe(), NOTHING).items():
        example = apply_stage(name, stage, example, 7)
    assert example.waveform is None
    assert example.features.ndim == 2
    assert example.features.dtype == np.float32
    assert np.isfinite(example.features).all()


@pytest.mark.parametrize("stage", ["speed", "vtlp", "equaliser", "room", "telephone", "lombard"])
def test_no_waveform_stage_leaves_full_scale(stage):
    change = build_stage(stage, recipe(ROOM if stage == "room" else {"stage": stage, "probability": 1}), NOTHING)
    loud = EXAMPLE._replace(waveform=np.sign(WAVEFORM))
    for epoch in range(5):
        changed = apply_stage(stage, change, loud._replace(lineage=Lineage(epoch, 0, 0)), 7)
        assert not np.array_equal(changed.waveform, loud.waveform)
        assert np.abs(changed.waveform).max() <= 1


@pytest.mark.parametrize(
    "stage",
    [{"stage": "gain", "probability": 0.9}, ROOM | {"microphones": 2, "probability": 0.9}, {"stage": "vtlp"}],
    ids=lambda stage: stage["stage"],
)
def test_a_stage_changes_nothing_in_clean_epochs_and_then_what_it_always_would(stage):
    always, never, late = recipe(stage), recipe(stage | {"probability": 0.0}), recipe(stage)
    late = late.model_copy(update={"training": late.training.model_copy(update={"clean_epochs": 2})})
    found = []
    for one in (always, never, late):
        built = build_stage(stage["stage"], one, NOTHING)
        examples = [EXAMPLE._replace(lineage=Lineage(epoch, 0, 0)) for epoch in range(4)]
        found.append([apply_stage(stage["stage"], built, example, 5).waveform for example in examples])
    for one, other in zip(found[2], [*found[1][:2], *found[0][2:]], strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(not np.array_equal(one, other) for one, other in zip(found[0], found[1], strict=True))


def test_a_chain_in_one_process_gives_the_bits_of_stages_whose_links_round():
    rounding = recipe().model_copy(update={"pipeline": PipelineRecipe(payload={"waveform": "int16"})})
    together = EXAMPLE
    for name, stage in build_chain(rounding, NOTHING).items():
        together = apply_stage(name, stage, together, 7)
    apart = EXAMPLE
    for name in stage_names(rounding):
        left = apply_stage(name, build_stage(name, rounding, NOTHING), apart, 7)
        apart = as_carried(left, rounding.pipeline.payload)
    exact = EXAMPLE
    for name, stage in build_chain(recipe(), NOTHING).items():
        exact = apply_stage(name, stage, exact, 7)
    assert together.features.tobytes() == apart.features.tobytes()
    assert together.features.tobytes() != exact.features.tobytes()


def test_a_stage_that_the_recipe_lacks_is_refused():
    with pytest.raises(BadRecipe, match=r"stage 'room': recipe 'test' has \['vtlp', 'featurizer'\]"):
        build_stage("room", recipe({"stage": "vtlp"}), NOTHING)


def test_random_numbers_depend_on_seed_epoch_utterance_and_stage_and_on_nothing_else():
    def draw(name="a", example=EXAMPLE, seed=1):
        return apply_stage(
            name, lambda e, rng: e._replace(waveform=rng.random(4, dtype=np.float32)), example, seed
        ).waveform

    np.testing.assert_array_equal(draw(), draw(example=EXAMPLE._replace(lineage=Lineage(3, 5, 5), text="two")))
    others = [
        draw(),
        draw("b"),
        draw(seed=2),
        draw(example=EXAMPLE._replace(utterance="v")),
        draw(example=EXAMPLE._replace(lineage=Lineage(4, 0, 0))),
    ]
    assert len({values.tobytes() for values in others}) == len(others)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"waveform": np.array([0, np.nan, np.inf], np.float32)}, "test left 2 of 3 values of the waveform not finite"),
        ({"waveform": np.empty(0, np.float32)}, "test left an empty waveform"),
        ({"waveform": None, "features": np.full((2, 2), np.inf, np.float32)}, "4 of 4 values of the features"),
    ],
)
def test_what_is_empty_or_not_finite_is_rejected(change, message):
    with pytest.raises(RejectedExample, match=message):
        apply_stage("test", lambda example, rng: example._replace(**change), EXAMPLE, 0)


def test_the_chain_gives_the_same_bits_in_every_process(tmp_path):
    (tmp_path / "tests_dsp_stages.py").write_text(Path(__file__).read_text())
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
