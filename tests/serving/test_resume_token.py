import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonorant.serving.errors import BadRequest
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.results import Result, SpeechEvent, nothing
from sonorant.serving.resume_token import ResumeToken, parse_token, resume_token

TOKEN = ResumeToken("digits", 3, (1_500_000, 2_250_000))
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: len(name.encode()) < 256
)


@given(NAMES, st.integers(0, 2**63 - 1), st.lists(st.integers(0, 10**15), min_size=1, max_size=8))
def test_a_token_is_read_as_it_was_written_and_short_whatever_the_model_is_called(name, version, places):
    token = ResumeToken(name, version, tuple(places))
    assert parse_token(str(token)) == token
    assert len(str(token)) <= 1024
    assert str(token).isascii()


def encoded(document):
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        "ab",
        "é" * 8,
        "a b=",
        "%%%%",
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(b"[" * 700).decode(),
        *map(
            encoded,
            [
                {},
                [],
                "digits",
                ["digits", 3],
                ["digits", 3, -1],
                ["digits", 3, 10**16],
                ["digits", 3, 1.5],
                ["digits", 3, True],
                ["digits", True, 1],
                ["digits", -3, 1],
                [7, 3, 1],
                ["digits", 3, *range(9)],
                ["digits", 3, [1]],
            ],
        ),
    ],
)
def test_what_no_recognizer_wrote_is_refused_by_name(text):
    with pytest.raises(BadRequest, match="resume_token"):
        parse_token(text)


def test_what_is_longer_than_any_token_is_refused_unread():
    with pytest.raises(BadRequest, match="resume_token: 1025 characters: expected 1024"):
        parse_token("A" * 1025)


def test_no_token_is_a_first_stream():
    assert parse_token("") is None


def test_each_channel_goes_on_at_the_end_of_its_last_final_result():
    answers = [
        Result(nothing(0, 1).alternatives, True, 1.0, 1.0, channel=2),
        Result(nothing(0, 2).alternatives, True, 1.0, 2.25, channel=2),
        Result(nothing(0, 2).alternatives, False, 1.0, 9.0, channel=2),
        SpeechEvent("end", 7.0, channel=2),
        Result(nothing(0, 1).alternatives, True, 1.0, 1.5, channel=1),
    ]
    assert resume_token("digits", 3, answers) == TOKEN
    assert (TOKEN.begin_s, TOKEN.place_s(0), TOKEN.place_s(1)) == (1.5, 1.5, 2.25)


def test_a_token_of_other_channels_is_refused():
    TOKEN.check_channels(2)
    for channels in (1, 3):
        with pytest.raises(BadRequest, match=f"resume_token: .*: 2; this one has {channels}"):
            TOKEN.check_channels(channels)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (ModelChoice(), ModelChoice("digits", 3)),
        (ModelChoice("digits"), ModelChoice("digits", 3)),
        (ModelChoice("digits", label="canary"), ModelChoice("digits", 3)),
        (ModelChoice("digits", 4), ModelChoice("digits", 4)),
        (ModelChoice("commands"), ModelChoice("commands")),
    ],
)
def test_a_version_that_is_asked_for_by_number_and_another_model_go_before_the_token(asked, chosen):
    assert TOKEN.choice(asked) == chosen


def test_channels_that_are_further_apart_than_a_stream_is_long_are_refused():
    TOKEN.check_spread(0.75)
    with pytest.raises(BadRequest, match=r"resume_token: places 0.75 s apart: expected 0.7 s"):
        TOKEN.check_spread(0.7)
