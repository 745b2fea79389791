"""How a model computes while it is trained: with which kernels, in which precision.

A model is built with the kernels that run on a CPU, and in Float32, as an exported one must be. The trainer then sets
its devices' kernels and the recipe's precision, before graphs are traced. Weights and checkpoints are the same.
"""

from collections.abc import Iterator, Sequence

from sonorant.models.devices import Device, has_gpu
from sonorant.models.family import Model
from sonorant.models.half_precision import HalfPrecision
from sonorant.models.kernel_calls import HasKernel
from sonorant.models.lstm import Lstm, LstmKernel
from sonorant.tensorflow import keras

__all__ = ["set_computation"]


def set_computation(model: Model, precision: str = "float32", devices: Sequence[Device] | None = None) -> None:
    """Have a model compute in `precision` (float32, bfloat16 or float16), on `devices` (see `has_gpu`).

    On a GPU LSTM layers without peepholes are cuDNN's; on a CPU all are compiled, and attention decoders, clipped
    recurrences, batch and running normalisation and, in Float32, convolutions with max-pooling.
    """
    gpu = has_gpu(devices)
    for layer in _layers(model):
        if isinstance(layer, HalfPrecision):
            layer.dtype_policy = precision if precision == "float32" else f"mixed_{precision}"
        if isinstance(layer, Lstm):
            layer.kernel = _lstm_kernel(gpu, layer.peepholes is not None)
        if isinstance(layer, HasKernel):
            layer.compiled = not gpu


def _lstm_kernel(gpu: bool, peepholes: bool) -> LstmKernel:
    if not gpu:
        return "compiled"
    return "graph" if peepholes else "cudnn"


def _layers(model: Model) -> Iterator[keras.layers.Layer]:
    """Yield all layers of a model, those within others too."""
    yield from model._flatten_layers(include_self=False)
