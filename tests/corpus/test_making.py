import numpy as np
import pytest
import soundfile
from rigs.small_corpus import RATE_HZ, digits_recipe

from sonorant.corpus.making import check_recordings, make_record
from sonorant.corpus.utterance import Segment, Utterance
from sonorant.errors import BadAudio


def test_an_utterance_that_cannot_be_used_is_named_on_one_line() -> None:
    with pytest.raises(BadAudio) as raised:
        make_record(Utterance("two\nlines", (), "…"), digits_recipe())
    assert raised.value.path == r"two\nlines"


def test_a_segment_beyond_its_recording_is_named_with_its_utterance_and_line(tmp_path) -> None:
    soundfile.write(tmp_path / "a.wav", 0.1 * np.ones(RATE_HZ), RATE_HZ)
    for place, said in ((Segment(tmp_path / "a.wav", 0.5, 2.0), " (utterance u1 of segments:7)"), (None, "")):
        one = Utterance("u1", (place or Segment(tmp_path / "a.wav", channel=3),), "nine", line="segments:7")
        with pytest.raises(BadAudio) as raised:
            make_record(one, digits_recipe())
        reason = f"ends after 1.00 s; 0.50 to 2.50 s wanted{said}" if place else "(the first is 0)"
        assert raised.value.reason.endswith(reason)


def test_a_recording_of_a_refused_number_is_in_no_string(tmp_path) -> None:
    soundfile.write(tmp_path / "a.wav", 0.1 * np.ones(RATE_HZ), RATE_HZ)
    said = [Utterance(text, (Segment(tmp_path / "a.wav"),), text, "ann") for text in ("nine", "9")]
    recipe = digits_recipe()
    refusing = recipe.model_copy(update={"text": recipe.text.model_copy(update={"numbers": "refuse"})})
    assert check_recordings(recipe, said) == []
    ((name, skipped),) = check_recordings(refusing, said)
    assert name == "9"
    assert skipped.reason == "its transcript '9' has '9'; write it as it is read"
