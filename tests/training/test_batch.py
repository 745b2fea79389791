import numpy as np
from training.tiny import BINS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.training.alignment import UNKNOWN
from sonorant.training.batch import collate
from sonorant.training.intake import Labeller


def test_a_batch_is_padded_to_its_longest_and_counts_the_padding():
    label = Labeller(tiny_units(), shard_counts(8), tiny_recipe().features)
    items = [label(tiny_example(ordinal)) for ordinal in range(5)]
    batch = collate(3, 7, items)
    longest = max(item.frames for item in items)
    assert batch.tensors.features.shape == (5, longest, BINS)
    assert (batch.epoch, batch.number, batch.ordinals) == (3, 7, (0, 1, 2, 3, 4))
    assert (batch.vectors, batch.padded) == (5 * longest, sum(longest - item.frames for item in items))
    assert 0 < batch.padded < batch.vectors
    for i, item in enumerate(items):
        np.testing.assert_array_equal(batch.tensors.features[i, : item.frames], item.features)
        assert not batch.tensors.features[i, item.frames :].numpy().any()
        assert (batch.tensors.targets[i, item.frames :].numpy() == UNKNOWN).all()
        np.testing.assert_array_equal(batch.tensors.labels[i, : len(item.labels)], item.labels)
