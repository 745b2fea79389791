import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rigs.small_corpus import digits_recipe

from sonorant.audio import kernels, peaks
from sonorant.augment import probe, vtlp
from sonorant.augment.chain import FEATURIZER, StageResources, build_chain, build_stage
from sonorant.augment.probe import arithmetic
from sonorant.errors import RejectedExample
from sonorant.features import front_end as features
from sonorant.recipe.schema import Recipe

NOTHING = StageResources(None, Path("nowhere"))
STAGES = [{"stage": "vtlp", "probability": 0.5}, {"stage": "spec_augment"}]
RECIPE = Recipe.model_validate(digits_recipe().model_dump(mode="json") | {"stages": STAGES})


def of(name):
    return arithmetic({name: build_stage(name, RECIPE, NOTHING)}, RECIPE, NOTHING)


def test_each_stage_and_the_whole_chain_have_checksums_of_their_own_and_keep_them():
    told = {arithmetic(build_chain(RECIPE, NOTHING), RECIPE, NOTHING), *map(of, ("vtlp", FEATURIZER, "spec_augment"))}
    assert len(told) == 4
    assert all(one.startswith(f"{kernels.VARIANT}:") for one in told)
    assert told >= {of("vtlp"), of("spec_augment")}
    assert arithmetic({}, RECIPE, NOTHING) == ""


@pytest.mark.parametrize("stage", ["vtlp", FEATURIZER])
def test_a_single_bit_in_a_single_example_makes_another_checksum(stage):
    built, calls = build_stage(stage, RECIPE, NOTHING), []

    def flawed(example, rng):
        made = built(example, rng)
        calls.append(made)
        field = "waveform" if made.features is None else "features"
        values = getattr(made, field).copy()
        if len(calls) == 5:
            values.flat[7] = np.nextafter(values.flat[7], np.float32(2))
        return made._replace(**{field: values})

    assert arithmetic({stage: flawed}, RECIPE, NOTHING) != of(stage)
    calls += [None] * 5
    assert arithmetic({stage: flawed}, RECIPE, NOTHING) == of(stage)


def test_what_a_stage_counts_of_the_probe_is_forgotten():
    resources = StageResources(None, Path("nowhere"), Counter(rooms=5))

    def count(example, rng):
        resources.counts["rooms"] += 1
        resources.counts["others"] += 1
        return example

    arithmetic({"vtlp": count}, RECIPE, resources)
    assert resources.counts == {"rooms": 5}


def test_what_a_stage_rejects_is_passed_over():
    def refuse(example, rng):
        raise RejectedExample("no")

    assert arithmetic({"vtlp": refuse}, RECIPE, NOTHING).startswith(kernels.VARIANT)


def test_the_portable_kernels_in_the_place_of_those_of_this_processor_show(monkeypatch):
    if kernels.VARIANT == "portable":
        pytest.skip("this processor runs the portable kernels anyway")
    usual = {stage: of(stage) for stage in ("vtlp", FEATURIZER)}
    portable = importlib.import_module("sonorant.audio.kernels_portable")
    for module in (vtlp, peaks, features, probe):
        monkeypatch.setattr(module, "kernels", portable)
    for stage, told in usual.items():
        variant, _, checksum = of(stage).partition(":")
        assert (variant, told.partition(":")[2] == checksum) == ("portable", False)


def test_a_noise_recording_that_was_away_when_a_replica_began_makes_another_checksum(tmp_path):
    rng = np.random.default_rng(0)
    for name in range(40):  # so many that eight examples play none but a few
        soundfile.write(tmp_path / f"{name}.wav", rng.normal(0, 0.1, 8000), 8000)
    noise = {"kinds": ["folder"], "folder": "."}
    stages = [{"stage": "room", "t60_s": {"low": 0.05, "high": 0.1}, "noise": noise, "probability": 0.01}]
    recipe = Recipe.model_validate(digits_recipe().model_dump(mode="json") | {"stages": stages})

    def told():
        resources = StageResources(None, tmp_path)
        return arithmetic({"room": build_stage("room", recipe, resources)}, recipe, resources)

    whole = told()
    assert told() == whole
    (tmp_path / "39.wav").rename(tmp_path / "away")
    assert told() != whole
