"""What the compiled hypotheses of the search by label refuse."""

import numpy as np
import pytest

from sonorant.decoding.kernels import LabelHypotheses, LabelScoring

SYMBOLS, FRAMES = 4, 3


def scoring(gains=(0.0,) * SYMBOLS):
    return LabelScoring(gains, 1.0, 0.0, 0.0, 0.0, 0.5, None)


def log_probs(*shape):
    return np.full(shape, np.log(1 / SYMBOLS))


def attention(*shape):
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("rows", "heard", "beside", "message"),
    [
        ((1, 1, SYMBOLS), (2, 1, FRAMES), None, r"log_probs of shape \[1, 1, 4\]: expected .* \[2, 1, 4\]"),
        ((2, 2, SYMBOLS), (2, 1, FRAMES), None, r"log_probs of shape \[2, 2, 4\]"),
        ((2, 1, SYMBOLS - 1), (2, 1, FRAMES), None, r"log_probs of shape \[2, 1, 3\]"),
        ((2, 1, SYMBOLS), (2, 1, FRAMES - 1), None, r"attention of shape \[2, 1, 2\]: expected .* \[2, 1, 3\]"),
        ((2, 1, SYMBOLS), (2, 2, FRAMES), None, r"attention of shape \[2, 2, 3\]"),
        ((2, 1, SYMBOLS), (2, 1, FRAMES), (2, 1, SYMBOLS + 1), r"scores beside them of shape \[2, 1, 5\]"),
    ],
)
def test_rows_of_another_batch_are_refused_and_change_nothing(rows, heard, beside, message):
    hypotheses = LabelHypotheses([FRAMES, 1], 3, scoring())
    with pytest.raises(ValueError, match=message):
        hypotheses.advance(log_probs(*rows), attention(*heard), beside and log_probs(*beside))
    assert hypotheses.before.tolist() == [[SYMBOLS - 1]] * 2
    assert hypotheses.advance(log_probs(2, 1, SYMBOLS), attention(2, 1, FRAMES), None)


@pytest.mark.parametrize("is_beside", [False, True])
def test_nan_of_any_utterance_changes_none(is_beside):
    hypotheses = LabelHypotheses([FRAMES, FRAMES], 3, scoring())
    good, bad = log_probs(2, 1, SYMBOLS), log_probs(2, 1, SYMBOLS)
    bad[1, 0, 2] = np.nan
    with pytest.raises(ValueError, match="label 0"):
        hypotheses.advance(
            *((good, attention(2, 1, FRAMES), bad) if is_beside else (bad, attention(2, 1, FRAMES), good))
        )
    assert hypotheses.before.tolist() == [[SYMBOLS - 1]] * 2
    assert hypotheses.advance(good, attention(2, 1, FRAMES), None)
    assert hypotheses.before.tolist() == [[0, 1, 2]] * 2


def test_a_beam_of_none_and_no_symbols_are_refused():
    with pytest.raises(ValueError, match="beam=0: must be at least 1"):
        LabelHypotheses([FRAMES], 0, scoring())
    with pytest.raises(ValueError, match="gains of all symbols"):
        scoring(gains=())
