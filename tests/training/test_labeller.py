import numpy as np
import pytest
from training.tiny import tiny_recipe

from sonorant.delivery.example import Example, Lineage
from sonorant.errors import RejectedExample
from sonorant.objectives.registry import build_objective
from sonorant.text.units import Units
from sonorant.training.labeller import Labeller

LABELLER = Labeller(build_objective(tiny_recipe(), Units("words", ("a", "b"))), shard_counts=(10,) * 100)


def example(ordinal, frames=5, text="a b", features=None):
    return Example(
        lineage=Lineage(0, ordinal // 10, ordinal % 10),
        utterance=f"u{ordinal}",
        text=text,
        sample_rate_hz=8000,
        duration_s=1.0,
        features=np.ones((frames, 2), np.float32) if features is None else features,
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (example(0, frames=0), "0 feature vectors: expected at least 1"),
        (example(0, frames=2, text="a a"), "2 feature vectors for 2 units: CTC needs at least 3"),
        (example(0, text=""), "empty transcript"),
        (example(0, text="a z"), "'z'"),
        (example(0, features=np.full((5, 2), np.nan, np.float32)), "NaN"),
    ],
)
def test_what_cannot_be_trained_on_is_rejected_with_its_reason(bad, reason):
    with pytest.raises(RejectedExample, match=reason):
        LABELLER(bad)


def test_ordinal_counts_the_records_of_earlier_shards():
    assert LABELLER(example(23)).ordinal == 23
