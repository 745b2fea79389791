import pytest
from rigs.babble import UNITS, babble_recipe

from sonorant.export.transcribe.obstacle import obstacle
from sonorant.recipe import Recipe
from sonorant.text.units import Units


def recipe_with(**decoding):
    return Recipe.model_validate(babble_recipe().model_dump(mode="json") | {"decoding": decoding})


@pytest.mark.parametrize(
    ("decoding", "found"),
    [
        ({"beam": 3, "stability_ms": 300}, ""),
        ({"lm": {"path": "a.arpa"}}, "decoding.lm:"),
        ({"phrases": ["alpha"]}, "decoding.phrases:"),
        ({"jitter_ms": 5}, "decoding.jitter_ms:"),
    ],
)
def test_what_the_graph_lacks_is_named(decoding, found):
    why_not = obstacle("ctc", recipe_with(**decoding), UNITS)
    assert why_not.startswith(found)
    assert bool(why_not) == bool(found)


def test_a_search_by_label_and_units_with_other_space_are_named():
    assert obstacle("labels", babble_recipe(), UNITS).startswith("model.family=lstm_ctc:")
    units = Units("characters", (" ", "a\u3000b"))
    assert repr(units.symbols[1]) in obstacle("ctc", babble_recipe(), units)
