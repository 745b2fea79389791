"""The search of a label-synchronous model in memory, over batches of features, such as during its training."""

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding import BadLogProbs, LabelBeam, Scoring
from sonorant.decoding.label_beam import Ended
from sonorant.models.batch_frames import features_signature
from sonorant.models.decoder_functions import model_decoder
from sonorant.models.label_synchronous import LabelSynchronous
from sonorant.tensorflow import graph_function

__all__ = ["batch_search"]


def batch_search(
    model: LabelSynchronous, beam: int, end_threshold: float | None = None
) -> Callable[[NDArray[np.float32], NDArray[np.int32]], list[list[Ended]]]:
    """Return the search by the model alone, with its weights at the time of each call.

    end_threshold: see `Scoring`. It takes features Float32[B, T, bins] and their lengths Int32[B], and returns the
    hypotheses of each utterance, best first: none of one without encoded frames, and of one whose hypotheses all have
    probability 0. A batch of which the model says NaN has none: training sees that by its loss, and has the batch's
    names for it.
    """
    encode = graph_function(model.encode, input_signature=features_signature(model))
    assert model.symbols.end is not None
    search = LabelBeam(model_decoder(model), model.symbols.end, beam, Scoring(end_threshold=end_threshold))

    def search_batch(features: NDArray[np.float32], lengths: NDArray[np.int32]) -> list[list[Ended]]:
        frames, counts = (tensor.numpy() for tensor in encode(features, lengths))
        some = [i for i, count in enumerate(counts) if count]
        found: list[list[Ended]] = [[] for _ in counts]
        if some:
            with suppress(BadLogProbs):
                for i, ended in zip(some, search.search([frames[i, : counts[i]] for i in some]), strict=True):
                    found[i] = ended
        return found

    return search_batch
