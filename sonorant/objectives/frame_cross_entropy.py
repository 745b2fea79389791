"""Cross-entropy of each frame with its symbol on an alignment (Google 2017, section 3)."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from sonorant.arrays import Features, IntArray
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.models.family import Inputs, Model, Outputs
from sonorant.models.framing import Framing
from sonorant.objectives.alignment import UNKNOWN, alignment_loss
from sonorant.objectives.ctc import check_labels
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Targets
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["FrameCrossEntropy"]


class FrameCrossEntropy:
    """Sum over frames of minus the log-probability of the aligned symbol, a unit or the blank.

    Needs a model with `frames` whose blank follows the units. Reports "loss". align: features and labels to
    Int64[frames], at least as many as the model has.
    """

    padding: ClassVar = {"frames": UNKNOWN}
    n_best: BatchSearch | None = None
    reports = ("loss",)

    def __init__(self, units: Units, framing: Framing, align: Callable[[Features, Sequence[int]], IntArray]) -> None:
        self._units = units
        self._framing = framing
        self._align = align

    def targets(self, example: Example, frames: int) -> Targets:
        """Return "frames", the symbol of each encoded frame."""
        labels = self._units.labels(example.text)
        encoded = self._framing.frames(frames)
        check_labels(labels, frames, encoded)
        assert example.features is not None
        try:
            aligned = self._align(example.features, labels)
        except ValueError as error:  # no path: the aligner has fewer frames than this model, or makes it impossible
            raise RejectedExample(f"it cannot be aligned: {error}") from error
        if len(aligned) != encoded:
            raise RejectedExample(
                f"{frames} feature vectors make {encoded} encoded frames, the aligner has {len(aligned)}; expected "
                "as many: align with a model of the same framing"
            )
        return {"frames": aligned}

    def schedule(self, step: int) -> tuple[float, ...]:
        """Return nothing: the loss is the same in every step."""
        return ()

    def losses(self, model: Model, batch: BatchTensors, schedule: tf.Tensor, dropout_seed: tf.Tensor) -> Losses:
        """See `Objective`."""
        outputs = model.outputs(Inputs(batch.features, batch.lengths), dropout_seed)
        return self.losses_of(outputs, batch)

    def losses_of(self, outputs: Outputs, batch: BatchTensors) -> Losses:
        """See `ByFrame`."""
        loss = alignment_loss(outputs.frames, batch.targets["frames"].values)
        return Losses(loss, {"loss": loss})
