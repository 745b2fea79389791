"""What the compiled hypotheses of monotonic attention keep and refuse."""

import numpy as np
import pytest

from sonorant.decoding.kernels import MonotonicHypotheses

SYMBOLS = 4
ROWS = np.full((1, SYMBOLS), np.log(1 / SYMBOLS))
ALL = np.ones(1, bool)


def test_rows_of_other_heads_are_refused():
    hypotheses = MonotonicHypotheses(SYMBOLS, 3, None)
    with pytest.raises(ValueError, match=r"attends of shape \[1\]: expected \[offered\] \[0\]"):
        hypotheses.attend(ALL, ROWS, ROWS, 0)
    assert hypotheses.offer() == 1
    for wrong in (np.zeros((2, SYMBOLS)), np.zeros((1, SYMBOLS + 1))):
        with pytest.raises(ValueError, match=r"log_probs of shape .* expected \[offered, symbols\] \[1, 4\]"):
            hypotheses.attend(ALL, wrong, ROWS, 0)
        with pytest.raises(ValueError, match="gains of shape"):
            hypotheses.end(ROWS, wrong, 0)
    assert [len(part) for part in hypotheses.attend(ALL, ROWS, ROWS, 0)] == [0, 3, 3]
    with pytest.raises(ValueError, match="0 numbers: expected one for each of 1"):
        hypotheses.rescore([])


def test_nan_changes_nothing_and_has_no_meaning_where_none_attends():
    hypotheses = MonotonicHypotheses(SYMBOLS, 3, None)
    hypotheses.offer()
    with pytest.raises(ValueError, match="label at encoded frame 7 have NaN"):
        hypotheses.attend(ALL, ROWS * np.nan, ROWS, 7)
    assert hypotheses.ended() == []
    assert [part.tolist() for part in hypotheses.attend(~ALL, ROWS * np.nan, ROWS, 7)] == [[0], [], []]


def test_rescoring_sorts_what_has_ended_and_removes_what_cannot_be():
    hypotheses = MonotonicHypotheses(SYMBOLS, 8, None)
    offered = hypotheses.offer()
    for _ in range(2):
        rows = np.repeat(ROWS, offered, 0)
        offered = len(hypotheses.attend(np.ones(offered, bool), rows, rows, 0)[2])
    before = hypotheses.ended()
    assert len(before) == 4
    hypotheses.rescore([-np.inf] * 4)
    assert hypotheses.ended() == before
    hypotheses.rescore([0.0, 9.0, 18.0, -np.inf])
    assert [labels for labels, *_ in hypotheses.ended()] == [before[place][0] for place in (2, 1, 0)]


@pytest.mark.parametrize(("symbols", "beam", "named"), [(0, 3, "symbols"), (SYMBOLS, 0, "beam")])
def test_no_symbols_and_a_beam_of_none_are_refused(symbols, beam, named):
    with pytest.raises(ValueError, match=f"{named}=0: must be at least 1"):
        MonotonicHypotheses(symbols, beam, None)
