"""The matrix products of a training step, forward and backward, and nothing else.

Those that the mathematics needs, in the form that takes least: gradients of weights are one product over all frames or
labels, inputs of recurrences are multiplied with their states, nothing is computed twice. A product with a vector, as
that of an attention's energies, counts too.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.rigs.fixed_step import FixedStep
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.section import (
    BfaRecipe,
    ConvLstmCtcRecipe,
    DeepSpeechRecipe,
    LstmCtcRecipe,
    MochaRecipe,
)
from sonorant.tensorflow import tf

__all__ = ["Product", "multiplier", "products_of"]


class Product(NamedTuple):
    """`times` products [m, k] by [k, n], one after another, each of `parallel` pairs of matrices.

    left, right: whether that factor is there transposed.
    """

    times: int
    m: int
    k: int
    n: int
    parallel: int = 1
    left: bool = False
    right: bool = False

    @property
    def flops(self) -> float:
        """Multiplications and additions."""
        return 2.0 * self.times * self.parallel * self.m * self.k * self.n


def multiplier(products: list[Product]) -> Callable[[], object]:
    """Return what computes all products, in order, by a graph that has only them."""
    factors = [(_random(p.times, p.parallel, p.m, p.k, p.left), _random(1, p.parallel, p.k, p.n, p.right)[0])
               for p in products]  # fmt: skip

    def multiply(factors: list[tuple[tf.Tensor, tf.Tensor]]) -> list[tf.Tensor]:
        return [
            tf.matmul(left, right, transpose_a=product.left, transpose_b=product.right)
            for product, (lefts, right) in zip(products, factors, strict=True)
            for left in tf.unstack(lefts)
        ]

    graph = tf.function(multiply)
    return lambda: graph(factors)


def _random(times: int, parallel: int, rows: int, columns: int, transposed: bool) -> tf.Tensor:
    shape = (columns, rows) if transposed else (rows, columns)
    return tf.random.normal((times, *([parallel] if parallel > 1 else []), *shape))


def products_of(step: FixedStep) -> list[Product]:
    """Return the products of a step, by its recipe's family."""
    model, batch = step.recipe.model, step.batch.tensors
    utterances, vectors, bins = (int(n) for n in batch.features.shape)
    symbols = step.units.size + 1
    match model:
        case MochaRecipe() | BfaRecipe():
            labels = int(batch.targets["labels"].values.shape[1]) + 1
            return list(_label_synchronous(model, utterances, vectors, bins, labels, symbols))
        case ConvLstmCtcRecipe():
            return list(_conv_lstm(model, utterances, step.frames, bins, symbols))
        case DeepSpeechRecipe():
            return list(_deep_speech(model, utterances, step.frames, bins, symbols))
        case LstmCtcRecipe():
            frames = vectors + getattr(model, "delay_vectors", 0)
            convolved = list(_convolved(model, utterances * vectors, bins))
            convolution = model.convolution or model.convolution_2d
            inputs = convolution.size if convolution else bins
            layers = _lstms(model, utterances, frames, inputs)
            return [*convolved, *layers, *_dense(model.cells, symbols, utterances * frames)]
    raise TypeError(f"{model.family}: no products are known")


def _dense(inputs: int, outputs: int, rows: int, *, first: bool = False) -> Iterator[Product]:
    """Yield output, gradient of the weight and, unless it is the first layer, of the input."""
    yield Product(1, rows, inputs, outputs)
    yield Product(1, inputs, rows, outputs, left=True)
    if not first:
        yield Product(1, rows, outputs, inputs, right=True)


def _lstm(inputs: int, cells: int, utterances: int, frames: int, *, first: bool = False) -> Iterator[Product]:
    yield Product(frames, utterances, inputs + cells, 4 * cells)
    yield Product(frames, utterances, 4 * cells, cells)
    yield Product(1, inputs + cells, frames * utterances, 4 * cells, left=True)
    if not first:
        yield Product(1, frames * utterances, 4 * cells, inputs, right=True)


def _lstms(model: LstmCtcRecipe | ConvLstmCtcRecipe, utterances: int, frames: int, inputs: int) -> Iterator[Product]:
    for layer in range(model.layers):
        first = layer == 0 and isinstance(model, LstmCtcRecipe) and not (model.convolution or model.convolution_2d)
        yield from _lstm(model.cells if layer else inputs, model.cells, utterances, frames, first=first)


def _convolved(model: LstmCtcRecipe, vectors: int, bins: int) -> Iterator[Product]:
    """Yield those of the convolution before the LSTM layers, if there is one."""
    if model.convolution:
        yield from _convolved_over_frequency(model.convolution, vectors, bins)
    if model.convolution_2d:
        yield from _convolved_2d(model.convolution_2d, vectors, bins)


def _convolved_2d(recipe: Convolution2dRecipe, vectors: int, bins: int) -> Iterator[Product]:
    """Yield those of all layers and the projection."""
    feature_maps, channels = recipe.feature_maps(bins // recipe.frames), 1
    for layer, feature_map in zip(recipe.layers, feature_maps[1:], strict=True):
        positions = vectors * feature_map.frames * feature_map.bins * layer.pool_bins
        inputs = layer.width_frames * layer.width_bins * channels
        yield from _dense(inputs, layer.filters, positions, first=feature_map is feature_maps[1])
        channels = layer.filters
    yield from _dense(feature_maps[-1].frames * feature_maps[-1].bins * channels, recipe.size, vectors)


def _convolved_over_frequency(recipe: FrequencyConvolutionRecipe, vectors: int, bins: int) -> Iterator[Product]:
    """Yield those of both convolutions and the projection."""
    maxima, last = recipe.maxima(bins // recipe.frames), recipe.positions(bins // recipe.frames)
    positions = vectors * maxima * recipe.pool_bins
    yield from _dense(recipe.width_bins * recipe.frames, recipe.filters, positions, first=True)
    yield from _dense(recipe.pooled_width_bins * recipe.filters, recipe.filters, vectors * last)
    yield from _dense(last * recipe.filters, recipe.size, vectors)


def _conv_lstm(model: ConvLstmCtcRecipe, utterances: int, frames: int, bins: int, symbols: int) -> Iterator[Product]:
    """Yield those of a convolution, whose inputs' normalisation is trained, and of the layers after it."""
    yield from _dense(model.width_vectors * bins, model.filters, utterances * frames)
    yield from _lstms(model, utterances, frames, model.filters)
    yield from _dense(model.cells, symbols, utterances * frames)


def _deep_speech(model: DeepSpeechRecipe, utterances: int, frames: int, bins: int, symbols: int) -> Iterator[Product]:
    rows, cells = utterances * frames, model.cells
    yield from _dense((2 * model.context_vectors + 1) * bins, cells, rows, first=True)
    for _ in range(4):
        yield from _dense(cells, cells, rows)
    yield Product(frames, utterances, cells, cells, parallel=2)
    yield Product(frames, utterances, cells, cells, parallel=2)
    yield Product(1, cells, rows, cells, parallel=2, left=True)
    yield from _dense(cells, symbols, rows)


def _label_synchronous(
    model: BfaRecipe, utterances: int, vectors: int, bins: int, labels: int, symbols: int
) -> Iterator[Product]:
    monotonic = isinstance(model, MochaRecipe)
    chunk = model.look_ahead * math.prod(model.pooling) if isinstance(model, MochaRecipe) else 0
    directions = 1 if monotonic and not chunk else 2
    frames, inputs = vectors, bins
    for layer in range(model.layers):
        pool = model.pooling[layer] if layer < len(model.pooling) else 1
        yield from _lstm(inputs, model.cells, utterances, frames, first=layer == 0)
        if chunk:
            yield from _backwards(inputs, model.cells, utterances, frames, chunk, first=layer == 0)
        elif directions == 2:
            yield from _lstm(inputs, model.cells, utterances, frames, first=layer == 0)
        inputs = directions * model.cells
        frames, chunk = -(-frames // pool), chunk // pool
    if model.ctc:
        yield from _dense(inputs, symbols, utterances * frames)
    for _ in range(2 if monotonic else 1):
        yield from _energies(model, utterances, frames, inputs, labels)
    if not monotonic:  # the weight of the feedback, by frame
        yield from _dense(inputs, 1, utterances * frames)
    yield from _contexts(utterances, frames, inputs, labels)
    joined = model.decoder_cells + model.embedding + inputs
    yield from _label_lstm(model.embedding + inputs, model.decoder_cells, utterances, labels)
    yield from _dense(joined, model.readout, utterances * labels)
    yield from _dense(model.readout // 2, symbols, utterances * labels)


def _backwards(inputs: int, cells: int, utterances: int, frames: int, chunk: int, *, first: bool) -> Iterator[Product]:
    """Yield those of a latency-controlled layer: the recurrence goes through the next chunk too, all chunks at once.

    The gradient of the weight is there as one product with as many operations as that of each part has rows.
    """
    chunks = -(-frames // chunk) * utterances
    rows, both = chunk * chunks, inputs + cells
    yield Product(chunk, chunks, both, 4 * cells)
    yield Product(chunk, chunks, cells, 4 * cells)
    yield Product(2 * chunk, chunks, 4 * cells, cells)
    yield Product(1, both, rows * (both + cells) // both, 4 * cells, left=True)
    if not first:
        yield Product(1, rows, 4 * cells, inputs, right=True)


def _energies(model: BfaRecipe, utterances: int, frames: int, encoded: int, labels: int) -> Iterator[Product]:
    """Yield keys once, then for each label the query, and v^T tanh(...) of every frame, with their gradients."""
    yield from _dense(encoded, model.attention, utterances * frames)
    yield Product(labels, utterances, model.decoder_cells, model.attention)
    yield Product(labels, utterances, model.attention, model.decoder_cells, right=True)
    yield Product(1, model.decoder_cells, utterances * labels, model.attention, left=True)
    yield Product(labels, utterances * frames, model.attention, 1)
    yield Product(labels, utterances * frames, 1, model.attention, right=True)
    yield Product(labels, model.attention, utterances * frames, 1, left=True)


def _contexts(utterances: int, frames: int, encoded: int, labels: int) -> Iterator[Product]:
    yield Product(labels, 1, frames, encoded, parallel=utterances)
    yield Product(labels, 1, encoded, frames, parallel=utterances, right=True)
    yield Product(1, frames, labels, encoded, parallel=utterances, left=True)


def _label_lstm(inputs: int, cells: int, utterances: int, labels: int) -> Iterator[Product]:
    """Yield those of an LSTM whose inputs depend on its outputs: gradients of the inputs cannot wait either."""
    yield Product(labels, utterances, inputs + cells, 4 * cells)
    yield Product(labels, utterances, 4 * cells, inputs + cells, right=True)
    yield Product(1, inputs + cells, utterances * labels, 4 * cells, left=True)
