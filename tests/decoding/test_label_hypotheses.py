"""What the compiled hypotheses of searches by label refuse: arrays of other shapes than theirs."""

import numpy as np
import pytest

from sonorant.decoding.kernels import LabelHypotheses, LabelScoring, MonotonicHypotheses

SYMBOLS, FRAMES = 4, 3


def scoring(gains=(0.0,) * SYMBOLS):
    return LabelScoring(gains, 1.0, 0.0, 0.0, 0.0, 0.5, None)


def log_probs(*shape):
    return np.full(shape, np.log(1 / SYMBOLS))


@pytest.mark.parametrize(
    ("rows", "attention", "beside"),
    [
        ((1, 1, SYMBOLS), (2, 1, FRAMES), None),
        ((2, 2, SYMBOLS), (2, 1, FRAMES), None),
        ((2, 1, SYMBOLS - 1), (2, 1, FRAMES), None),
        ((2, 1, SYMBOLS), (2, 1, FRAMES - 1), None),
        ((2, 1, SYMBOLS), (2, 2, FRAMES), None),
        ((2, 1, SYMBOLS), (2, 1, FRAMES), (2, 1, SYMBOLS + 1)),
    ],
)
def test_rows_of_another_batch_are_refused_and_change_nothing(rows, attention, beside):
    hypotheses = LabelHypotheses([FRAMES, 1], 3, scoring())
    with pytest.raises(ValueError, match="utterances, hypotheses"):
        hypotheses.advance(log_probs(*rows), np.ones(attention, np.float32), beside and log_probs(*beside))
    assert hypotheses.before.tolist() == [[SYMBOLS - 1]] * 2
    assert hypotheses.advance(log_probs(2, 1, SYMBOLS), np.ones((2, 1, FRAMES), np.float32), None)


def test_rows_of_other_heads_are_refused():
    hypotheses = MonotonicHypotheses(SYMBOLS, 3, None)
    attends, rows = np.ones(1, bool), log_probs(1, SYMBOLS)
    with pytest.raises(ValueError, match="offered"):  # nothing is, yet
        hypotheses.attend(attends, rows, rows, 0)
    assert hypotheses.offer() == 1
    for wrong in (log_probs(2, SYMBOLS), log_probs(1, SYMBOLS + 1)):
        with pytest.raises(ValueError, match="offered, symbols"):
            hypotheses.attend(attends, wrong, rows, 0)
        with pytest.raises(ValueError, match="offered, symbols"):
            hypotheses.end(rows, wrong, 0)
    with pytest.raises(ValueError, match="attends"):
        hypotheses.attend(np.ones(2, bool), rows, rows, 0)
    assert [len(part) for part in hypotheses.attend(attends, rows, rows, 0)] == [0, 3, 3]
    with pytest.raises(ValueError, match="a number for each"):
        hypotheses.rescore([])


def test_a_beam_of_none_and_no_symbols_are_refused():
    with pytest.raises(ValueError, match="beam must be at least 1"):
        LabelHypotheses([FRAMES], 0, scoring())
    with pytest.raises(ValueError, match="beam must be at least 1"):
        MonotonicHypotheses(SYMBOLS, 0, None)
    with pytest.raises(ValueError, match="gains of all symbols"):
        scoring(gains=())
