"""Cross-entropy of text: what a language model minimises."""

from typing import ClassVar

import numpy as np

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.models.family import Inputs, Model
from sonorant.objectives.label_cross_entropy import label_cross_entropy, label_error, with_end
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Targets
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["NextLabel"]


class NextLabel:
    """Cross-entropy of each label, given those before it, and of the end, summed over a sentence.

    Needs a model with `labels`. Reports "loss", that sum; "label_error", the share of labels, the end among them, that
    are not the most probable; and "labels", their number: exp(loss / labels), of the means, is the perplexity.
    """

    padding: ClassVar = {"labels": 0}
    n_best: BatchSearch | None = None
    reports = ("loss", "label_error", "labels")

    def __init__(self, units: Units) -> None:
        self._units = units

    def targets(self, example: Example, frames: int) -> Targets:
        """Return "labels", the numbers of the units."""
        labels = self._units.labels(example.text)
        if not labels:
            raise RejectedExample("empty sentence: there is nothing to learn from it; expected at least one unit")
        return {"labels": np.array(labels)}

    def schedule(self, step: int) -> tuple[float, ...]:
        """Return nothing: the loss is the same at every step."""
        return ()

    def losses(self, model: Model, batch: BatchTensors, schedule: tf.Tensor, dropout_seed: tf.Tensor) -> Losses:
        """See `Objective`."""
        labels, lengths = batch.targets["labels"]
        log_probs = model.outputs(Inputs(batch.features, batch.lengths, labels, lengths), dropout_seed).labels
        due = with_end(labels, lengths, model.symbols.end)
        loss = label_cross_entropy(log_probs, due, lengths + 1)
        wrong = label_error(log_probs, due, lengths + 1)
        return Losses(loss, {"loss": loss, "label_error": wrong, "labels": tf.cast(lengths + 1, tf.float32)})
