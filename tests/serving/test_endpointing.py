import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, murmur

from sonorant.audio.comfort_noise import quiet_room
from sonorant.decoding.section import EndpointingRecipe
from sonorant.serving.endpointing import Begin, End, Endpointer, Speech, open_endpointer

RECIPE = EndpointingRecipe(silence_ms=500, pre_roll_ms=200)
EAGER = EndpointingRecipe(silence_ms=100, pre_roll_ms=2000)  # whose utterances begin with the pause before them


def silence(seconds):
    return np.zeros(round(seconds * RATE_HZ), np.float32)


SAID = np.concatenate([silence(3.0), murmur(1.0, seed=4), silence(1.5), murmur(1.5, seed=9), silence(2.0)])


def utterances(endpointer, samples, cuts=()):
    """Of each utterance its beginning, its audio and its end."""
    cut = [one for part in np.split(samples, sorted(cuts)) for one in endpointer.push(part)]
    found = []
    for one in itertools.chain(cut, endpointer.finish()):
        if isinstance(one, Begin):
            found.append([one, silence(0), None])
        elif isinstance(one, Speech):
            found[-1][1] = np.concatenate([found[-1][1], one.samples])
        else:
            assert isinstance(one, End)
            found[-1][2] = one
    return found


def seconds(one):
    return [sample / RATE_HZ for sample in one]


def test_utterances_have_their_speech_with_pre_roll_and_pause():
    (first, _, first_end), (second, _, second_end) = utterances(Endpointer(RECIPE, RATE_HZ), SAID)
    assert seconds(first) == pytest.approx([2.8, 3.0], abs=0.05)
    assert seconds(first_end) == pytest.approx([4.5, 4.0], abs=0.15)
    assert seconds(second) == pytest.approx([5.3, 5.5], abs=0.05)
    assert seconds(second_end) == pytest.approx([7.5, 7.0], abs=0.15)


def test_the_audio_of_an_utterance_is_that_between_its_ends():
    for begin, audio, end in utterances(Endpointer(RECIPE, RATE_HZ), SAID, range(0, len(SAID), 801)):
        np.testing.assert_array_equal(audio, SAID[begin.start : end.end])


@pytest.mark.parametrize("recipe", [RECIPE, EAGER], ids=["usual", "eager"])
@given(cuts=st.sets(st.integers(0, len(SAID)), max_size=12) | st.just(range(0, len(SAID), 801)))
@settings(max_examples=25)
def test_utterances_do_not_depend_on_chunks(recipe, cuts):
    whole = utterances(Endpointer(recipe, RATE_HZ), SAID)
    for one, other in zip(utterances(Endpointer(recipe, RATE_HZ), SAID, cuts), whole, strict=True):
        assert (one[0], one[2]) == (other[0], other[2])
        np.testing.assert_array_equal(one[1], other[1])


def test_an_open_utterance_ends_with_the_stream():
    ((_, audio, end),) = utterances(Endpointer(RECIPE, RATE_HZ), SAID[: round(3.9 * RATE_HZ) + 7])
    assert end.end == round(3.9 * RATE_HZ) + 7 >= end.speech
    assert audio[-1] == SAID[end.end - 1]


def test_what_may_yet_be_speech_is_not_decided():
    endpointer = Endpointer(RECIPE, RATE_HZ)
    for chunk in np.split(SAID[: round(3.4 * RATE_HZ)], range(80, round(3.4 * RATE_HZ), 80)):
        before = endpointer.decided
        if begun := [cut for cut in endpointer.push(chunk) if isinstance(cut, Begin)]:
            break
    assert begun == [Begin(before, before + round(0.2 * RATE_HZ))]
    assert endpointer.decided > before


def test_nothing_is_left_in_silence():
    endpointer = Endpointer(RECIPE, RATE_HZ)
    assert endpointer.decided == 0
    assert list(endpointer.push(silence(2.5))) == []
    assert endpointer.decided == round(2.5 * RATE_HZ)


def test_speech_from_the_first_sample_is_whole():
    ((begin, audio, _),) = utterances(Endpointer(RECIPE, RATE_HZ), murmur(1.0, seed=4))
    assert begin == (0, 0)
    np.testing.assert_array_equal(audio, murmur(1.0, seed=4))


@pytest.mark.parametrize("quiet_s", [0.0, 0.1, 0.3, 0.8])
@pytest.mark.parametrize("noise_db", [-70, -35])
@given(cuts=st.sets(st.integers(0, 24_000), max_size=5))
@settings(max_examples=5, deadline=None)
def test_speech_begins_after_the_quiet_or_noise_that_a_stream_begins_with(quiet_s, noise_db, cuts):
    quiet = silence(quiet_s)
    said = np.concatenate([quiet, murmur(1.0, seed=4)])
    said += quiet_room(len(said), np.random.default_rng(2)) * np.float32(10 ** ((70 + noise_db) / 20))
    ((begin, audio, _),) = utterances(Endpointer(RECIPE, RATE_HZ), said, cuts)
    assert begin.start == 0
    assert len(quiet) - 2 * RATE_HZ // 100 <= begin.speech <= len(quiet) + 2 * RATE_HZ // 100
    assert len(audio) == len(quiet) + RATE_HZ


def test_an_utterance_may_begin_with_the_pause_before_it_but_with_no_speech():
    found = utterances(Endpointer(EAGER, RATE_HZ), SAID)
    for (_, _, end), (begin, _, _) in itertools.pairwise(found):
        assert end.speech <= begin.start <= begin.speech


def test_a_short_pause_ends_a_long_utterance():
    long = np.concatenate([murmur(21.0, seed=2), silence(0.35), murmur(1.0, seed=4)])
    short = np.concatenate([murmur(2.0, seed=2), silence(0.35), murmur(1.0, seed=4)])
    assert len(utterances(Endpointer(RECIPE, RATE_HZ), short)) == 1
    assert len(utterances(Endpointer(RECIPE, RATE_HZ), long)) == 2


def test_a_word_that_begins_as_the_pause_is_over_is_not_cut():
    t = np.arange(round(0.6 * RATE_HZ)) / RATE_HZ
    swell = np.exp(-np.maximum(0, t - 0.3) / 0.05)  # speech only by its fall, 0.3 s after its onset
    word = (np.random.default_rng(1).standard_normal(len(t)) * 0.1 * swell).astype(np.float32)
    said = np.concatenate([murmur(0.9, seed=4), silence(0.42), word, silence(1.0)])
    ((begin, _, end),) = utterances(Endpointer(RECIPE, RATE_HZ), said)
    assert begin.start == 0
    assert end.speech > round(1.6 * RATE_HZ)


def held_s(*parts, recipe=RECIPE):
    """Seconds of audio that are kept after these seconds of audio."""
    endpointer = Endpointer(recipe, RATE_HZ)
    for part in parts:
        list(endpointer.push(part))
    assert endpointer._held.base is None
    return len(endpointer._held) / RATE_HZ


@pytest.mark.parametrize(
    ("parts", "most_s"),
    [
        pytest.param([silence(1.0)] * 60, 0.25, id="silence"),
        pytest.param([murmur(1.0, seed=4)] * 60, 0.25, id="speech"),
        pytest.param([murmur(1.0, seed=4), silence(0.4)], 0.25, id="pause"),
        pytest.param([murmur(1.0, seed=4), silence(3.0)], 0.25, id="end"),
    ],
)
def test_little_is_held(parts, most_s):
    assert held_s(*parts) <= most_s


def test_a_long_pause_is_not_held():
    patient = EndpointingRecipe(silence_ms=10_000, pre_roll_ms=200)
    assert held_s(murmur(1.0, seed=4), *[silence(1.0)] * 8, recipe=patient) <= 0.25


def test_without_a_recipe_a_stream_is_one_utterance():
    ((begin, audio, end),) = utterances(open_endpointer(None, RATE_HZ), SAID, [100, 5000])
    assert (begin, end) == ((0, 0), (len(SAID), len(SAID)))
    np.testing.assert_array_equal(audio, SAID)
    assert utterances(open_endpointer(None, RATE_HZ), silence(0)) == []
