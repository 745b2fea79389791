"""From an example with features to one that can be trained on."""

from collections.abc import Sequence

import numpy as np

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.objectives.objective import Objective
from sonorant.training.pool import Labelled

__all__ = ["Labeller"]


class Labeller:
    """Gives an example with features the objective's targets and its ordinal in the ledger."""

    def __init__(self, objective: Objective, shard_counts: Sequence[int]) -> None:
        self.objective = objective
        self._offsets = np.concatenate(([0], np.cumsum(shard_counts)))

    def ordinal(self, example: Example) -> int:
        """Return the example's position among all records."""
        return int(self._offsets[example.lineage.shard]) + example.lineage.index

    def __call__(self, example: Example) -> Labelled:
        """Return the example with its targets; raises RejectedExample if it cannot be trained on."""
        features = example.features
        if features is None or not len(features):
            raise RejectedExample("0 feature vectors: expected at least 1; the recording is shorter than one window")
        if not np.isfinite(features).all():
            raise RejectedExample("features hold NaN or infinity; look at the stage before the featurizer")
        return Labelled(
            lineage=example.lineage,
            ordinal=self.ordinal(example),
            utterance=example.utterance,
            features=features,
            targets=self.objective.targets(example, len(features)),
            duration_s=example.duration_s,
        )
