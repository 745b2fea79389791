"""The weights of a stack of LSTM layers, for recognizers that compute it without TensorFlow's graph."""

from typing import Any

from sonorant.models.convolution import Convolution
from sonorant.models.convolution_2d import Convolution2d
from sonorant.models.family import Model
from sonorant.models.frequency_convolution import FrequencyConvolution
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.tensorflow import graph_function, tf

__all__ = ["stack_functions"]

_NAMES = {
    None: "lstm_stack",
    FrequencyConvolution: "convolution_lstm_stack",
    Convolution2d: "convolution_2d_lstm_stack",
}


def stack_functions(model: Model) -> dict[str, Any]:
    """Return `lstm_stack` if the model is a stack of LSTM layers, and no less of it is used.

    That is an input normalisation, LSTM layers and a projection; with a convolution before the layers it has another
    name (`_NAMES`), so that recognizers of before leave it alone. It takes nothing, and returns `mean` and `deviation`,
    `level` and `running_mean` (the `constants` of these layers; Float32[0] where the model has none), `weight_0`,
    `bias_0`, ... of the LSTM layers, and `projection_weight` and `projection_bias`; of a convolution
    `filters_weight_0`, `filters_bias_0`, ..., `filters_projection_weight` and `filters_projection_bias`, and

    - over frequency `convolution`: Int32[2], frames of a vector, and positions of a maximum of the first layer;
    - over time and frequency `convolution_frames`: Int32[1], frames of a vector, and `convolution_2d`: Int32[layers,
      3], of each layer the width in frames, the stride in frames, and positions of a maximum; batch normalisation is in
      the weights.
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
        found |= {"projection_weight": model.projection.kernel.value, "projection_bias": model.projection.bias.value}
        return {name: tf.identity(tensor) for name, tensor in found.items()}

    kind = None if model.convolution.recipe is None else type(model.convolution)
    return {_NAMES[kind]: graph_function(lstm_stack, input_signature=[])}


def _convolution(layer: Convolution) -> dict[str, tf.Tensor]:
    if layer.recipe is None:
        return {}
    if isinstance(layer, Convolution2d):
        shapes = [(one.width_frames, one.stride_frames, one.pool_bins) for one in layer.recipe.layers]
        found = {"convolution_2d": tf.constant(shapes), "convolution_frames": tf.constant([layer.recipe.frames])}
        *filters, projection = layer.folded()
    else:
        found = {"convolution": tf.constant([layer.recipe.frames, layer.recipe.pool_bins])}
        filters = [(one.kernel.value, one.bias.value) for one in layer.convolutions]
        projection = layer.projection.kernel.value, layer.projection.bias.value
    for i, weights in enumerate(filters):
        found |= {f"filters_weight_{i}": weights[0], f"filters_bias_{i}": weights[1]}
    return found | {"filters_projection_weight": projection[0], "filters_projection_bias": projection[1]}
