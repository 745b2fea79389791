import itertools

from hypothesis import given
from hypothesis import strategies as st

from sonorant.decoding import Word
from sonorant.text.captions import Cue, cues_of, srt, webvtt


def words(*spans):
    return [Word(text, start_s, end_s, 1.0) for text, start_s, end_s in spans]


def test_a_known_file_of_each_format():
    cues = [Cue(0.0, 1.5, "one & two"), Cue(3661.0005, 3662.9996, "a <b> --> c")]
    assert srt(cues) == (
        "1\n00:00:00,000 --> 00:00:01,500\none & two\n\n2\n01:01:01,000 --> 01:01:03,000\na <b> --> c\n\n"
    )
    assert webvtt(cues) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\none &amp; two\n\n"
        "01:01:01.000 --> 01:01:03.000\na &lt;b&gt; --&gt; c\n\n"
    )


def test_a_pause_begins_a_cue():
    cues = cues_of(words(("one", 0.0, 0.4), ("two", 0.5, 0.9), ("three", 1.8, 2.0)))
    assert cues == [Cue(0.0, 0.9, "one two"), Cue(1.8, 2.0, "three")]


def test_long_text_is_on_two_lines_of_like_length():
    cues = cues_of(words(*((f"word{n:02}", n / 10, (n + 1) / 10) for n in range(9))))
    (shown,) = srt(cues).split("\n\n")[:1]
    first, second = shown.split("\n")[2:]
    assert (len(first), len(second)) in ((27, 34), (34, 27))


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=30), st.floats(0, 2), st.floats(0, 2)), max_size=40))
def test_cues_have_all_words_in_order_and_stay_within_their_limits(spans):
    at_s, spoken = 0.0, []
    for text, pause_s, length_s in spans:
        spoken.append(Word(text, at_s + pause_s, at_s + pause_s + length_s, 1.0))
        at_s += pause_s + length_s
    cues = cues_of(spoken)
    assert " ".join(cue.text for cue in cues) == " ".join(word.word for word in spoken)
    assert all(len(cue.text) <= 84 and cue.end_s - cue.start_s <= 6.0 for cue in cues)
    assert all(before.end_s <= after.start_s for before, after in itertools.pairwise(cues))
