import numpy as np
import pytest

from sonorant.decoding import Fusion, LabelBeam, Scorer, Scoring, open_search, search_all
from sonorant.decoding.section import DecodingRecipe
from sonorant.text.units import Units


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
        first = np.log(probabilities)
    assert (() in ended_labels(first, Scoring(end_threshold=threshold))) == expected


def test_labels_that_cannot_follow_do_not_keep_a_hypothesis_from_its_end():
    cannot = Fusion(prior=np.array([np.inf, 0.0, 0.0]), prior_weight=1.0)
    assert () in ended_labels(np.log([0.7, 0.1, 0.2]), Scoring(cannot, end_threshold=1.5))


def ended_labels(first, scoring):
    """What has ended where labels follow none by `first`, log-probabilities of them and of the end; then it ends."""
    (ended,) = LabelBeam(First(first), 2, 8, scoring).search([np.zeros((1, 1), np.float32)])
    return {one.labels for one in ended}


class First:
    def __init__(self, first):
        self.rows = first, np.log([1e-9, 1e-9, 1 - 2e-9])

    def begin(self, encoded):
        return 0

    def next(self, before, parents, state):
        log_probs = np.broadcast_to(self.rows[state], (*before.shape, 3)).astype(np.float32)
        return log_probs, np.ones((*before.shape, 1), np.float32), state + 1


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


class Unsure(Smoothed):
    """Says the text, and then rather one more label than the end."""

    def next(self, before, parents, state):
        _, weights, state = super().next(before, parents, state)
        lengths = np.array([len(one) for one in state[0][0]])
        due = np.array([self.text[min(n, len(self.text) - 2)] for n in lengths])
        log_probs = np.log(np.where(np.eye(3)[due] > 0, 0.88, 0.06))
        log_probs[lengths >= len(self.text) - 1] = np.log([0.65, 0.1, 0.25])
        return log_probs[np.newaxis].astype(np.float32), weights, state


def test_a_text_whose_end_is_refused_is_not_lost_to_one_that_never_ends():
    text = (0, 1) * 10
    found = LabelBeam(Unsure(text), 2, 8, Scoring(end_threshold=1.5)).search([np.zeros((100, 1), np.float32)])[0]
    assert [one.labels for one in found] == [text]


@pytest.mark.parametrize(("threshold", "expected"), [(1.5, "a b " * 15), (None, "")])
def test_recognition_of_one_and_of_many_heeds_the_recipe(threshold, expected):
    units, frames = Units("words", ("a", "b")), np.zeros((40, 1), np.float32)
    decoding, text = DecodingRecipe(end_threshold=threshold), (0, 1) * 15
    search = open_search("labels", units, 0.1, decoding, Smoothed(text), Scorer(units))
    search.push(frames)
    search.finish()
    assert search.text() == expected.strip()
    (found,) = search_all("labels", units, 0.1, decoding, Smoothed(text), Scorer(units), [frames])
    assert found.text == expected.strip()
