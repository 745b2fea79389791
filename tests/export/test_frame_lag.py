from pathlib import Path

import numpy as np
import pytest

from sonorant.decoding import CtcBeamSearch
from sonorant.delivery.example import WordSpan
from sonorant.export.frame_lag import frame_lag_s
from sonorant.features.front_end import FeatureExtractor
from sonorant.objectives.alignment import frame_targets
from sonorant.recipe.document import Override
from sonorant.recipe.loading import load_recipe
from sonorant.text.units import Units

UNITS = Units("words", ("one", "two", "three"))
SAID = [WordSpan("one", 0.3, 0.8), WordSpan("two", 1.1, 1.7), WordSpan("three", 2.0, 2.6)]
SECONDS = 3.2
RECIPES = Path(__file__).parents[2] / "recipes"
STACKS = [("digits", []), ("commands", [("features.stack", "8")]), ("commands", [("features.stack", "16")])]
OTHERS = [(name, []) for name in ("digits-thesis", "commands-thesis", "common-voice-thesis", "digits-google")]


@pytest.mark.parametrize(("name", "changes"), STACKS + OTHERS)
def test_words_end_where_the_targets_of_training_say(name, changes):
    """Targets are by the end of each frame's audio, and the search knows numbers of frames alone."""
    recipe = load_recipe(RECIPES / f"{name}.yaml", [Override(key, value, "test") for key, value in changes])
    extractor = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz)
    framing = recipe.model.framing
    frames = framing.frames(extractor.vectors(round(SECONDS * recipe.corpus.sample_rate_hz)))
    targets = frame_targets(SAID, [0, 1, 2], UNITS, framing.vectors(frames), recipe.features)
    log_probs = np.full((frames, UNITS.size + 1), np.log(1e-6))
    log_probs[np.arange(frames), targets] = np.log1p(-3e-6)
    search = CtcBeamSearch(UNITS, extractor.vector_seconds * framing.block)
    search.push(log_probs)
    search.finish()
    lag_s = frame_lag_s(recipe, extractor)
    ends = [word.end_s + lag_s for word in search.hypotheses()[0].words]
    window_s = (recipe.features.window_ms - recipe.features.hop_ms) / 1000  # of which its weights leave little
    assert ends == pytest.approx([word.end_s for word in SAID], abs=0.02 + window_s)


def test_heads_that_were_trained_to_stop_late_tell_of_earlier_frames():
    recipe = load_recipe(RECIPES / "grammar-mocha.yaml")
    extractor = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz)
    assert frame_lag_s(recipe, extractor) == pytest.approx(0.05 - 4 * 0.06)
    prompt = recipe.model_copy(update={"training": recipe.training.model_copy(update={"head_delay_frames": 0})})
    assert frame_lag_s(prompt, extractor) == pytest.approx(0.05)
