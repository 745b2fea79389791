"""Adds an objective's targets to examples with features, or rejects them."""

from collections.abc import Sequence

import numpy as np

from sonorant.arrays import Features
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.objectives.joint_targets import attempted, jointly, targets_of
from sonorant.objectives.objective import Objective, Targets
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
        (found,) = self.label([example])
        if isinstance(found, RejectedExample):
            raise RejectedExample(found.reason)
        return found

    def label(self, examples: Sequence[Example]) -> list[Labelled | RejectedExample]:
        """Return what a call with each example returns or raises, to the last bit, at less cost."""
        return jointly(self._label, [attempted(_checked, example) for example in examples])

    def _label(self, checked: Sequence[tuple[Example, Features]]) -> list[Labelled | RejectedExample]:
        examples, frames = [example for example, _ in checked], [len(features) for _, features in checked]
        found = targets_of(self.objective, examples, frames)
        return [
            targets if isinstance(targets, RejectedExample) else self._labelled(*one, targets)
            for one, targets in zip(checked, found, strict=True)
        ]

    def _labelled(self, example: Example, features: Features, targets: Targets) -> Labelled:
        return Labelled(
            lineage=example.lineage,
            ordinal=self.ordinal(example),
            utterance=example.utterance,
            features=features,
            targets=targets,
            duration_s=example.duration_s,
        )


def _checked(example: Example) -> tuple[Example, Features]:
    features = example.features
    if features is None or not len(features):
        raise RejectedExample("0 feature vectors: expected at least 1; the recording is shorter than one window")
    if not np.isfinite(features).all():
        raise RejectedExample("features hold NaN or infinity; look at the stage before the featurizer")
    return example, features
