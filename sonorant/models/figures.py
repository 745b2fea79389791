"""A model's figures: layers, shapes, parameters, receptive field, latency and operations; without TensorFlow."""

from dataclasses import dataclass

__all__ = ["LABELS", "SECONDS", "Inspection", "LayerFigures"]

SECONDS = 10.0
"""Length of the utterance whose operations are counted; the longer, the more of them attention has for a label."""

LABELS = 100
"""Labels that a language model's attention has for the one whose operations are counted, itself among them."""


@dataclass(frozen=True)
class LayerFigures:
    """A layer. shapes: of its weights, by name; parameters: trained and not.

    Operations are multiplications and additions of matrix products: two for each weight and vector, and those of
    attention without weights.
    """

    name: str
    shapes: dict[str, list[int]]
    parameters: int
    flops_per_second: float
    flops_per_label: float


@dataclass(frozen=True)
class Inspection:
    """Figures of a recipe's model.

    past_ms, future_ms: audio before and after that of a vector which the output for it depends on; None: all of the
    utterance. latency_ms: longest time from a sample to the output for it, or to the label of a head that stops behind
    it, computation aside; None: the end of the utterance. bytes: of the weights.
    """

    name: str
    family: str
    bins: int
    units: int
    vector_ms: float
    vector_audio_ms: float
    frame_ms: float
    layers: tuple[LayerFigures, ...]
    parameters: int
    trained: int
    bytes: int
    past_ms: float | None
    future_ms: float | None
    latency_ms: float | None
    flops_per_second: float
    flops_per_label: float
