"""Log-probabilities by encoded frame, which the decoders of models with joint CTC have beside those of labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TensorFrames"]


class TensorFrames:
    """What the decoders of an export, or of a model in memory, share."""

    def __init__(self, functions: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
        """functions: with `decoder_frames` of `sonorant.models.decoder_functions` if the model has joint CTC."""
        self._frames = functions.get("decoder_frames")

    @property
    def joint_ctc(self) -> bool:
        """Whether there are log-probabilities by frame."""
        return self._frames is not None

    def frame_log_probs(self, encoded: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """See `LabelDecoder`; one utterance at a time, so that none depends on its batch-mates."""
        assert self._frames is not None, "a search with CTC, but a model without"
        return [np.asarray(self._frames(encoded=np.asarray(one)[np.newaxis])["log_probs"])[0] for one in encoded]

    def warm(self, encoded_size: int) -> None:
        """Call each function once, because the first call is slow."""
        if self.joint_ctc:
            self.frame_log_probs([np.zeros((1, encoded_size), np.float32)])
