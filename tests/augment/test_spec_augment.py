import numpy as np
import pytest

from sonorant.augment.spec_augment import SpecAugmentRecipe, mask, spec_augment_stage
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import RejectedExample
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.section import FeaturesRecipe
from sonorant.recipe.schema import Recipe

STACK, BINS, VECTORS = 3, 8, 40
FEATURES = np.random.default_rng(0).normal(3, 1, (VECTORS, STACK * BINS)).astype(np.float32)
EXAMPLE = Example(Lineage(0, 0, 0), "u", "one", 8000, 1.0, features=FEATURES)


def recipe(**fields):
    return SpecAugmentRecipe(stage="spec_augment", **fields)


def hidden(masked):
    """Return Bool[vectors, stack, bins]: what is another value than before."""
    return (masked != FEATURES).reshape(VECTORS, STACK, BINS)


def many(masks):
    return [hidden(mask(FEATURES, masks, STACK, np.random.default_rng(seed))) for seed in range(300)]


def test_a_frequency_mask_hides_the_same_neighbouring_bins_of_every_frame_of_all_widths_and_places():
    widths, starts = set(), set()
    for cells in many(recipe(frequency_masks=1, frequency_mask_bins=4, time_masks=0)):
        (bins,) = np.nonzero(cells[0, 0])
        assert (cells == cells[0, 0]).all()
        assert (np.diff(bins) == 1).all()
        widths.add(len(bins))
        starts |= set(bins[:1])
    assert widths == set(range(5))
    assert starts == set(range(BINS))


def test_time_masks_hide_whole_vectors_and_at_most_a_fifth_each():
    counts = set()
    for cells in many(recipe(frequency_masks=0, time_masks=1, time_mask_vectors=100)):
        vectors = cells.any(axis=(1, 2))
        assert (cells == vectors[:, np.newaxis, np.newaxis]).all()
        counts.add(int(vectors.sum()))
    assert counts == set(range(VECTORS // 5 + 1))
    most = max(int(cells[:, 0, 0].sum()) for cells in many(recipe(frequency_masks=0, time_masks=3)))
    assert VECTORS // 5 < most <= 3 * (VECTORS // 5)


def test_what_is_hidden_is_the_mean_of_its_bin_and_the_rest_as_it_was():
    masked = mask(FEATURES, recipe(frequency_mask_bins=5), STACK, np.random.default_rng(1))
    cells = hidden(masked).reshape(FEATURES.shape)
    assert cells.any()
    means = np.broadcast_to(FEATURES.astype(float).mean(axis=0), FEATURES.shape)
    np.testing.assert_allclose(masked[cells], means[cells], rtol=1e-6)
    assert masked.dtype == np.float32


def test_masks_leave_less_behind_normalisation_than_zeros_would():
    """Speech-like levels, normalised by bin as the model does: the mean ends near 0, zeros far away."""
    rng = np.random.default_rng(0)
    waveform = (0.1 * rng.standard_normal(16000) * np.repeat(rng.uniform(0.1, 1, 20), 800)).astype(np.float32)
    features = FeatureExtractor(FeaturesRecipe(), 16000)(waveform)
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    masked = mask(features, recipe(), 3, np.random.default_rng(3))
    normal = (masked - mean) / deviation
    assert np.abs(normal[masked != features]).max() < 0.01
    assert np.abs(mean / deviation).min() > 3


def test_the_stage_acts_by_chance_and_repeats_with_its_random_numbers():
    stage = spec_augment_stage(recipe(probability=0.5), STACK)
    results = [stage(EXAMPLE, np.random.default_rng(seed)) for seed in range(40)]
    untouched = sum(result is EXAMPLE for result in results)
    assert 8 < untouched < 32
    again = [stage(EXAMPLE, np.random.default_rng(seed)) for seed in range(40)]
    assert [r.features.tobytes() for r in results] == [r.features.tobytes() for r in again]


def test_without_features_an_example_is_rejected():
    waveform = EXAMPLE._replace(features=None, waveform=np.ones(4, np.float32))
    with pytest.raises(RejectedExample, match="no features to mask; spec_augment comes after the featurizer"):
        spec_augment_stage(recipe(), STACK)(waveform, np.random.default_rng(0))


def test_an_utterance_of_a_single_vector_keeps_it():
    short = FEATURES[:1]
    masked = mask(short, recipe(frequency_masks=0), STACK, np.random.default_rng(0))
    np.testing.assert_array_equal(masked, short)


@pytest.mark.parametrize(
    ("features", "bins"), [({"mel_bins": 12}, 12), ({"kind": "mfcc"}, 13), ({"kind": "spectrogram"}, 257)]
)
def test_the_recipe_knows_how_many_bins_a_frame_has(features, bins):
    values = {"version": 1, "name": "x", "corpus": {"reader": "fsdd", "path": "x"}, "features": features}
    stages = [{"stage": "spec_augment", "frequency_mask_bins": bins}]
    checked = Recipe.model_validate(values | {"stages": stages})
    rate_hz = checked.corpus.sample_rate_hz
    frames = FeatureExtractor(checked.features, rate_hz).frames(np.ones(rate_hz, np.float32))
    assert frames.shape[1] == bins
    assert np.isfinite(frames).all()
