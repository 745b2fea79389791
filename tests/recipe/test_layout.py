"""Stages as processes, and the names of lanes between them."""

from rigs.small_corpus import digits_recipe
from rigs.tiny_lm import text_recipe

from sonorant.recipe import Recipe
from sonorant.recipe.layout import TRAINER, lane_names, stage_before, stage_order


def test_strict_order_has_a_lane_per_rank_before_the_trainer_only():
    def lanes(stage, order, ranks):
        changes = {"pipeline": {"order": order}, "training": {"ranks": ranks}}
        return lane_names(Recipe.model_validate(digits_recipe().model_dump(mode="json") | changes), stage)

    last = stage_before(digits_recipe(), TRAINER)
    (one,) = lanes(last, "strict", 1)
    assert lanes(last, "fast", 3) == (one,)
    assert lanes(last, "strict", 3) == tuple(f"{one}, rank {rank} of 3" for rank in range(3))
    assert len(lanes("shard_reader", "strict", 3)) == 1


def test_lane_names_differ_in_every_field_that_examples_depend_on():
    recipe = digits_recipe()

    def name(**changes):
        return lane_names(Recipe.model_validate(recipe.model_dump(mode="json") | changes), "vtlp")

    training = recipe.training.model_dump(mode="json") | {"epochs": 77}
    assert name(training=training, pipeline={"replicas": {"shard_reader": 3}}) == name()
    rounded = {"payload": {"features": "float16"}}
    assert len({name(), name(seed=9), name(pipeline=rounded), name(stages=[{"stage": "vtlp"}])}) == 4
    assert lane_names(recipe, "room") != name()


def test_text_goes_from_the_shard_reader_to_the_trainer():
    changes = {"pipeline": {"layout": "split", "order": "strict"}, "training": {"ranks": 2}}
    recipe = Recipe.model_validate(text_recipe().model_dump(mode="json") | changes)
    assert stage_order(recipe) == ("shard_reader",)
    assert stage_before(recipe, TRAINER) == "shard_reader"
    assert len(lane_names(recipe, "shard_reader")) == 2
    assert stage_order(text_recipe()) == ("example_server",)
