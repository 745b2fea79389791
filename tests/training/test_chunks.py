"""Rows of utterances: each one whole, in one row, from the bound of a chunk on; the rest is counted as padding."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sonorant.delivery.example import Lineage
from sonorant.models.framing import Framing
from sonorant.training.chunks import BEGINS, ChunkLayout, fill_rows
from sonorant.training.pool import Labelled

UNKNOWN, NONE = -1, -2


def item(number, frames):
    """An utterance whose vector t is [number + 1, t + 1], with symbol 100 number + t."""
    features = np.stack([np.full(frames, number + 1), np.arange(frames) + 1], 1).astype(np.float32)
    targets = {"frames": 100 * number + np.arange(frames), "labels": np.full(number + 1, number)}
    return Labelled(Lineage(0, 0, number), number, f"u{number}", features, targets, frames / 100)


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(1, 9),
    st.integers(0, 4),
)
def test_rows_read_from_left_to_right_have_each_utterance_once_and_whole(lengths, rows, vectors, delay):
    layout = ChunkLayout(rows, vectors, Framing(lead=delay, tail=delay), {"labels": NONE, "frames": UNKNOWN})
    batch = layout(3, 7, [item(number, frames) for number, frames in enumerate(lengths)])
    features, own, targets, weights = (np.asarray(t) for t in tf_parts(batch))
    begins = np.asarray(batch.tensors.targets[BEGINS].values)[:, :, 0]
    labels = batch.tensors.targets["labels"]
    chunks, height = weights.shape
    assert height == min(rows, len(lengths))
    read, needed = [], 0
    for row in range(height):
        chunk = 0
        while chunk < chunks and begins[chunk, row]:
            number = int(features[chunk, row, 0, 0]) - 1
            read.append(number)
            count = -(-(lengths[number] + delay) // vectors)
            part = slice(chunk, chunk + count)
            vector, symbol = features[part, row].reshape(-1, 2), targets[part, row].ravel()
            np.testing.assert_array_equal(vector[: lengths[number]], item(number, lengths[number]).features)
            assert not vector[lengths[number] :].any()
            late = np.full(count * vectors, UNKNOWN)
            late[delay : delay + lengths[number]] = 100 * number + np.arange(lengths[number])
            np.testing.assert_array_equal(symbol, late)
            assert own[part, row].sum() == lengths[number]
            np.testing.assert_array_equal(own[part, row], np.sort(own[part, row])[::-1])  # a part of one chunk alone
            assert begins[part, row].tolist() == [lengths[number]] + [0] * (count - 1)
            assert labels.lengths[part, row].numpy().tolist() == [number + 1] + [0] * (count - 1)
            assert labels.values[chunk, row].numpy().tolist() == [number] * (number + 1) + [NONE] * (
                len(lengths) - number - 1
            )
            assert (labels.values[chunk + 1 : chunk + count, row] == NONE).numpy().all()
            needed += lengths[number] + delay
            chunk += count
        for rest in (features, begins, weights):
            assert not rest[chunk:, row].any()
    assert sorted(read) == list(range(len(lengths)))
    np.testing.assert_array_equal(weights, (targets != UNKNOWN).any(2))
    assert batch.vectors == chunks * height * vectors
    assert batch.padded == batch.vectors - needed
    assert (batch.epoch, batch.number, batch.ordinals) == (3, 7, tuple(range(len(lengths))))


def tf_parts(batch):
    tensors = batch.tensors
    return tensors.features, tensors.lengths, tensors.targets["frames"].values, tensors.weights


@given(st.lists(st.integers(1, 20), min_size=1, max_size=30), st.integers(1, 6))
def test_no_row_is_longer_than_another_by_more_than_its_last_utterance(chunks, rows):
    filled = fill_rows(chunks, rows)
    lengths = [sum(chunks[i] for i in row) for row in filled]
    for row, length in zip(filled, lengths, strict=True):
        if row:
            assert length - chunks[row[-1]] <= min(lengths)


def test_the_longest_utterances_are_laid_first():
    assert fill_rows([1, 1, 1, 3], 2) == [[3], [0, 1, 2]]  # in their own order a row would have 4 chunks
