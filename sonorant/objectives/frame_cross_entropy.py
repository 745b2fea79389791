"""Cross-entropy of each frame with its symbol on an alignment (Google 2017, section 3)."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from sonorant.arrays import Features, IntArray
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.models.family import Inputs, Model, Outputs
from sonorant.models.framing import Framing
from sonorant.objectives.alignment import UNKNOWN, alignment_loss
from sonorant.objectives.ctc import check_labels
from sonorant.objectives.joint_targets import attempted, jointly
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Targets
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["Align", "FrameCrossEntropy"]

Align: TypeAlias = Callable[[Sequence[Features], Sequence[Sequence[int]]], list[IntArray | RejectedExample]]
"""From features and labels of utterances to Int64[frames], the symbol of each frame, or why one cannot be aligned.

An utterance's does not depend on the others, so that examples may be aligned as they arrive.
"""


class FrameCrossEntropy:
    """Sum over frames of minus the log-probability of the aligned symbol, a unit or the blank.

    Needs a model with `frames` whose blank follows the units. Reports "loss". A `JointTargets`: examples are aligned
    together.
    """

    padding: ClassVar = {"frames": UNKNOWN}
    n_best: BatchSearch | None = None
    reports = ("loss",)

    def __init__(self, units: Units, framing: Framing, align: Align) -> None:
        self._units = units
        self._framing = framing
        self._align = align

    def targets(self, example: Example, frames: int) -> Targets:
        """Return "frames", the symbol of each encoded frame."""
        (found,) = self.joint_targets([example], [frames])
        if isinstance(found, RejectedExample):
            raise RejectedExample(found.reason)
        return found

    def joint_targets(self, examples: Sequence[Example], frames: Sequence[int]) -> list[Targets | RejectedExample]:
        """See `JointTargets`: they are aligned in one call."""
        checked = [attempted(self._checked, *one) for one in zip(examples, frames, strict=True)]
        paths = jointly(lambda fit: self._align(*zip(*fit, strict=True)) if fit else [], checked)
        return [
            path if isinstance(path, RejectedExample) else attempted(self._targets, path, count)
            for path, count in zip(paths, frames, strict=True)
        ]

    def _checked(self, example: Example, frames: int) -> tuple[Features, list[int]]:
        """Return features and labels; raises RejectedExample if there are too many labels."""
        labels = self._units.labels(example.text)
        check_labels(labels, frames, self._framing.frames(frames))
        assert example.features is not None
        return example.features, labels

    def _targets(self, aligned: IntArray, frames: int) -> Targets:
        if len(aligned) != (encoded := self._framing.frames(frames)):
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
