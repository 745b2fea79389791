"""From a sentence to an example that a language model can be trained on."""

import numpy as np

from sonorant.delivery.example import Example
from sonorant.training.labeller import Labeller
from sonorant.training.pool import Labelled

__all__ = ["TextLabeller"]


class TextLabeller(Labeller):
    """A `Labeller` of text: there is a feature vector without values for each label and the end.

    So pools sort sentences by length, and `training.batch_vectors` bounds the labels of a batch.
    """

    def __call__(self, example: Example) -> Labelled:
        """Return the example with its targets; raises RejectedExample if it cannot be trained on."""
        targets = self.objective.targets(example, 0)
        return Labelled(
            lineage=example.lineage,
            ordinal=self.ordinal(example),
            utterance=example.utterance,
            features=np.empty((len(targets["labels"]) + 1, 0), np.float32),
            targets=targets,
            duration_s=example.duration_s,
        )
