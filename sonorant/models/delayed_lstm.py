"""Uni-directional LSTM layers whose output comes some vectors late, and so with right context (Google 2017, section 4).

The output of frame t is computed after vector t + delay (Sak 2014). Behind an utterance follow as many vectors of the
corpus' mean, so that its last frames have an output too. With stacked frames (`features.stack`) this is the paper's
model, trained by frame-wise cross-entropy on an alignment (`training.objective`) or by CTC.
"""

import numpy as np
from numpy.typing import NDArray

from sonorant.models.family import Inputs, Outputs
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.models.section import DelayedLstmRecipe
from sonorant.tensorflow import tf

__all__ = ["DelayedLstm"]


class DelayedLstm(LstmCtc):
    """Features to log-probabilities of units and blank (the last), frame by frame, `delay_vectors` late."""

    def __init__(self, recipe: DelayedLstmRecipe, bins: int, units: int, seed: int = 0) -> None:
        super().__init__(recipe, bins, units, seed)
        self.delay = recipe.delay_vectors
        self.framing = recipe.framing

    @property
    def padding(self) -> NDArray[np.float32]:
        """See `Streaming` and `InputNormalisation`."""
        return np.asarray(self.normalisation.padding)

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `frames`, one for each feature vector."""
        behind = tf.pad(inputs.features, ((0, 0), (0, self.delay), (0, 0)))
        late = super().outputs(self._filled(Inputs(behind, inputs.lengths)), dropout_seed)
        assert late.frames is not None
        return Outputs(late.lengths, frames=late.frames[:, self.delay :])

    def carry(
        self, chunk: Inputs, state: list[tf.Tensor], dropout_seed: tf.Tensor | None = None
    ) -> tuple[Outputs, list[tf.Tensor]]:
        """See `Carrying`."""
        return super().carry(self._filled(chunk), state, dropout_seed)

    def _filled(self, inputs: Inputs) -> Inputs:
        """Put the padding's vector behind each one's length."""
        present = tf.sequence_mask(inputs.lengths, tf.shape(inputs.features)[1])[:, :, tf.newaxis]
        return Inputs(tf.where(present, inputs.features, self.normalisation.padding), inputs.lengths)
