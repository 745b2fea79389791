"""The weights of a stack of LSTM layers, for recognizers that compute it without TensorFlow's graph."""

from typing import Any

from sonorant.models.family import Model
from sonorant.models.frequency_convolution import FrequencyConvolution
from sonorant.models.half_precision import Dense
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.tensorflow import graph_function, tf

__all__ = ["stack_functions"]


def stack_functions(model: Model) -> dict[str, Any]:
    """Return `lstm_stack` if the model is a stack of LSTM layers, and no less of it is used.

    That is an input normalisation, LSTM layers and a projection; with a convolution over frequency before the layers it
    is `convolution_lstm_stack`, which recognizers of before leave alone. It takes nothing, and returns `mean` and
    `deviation`, `level` and `running_mean` (the `constants` of these layers; Float32[0] where the model has none),
    `weight_0`, `bias_0`, ... of the LSTM layers, and `projection_weight` and `projection_bias`; of a convolution
    `convolution` (Int32[2]: frames of a vector, and positions of a maximum), `filters_weight_0`, `filters_bias_0`,
    `filters_weight_1`, `filters_bias_1`, `filters_projection_weight` and `filters_projection_bias`.
    """
    if not isinstance(model, LstmCtc) or not model.uses_all_layers:
        return {}
    normalisation = model.normalisation

    def lstm_stack() -> dict[str, tf.Tensor]:
        found = {"mean": normalisation.corpus.mean.value, "deviation": normalisation.corpus.deviation.value}
        for name, layer in (("level", normalisation.running_level), ("running_mean", normalisation.running_mean)):
            found[name] = layer.constants if layer is not None else tf.zeros(0)
        found |= _convolution(model.convolution)
        for i, layer in enumerate(model.encoder):
            found |= {f"weight_{i}": layer.weight.value, f"bias_{i}": layer.bias.value}
        found |= _dense("projection", model.projection)
        return {name: tf.identity(tensor) for name, tensor in found.items()}

    name = "lstm_stack" if model.convolution.recipe is None else "convolution_lstm_stack"
    return {name: graph_function(lstm_stack, input_signature=[])}


def _convolution(layer: FrequencyConvolution) -> dict[str, tf.Tensor]:
    if (recipe := layer.recipe) is None:
        return {}
    found = {"convolution": tf.constant([recipe.frames, recipe.pool_bins])}
    for i, filters in enumerate(layer.convolutions):
        found |= {f"filters_weight_{i}": filters.kernel.value, f"filters_bias_{i}": filters.bias.value}
    return found | _dense("filters_projection", layer.projection)


def _dense(name: str, layer: Dense) -> dict[str, tf.Tensor]:
    return {f"{name}_weight": layer.kernel.value, f"{name}_bias": layer.bias.value}
