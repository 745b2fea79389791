"""Which keys of two recipes differ."""

import pytest

from sonorant.recipe.differences import differences, first_differences


def test_each_difference_is_named_by_its_path():
    then = {"seed": 1, "stages": [{"stage": "gain", "probability": 0.5}, {"stage": "speed"}], "corpus": {"strings": {}}}
    now = {"seed": 1, "stages": [{"stage": "gain"}], "corpus": {"path": "x"}}
    assert differences(then, now) == [
        "corpus.path: default then, x now",
        "corpus.strings: {} then, None (default) now",
        "stages.0.probability: 0.5 then, default now",
        "stages.1.stage: speed then, default now",
    ]
    assert not differences(then, then)


CORPUS = {"reader": "fsdd", "path": "x"}


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ({}, {"seed": 5}, ["seed: 0 (default) then, 5 now"]),
        ({}, {"features": {"mel_bins": 3}}, ["features.mel_bins: 40 (default) then, 3 now"]),
        (
            {"corpus": {**CORPUS, "strings": {}}},
            {"corpus": {**CORPUS, "strings": {"train": 500}}},
            ["corpus.strings.train: 2000 (default) then, 500 now"],
        ),
        (
            {"corpus": CORPUS},
            {"corpus": {**CORPUS, "strings": {"train": 500}}},
            ["corpus.strings.train: no corpus.strings then, 500 now"],
        ),
        (
            {"model": {"family": "deep_speech", "cells": 9}},
            {"model": {"family": "deep_speech"}},
            ["model.cells: 9 then, 2048 (default) now"],
        ),
        ({"model": {"cells": 9}}, {"model": {}}, ["model.cells: 9 then, 160 (default) now"]),
        ({}, {"evaluation": {"sets": [{"seed": 1}]}}, ["evaluation.sets.0.seed: default then, 1 now"]),
    ],
)
def test_an_absent_key_has_the_value_that_is_its_default(then, now, said):
    assert differences(then, now) == said


def test_another_family_is_the_first_difference():
    then, now = {"model": {"cells": 9}}, {"model": {"attention": 7, "cells": 8, "family": "bfa"}}
    assert [line.partition(":")[0] for line in differences(then, now)] == [
        "model.family",
        "model.attention",
        "model.cells",
    ]


def test_of_many_differences_five_are_told_and_the_others_counted():
    then = {"model": {name: 1 for name in "abcdefg"}}
    assert first_differences(then, {}).startswith("model.a: 1 then, default now; model.b: 1 then, ")
    assert first_differences(then, {}).endswith("; model.e: 1 then, default now and 2 more")
    assert first_differences(then, then) == ""
