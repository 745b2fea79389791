import numpy as np
from training.tiny import BINS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.objectives.alignment import UNKNOWN
from sonorant.objectives.registry import build_objective
from sonorant.training.batch import collate, empty_tensors
from sonorant.training.labeller import Labeller


def test_a_batch_is_padded_to_its_longest_and_counts_the_padding():
    objective = build_objective(tiny_recipe(), tiny_units())
    label = Labeller(objective, shard_counts(8))
    items = [label(tiny_example(ordinal)) for ordinal in range(5)]
    batch = collate(3, 7, items, objective.padding)
    longest = max(item.frames for item in items)
    assert batch.tensors.features.shape == (5, longest, BINS)
    assert (batch.epoch, batch.number, batch.ordinals) == (3, 7, (0, 1, 2, 3, 4))
    assert (batch.vectors, batch.padded) == (5 * longest, sum(longest - item.frames for item in items))
    assert 0 < batch.padded < batch.vectors
    labels, due = batch.tensors.targets["labels"], batch.tensors.targets["frames"]
    for i, item in enumerate(items):
        np.testing.assert_array_equal(batch.tensors.features[i, : item.frames], item.features)
        assert not batch.tensors.features[i, item.frames :].numpy().any()
        assert (due.values[i, item.frames :].numpy() == UNKNOWN).all()
        np.testing.assert_array_equal(labels.values[i, : labels.lengths[i]], item.targets["labels"])


def test_a_rank_without_a_batch_brings_a_placeholder_that_does_not_count():
    empty = empty_tensors(BINS, {"labels": 0, "frames": UNKNOWN})
    assert (empty.features.shape, empty.weights.numpy().tolist()) == ((1, 1, BINS), [0.0])
    assert empty.targets["frames"].values.numpy().tolist() == [[UNKNOWN]]
