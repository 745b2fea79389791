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
        """See `Streaming`: the corpus' mean vector."""
        return np.asarray(self.normalisation.mean)

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """See `Model`: `frames`, one for each feature vector."""
        behind = tf.pad(inputs.features, ((0, 0), (0, self.delay), (0, 0)))
        present = tf.sequence_mask(inputs.lengths, tf.shape(behind)[1])[:, :, tf.newaxis]
        padded = tf.where(present, behind, self.normalisation.mean)
        late = super().outputs(Inputs(padded, inputs.lengths), dropout_seed)
        assert late.frames is not None
        return Outputs(late.lengths, frames=late.frames[:, self.delay :])
