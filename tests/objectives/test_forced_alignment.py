import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonorant.objectives.ctc import frames_needed
from sonorant.objectives.forced_alignment import force_align

BLANK = 2
LEVELS = (0.0, -1.0, -2.0, -np.inf)  # few, so that many paths are equally probable, and some impossible


def collapsed(path):
    return [symbol for symbol, _ in itertools.groupby(path) if symbol != BLANK]


def score(log_probs, path):
    return sum(log_probs[t, symbol] for t, symbol in enumerate(path))


def reference(log_probs, labels, blank):
    """Return the path by Eq. 6 and 7 of Graves 2006 in numpy, or None: of equal ways the one from the later state."""
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)
    skips[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    emitted = np.asarray(log_probs, np.float64)[:, states]
    best = np.where(np.arange(len(states)) < 2, emitted[0], -np.inf)
    steps = np.zeros(emitted.shape, int)
    for t in range(1, len(emitted)):
        ways = np.full((3, len(states)), -np.inf)
        ways[0] = best
        ways[1, 1:] = best[:-1]
        ways[2, 2:] = np.where(skips[2:], best[:-2], -np.inf)
        steps[t] = ways.argmax(0)
        best = ways.max(0) + emitted[t]
    state = len(states) - 1 - int(len(states) > 1 and best[-2] > best[-1])
    if not np.isfinite(best[state]):
        return None
    path = []
    for t in range(len(emitted) - 1, -1, -1):
        path.insert(0, int(states[state]))
        state -= steps[t, state]
    return path


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


@given(
    rows=st.lists(st.tuples(*[st.sampled_from(LEVELS)] * 3), min_size=1, max_size=24),
    labels=st.lists(st.integers(0, 1), max_size=8),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@example(rows=[(0.0, 0.0, 0.0)] * 9, labels=[0, 0, 1, 1], dtype=np.float32)
@settings(max_examples=400, deadline=None)
def test_ties_and_impossible_symbols_are_resolved_as_by_an_independent_search(rows, labels, dtype):
    log_probs = np.array(rows, dtype)
    if (expected := reference(log_probs, labels, BLANK)) is None:
        with pytest.raises(ValueError, match=f"^{len(rows)} frames for {len(labels)} labels: no path spells them$"):
            force_align(log_probs, labels, BLANK)
    else:
        path = force_align(log_probs, labels, BLANK)
        assert path.dtype == np.int64
        assert path.tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_long_utterance_has_the_path_of_an_independent_search(dtype):
    rng = np.random.default_rng(3)
    log_probs = rng.normal(0, 3, (700, 31)).astype(dtype)
    labels = rng.integers(0, 30, 150).tolist()
    assert force_align(log_probs, labels, 30).tolist() == reference(log_probs, labels, 30)
    cut = log_probs[::2, ::-1]  # not contiguous
    assert force_align(cut, labels[:50], 30).tolist() == reference(cut, labels[:50], 30)


@pytest.mark.parametrize("symbol", range(3))
def test_nan_on_the_way_ends_in_no_path(symbol):
    log_probs = np.zeros((4, 3))
    log_probs[1, symbol] = np.nan
    with pytest.raises(ValueError, match="4 frames for 2 labels: no path"):
        force_align(log_probs, [0, 1], BLANK)


def test_no_frame_spells_nothing():
    with pytest.raises(ValueError, match="0 frames for 0 labels: no path spells them"):
        force_align(np.zeros((0, 3)), [], BLANK)


@pytest.mark.parametrize(("labels", "blank"), [([3], 2), ([-1], 2), ([0], 3), ([0], -1)])
def test_what_is_no_symbol_is_refused(labels, blank):
    with pytest.raises(ValueError, match="labels and blank among the symbols"):
        force_align(np.zeros((4, 3)), labels, blank)
