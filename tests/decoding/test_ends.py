import numpy as np
import pytest

from sonorant.decoding import LabelBeam, Scoring
from sonorant.decoding.ends import may_end


@pytest.mark.parametrize(
    ("probabilities", "threshold", "expected"),
    [
        ([0.7, 0.1, 0.2], 1.5, False),
        ([0.4, 0.2, 0.4], 1.5, True),
        ([0.4, 0.2, 0.4], 1.0, False),
        ([0.5, 0.2, 0.3], 1.5, False),
        ([0.5, 0.14, 0.36], 1.5, True),
        ([0.7, 0.1, 0.2], None, True),
        ([0.0, 0.0, 1.0], 1.5, True),
    ],
)
def test_an_end_is_where_it_is_almost_as_probable_as_the_best_label(probabilities, threshold, expected):
    with np.errstate(divide="ignore"):
        log_probs = np.log([probabilities])
    assert may_end(log_probs, log_probs, threshold).tolist() == [expected]


def test_labels_that_cannot_follow_do_not_keep_a_hypothesis_from_its_end():
    log_probs = np.log([[0.7, 0.1, 0.2]])
    assert may_end(log_probs, np.array([[-np.inf, -3.0, -1.0]]), 1.5).all()


class Smoothed:
    """A decoder of one utterance that says a text of labels 0 and 1, 0.88 for each, as label smoothing has it."""

    def __init__(self, text):
        self.text = [*text, 2]

    def begin(self, encoded):
        return [[()]], len(encoded[0])

    def next(self, before, parents, state):
        labels, frames = state
        pairs = zip(parents[0], before[0], strict=True)
        labels = [[labels[0][parent] + ((int(y),) if y != 2 else ()) for parent, y in pairs]]
        due = np.array([self.text[min(len(one), len(self.text) - 1)] for one in labels[0]])
        log_probs = np.log(np.where(np.eye(3)[due] > 0, 0.88, 0.06))[np.newaxis].astype(np.float32)
        return log_probs, np.full((1, len(due), frames), 1 / frames, np.float32), (labels, frames)


def test_a_long_text_is_not_lost_to_the_empty_one():
    text = (0, 1) * 20
    frames = [np.zeros((50, 1), np.float32)]
    found = {t: LabelBeam(Smoothed(text), 2, 4, Scoring(end_threshold=t)).search(frames)[0][0] for t in (None, 1.5)}
    assert found[None].labels == ()
    assert found[1.5].labels == text
