"""How often a model's weights are applied, from which the cost of its matrix products follows."""

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Applications", "decoder_applications", "pooled_applications"]


class Applications(NamedTuple):
    """Number of vectors that a weight is multiplied with, in an utterance. audio: once; label: for each label more."""

    audio: float = 0.0
    label: float = 0.0


def pooled_applications(layer: int, vectors: int, pooling: Sequence[int]) -> Applications:
    """Return those of an encoder's layer 0, 1, …, before which `layer` poolings have shortened the utterance."""
    return Applications(-(-vectors // math.prod(pooling[:layer])))


def decoder_applications(path: str, frames: int) -> Applications:
    """Return those of a weight of an `AttentionDecoder` with additive attention to so many encoded frames."""
    if path in {"attention/key", "attention/fertility"}:
        return Applications(audio=frames)
    if path in {"attention/energy", "attention/feedback"}:
        return Applications(label=frames)
    return Applications() if path == "decoder/embedding" else Applications(label=1)  # an embedding is looked up
