import re
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.captions import Cue, cues, srt, vtt

END_S = 120.0  # after all words


@dataclass(frozen=True)
class Word:
    word: str
    start_s: float
    end_s: float


def spoken(*timed):
    return [Word(*word) for word in timed]


@st.composite
def speech(draw):
    words, at = [], 0.0
    for text in draw(st.lists(st.text("abc<&한", min_size=1, max_size=60), max_size=20)):
        at += draw(st.floats(0, 3))
        words.append(Word(text, at, at := at + draw(st.floats(0.01, 2))))
    return words


@given(words=speech())
def test_each_word_is_shown_once_and_in_order_while_it_is_spoken(words):
    made = cues(words, END_S)
    assert " ".join(line for cue in made for line in cue.lines).split() == [word.word for word in words]
    assert all(cue.start_s <= cue.end_s for cue in made)
    assert all(cue.end_s <= after.start_s for cue, after in pairwise(made))
    assert all(any(cue.start_s <= word.start_s <= word.end_s <= cue.end_s for cue in made) for word in words)


@given(words=speech())
def test_a_cue_has_two_lines_of_42_columns(words):
    for cue in cues(words, END_S):
        assert len(cue.lines) <= 2
        assert all(sum(2 if char == "한" else 1 for char in line) <= 42 or " " not in line for line in cue.lines)


@given(words=speech())
def test_a_cue_is_as_long_as_seven_seconds_unless_a_word_is(words):
    longest = max((word.end_s - word.start_s for word in words), default=0)
    assert all(cue.end_s - cue.start_s <= max(7.0, longest) + 1e-9 for cue in cues(words, END_S))


@given(digits=st.text("0123456789", min_size=31, max_size=200), length_s=st.floats(0.1, 50))
def test_a_written_number_of_many_digits_keeps_the_limits(digits, length_s):
    made = cues(
        spoken(("my", 0.0, 0.1), (digits, 0.2, 0.2 + length_s), ("code", 0.4 + length_s, 0.6 + length_s)), END_S
    )
    shown = [line for cue in made for line in cue.lines]
    assert "".join(shown).replace(" ", "") == f"my{digits}code"
    assert all(len(line) <= 42 for line in shown)
    assert all(len(cue.lines) <= 2 and cue.end_s - cue.start_s <= 7.0 + 1e-9 for cue in made)


def test_a_number_that_a_cue_holds_is_shown_as_it_is():
    assert cues(spoken(("01012345678", 0.5, 4.5)), END_S) == [Cue(0.5, 4.5, ("01012345678",))]


def test_a_pause_ends_a_cue_that_stays_for_a_second():
    words = spoken(("one", 0.5, 0.7), ("two", 0.9, 1.1), ("three", 2.5, 2.6))
    assert cues(words, END_S) == [Cue(0.5, 1.5, ("one two",)), Cue(2.5, 3.5, ("three",))]


@given(words=speech(), rest_s=st.floats(0, 2))
def test_no_cue_ends_after_the_audio(words, rest_s):
    audio_s = words[-1].end_s + rest_s if words else rest_s
    assert all(cue.end_s <= audio_s for cue in cues(words, audio_s))


def test_the_last_cue_of_a_short_recording_stays_to_its_end():
    assert cues(spoken(("one", 0.13, 0.5)), 0.64) == [Cue(0.13, 0.64, ("one",))]


def test_a_word_that_is_said_to_end_behind_the_audio_has_a_cue_until_its_end():
    assert cues(spoken(("one", 0.7, 0.8)), 0.64) == [Cue(0.7, 0.8, ("one",))]


@given(words=speech(), audio_s=st.floats(0, 2))
def test_no_cue_ends_before_it_starts(words, audio_s):
    assert all(cue.start_s <= cue.end_s for cue in cues(words, audio_s))


def test_the_files_are_as_their_formats_have_them():
    made = [Cue(0.5, 1.5, ("one & two", "<three>")), Cue(3661.0, 3662.0004, ("four",))]
    assert srt(made) == (
        "1\n00:00:00,500 --> 00:00:01,500\none & two\n<three>\n\n2\n01:01:01,000 --> 01:01:02,000\nfour\n"
    )
    assert vtt(made) == (
        "WEBVTT\n\n00:00:00.500 --> 00:00:01.500\none &amp; two\n&lt;three&gt;\n\n01:01:01.000 --> 01:01:02.000\nfour\n"
    )
    assert (srt([]), vtt([])) == ("", "WEBVTT\n")


@pytest.mark.parametrize("write", [srt, vtt])
@given(words=speech())
def test_no_line_of_a_word_is_taken_for_a_cue(write, words):
    text = write(cues(words, END_S))
    assert len(re.findall(r"^\S+ --> \S+$", text, re.MULTILINE)) == len(cues(words, END_S))
