import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonorant.audio.quiet_places import quiet_cuts

RATE_HZ = 1000


@given(length=st.integers(0, 5000), longest_s=st.floats(0.002, 3.0), seed=st.integers(0, 9))
def test_no_piece_is_empty_or_longer_than_the_longest(length, longest_s, seed):
    waveform = np.random.default_rng(seed).standard_normal(length).astype(np.float32)
    cuts = quiet_cuts(waveform, RATE_HZ, longest_s)
    edges = [0, *cuts, length]
    assert all(0 < end - begin <= longest_s * RATE_HZ for begin, end in itertools.pairwise(edges) if length)
    assert bool(cuts) == (length > int(longest_s * RATE_HZ))


def test_cuts_are_in_the_pauses():
    waveform = np.random.default_rng(1).standard_normal(20_000).astype(np.float32)
    for pause in (4200, 8500, 9900, 12_600):
        waveform[pause : pause + 400] *= 0.1
    cuts = quiet_cuts(waveform, RATE_HZ, 5.0)
    assert [pause for cut in cuts for pause in (4200, 8500, 12_600) if pause + 100 <= cut <= pause + 300] == [
        4200,
        8500,
        12_600,
    ]
