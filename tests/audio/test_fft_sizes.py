from hypothesis import given
from hypothesis import strategies as st

from sonorant.audio.fft_sizes import coarse_length


@given(st.integers(1, 1 << 24))
def test_coarse_length_is_enough_and_at_most_a_quarter_too_long(least):
    assert least <= coarse_length(least) <= max(least, 1.25 * least)


def test_few_lengths_serve_all_utterances_up_to_a_minute():
    assert len({coarse_length(least) for least in range(1000, 960_000, 7)}) < 50
