"""The figures of a recipe's model, which is built without values."""

import numpy as np

from sonorant.features.front_end import FeatureExtractor
from sonorant.models.family import Model, Streaming
from sonorant.models.figures import SECONDS, Inspection, LayerFigures
from sonorant.models.registry import build_model
from sonorant.recipe.head_delay import head_delay_vectors
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import keras

__all__ = ["inspect_model"]

_BYTES = 4  # of a Float32


def inspect_model(recipe: Recipe, units: int) -> Inspection:
    """Return the figures of a recipe's model with so many units, whose weights get no values, and no memory."""
    extractor = FeatureExtractor(recipe.features, recipe.corpus.sample_rate_hz)
    with keras.StatelessScope(initialize_variables=False):
        model = build_model(recipe.model, recipe.vector_bins, units)
    vector_ms = 1000 * extractor.vector_seconds
    begin_s, end_s = extractor.span(0)
    layers = _layers(model, round(1000 * SECONDS / vector_ms))
    past, future = model.receptive_field
    parameters = sum(layer.parameters for layer in layers)
    return Inspection(
        name=recipe.name,
        family=recipe.model.family,
        bins=recipe.vector_bins,
        units=units,
        vector_ms=vector_ms,
        vector_audio_ms=1000 * (end_s - begin_s),
        frame_ms=vector_ms * model.framing.block,
        layers=layers,
        parameters=parameters,
        trained=sum(int(np.prod(v.shape)) for v in model.trainable_variables),
        bytes=_BYTES * parameters,
        past_ms=None if past is None else past * vector_ms,
        future_ms=None if future is None else future * vector_ms,
        latency_ms=(model.latency + head_delay_vectors(recipe)) * vector_ms if isinstance(model, Streaming) else None,
        flops_per_second=sum(layer.flops_per_second for layer in layers),
        flops_per_label=sum(layer.flops_per_label for layer in layers),
    )


def _layers(model: Model, vectors: int) -> tuple[LayerFigures, ...]:
    shapes: dict[str, dict[str, list[int]]] = {}
    audio: dict[str, float] = {}
    label: dict[str, float] = {}
    for path, shape in model.weight_shapes().items():
        layer, _, name = path.partition("/")
        shapes.setdefault(layer, {})[name] = list(shape)
        flops = 2 * int(np.prod(shape)) if len(shape) > 1 else 0
        times = model.applications(path, vectors)
        audio[layer] = audio.get(layer, 0.0) + flops * times.audio / SECONDS
        label[layer] = label.get(layer, 0.0) + flops * times.label
    for layer, count in model.products(vectors).items():
        audio[layer] += 2 * count.audio / SECONDS
        label[layer] += 2 * count.label
    return tuple(
        LayerFigures(layer, own, sum(int(np.prod(s)) for s in own.values()), audio[layer], label[layer])
        for layer, own in shapes.items()
    )
