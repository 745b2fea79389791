from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.load.schedule import GAP_S, SPREAD_S, speeches

DURATIONS = st.lists(st.floats(0.2, 5.0), min_size=1, max_size=6)


@given(st.integers(1, 40), DURATIONS, st.floats(0.1, 30.0))
def test_each_speaker_says_one_recording_after_the_other(speakers, durations_s, until_s):
    for speaker in range(speakers):
        said = speeches(speaker, speakers, durations_s, until_s)
        for before, after in pairwise(said):
            assert after.begin_s == pytest.approx(before.begin_s + durations_s[before.recording] + GAP_S)
            assert after.recording == (before.recording + 1) % len(durations_s)
        assert all(speech.begin_s < until_s for speech in said)
        # None is left out: the next would begin too late.
        if said:
            assert said[-1].begin_s + durations_s[said[-1].recording] + GAP_S >= until_s
        else:
            assert speaker / speakers * SPREAD_S >= until_s


def test_speakers_begin_spread_and_with_different_recordings():
    first = [speeches(speaker, 4, [1.0, 2.0], 10.0)[0] for speaker in range(4)]
    assert [speech.begin_s for speech in first] == [0.0, 0.5, 1.0, 1.5]
    assert [speech.recording for speech in first] == [0, 1, 0, 1]
