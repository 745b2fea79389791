import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.monotonic_table import END, WINDOW, WORDS, Table

from sonorant.decoding import MeanMonotonicDecoder, MonotonicSearch, mean_monotonic_decoder
from sonorant.decoding.monotonic_decoder import LABELS_A_FRAME, Heard

seeds = st.integers(0, 10_000)


def mean_of(members):
    return MeanMonotonicDecoder(members, [1] * len(members), END + 1, joint_ctc=True)


def side_by_side(count, members):
    return np.repeat(np.arange(count, dtype=np.float32)[:, np.newaxis], members, axis=1)


def searched(decoder, frames, cuts=(), beam=100_000, ctc_weight=0.0):
    search = MonotonicSearch(decoder, WORDS, 0.5, beam, ctc_weight=ctc_weight)
    for a, b in itertools.pairwise([0, *sorted(cuts), len(frames)]):
        search.push(frames[a:b])
    search.finish()
    return search.hypotheses(beam)


@dataclass(frozen=True)
class Head:
    """Where the head of one member is, and how many labels have attended there."""

    frame: int = 0
    labels: int = 0

    def next(self, table, labels, first, count):
        """Return it where the label after these attends: not before frame `first`; at `count` the audio is over."""
        frame, here = (self.frame, self.labels) if self.frame >= first else (first, 0)
        while frame < count and (here == LABELS_A_FRAME or not table.stops(labels, frame)):
            frame, here = frame + 1, 0
        return Head(frame, here + 1)


def exhaustive(tables, count, behind):
    """Scores of all hypotheses that end, with the frames of their labels, from the definition; by labels.

    A label comes at the last of its heads' frames. The next is sought there, or a frame later, by heads that are at
    most `behind` - 1 frames behind.
    """
    windows = [np.arange(max(0, t - WINDOW + 1), t + 1) for t in range(count)] + [np.arange(0)]
    ended = {}

    def follow(labels, heads, times, score, time, here):
        """Time: frame of the last label; here: how many labels came there."""
        first = min(time + (here == LABELS_A_FRAME) + 1, count) - behind
        heads = [head.next(table, labels, first, count) for head, table in zip(heads, tables, strict=True)]
        rows = [table.row(labels, windows[head.frame]) for head, table in zip(heads, tables, strict=True)]
        row = np.logaddexp.reduce(rows) - np.log(len(rows))
        ended[labels] = (score + row[END], times)
        if time == count and here == LABELS_A_FRAME:
            return
        now = max(head.frame for head in heads)
        for y in range(END):
            heard = (*times, min(now, count - 1))
            follow((*labels, y), heads, heard, score + row[y], now, here + 1 if now == time else 1)

    follow((), [Head()] * len(tables), (), 0.0, 0, 0)
    return ended


@given(
    st.lists(seeds, min_size=2, max_size=3, unique=True), st.integers(1, 4), st.sampled_from([0.0, 0.15, 0.3]),
    st.sampled_from([1, 2, 64]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_a_search_finds_what_going_through_all_hypotheses_finds(of, count, attends, behind):
    tables = [Table(seed, attends) for seed in of]
    ended = exhaustive(tables, count, behind)
    if len(ended) > 900:
        return
    scores = np.array([score for score, _ in ended.values()])
    expected = dict(zip(ended, np.exp(scores - np.logaddexp.reduce(scores)), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mean_monotonic_decoder, "_BEHIND", behind)
        found = searched(mean_of(tables), side_by_side(count, len(tables)))
    assert {one.units for one in found} == set(expected)
    for one in found:
        assert one.confidence == pytest.approx(expected[one.units], abs=1e-6)
        assert [word.start_s for word in one.words] == [head * 0.5 for head in ended[one.units][1]]


@given(seeds, st.integers(1, 12), st.integers(1, 6), st.sampled_from([0.1, 0.4, 0.9]))
@settings(max_examples=25, deadline=None)
def test_twice_the_same_model_finds_what_one_finds(seed, count, beam, attends):
    alone = searched(Table(seed, attends), side_by_side(count, 1), beam=beam)
    twice = searched(mean_of([Table(seed, attends)] * 2), side_by_side(count, 2), beam=beam)
    assert [[word.start_s for word in one.words] for one in twice] == [
        [word.start_s for word in one.words] for one in alone
    ]
    assert [one.units for one in twice] == [one.units for one in alone]
    assert [one.confidence for one in twice] == pytest.approx([one.confidence for one in alone], abs=1e-6)


@given(st.data(), seeds, st.integers(1, 12), st.integers(1, 6), st.sampled_from([0.0, 0.4]), st.sampled_from([2, 64]))
@settings(max_examples=25, deadline=None)
def test_cuts_change_nothing_however_far_a_head_may_be_behind(data, seed, count, beam, weight, behind):
    cuts = data.draw(st.lists(st.integers(0, count), max_size=6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mean_monotonic_decoder, "_BEHIND", behind)
        whole, cut = (
            searched(mean_of([Table(seed), Table(seed + 1, 0.1)]), side_by_side(count, 2), of, beam, weight)
            for of in ((), cuts)
        )
    assert whole == cut


def test_a_head_that_is_behind_looks_at_the_frames_that_the_others_have_passed():
    class Prompt(Table):
        def stops(self, labels, frame):
            if stops := frame == 2 * len(labels):  # label after label, two frames apart
                attended.add((len(labels), frame))
            return stops

    class Late(Table):
        def stops(self, labels, frame):
            return frame == 9

    attended = set()
    searched(mean_of([Prompt(3), Late(4)]), side_by_side(10, 2), beam=1)
    assert {(0, 0), (1, 2), (2, 4), (3, 6)} <= attended


def test_frames_have_the_mean_of_their_probabilities():
    tables, frames = [Table(1), Table(2)], side_by_side(5, 2)
    (found,) = mean_of(tables).frame_log_probs([frames])
    members = [np.exp(table.frame_log_probs([frames[:, :1]])[0]) for table in tables]
    np.testing.assert_allclose(np.exp(found), np.mean(members, axis=0), atol=1e-6)


def test_a_state_that_is_extended_twice_is_as_it_was():
    decoder = mean_of([Table(5, 0.3), Table(6, 0.3)])
    states = decoder.seek(np.array([END], np.int32), decoder.begin())
    before = [state.copy() for state in states]
    heard = Heard(side_by_side(1, 2), 1, over=False)
    first, second = decoder.look(heard, states), decoder.look(heard, states)
    for one, two in zip((*first[:2], *first[2]), (*second[:2], *second[2]), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(states, before, strict=True):
        np.testing.assert_array_equal(one, two)
