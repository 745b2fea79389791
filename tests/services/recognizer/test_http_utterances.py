"""OpenAI's answers for recordings of several utterances, and those that are streamed."""

import numpy as np
import openai
import pytest
from rigs.babble import RATE_HZ, murmur
from rigs.encoded import encoded
from rigs.openai_client import asked, transcribed

from services.recognizer_client.client import pcm16
from sonorant.serving.errors import AudioTooLong
from sonorant.serving.session import Session, SessionOptions

SILENCE = np.zeros(RATE_HZ, np.float32)
TWO = np.concatenate([SILENCE, murmur(1.0, seed=4), SILENCE, SILENCE, murmur(1.0, seed=9), SILENCE])
TWO_UTTERANCES = ("two.wav", encoded("WAV", TWO, RATE_HZ))


@pytest.fixture(scope="module")
def uttered(store):
    """The best hypotheses of two utterances, and the text of both."""
    session = Session(store.get(), SessionOptions(interim_results=False))
    answers = [*session.push(pcm16(TWO)), *session.finish()]
    first, second, silence = (answer.alternatives[0] for answer in answers)
    assert not silence.text
    return first, second, f"{first.text} {second.text}"


def test_each_utterance_is_a_segment(store, uttered):
    first, second, text = uttered
    answer = transcribed(
        store, TWO_UTTERANCES, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert [(segment.id, segment.text, segment.start, segment.end) for segment in answer.segments] == [
        (number, one.text, one.words[0].start_s, one.words[-1].end_s) for number, one in enumerate((first, second))
    ]
    assert [word.start for word in answer.words] == [word.start_s for word in (*first.words, *second.words)]
    assert answer.text == text


def test_silence_has_no_segments(store):
    answer = transcribed(store, ("silence.wav", encoded("WAV", SILENCE, RATE_HZ)), response_format="verbose_json")
    assert (answer.segments, answer.text, answer.duration) == ([], "", 1.0)


def test_other_formats_join_the_utterances(store, uttered):
    *_, text = uttered
    assert transcribed(store, TWO_UTTERANCES).text == text
    assert transcribed(store, TWO_UTTERANCES, response_format="text") == f"{text}\n"


def streamed(store):
    """The events of the streamed answer for two utterances, last the message of the error that ends it, if one does."""

    async def ask(client):
        stream = await client.audio.transcriptions.create(file=TWO_UTTERANCES, model="babble", stream=True)
        return [event async for event in until_error(stream)]

    return asked(store, ask)


async def until_error(events):
    try:
        async for event in events:
            yield event
    except openai.APIError as error:
        yield error.message


def test_a_streamed_answer_has_a_delta_for_each_utterance(store, uttered):
    first, second, text = uttered
    *deltas, done = streamed(store)
    assert [event.delta for event in deltas] == [first.text, f" {second.text}"]
    assert (done.text, done.usage.seconds) == (text, 6.0)


def test_deltas_are_sent_as_they_are_recognized_and_an_error_behind_them_is_an_event(store, uttered, monkeypatch):
    def fail(*_):
        raise AudioTooLong("of the end of the recording")

    monkeypatch.setattr(Session, "finish_steps", fail)
    *deltas, message = streamed(store)
    assert "".join(event.delta for event in deltas) == uttered[-1]
    assert "of the end of the recording" in message
