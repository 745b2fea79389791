import pytest
from rigs.babble import babble_model, babble_recipe, murmur

from services.recognizer_client.client import pcm16
from sonorant.decoding import Hypothesis, Word
from sonorant.export.loading import load_exported
from sonorant.export.saved_model import export_model
from sonorant.serving.errors import BadRequest
from sonorant.serving.request import StreamRequest, check_request
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.written import written
from sonorant.text.formatting import formatter
from sonorant.text.units import Units


def test_a_written_word_spans_its_spoken_words_and_is_as_sure_as_the_least_of_them():
    said = [Word("pay", 0.0, 0.2, 0.9), Word("five", 0.3, 0.5, 0.8), Word("dollars", 0.6, 1.0, 0.5)]
    hypothesis = Hypothesis((1, 2, 3), "pay five dollars", tuple(said), 0.7)
    assert written(hypothesis, "en") == Hypothesis((1, 2, 3), "pay $5", (said[0], Word("$5", 0.3, 1.0, 0.5)), 0.7)


def test_silence_is_written_as_nothing():
    assert written(Hypothesis((), "", (), 1.0), "en") == Hypothesis((), "", (), 1.0)


def test_final_results_are_written_and_interim_ones_verbatim(tmp_path):
    recipe, units = babble_recipe(), Units("words", ("hundred", "dollars", "twenty", "miles"))
    model = load_exported(export_model(babble_model(recipe), recipe, units, tmp_path).path)
    audio = pcm16(murmur(2.0, seed=4))
    spoken, wanted = Session(model, SessionOptions()), Session(model, SessionOptions(written="en"))
    assert spoken.push(audio) == wanted.push(audio)
    text = spoken.finish()[-1].alternatives[0].text
    final = wanted.finish()[-1].alternatives[0]
    assert final.text == formatter("en").text(text) != text
    assert final.text == " ".join(word.word for word in final.words)


def test_a_language_without_rules_is_refused_by_name(model):
    with pytest.raises(BadRequest, match=r"written='de': expected one of en, fr, ko; absent: verbatim"):
        check_request(StreamRequest(written="de"), model)
