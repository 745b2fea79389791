"""The probability of labels over all paths, against going through every path."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.decoding.ctc_rescoring import ctc_log_prob

BLANK = 2


def collapsed(path):
    return tuple(y for y, before in zip(path, (None, *path), strict=False) if y not in (before, BLANK))


def rows(frames, seed):
    return np.log(np.random.default_rng(seed).dirichlet(np.ones(BLANK + 1), frames)).astype(np.float32)


@given(st.integers(1, 6), st.integers(0, 1000), st.lists(st.integers(0, BLANK - 1), max_size=7))
@settings(deadline=None)
def test_it_is_the_sum_over_every_path_that_spells_the_labels(frames, seed, labels):
    log_probs = rows(frames, seed).astype(np.float64)
    paths = [p for p in itertools.product(range(BLANK + 1), repeat=frames) if collapsed(p) == tuple(labels)]
    expected = sum(math.exp(sum(log_probs[t, y] for t, y in enumerate(path))) for path in paths)
    assert math.exp(ctc_log_prob(rows(frames, seed), labels)) == pytest.approx(expected, rel=1e-5)


def test_impossible_symbols_and_nan_stay_what_they_are():
    log_probs = rows(4, 0)
    log_probs[:, 1] = -np.inf
    assert ctc_log_prob(log_probs, [1]) == -math.inf
    assert math.isfinite(ctc_log_prob(log_probs, [0]))
    for frame, symbol in itertools.product(range(4), (0, BLANK)):
        broken = log_probs.copy()
        broken[frame, symbol] = np.nan
        assert math.isnan(ctc_log_prob(broken, [0]))


@pytest.mark.parametrize("labels", [[BLANK], [-1]])
def test_what_is_no_unit_is_refused(labels):
    with pytest.raises(ValueError, match="label"):
        ctc_log_prob(rows(2, 0), labels)
