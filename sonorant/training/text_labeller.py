"""From a sentence to an example that a language model can be trained on."""

from collections.abc import Sequence

import numpy as np

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.objectives.joint_targets import attempted
from sonorant.training.labeller import Labeller
from sonorant.training.pool import Labelled

__all__ = ["TextLabeller"]


class TextLabeller(Labeller):
    """A `Labeller` of text: there is a feature vector without values for each label and the end.

    So pools sort sentences by length, and `training.batch_vectors` bounds the labels of a batch.
    """

    def label(self, examples: Sequence[Example]) -> list[Labelled | RejectedExample]:
        """See `Labeller`."""
        return [attempted(self._sentence, example) for example in examples]

    def _sentence(self, example: Example) -> Labelled:
        targets = self.objective.targets(example, 0)
        return Labelled(
            lineage=example.lineage,
            ordinal=self.ordinal(example),
            utterance=example.utterance,
            features=np.empty((len(targets["labels"]) + 1, 0), np.float32),
            targets=targets,
            duration_s=example.duration_s,
        )
