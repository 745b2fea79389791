"""Sessions whose streams end before their audio, and those that go on from them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ
from rigs.tones import Tones, noise, spoken, tone

from services.recognizer_client.client import pcm16
from sonorant.serving.errors import AudioTooLong
from sonorant.serving.session import Session, SessionOptions, SpeechEvent
from sonorant.serving.steps import alone

SPEECH, WORDS = spoken(8, seed=3)
SPOKEN = [word for word, _, _ in WORDS]
QUIET = SessionOptions(interim_results=False)


@pytest.fixture(scope="module")
def tones():
    return Tones()


def words(results):
    return [word for result in results for word in result.alternatives[0].words]


def suspended(model, samples, options=QUIET, least_s=0.0):
    session = Session(model, options)
    return [*session.push(pcm16(samples)), *alone(session.suspend_steps(least_s))]


def resumed(model, samples, begin_s):
    session = Session(model, SessionOptions(interim_results=False, begin_s=begin_s))
    return [*session.push(pcm16(samples[round(begin_s * RATE_HZ) :])), *session.finish()]


@given(cut=st.integers(0, len(SPEECH)))
@settings(max_examples=20, deadline=None)
def test_wherever_a_stream_ends_each_word_is_heard_once(tones, cut):
    first = suspended(tones, SPEECH[:cut])
    found = words([*first, *resumed(tones, SPEECH, first[-1].end_s)])
    assert [word.word for word in found] == SPOKEN
    assert [word.start_s for word in found] == pytest.approx([begin_s for _, begin_s, _ in WORDS], abs=0.1)


@given(cut=st.integers(0, len(SPEECH)), deviation=st.sampled_from([3e-4, 3e-3]))
@settings(max_examples=30, deadline=None)
def test_noise_that_begins_after_digital_silence_loses_and_doubles_no_word(tones, cut, deviation):
    samples = np.concatenate([np.zeros(3 * RATE_HZ, np.float32), spoken(8, 3, deviation)[0]])
    first = suspended(tones, samples[: 3 * RATE_HZ + cut])
    found = words([*first, *resumed(tones, samples, first[-1].end_s)])
    assert [word.word for word in found] == SPOKEN


def test_in_a_pause_all_that_was_said_is_kept(tones):
    paused = np.concatenate([SPEECH[: round(WORDS[3][2] * RATE_HZ)], noise(round(0.3 * RATE_HZ), 5)])
    final = suspended(tones, paused)[-1]
    assert final.alternatives[0].text == " ".join(SPOKEN[:4])
    assert final.end_s == len(paused) / RATE_HZ


def test_times_count_from_where_the_audio_begins(tones):
    here, there = (
        [*session.push(pcm16(SPEECH)), *session.finalize_result(), *session.finish()]
        for session in (_Finalized(tones, SessionOptions(begin_s=begin_s)) for begin_s in (0.0, 7.25))
    )
    for one, other in zip(here, there, strict=True):
        assert (other.start_s, other.end_s) == pytest.approx((one.start_s + 7.25, one.end_s + 7.25))
        for word, later in zip(one.alternatives[0].words, other.alternatives[0].words, strict=True):
            assert (later.start_s, later.end_s) == pytest.approx((word.start_s + 7.25, word.end_s + 7.25))


class _Finalized(Session):
    def finalize_result(self):
        return alone(self.finalize_steps())


@pytest.mark.parametrize("samples", [tone(900, 8.0), np.zeros(8 * RATE_HZ, np.float32), SPEECH], ids=len)
def test_streams_at_a_limit_get_on_by_half_of_it_at_least_whatever_they_hear(tones, samples):
    begin_s, limit_s = 0.0, 0.5
    while begin_s + limit_s < len(samples) / RATE_HZ:
        session = Session(tones, SessionOptions(max_seconds=limit_s, begin_s=begin_s))
        with pytest.raises(AudioTooLong):
            session.push(pcm16(samples[round(begin_s * RATE_HZ) :]))
        end_s = alone(session.suspend_steps(limit_s / 2))[-1].end_s
        assert begin_s + limit_s / 2 <= end_s <= begin_s + limit_s + 1e-9
        begin_s = end_s


def test_a_stream_that_is_short_may_go_on_at_its_beginning(tones):
    begin = round(WORDS[0][1] * RATE_HZ)
    final = suspended(tones, SPEECH[begin : begin + RATE_HZ // 5])[-1]
    assert (final.alternatives[0].text, final.end_s) == ("", 0.0)


def test_speech_that_goes_on_has_no_event_of_its_end(tones):
    options = SessionOptions(interim_results=False, speech_events=True)
    cut = round((WORDS[2][1] + 0.2) * RATE_HZ)
    *events, final = suspended(tones, SPEECH[:cut], options)
    assert [event.kind for event in events if isinstance(event, SpeechEvent)] == ["begin"]
    assert final.alternatives[0].text == " ".join(SPOKEN[:2])


def test_one_result_of_all_utterances_ends_before_the_last_word(tones):
    twice = np.concatenate([SPEECH, noise(RATE_HZ, 2), SPEECH[: round((WORDS[4][1] + 0.2) * RATE_HZ)]])
    (final,) = suspended(tones, twice, SessionOptions(interim_results=False, utterances=False))
    assert final.alternatives[0].text.split() == SPOKEN + SPOKEN[:4]
    before_s = len(SPEECH) / RATE_HZ + 1
    assert WORDS[3][2] - 0.1 < final.end_s - before_s < WORDS[4][1] + 0.02


def test_the_alternatives_are_those_of_the_words_that_are_kept(tones):
    cut = round((WORDS[4][1] + 0.2) * RATE_HZ)
    options = SessionOptions(interim_results=False, max_alternatives=4)
    best, *others = suspended(tones, SPEECH[:cut], options)[-1].alternatives
    assert best.text == " ".join(SPOKEN[:4])
    assert best.confidence == max(one.confidence for one in (best, *others))
    assert len({one.text for one in (best, *others)}) == 1 + len(others) > 1
    assert all(word.end_s < WORDS[4][1] for one in (best, *others) for word in one.words)
    assert all(word.confidence >= best.confidence - 1e-6 for word in best.words)


def test_chunks_of_any_size_end_a_stream_at_the_same_place(tones):
    cut = round((WORDS[5][1] + 0.1) * RATE_HZ)
    whole = suspended(tones, SPEECH[:cut])
    session = Session(tones, QUIET)
    found = []
    for begin, end in itertools.pairwise([*range(0, cut, 333), cut]):
        found += session.push(pcm16(SPEECH[begin:end]))
    assert [*found, *alone(session.suspend_steps())] == whole


@pytest.mark.parametrize("pause_s", [0.9, 1.0, 1.3])
def test_a_stream_that_ends_in_the_first_word_after_a_pause_ends_no_earlier_than_the_result_before(tones, pause_s):
    said = SPEECH[: round(WORDS[1][2] * RATE_HZ)]
    again = SPEECH[round(WORDS[2][1] * RATE_HZ) :][: RATE_HZ // 4]
    samples = np.concatenate([said, noise(round(pause_s * RATE_HZ), 4), again])
    first, last = suspended(tones, samples)
    assert first.alternatives[0].text == " ".join(SPOKEN[:2])
    assert last.alternatives[0].text == ""
    assert first.end_s == last.start_s <= last.end_s <= (len(samples) - len(again)) / RATE_HZ
