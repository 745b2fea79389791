"""Which convolutions over time and frequency a recipe may have."""

import pytest
from pydantic import ValidationError
from training.tiny import tiny_recipe

from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.recipe import Recipe

FRAMES, BINS = 9, 14
LAYERS = [
    {"filters": 5, "width_frames": 4, "width_bins": 3, "stride_frames": 1, "pool_bins": 3},
    {"filters": 4, "width_frames": 2, "width_bins": 2, "stride_frames": 2, "pool_bins": 1},
]
SECTION = {"frames": FRAMES, "layers": LAYERS, "size": 6}
FREQUENCY = {"frames": FRAMES, "filters": 5, "width_bins": 2, "pool_bins": 2, "pooled_width_bins": 1, "size": 7}


def recipe(convolution, model=None, **features):
    values = tiny_recipe().model_dump(mode="json")
    values["features"] |= {"mel_bins": BINS, "stack": FRAMES, "stride": 3, **features}
    values["model"] = {"family": "lstm_ctc", "cells": 6, "convolution_2d": SECTION | convolution} | (model or {})
    return Recipe.model_validate(values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"convolution": {"frames": 2}}, "model.convolution_2d.frames=2 with features.stack=9"),
        ({"convolution": {}, "kind": "mfcc", "cepstra": 13}, "features.kind=mfcc"),
        ({"convolution": {}, "model": {"convolution": FREQUENCY}}, "only one can be before the LSTM layers"),
        ({"convolution": {"layers": []}}, "found none; expected at least one"),
        (
            {"convolution": {"layers": [*LAYERS, {"filters": 3, "width_frames": 4}]}},
            "layers.2: windows of 4 frames and 3 bins; expected at most 3 and 3",
        ),
        (
            {"convolution": {"layers": [{"filters": 3, "width_bins": 15}]}},
            "layers.0: windows of 3 frames and 15 bins; expected at most 9 and 14",
        ),
        (
            {"convolution": {"layers": [{"filters": 3, "pool_bins": 13}]}},
            r"layers.0.pool_bins=13: expected at most 12, the positions",
        ),
        ({"convolution": {"layers": [{"filters": 0}]}}, r"layers\.0\.filters\n.*greater than or equal to 1"),
    ],
)
def test_what_cannot_be_convolved_is_refused_by_name(changes, message):
    with pytest.raises(ValidationError, match=message):
        recipe(**changes)


def test_the_default_layers_fit_sixteen_frames_of_forty_bins():
    section = recipe({"frames": 16, "layers": Convolution2dRecipe(frames=16).layers}, mel_bins=40, stack=16).model
    assert [tuple(feature_map) for feature_map in section.convolution_2d.feature_maps(40)] == [
        (16, 40),
        (6, 18),
        (4, 8),
        (1, 3),
    ]
