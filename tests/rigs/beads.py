"""A small synthetic corpus: words of three patterns each, of varying length, with pauses and noise."""

import numpy as np

__all__ = ["BINS", "WORDS", "beads"]

BINS, WORDS = 8, 5
_PATTERNS = np.random.default_rng(0).normal(0, 1, (WORDS, 3, BINS))


def beads(rng, batch):
    """Return features Float32[B, T, BINS], lengths Int32[B], labels Int32[B, L] and their lengths Int32[B]."""
    spoken, said = [], []
    for _ in range(batch):
        words = rng.integers(0, WORDS, rng.integers(2, 5))
        parts = [np.zeros((rng.integers(1, 5), BINS))]
        for word in words:
            vectors = int(rng.integers(6, 13))
            parts += [_PATTERNS[word][np.arange(vectors) * 3 // vectors], np.zeros((rng.integers(2, 7), BINS))]
        clean = np.concatenate(parts)
        spoken.append((clean + rng.normal(0, 0.1, clean.shape)).astype(np.float32))
        said.append(words.astype(np.int32))
    return *_padded(spoken), *_padded(said)


def _padded(rows):
    lengths = np.array([len(row) for row in rows], np.int32)
    values = np.zeros((len(rows), lengths.max(), *rows[0].shape[1:]), rows[0].dtype)
    for value, row in zip(values, rows, strict=True):
        value[: len(row)] = row
    return values, lengths
