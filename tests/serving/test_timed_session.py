import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, murmur

from sonorant.decoding.section import EndpointingRecipe
from sonorant.errors import SonorantError
from sonorant.serving.endpointing import End, Speech, open_endpointer
from sonorant.serving.errors import AudioTooLong, BadRequest
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.speech_timeouts import NO_TIMEOUTS, SpeechTimeouts, check_timeouts
from sonorant.serving.timed_session import open_session

SILENCE = np.zeros(RATE_HZ, np.float32)
SAID = np.concatenate([SILENCE, murmur(0.6, seed=4), SILENCE, SILENCE, murmur(0.6, seed=9), SILENCE, SILENCE])
OPTIONS = SessionOptions(interim_results=False, speech_events=True)


def pcm(samples):
    return np.rint(samples * 32768).astype("<i2").tobytes()


def heard(session, samples, cuts=()):
    audio = pcm(samples)
    edges = [0, *(2 * cut for cut in cuts), len(audio)]
    pushed = [one for a, b in pairwise(edges) for one in session.push(audio[a:b])]
    return pushed + session.finish()


def timed(model, start_s=math.inf, end_s=math.inf, options=OPTIONS):
    return open_session(model, options, None, SpeechTimeouts(start_s, end_s))


def expected_end_s(timeouts):
    """Where a timeout expires, by what an endpointer finds, and has decided, in frame after frame."""
    endpointer, hop = open_endpointer(EndpointingRecipe(), RATE_HZ), RATE_HZ // 100
    since_s, allowed_s = 0.0, timeouts.start_s
    for at in range(0, len(SAID), hop):
        if min(at, endpointer.decided) / RATE_HZ >= since_s + allowed_s:
            return at / RATE_HZ
        for cut in endpointer.push(SAID[at : at + hop]):
            if not isinstance(cut, Speech):
                since_s, allowed_s = (at + hop) / RATE_HZ, (timeouts.end_s if isinstance(cut, End) else math.inf)
    return len(SAID) / RATE_HZ


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from([math.inf, 0.6, 1.3]),
    st.sampled_from([math.inf, 0.51, 1.1]),
    st.lists(st.integers(0, len(SAID)), max_size=8),
)
def test_a_session_ends_where_a_timeout_expires_however_it_is_cut(model, start_s, end_s, cuts):
    session = timed(model, start_s, end_s)
    found = heard(session, SAID, sorted(cuts))
    expected_s = expected_end_s(SpeechTimeouts(start_s, end_s))
    assert session.audio_s == pytest.approx(expected_s, abs=0.03)
    assert session.ended == (expected_s < len(SAID) / RATE_HZ)
    assert found == heard(Session(model, OPTIONS), SAID[: round(session.audio_s * RATE_HZ)])


@pytest.mark.parametrize("before_s", [0.05, 0.15, 0.25])
def test_speech_that_begins_before_a_timeout_is_heard_though_it_is_found_later(model, before_s):
    quiet = np.zeros(round((0.9 - before_s) * RATE_HZ), np.float32)
    audio = np.concatenate([quiet, murmur(1.0, seed=4), SILENCE])
    (begin,) = [one.time_s for one in heard(Session(model, OPTIONS), audio) if getattr(one, "kind", "") == "begin"]
    assert begin < 0.9
    session = timed(model, start_s=0.9)
    assert heard(session, audio) == heard(Session(model, OPTIONS), audio)
    assert not session.ended


def test_a_knock_before_a_timeout_delays_it_until_it_is_known_to_be_none(model):
    audio = np.zeros(4 * RATE_HZ, np.float32)
    audio[round(0.85 * RATE_HZ) : round(0.87 * RATE_HZ)] = 0.5
    session = timed(model, start_s=0.9)
    heard(session, audio)
    assert session.ended
    assert 0.9 < session.audio_s < 1.2


def test_noise_without_end_does_not_delay_it_for_long(model):
    noise = np.random.default_rng(0).normal(0, 0.1, 4 * RATE_HZ).astype(np.float32)
    noise[: RATE_HZ // 2] *= 0.001
    session = timed(model, start_s=0.6)
    heard(session, noise)
    assert session.ended
    assert session.audio_s < 3


def test_no_timeout_expires_while_speech_goes_on(model):
    session = timed(model, 0.6, 0.6)
    session.push(pcm(murmur(3.0, seed=3)))
    assert (session.ended, session.audio_s) == (False, 3.0)


def test_the_length_limit_keeps_what_was_heard(model):
    session = timed(model, 20.0, options=SessionOptions(interim_results=False, max_seconds=4.0))
    with pytest.raises(AudioTooLong):
        session.push(pcm(SAID))
    whole = heard(Session(model, SessionOptions(interim_results=False)), SAID[: 4 * RATE_HZ])
    assert session.finish() == whole


def test_without_timeouts_the_session_is_the_plain_one(model):
    assert type(open_session(model, OPTIONS, None, NO_TIMEOUTS)) is Session


def served(model, endpointing):
    decoding = model.recipe.decoding.model_copy(update={"endpointing": endpointing})
    return SimpleNamespace(name="babble", recipe=model.recipe.model_copy(update={"decoding": decoding}))


def test_timeouts_have_google_s_bounds_and_a_meaning(model):
    for good in (NO_TIMEOUTS, SpeechTimeouts(0.501, 59.9), SpeechTimeouts(end_s=1.0)):
        check_timeouts(good, model, apart=False)
    check_timeouts(NO_TIMEOUTS, served(model, None), apart=True)
    for timeouts, one, apart, reason in (
        (SpeechTimeouts(start_s=0.5), model, False, "speech_start_timeout=0.5 s: expected more than 0.5 s and less"),
        (SpeechTimeouts(end_s=60.0), model, False, "speech_end_timeout=60 s"),
        (SpeechTimeouts(end_s=-1.0), model, False, "speech_end_timeout=-1 s"),
        (SpeechTimeouts(end_s=1.0), served(model, None), False, "model 'babble' has no endpointing"),
        (SpeechTimeouts(start_s=1.0), model, True, "channels are recognized apart"),
    ):
        with pytest.raises(SonorantError, match=reason) as caught:
            check_timeouts(timeouts, one, apart=apart)
        assert isinstance(caught.value, BadRequest)
