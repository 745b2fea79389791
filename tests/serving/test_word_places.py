import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.babble import RATE_HZ, murmur

from services.recognizer_client.client import pcm16
from sonorant.decoding import Hypothesis, Word
from sonorant.serving.session import Session, SessionOptions
from sonorant.serving.word_places import WordPlaces

HZ = 8000
NOISE, SPEECH = 10 ** (-60 / 20), 10 ** (-20 / 20)


def spoken(spans, seconds, seed=0):
    """Noise, and louder noise between the times of each span."""
    amplitude = np.full(round(seconds * HZ), NOISE)
    for begin_s, end_s in spans:
        amplitude[round(begin_s * HZ) : round(end_s * HZ)] = SPEECH
    return (amplitude * np.random.default_rng(seed).standard_normal(len(amplitude))).astype(np.float32)


def heard(*spans):
    words = tuple(Word(f"word{i}", begin_s, end_s, 0.5) for i, (begin_s, end_s) in enumerate(spans))
    return Hypothesis(tuple(range(len(words))), " ".join(word.word for word in words), words, 0.9)


def starts(samples, hypothesis):
    words = WordPlaces(HZ, 0.0)
    words.push(samples)
    (found,) = words.corrected([hypothesis])
    assert replace(found, words=hypothesis.words) == hypothesis
    assert [word.end_s for word in found.words] == [word.end_s for word in hypothesis.words]
    return [word.start_s for word in found.words]


def test_words_that_are_emitted_at_their_ends_start_with_their_speech():
    said = [(0.3, 0.7), (0.95, 1.5), (1.56, 1.9), (3.4, 3.8)]
    found = starts(spoken(said, 4.0), heard(*((end_s - 0.06, end_s + 0.02) for _, end_s in said)))
    assert found == pytest.approx([begin_s for begin_s, _ in said], abs=0.02)


def test_a_word_that_follows_without_a_pause_starts_where_the_one_before_ends():
    found = starts(spoken([(0.3, 1.1)], 1.3), heard((0.66, 0.7), (1.06, 1.1)))
    assert found == pytest.approx([0.3, 0.7], abs=0.02)


def test_the_start_of_a_long_word_is_found_from_its_first_unit():
    """Its closures come later."""
    found = starts(spoken([(0.4, 0.5), (0.65, 1.6)], 1.8), heard((0.46, 1.6)))
    assert found == pytest.approx([0.4], abs=0.02)


def test_a_unit_may_be_emitted_as_soon_as_its_audio_begins():
    """By a model with look-ahead."""
    assert starts(spoken([(0.5, 0.9)], 1.0), heard((0.5, 0.9))) == pytest.approx([0.5], abs=0.02)
    assert starts(spoken([(0.5, 0.9)], 1.0), heard((0.44, 0.9))) == [0.44]


def test_what_frames_lag_is_added_to_both_ends():
    said = [(0.3, 0.7), (0.95, 1.5), (1.56, 1.9)]
    for lag_s in (0.12, -0.19):
        words = WordPlaces(HZ, lag_s)
        words.push(spoken(said, 2.2))
        emitted = heard(*((end_s - 0.06 - lag_s, end_s - lag_s) for _, end_s in said))
        (found,) = words.corrected([emitted])
        (again,) = words.corrected([emitted])
        assert [word.start_s for word in found.words] == pytest.approx([begin_s for begin_s, _ in said], abs=0.02)
        assert [word.end_s for word in found.words] == pytest.approx([end_s for _, end_s in said])
        assert all(one is other for one, other in zip(found.words, again.words, strict=True))


def test_no_word_is_before_the_audio():
    words = WordPlaces(HZ, -0.2)
    words.push(spoken([(0.0, 0.1)], 1.0))
    (found,) = words.corrected([heard((0.04, 0.08))])
    assert [(word.start_s, word.end_s) for word in found.words] == [(0.0, 0.0)]


def test_speech_at_the_very_beginning_starts_there():
    assert starts(spoken([(0.0, 0.5)], 0.6), heard((0.44, 0.48))) == [0.0]


def test_no_word_starts_longer_than_a_word_before_its_first_unit():
    assert starts(np.full(5 * HZ, 0.1, np.float32), heard((0.4, 0.48), (4.4, 4.48))) == [0.0, pytest.approx(3.2)]


def test_words_that_are_emitted_with_one_frame_share_the_time_until_its_end():
    """Attention may emit several words with one frame."""
    words = WordPlaces(HZ, 0.0)
    words.push(spoken([(0.2, 0.7)], 1.0))
    (found,) = words.corrected([heard((0.64, 0.68), (0.64, 0.68), (0.66, 0.72))])
    begin_s = found.words[0].start_s
    assert begin_s == pytest.approx(0.2, abs=0.02)
    middle_s = (begin_s + 0.68) / 2
    times = [(word.start_s, word.end_s) for word in found.words]
    assert times == [pytest.approx(one) for one in ((begin_s, middle_s), (middle_s, 0.68), (0.68, 0.72))]


def test_without_words_or_audio_nothing_changes():
    assert starts(np.zeros(0, np.float32), heard()) == []
    assert starts(np.zeros(0, np.float32), heard((0.04, 0.08))) == [0.0]


@given(
    gaps=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=8),
    said=st.lists(st.tuples(st.floats(0, 4), st.floats(0, 1)), max_size=6),
)
@settings(max_examples=60)
def test_words_stay_in_order_and_apart_and_never_start_later(gaps, said):
    frames = list(itertools.accumulate(itertools.chain.from_iterable(gaps)))
    emitted = [(0.04 * begin, 0.04 * end) for begin, end in zip(frames[::2], frames[1::2], strict=True)]
    samples = spoken([(begin_s, begin_s + long_s) for begin_s, long_s in said], 5.0)
    found = starts(samples, heard(*emitted))
    ended_s = 0.0
    for start_s, (begin_s, end_s) in zip(found, emitted, strict=True):
        assert ended_s <= start_s <= begin_s < end_s
        ended_s = end_s


def test_what_an_interim_result_said_stands_in_the_final_one():
    said = [(0.3, 0.7), (0.95, 1.5), (1.56, 1.9)]
    samples, words = spoken(said, 2.5), heard(*((end_s - 0.08, end_s - 0.04) for _, end_s in said))
    piecewise = WordPlaces(HZ, 0.0)
    for count, (_, end_s) in enumerate(said):
        piecewise.push(samples[round((said[count - 1][1] if count else 0) * HZ) : round(end_s * HZ)])
        (found,) = piecewise.corrected([replace(words, words=words.words[: count + 1])])
    assert [word.start_s for word in found.words] == starts(samples, words)


def test_words_of_a_session_are_apart_and_within_their_utterance(model):
    parts = [murmur(1.2, seed=seed) for seed in (4, 9)]
    pause = np.zeros(round(0.4 * RATE_HZ), np.float32)
    audio = pcm16(np.concatenate([pause, parts[0], pause, parts[1], pause]))
    session = Session(model, SessionOptions(max_alternatives=3))
    results = [result for at in range(0, len(audio), 1600) for result in session.push(audio[at : at + 1600])]
    for result in [*results, *session.finish()]:
        for alternative in result.alternatives:
            times = [time_s for word in alternative.words for time_s in (word.start_s, word.end_s)]
            assert times == sorted(times)
            assert all(result.start_s <= time_s <= result.end_s + 0.1 for time_s in times)
            assert all(word.start_s < word.end_s for word in alternative.words)
