"""Batches for truncated unrolling: rows of utterances one after another, cut into chunks.

In TensorFlow's terms these are the batches of `batch_sequences_with_states` (Google 2017, section 2.1): "batches of
segments of sequences". An utterance begins with a chunk and is filled up to a whole number of them. Where the paper's
rows go on for ever, ours end with the batch, which is what the ledger commits and a checkpoint comes after: no
utterance is ever half trained. What that adds to the padding is kept small by the order: longest utterance first, each
into the row that is shortest so far (Graham 1969, LPT).
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonorant.models.framing import Framing
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.tensorflow import tf
from sonorant.training.batch import Batch
from sonorant.training.pool import Labelled

__all__ = ["BEGINS", "ChunkLayout"]

BEGINS = "begins"


@dataclass(frozen=True)
class ChunkLayout:
    """Makes a batch of R rows and C chunks, each of at most `rows` and exactly `vectors`.

    Its tensors have an axis of chunks before those of `BatchTensors`: features Float32[C, R, vectors, bins], of which
    `lengths` Int32[C, R] are an utterance's; the target "frames" Int32[C, R, vectors], that of the frame that is
    complete with each vector, else its padding; other targets Int32[C, R, longest], where an utterance begins; weights
    Float32[C, R], 1 where a frame is complete within the chunk; and the target `BEGINS`, Int32[C, R, 1], the frames of
    the utterance that begins with the chunk, or 0.

    padding: the objective's, "frames" among it. The vectors of the framing's tail follow an utterance within its row.
    They are part of its computation, not padding.
    """

    rows: int
    vectors: int
    framing: Framing
    padding: Mapping[str, int]

    def __call__(self, epoch: int, number: int, items: Sequence[Labelled]) -> Batch:
        """Lay out at least one example; see `sonorant.training.batch.collate`."""
        assert self.framing.block == 1, "a frame for each vector"
        spans = [item.frames + self.framing.tail for item in items]
        rows = fill_rows([self._chunks(item) for item in items], min(self.rows, len(items)))
        count = max(sum(self._chunks(items[i]) for i in row) for row in rows)
        return Batch(
            epoch=epoch,
            number=number,
            ordinals=tuple(item.ordinal for item in items),
            utterances=tuple(item.utterance for item in items),
            audio_s=sum(item.duration_s for item in items),
            vectors=len(rows) * count * self.vectors,
            padded=len(rows) * count * self.vectors - sum(spans),
            tensors=self._tensors([[items[i] for i in row] for row in rows], count),
        )

    def _chunks(self, item: Labelled) -> int:
        return -(-(item.frames + self.framing.tail) // self.vectors)

    def _placed(self, rows: Sequence[Sequence[Labelled]]) -> Iterator[tuple[int, int, Labelled]]:
        """Yield the row of each utterance, the chunk that it begins with, and itself."""
        for r, row in enumerate(rows):
            chunk = 0
            for item in row:
                yield r, chunk, item
                chunk += self._chunks(item)

    def _tensors(self, rows: Sequence[Sequence[Labelled]], count: int) -> BatchTensors:
        length = count * self.vectors
        features = np.zeros((len(rows), length, rows[0][0].features.shape[1]), np.float32)
        present = np.zeros((len(rows), length), np.int32)
        frames = np.full((len(rows), length), self.padding["frames"], np.int32)
        complete = np.zeros((len(rows), length), np.bool_)
        begins = np.zeros((count, len(rows), 1), np.int32)
        for r, chunk, item in self._placed(rows):
            first = chunk * self.vectors
            features[r, first : first + item.frames] = item.features
            present[r, first : first + item.frames] = 1
            begins[chunk, r] = encoded = self.framing.frames(item.frames)
            late = slice(first + self.framing.lead, first + self.framing.lead + encoded)
            complete[r, late] = True
            frames[r, late] = item.targets["frames"]
        features, present, frames, complete = (self._cut(values) for values in (features, present, frames, complete))
        of_vectors, ones = (tf.fill(begins.shape[:2], size) for size in (self.vectors, 1))
        others = {name: self._at_begins(rows, count, name) for name in self.padding if name != "frames"}
        by_chunk = {"frames": Padded(tf.constant(frames), of_vectors), BEGINS: Padded(tf.constant(begins), ones)}
        return BatchTensors(
            features=tf.convert_to_tensor(features),
            lengths=tf.convert_to_tensor(present.sum(2, dtype=np.int32)),
            targets=others | by_chunk,
            weights=tf.constant(complete.any(2), tf.float32),
        )

    def _at_begins(self, rows: Sequence[Sequence[Labelled]], count: int, name: str) -> Padded:
        """Return a target of whole utterances, Int32[C, R, longest] and Int32[C, R], in their first chunks."""
        longest = max(len(item.targets[name]) for row in rows for item in row)
        values = np.full((count, len(rows), longest), self.padding[name], np.int32)
        lengths = np.zeros((count, len(rows)), np.int32)
        for r, chunk, item in self._placed(rows):
            target = item.targets[name]
            values[chunk, r, : len(target)] = target
            lengths[chunk, r] = len(target)
        return Padded(tf.convert_to_tensor(values), tf.convert_to_tensor(lengths))

    def _cut(self, values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        """[R, C vectors, ...] as [C, R, vectors, ...]."""
        rows, length, *rest = values.shape
        return values.reshape(rows, length // self.vectors, self.vectors, *rest).swapaxes(0, 1)


def fill_rows(chunks: Sequence[int], rows: int) -> list[list[int]]:
    """Return the numbers of the utterances in each of so many rows, given how many chunks each utterance has."""
    shortest = [(0, row) for row in range(rows)]
    filled: list[list[int]] = [[] for _ in range(rows)]
    for i in sorted(range(len(chunks)), key=lambda i: -chunks[i]):
        length, row = shortest[0]
        filled[row].append(i)
        heapq.heapreplace(shortest, (length + chunks[i], row))
    return filled
