import numpy as np

from sonorant.decoding.label_prior import label_prior


def test_the_prior_counts_units_and_ends_and_none_is_impossible():
    prior = label_prior([[0, 0, 2], [2], []], units=4)
    np.testing.assert_allclose(np.exp(prior), np.array([3, 1, 3, 1, 4]) / 12)
