"""Which keys of two recipes differ."""

from sonorant.recipe.differences import differences, first_differences


def test_each_difference_is_named_by_its_path():
    then = {"seed": 1, "stages": [{"stage": "gain", "probability": 0.5}, {"stage": "speed"}], "corpus": {"strings": {}}}
    now = {"seed": 1, "stages": [{"stage": "gain"}], "corpus": {"path": "x"}}
    assert differences(then, now) == [
        "corpus.path: default then, x now",
        "corpus.strings: {} then, default now",
        "stages.0.probability: 0.5 then, default now",
        "stages.1.stage: speed then, default now",
    ]
    assert not differences(then, then)


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
