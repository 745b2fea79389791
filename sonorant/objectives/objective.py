"""An objective's contract with intake and training step: the seam behind which losses are written.

The step computes gradients over ranks; the intake keeps epochs, pools and the ledger. Both are independent of the
targets' meaning: they carry `Targets` by name from `Objective.targets` to `Objective.losses`.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

from sonorant.arrays import IntArray
from sonorant.delivery.example import Example
from sonorant.models.family import Model, Outputs
from sonorant.tensorflow import tf

__all__ = [
    "BatchSearch",
    "BatchTensors",
    "ByFrame",
    "ByPaths",
    "Losses",
    "Objective",
    "Padded",
    "SoftAlignment",
    "Targets",
]

Targets: TypeAlias = Mapping[str, IntArray]  # of one utterance, [length] each


class Padded(NamedTuple):
    """One target of a batch. values: Int32[B, longest], padded by its objective; lengths: Int32[B]."""

    values: tf.Tensor
    lengths: tf.Tensor


class BatchTensors(NamedTuple):
    """The input of a step.

    features: Float32[B, T, bins], zeros after each one's length; lengths: Int32[B]; targets: by name; weights:
    Float32[B], 1 for an utterance and 0 for a placeholder.
    """

    features: tf.Tensor
    lengths: tf.Tensor
    targets: dict[str, Padded]
    weights: tf.Tensor


class Losses(NamedTuple):
    """The losses of each utterance of a batch, Float32[B].

    minimised: its gradient is the step's. reported: figures by name, of which the step gives the means over all ranks.
    """

    minimised: tf.Tensor
    reported: dict[str, tf.Tensor]


class SoftAlignment(NamedTuple):
    """Paths through whole utterances, summed up frame by frame.

    occupancies: Float32[B, T, symbols], the weight of each symbol at each frame: its posterior over the paths, and what
    the objective adds; behind an utterance's frames they mean nothing. reported: see `Losses`, of whole utterances.
    """

    occupancies: tf.Tensor
    reported: dict[str, tf.Tensor]


class BatchSearch(Protocol):
    """Finds further targets of a batch with a model; they have the names `targets`."""

    @property
    def targets(self) -> tuple[str, ...]:
        """See the class."""
        ...

    def __call__(self, model: Model, batch: BatchTensors) -> dict[str, Padded]:
        """Return them; the number of rows need not be the batch's."""
        ...


class Objective(Protocol):
    """Loss of a model on batches of utterances.

    padding: value with which each target is padded, by the target's name. reports: names of the figures that
    `losses` reports, the watched one first; a step in which that one is not finite changes nothing. n_best: the search
    whose targets `losses` also needs, of the batch and the model before the step; None: none.
    """

    @property
    def n_best(self) -> BatchSearch | None:
        """See the class."""
        ...

    @property
    def padding(self) -> Mapping[str, int]:
        """See the class."""
        ...

    @property
    def reports(self) -> tuple[str, ...]:
        """See the class."""
        ...

    def targets(self, example: Example, frames: int) -> Targets:
        """Return the targets of an example with `frames` feature vectors.

        Raises RejectedExample, in a sentence, if it cannot be trained on.
        """
        ...

    def schedule(self, step: int) -> tuple[float, ...]:
        """Return the schedule's values at step 0, 1, …: a constant number of them."""
        ...

    def losses(self, model: Model, batch: BatchTensors, schedule: tf.Tensor, dropout_seed: tf.Tensor) -> Losses:
        """Return each utterance's loss; part of the step's graph. schedule: Float32, of this step."""
        ...


class ByFrame(Objective, Protocol):
    """An objective whose loss is a sum over frames, so that those of an utterance's chunks add up to the utterance's.

    Its one target is "frames", of each encoded frame; a frame with the value of `padding` adds nothing.
    """

    def losses_of(self, outputs: Outputs, batch: BatchTensors) -> Losses:
        """Return the losses of a model's outputs for a batch, or for a chunk of one; part of the step's graph."""
        ...


class ByPaths(Objective, Protocol):
    """An objective whose loss is minus the logarithm of a sum over paths through the whole utterance.

    Once a model's frames are known, so are the paths' posteriors. The cross-entropy of frames with these, as constants,
    has the gradient of the loss there, and bounds its change from above elsewhere (expectation-maximization, Dempster
    1977). Among its targets is "frames", of each encoded frame.
    """

    def soft_alignment(self, outputs: Outputs, targets: Mapping[str, Padded], schedule: tf.Tensor) -> SoftAlignment:
        """Return that of whole utterances, given a model's outputs; part of a graph of its own."""
        ...
