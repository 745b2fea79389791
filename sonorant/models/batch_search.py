"""The search of a label-synchronous model in memory, over batches of features, such as during its training."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding import BadLogProbs, LabelBeam
from sonorant.decoding.label_beam import Ended
from sonorant.models.decoder_functions import model_decoder
from sonorant.models.family import LabelSynchronous
from sonorant.tensorflow import graph_function, tf

__all__ = ["BatchSearch", "batch_search"]

BatchSearch: TypeAlias = Callable[[NDArray[np.float32], NDArray[np.int32]], list[list[Ended]]]
"""Features Float32[B, T, bins] and their lengths Int32[B] in; the hypotheses of each utterance out, best first."""


def batch_search(model: LabelSynchronous, beam: int) -> BatchSearch:
    """Return the search by the model alone, with its weights at the time of each call.

    An utterance without encoded frames has no hypotheses, and neither has one whose hypotheses all have probability 0.
    Nor has a batch of which the model says NaN: training sees that by its loss, and has the batch's names for it.
    """
    signature = [tf.TensorSpec([None, None, model.bins], tf.float32), tf.TensorSpec([None], tf.int32)]
    encode = graph_function(model.encode, input_signature=signature)
    assert model.symbols.end is not None
    search = LabelBeam(model_decoder(model), model.symbols.end, beam)

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
