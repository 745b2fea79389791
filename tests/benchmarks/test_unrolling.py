import numpy as np
import pytest

from benchmarks import unrolling
from benchmarks.intake import padding
from sonorant.training.chunks import BEGINS
from sonorant.training.soft_aligned_step import SoftAlignedStep
from sonorant.training.truncated_step import TruncatedStep


@pytest.fixture
def seconds(monkeypatch):
    monkeypatch.setattr(unrolling, "_TIMED", 64)
    return np.random.default_rng(1).uniform(1.2, 4.0, 64)


def test_full_unrolling_is_timed_on_the_batches_whose_padding_is_given(seconds):
    step, batches = unrolling._batches({"batch_examples": 32, "pool_examples": 64}, seconds, frames=True)
    lengths = [np.asarray(batch.tensors.lengths) for batch in batches]
    assert [len(own) for own in lengths] == [32, 32]
    found = sum(batch.padded for batch in batches) / sum(batch.vectors for batch in batches)
    every = np.concatenate(lengths)
    assert found == pytest.approx(padding(every, np.arange(64).reshape(2, 32)))
    assert step.recipe.training.unroll_vectors == 0


@pytest.mark.parametrize("frames", [True, False])
def test_truncated_unrolling_is_timed_on_chunks_of_whole_batches(seconds, frames):
    training = {"batch_examples": 64, "unroll_vectors": 20, "unroll_rows": 16}
    step, (batch,) = unrolling._batches(training, seconds, frames)
    chunks, rows, vectors, bins = batch.tensors.features.shape
    assert (rows, vectors, bins) == (16, 20, step.extractor.bins)
    assert np.count_nonzero(batch.tensors.targets[BEGINS].values) == 64
    assert batch.vectors == chunks * rows * vectors
    assert batch.audio_s == pytest.approx(seconds.sum())
    assert isinstance(step.step, TruncatedStep)
    assert isinstance(step.step, SoftAlignedStep) != frames
