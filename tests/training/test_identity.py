"""What of a recipe a resumed run must have as it was."""

from training.tiny import tiny_recipe

from sonorant.recipe.differences import differences
from sonorant.recipe.loading import check_recipe
from sonorant.training.identity import identity


def with_model(recipe, **changes):
    return recipe.model_copy(update={"model": recipe.model.model_copy(update=changes)})


def test_limits_may_change_and_the_model_may_not():
    recipe = tiny_recipe(epochs=2)
    assert identity(recipe) == identity(tiny_recipe(epochs=9, patience=1))
    found = differences(identity(recipe), identity(with_model(recipe, cells=13)))
    assert found == [f"model.cells: {recipe.model.cells} then, 13 now"]


def test_an_option_that_is_new_and_at_its_default_makes_no_difference():
    recipe = tiny_recipe(epochs=2)
    assert "dropout" not in identity(with_model(recipe, dropout=type(recipe.model)().dropout))["model"]


def test_a_recipe_written_with_all_its_values_is_the_same_one():
    recipe = tiny_recipe(epochs=2)
    assert identity(check_recipe(recipe.model_dump(mode="json"), "written")) == identity(recipe)
