import pytest
from rigs.babble import babble_recipe
from rigs.tiny_bfa import SECTION

from sonorant.recipe import Recipe
from sonorant.tuning import BadTuning, Range, ranges_of, read_range, tunable, with_weights
from sonorant.tuning.weights import weights_of, without_weights

LM, PRIOR = {"path": "lm.arpa", "alpha": 0.7}, {"path": "unigrams.arpa"}
CTC = {"model": {**SECTION, "ctc": True}, "training": {"ctc_weight": 0.3}}


def recipe(decoding=(), **sections):
    return Recipe.model_validate(babble_recipe().model_dump(mode="json") | sections | {"decoding": dict(decoding)})


@pytest.mark.parametrize(
    ("made", "keys"),
    [
        (recipe(), []),
        (recipe({"lm": LM}), ["lm.alpha", "lm.beta"]),
        (recipe({"phrases": ["alpha"]}), ["phrase_boost"]),
        (recipe(model=SECTION), ["length_bonus", "end_threshold", "coverage_weight"]),
        (recipe({"end_threshold": None}, model=SECTION), ["length_bonus", "coverage_weight"]),
        (recipe({"lm": LM, "prior": PRIOR}, **CTC), ["lm.alpha", "lm.beta", "prior.weight", "length_bonus",
                                                     "end_threshold", "coverage_weight", "ctc_weight"]),
        (recipe(model={**SECTION, "family": "mocha"}), ["length_bonus", "end_threshold"]),
        (recipe(model={**SECTION, "family": "mocha", "ctc": True}, training={"ctc_weight": 0.3}),
         ["length_bonus", "end_threshold", "ctc_weight"]),
    ],
    ids=lambda value: "" if isinstance(value, Recipe) else ",".join(value),
)  # fmt: skip
def test_what_a_search_uses_can_be_tuned_and_is_allowed(made, keys):
    assert list(tunable(made)) == keys
    for key in keys:
        for value in ranges_of(made, {})[key]:
            changed = with_weights(made, {key: value})
            assert weights_of(changed) == {**weights_of(made), key: value}
            Recipe.model_validate(changed.model_dump(mode="json"))


@pytest.mark.parametrize("threshold", [None, 2.0])
def test_what_is_left_without_weights_is_the_same_for_all_weights_and_no_other_search(threshold):
    made = recipe({"lm": LM, "prior": PRIOR, "end_threshold": threshold}, **CTC)
    lows = {key: span.low for key, span in ranges_of(made, {}).items()}
    assert without_weights(made) == without_weights(with_weights(made, lows)) != made
    assert without_weights(made) != without_weights(recipe({"lm": LM, "prior": PRIOR, "beam": 3}, **CTC))


def test_a_range_is_read_with_and_without_the_sections_name():
    assert read_range("decoding.lm.beta=-2:4.5") == ("lm.beta", Range(-2, 4.5)) == read_range("lm.beta=-2:4.5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lm.alpha", "expected KEY=LOW:HIGH"),
        ("lm.alpha=1", "expected KEY=LOW:HIGH"),
        ("lm.alpha=a:b", "expected KEY=LOW:HIGH"),
        ("lm.alpha=2:1", "LOW < HIGH"),
        ("lm.alpha=1:1", "LOW < HIGH"),
        ("lm.alpha=0:inf", "finite"),
    ],
)
def test_a_range_that_is_none_is_refused(text, message):
    with pytest.raises(BadTuning, match=message) as refused:
        read_range(text)
    assert (text in str(refused.value), refused.value.exit_code) == (True, 65)


@pytest.mark.parametrize(
    ("made", "text", "message"),
    [
        (recipe({"lm": LM}), "lm.alpha=0:11", r"lm\.alpha: 11 is out of range: must be less than or equal to 10"),
        (recipe({"lm": LM}), "lm.alpha=-1:1", r"lm\.alpha: -1 is out of range"),
        (recipe({"lm": LM}), "ctc_weight=0:0.5", r"ctc_weight: no weight of this.*expected one of lm\.alpha, lm\.beta"),
        (recipe(**CTC), "ctc_weight=0:1", r"ctc_weight: 1 is out of range: must be less than 1"),
        (recipe(**CTC), "beam=1:8", "beam: no weight"),
    ],
)
def test_a_range_that_the_recipe_does_not_allow_is_refused(made, text, message):
    with pytest.raises(BadTuning, match=message):
        ranges_of(made, dict([read_range(text)]))


def test_a_recipe_without_weights_is_refused():
    with pytest.raises(BadTuning, match=r"nothing to tune: .*lstm_ctc .*--set 'decoding\.lm="):
        ranges_of(recipe(), {})
