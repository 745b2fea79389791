import numpy as np
import pytest
from training.tiny import tiny_recipe

from sonorant.delivery.example import WordSpan
from sonorant.features.section import FeaturesRecipe
from sonorant.objectives.alignment import UNKNOWN, alignment_loss, frame_targets
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import tf

RECIPE = FeaturesRecipe(window_ms=25, hop_ms=10, stack=3, stride=3)  # vector t is known at 30 t + 45 ms


def test_targets_name_the_word_around_its_end_and_blank_elsewhere():
    words = (WordSpan("two", 0.1, 0.3), WordSpan("one", 0.5, 0.8))
    targets = frame_targets(words, {"one": 0, "two": 1}, blank=2, vectors=np.arange(30), recipe=RECIPE)
    known_s = 0.03 * np.arange(30) + 0.045
    assert [round(s, 3) for s in known_s[targets == 1]] == [0.225, 0.255, 0.285, 0.315, 0.345]
    assert ((known_s[targets == 0] > 0.71) & (known_s[targets == 0] < 0.85)).all()
    assert (targets == 0).sum() == 4


def test_an_utterance_without_times_has_no_targets_and_no_loss():
    targets = frame_targets((), {"one": 0}, blank=1, vectors=np.arange(4), recipe=RECIPE)
    assert (targets == UNKNOWN).all()
    assert alignment_loss(tf.random.normal((1, 4, 2)), targets[np.newaxis])[0] == 0


def test_loss_sums_the_log_probability_of_each_target():
    log_probs = tf.nn.log_softmax(tf.random.stateless_normal((1, 3, 4), (1, 2)))
    loss = alignment_loss(log_probs, np.array([[2, UNKNOWN, 0]]))
    np.testing.assert_allclose(loss, [-(log_probs[0, 0, 2] + log_probs[0, 2, 0])], rtol=1e-6)


def test_a_recipe_that_aligns_anything_but_words_is_refused():
    values = tiny_recipe(alignment_weight=1.0).model_dump(mode="json")
    with pytest.raises(ValueError, match=r"needs text\.units: words, found characters"):
        Recipe.model_validate(values | {"text": {"units": "characters"}})
