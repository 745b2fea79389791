"""How a model computes while it is trained: with which kernels. Weights, checkpoints and exports are the same.

A model is built with the kernels that run on a CPU, as an exported one must be. The trainer then sets those of the
devices that it finds, before graphs are traced.
"""

from collections.abc import Iterator, Sequence

from sonorant.devices import Device, has_gpu
from sonorant.models.family import Model
from sonorant.models.lstm import Lstm
from sonorant.tensorflow import keras

__all__ = ["set_computation"]


def set_computation(model: Model, devices: Sequence[Device] | None = None) -> None:
    """Have a model compute on `devices`, see `has_gpu`: on a GPU with cuDNN's LSTM, except layers with peepholes."""
    gpu = has_gpu(devices)
    for layer in _layers(model):
        if isinstance(layer, Lstm):
            layer.cudnn = gpu and layer.peepholes is None


def _layers(model: Model) -> Iterator[keras.layers.Layer]:
    """Yield all layers of a model, those within others too."""
    yield from model._flatten_layers(include_self=False)
