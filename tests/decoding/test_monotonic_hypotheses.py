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
    with pytest.raises(ValueError, match=r"log_probs by frame of shape \[3\]: expected \[units \+ 1\] \[4\]"):
        hypotheses.hear(np.zeros(SYMBOLS - 1, np.float32))


def test_nan_changes_nothing_and_has_no_meaning_where_none_attends():
    hypotheses = MonotonicHypotheses(SYMBOLS, 3, None)
    hypotheses.offer()
    with pytest.raises(ValueError, match="label at encoded frame 7 have NaN"):
        hypotheses.attend(ALL, ROWS * np.nan, ROWS, 7)
    assert hypotheses.ended() == []
    assert [part.tolist() for part in hypotheses.attend(~ALL, ROWS * np.nan, ROWS, 7)] == [[0], [], []]


def ended_after(frames, labels):
    """What has ended with joint CTC, best first, after so many frames, of which the first all attend to, so often."""
    hypotheses = MonotonicHypotheses(SYMBOLS, 8, None, 0.5)
    for frame in range(frames):
        hypotheses.hear(np.log([0.1, 0.2, 0.3, 0.4]).astype(np.float32))
        offered = hypotheses.offer()
        for _ in range(labels if frame == 0 else 1):
            rows = np.repeat(ROWS, offered, 0)
            offered = len(hypotheses.attend(np.full(offered, frame == 0), rows, np.zeros_like(rows), frame)[2])
        hypotheses.rest()
    hypotheses.finish()
    return [labels for labels, *_ in hypotheses.ended()]


def test_what_has_ended_changes_places_as_ctc_hears_more():
    assert ended_after(1, 2) == [(), (2,), (1,), (0,)]
    assert ended_after(12, 2) == [(2,), (1,), (), (0,)]


def test_what_ctc_cannot_spell_is_none_unless_it_can_spell_nothing():
    assert (2, 2) not in ended_after(2, 3)
    assert (2, 2) in ended_after(3, 3)
    hypotheses = MonotonicHypotheses(SYMBOLS, 8, 1e-9, 0.5)
    hypotheses.hear(np.full(SYMBOLS, -np.inf, np.float32))
    hypotheses.offer()
    hypotheses.end(ROWS, ROWS, 0)
    hypotheses.finish()
    assert [labels for labels, *_ in hypotheses.ended()] == [()]


@pytest.mark.parametrize(("symbols", "beam", "named"), [(0, 3, "symbols"), (SYMBOLS, 0, "beam")])
def test_no_symbols_and_a_beam_of_none_are_refused(symbols, beam, named):
    with pytest.raises(ValueError, match=f"{named}=0: must be at least 1"):
        MonotonicHypotheses(symbols, beam, None)
