from types import SimpleNamespace

import numpy as np
import pytest
from rigs.babble import RATE_HZ, murmur

from sonorant.decoding.section import EndpointingRecipe
from sonorant.serving.errors import BadRequest
from sonorant.serving.sensitivity import SENSITIVITIES, check_sensitivity, with_sensitivity
from sonorant.serving.session import Session, SessionOptions, SpeechEvent

PAUSES_S = (0.3, 0.6, 1.2)


def said():
    """Speech, and pauses of several lengths after each."""
    parts = [part for pause_s in PAUSES_S for part in (murmur(1.0, seed=4), np.zeros(round(pause_s * RATE_HZ)))]
    return np.concatenate([*parts, murmur(1.0, seed=4)]).astype(np.float32)


@pytest.mark.parametrize(("sensitivity", "divided"), [("STANDARD", 1), ("SHORT", 2), ("SUPERSHORT", 3)])
def test_a_shorter_pause_ends_an_utterance_of_a_more_sensitive_stream(model, sensitivity, divided):
    session = Session(model, SessionOptions(interim_results=False, speech_events=True, sensitivity=sensitivity))
    answers = [*session.push(np.rint(said() * 32768).astype("<i2").tobytes()), *session.finish()]
    begins = [one for one in answers if isinstance(one, SpeechEvent) and one.kind == "begin"]
    assert len(begins) == divided + 1


def test_the_pause_is_a_share_of_the_recipe_s_within_its_bounds():
    recipe = EndpointingRecipe(silence_ms=1000, pre_roll_ms=50)
    found = {name: with_sensitivity(recipe, name) for name in SENSITIVITIES}
    assert {name: one.silence_ms for name, one in found.items()} == {"STANDARD": 1000, "SHORT": 500, "SUPERSHORT": 250}
    assert all(one.pre_roll_ms == 50 for one in found.values())
    assert with_sensitivity(EndpointingRecipe(silence_ms=200), "SUPERSHORT").silence_ms == 100
    assert with_sensitivity(None, "SHORT") is None


def test_what_is_unknown_or_has_no_effect_is_refused(model):
    undivided = model.recipe.model_copy(
        update={"decoding": model.recipe.decoding.model_copy(update={"endpointing": None})}
    )
    mute = SimpleNamespace(name="babble", recipe=undivided)
    check_sensitivity("STANDARD", mute)
    with pytest.raises(BadRequest, match="endpointing_sensitivity=SHORT: model 'babble' has no endpointing"):
        check_sensitivity("SHORT", mute)
    with pytest.raises(BadRequest, match="endpointing_sensitivity=7: expected one of STANDARD, SHORT, SUPERSHORT"):
        check_sensitivity("7", model)
