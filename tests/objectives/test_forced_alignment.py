import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.objectives.ctc import frames_needed
from sonorant.objectives.forced_alignment import force_align

BLANK = 2


def collapsed(path):
    return [symbol for symbol, _ in itertools.groupby(path) if symbol != BLANK]


def score(log_probs, path):
    return sum(log_probs[t, symbol] for t, symbol in enumerate(path))


@given(seed=st.integers(0, 10**6), frames=st.integers(1, 6), labels=st.lists(st.integers(0, 1), max_size=4))
@settings(max_examples=80, deadline=None)
def test_the_path_is_the_best_of_all_that_spell_the_labels(seed, frames, labels):
    log_probs = np.random.default_rng(seed).normal(0, 3, (frames, 3))
    if frames < frames_needed(labels):
        with pytest.raises(ValueError, match="no path spells them"):
            force_align(log_probs, labels, BLANK)
        return
    path = force_align(log_probs, labels, BLANK)
    assert collapsed(path) == labels
    paths = itertools.product(range(3), repeat=frames)
    best = max(score(log_probs, other) for other in paths if collapsed(other) == labels)
    assert score(log_probs, path) == pytest.approx(best)
