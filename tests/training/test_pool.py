"""Batches of similar length."""

import itertools

import numpy as np
import pytest

from sonorant.delivery.example import Lineage
from sonorant.training.pool import Labelled, Pool

VECTORS_HZ = 25  # of 10 ms frames, stacked by 4


def item(ordinal, frames):
    features = np.empty((frames, 0), np.float32)
    return Labelled(Lineage(0, 0, ordinal), ordinal, f"u{ordinal}", features, {"labels": np.zeros(1, int)}, 1.0)


def librispeech_like(rng, count):
    """Seconds: two thirds about 14.6, the rest anything below; LibriSpeech's mean is 12.3 (Panayotov 2015)."""
    many = np.clip(rng.normal(14.6, 1.3, count), 9, 17)
    return np.where(rng.random(count) < 0.68, many, rng.uniform(1.5, 13.5, count))


def drawn(pool, items, capacity=256):
    """Yield the batches of an epoch whose pool is filled up before each."""
    left = iter(items)
    for number in itertools.count():
        for new in itertools.islice(left, capacity - len(pool)):
            pool.add(new)
        if not (batch := pool.draw(0, number)):
            return
        yield batch


@pytest.fixture
def corpus():
    lengths = librispeech_like(np.random.default_rng(0), 4000) * VECTORS_HZ
    return [item(number, int(frames)) for number, frames in enumerate(lengths)]


def test_padding_of_a_librispeech_like_corpus_stays_below_a_twelfth_of_all_vectors(corpus):
    vectors = padded = 0
    for batch in drawn(Pool(32, 0, seed=1, rank=0), corpus):
        vectors += len(batch) * batch[-1].frames
        padded += sum(batch[-1].frames - i.frames for i in batch)
    assert 0.01 < padded / vectors <= 0.08


@pytest.mark.parametrize("most", [300, 1600, 8000])
def test_no_batch_exceeds_its_vectors_unless_it_is_a_single_example(corpus, most):
    batches = list(drawn(Pool(64, most, seed=1, rank=0), corpus))
    assert sorted(i.ordinal for batch in batches for i in batch) == list(range(len(corpus)))
    assert all(len(batch) == 1 or len(batch) * max(i.frames for i in batch) <= most for batch in batches)
    assert max(map(len, batches)) > most // (17 * VECTORS_HZ)  # short ones make larger batches


def test_the_order_of_a_pool_hardly_follows_length(corpus):
    """Whichever length comes first must be a matter of chance: batch lengths of an epoch are not sorted."""
    lengths = [batch[-1].frames for batch in drawn(Pool(32, 0, seed=1, rank=0), corpus)]
    assert abs(np.corrcoef(np.arange(len(lengths)), lengths)[0, 1]) < 0.3
