"""Joint CTC of the search by monotonic attention, which hears the frames as they arrive."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rigs.monotonic_definition import by_ctc, exhaustive
from rigs.monotonic_table import END, WINDOW, WORDS, Reader, Table

from sonorant.decoding import BadLogProbs, Fusion, MonotonicSearch
from sonorant.decoding.kernels import MonotonicHypotheses
from sonorant.objectives.ctc import ctc_loss

seeds = st.integers(0, 10_000)


class SlowReader(Reader):
    """A reader that attends to every third frame, with log-probabilities by frame of its own.

    probability: by CTC, of a label of the text in its three frames.
    """

    def __init__(self, text, rivals, probability):
        super().__init__(text, rivals)
        self.probability = probability

    def look(self, heard, states):
        _, rows, states = super().look(heard, states)
        return (3 * (states[0] + 1) == heard.count) | heard.over, rows, states

    def frame_log_probs(self, encoded):
        return [np.stack([self.frame_row(int(frame)) for frame in frames[:, 0]]) for frames in encoded]

    def frame_row(self, frame):
        row = np.full(END + 1, (1 - self.probability) / END)
        row[self.text[frame // 3] if frame % 3 == 1 else END] = self.probability
        return np.log(row).astype(np.float32)


@given(seeds, st.integers(1, 3), st.floats(0.01, 0.99), st.booleans(), st.sampled_from([None, 1.0, 1.5]))
@settings(max_examples=20, deadline=None)
def test_a_full_beam_finds_what_going_through_all_hypotheses_finds(seed, count, weight, has_prior, threshold):
    table, frames = Table(seed, 0.25), np.arange(count)
    prior = np.log(np.random.default_rng(seed).dirichlet(np.ones(END + 1))) if has_prior else None
    fusion = Fusion(prior, 0.5)
    ended = exhaustive(table, frames, fusion=fusion, threshold=threshold, ctc_weight=weight)
    spelt = {labels: score for labels, (score, _) in ended.items() if score > -np.inf}
    assume(spelt and len(ended) <= 300)
    scores = np.array(list(spelt.values()))
    expected = dict(zip(spelt, np.exp(scores - np.logaddexp.reduce(scores)), strict=True))
    search = MonotonicSearch(table, WORDS, 0.5, 100_000, 0.0, fusion, threshold, weight)
    search.push(frames.astype(np.float32)[:, np.newaxis])
    search.finish()
    found = search.hypotheses(100_000)
    assert {one.units: pytest.approx(one.confidence, abs=1e-6) for one in found} == expected
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)


def test_hypotheses_compare_by_what_ctc_says_of_the_frames_so_far():
    table, frames, weight = Table(4, 0.3), np.arange(5), 0.4
    search = MonotonicSearch(table, WORDS, 0.5, 100_000, ctc_weight=weight)
    seen = set()
    for t in frames:
        search.push(np.full((1, 1), t, np.float32))
        for labels, heads, score in search._hypotheses.waiting():
            own = sum(
                table.row(labels[:i], frames[max(0, head - WINDOW + 1) : head + 1])[labels[i]]
                for i, head in enumerate(heads)
            )
            of_ctc = by_ctc(table, frames[: t + 1], labels)[1]
            if of_ctc > -np.inf:
                assert score == pytest.approx((1 - weight) * own + weight * of_ctc, abs=1e-5)
                seen.add(len(labels))
            else:  # there may be frames for them later
                assert -np.inf < score < -1e8
    assert seen >= {0, 1, 2, 3}


def test_a_label_that_ctc_hears_is_not_pruned_where_the_decoder_prefers_another():
    text = [0, 2, 1, 1, 0, 2]
    frames = np.arange(3 * len(text), dtype=np.float32)[:, np.newaxis]
    for weight, expected in ((0.0, [(y + 1) % END for y in text]), (0.3, text)):
        search = MonotonicSearch(SlowReader(text, [0.5], 0.9), WORDS, 0.5, 1, end_threshold=1.5, ctc_weight=weight)
        for frame in range(len(frames)):
            search.push(frames[frame : frame + 1])
            assert list(search.hypotheses()[0].units) == expected[: (frame + 1) // 3]
        search.finish()
        assert list(search.hypotheses()[0].units) == expected


@pytest.mark.parametrize(("probability", "most_frames"), [(0.5, 900), (0.999999, 100)])
def test_long_utterances_have_the_log_probability_of_the_loss_of_ctc(probability, most_frames):
    text, weight = np.random.default_rng(6).integers(END, size=400).tolist(), 0.3
    decoder = SlowReader(text, [0.3], probability)
    search = MonotonicSearch(decoder, WORDS, 0.5, 3, end_threshold=1.5, ctc_weight=weight)
    search.push(np.arange(1200, dtype=np.float32)[:, np.newaxis])
    assert 0 < search._hypotheses.frames < most_frames
    search.finish()
    labels, _, score = search._hypotheses.ended()[0]
    assert list(labels) == text
    frames = np.stack([decoder.frame_row(frame) for frame in range(1200)])[np.newaxis]
    (loss,) = ctc_loss(frames, [1200], np.array([labels]), [400])
    assert score == pytest.approx((1 - weight) * (400 * np.log(0.6) + np.log(0.9)) - weight * float(loss), rel=1e-5)


def test_joint_ctc_refuses_nan_of_a_frame():
    class Broken(Table):
        def frame_row(self, frame):
            return np.full(END + 1, np.nan if frame == 2 else -1.0, np.float32)

    search = MonotonicSearch(Broken(8, 0.5), WORDS, 0.5, 4, ctc_weight=0.5)
    with pytest.raises(BadLogProbs, match="by frame have NaN"):
        search.push(np.arange(4, dtype=np.float32)[:, np.newaxis])
    with pytest.raises(BadLogProbs, match="this search has failed"):
        search.finish()


def test_a_text_does_not_end_where_ctc_has_not_heard_the_next_label_yet():
    hypotheses = MonotonicHypotheses(3, 8, 1.5, 0.5)
    hypotheses.hear(np.log([0.01, 0.01, 0.98]).astype(np.float32))
    hypotheses.offer()
    hypotheses.attend(np.ones(1, bool), np.log([[0.9, 0.05, 0.05]]), np.zeros((1, 3)), 0)
    assert hypotheses.ended() == []


def test_what_waits_for_long_forgets_what_is_negligible_and_no_more():
    frames = np.tile(np.array([-150.0, -150.0, 0.0], np.float32), (900, 1))  # blank, but for a label here and there
    frames[500], frames[800] = [0.0, -150.0, -150.0], [-150.0, 0.0, -150.0]
    hypotheses = MonotonicHypotheses(3, 8, None, 0.5)
    for number, row in enumerate(frames):
        hypotheses.hear(row)
        offered = hypotheses.offer()
        attends = np.full(offered, number in (0, 800))
        hypotheses.attend(attends, np.zeros((offered, 3)), np.zeros((offered, 3)), number)
        hypotheses.rest()
    found = {labels: score for labels, _, score in hypotheses.waiting()}
    (loss,) = ctc_loss(frames[np.newaxis], [900], np.array([[0, 1]]), [2])
    assert found[0, 1] == pytest.approx(-0.5 * float(loss), rel=1e-5, abs=1e-5)
    assert max(found, key=found.get) == (0, 1)
