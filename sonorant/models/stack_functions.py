"""The weights of a stack of LSTM layers, for recognizers that compute it without TensorFlow's graph."""

from typing import Any

from sonorant.models.family import Model
from sonorant.models.lstm_ctc import LstmCtc
from sonorant.tensorflow import graph_function, tf

__all__ = ["stack_functions"]


def stack_functions(model: Model) -> dict[str, Any]:
    """Return `lstm_stack` if the model is an input normalisation, LSTM layers and a projection, and nothing else.

    It takes nothing, and returns `mean` and `deviation`, `level` and `running_mean` (the `constants` of these layers;
    Float32[0] where the model has none), `weight_0`, `bias_0`, ... of the LSTM layers, and `projection_weight` and
    `projection_bias`.
    """
    if not isinstance(model, LstmCtc) or model.convolution.recipe is not None or not model.uses_all_layers:
        return {}
    normalisation = model.normalisation

    def lstm_stack() -> dict[str, tf.Tensor]:
        found = {"mean": normalisation.corpus.mean.value, "deviation": normalisation.corpus.deviation.value}
        for name, layer in (("level", normalisation.running_level), ("running_mean", normalisation.running_mean)):
            found[name] = layer.constants if layer is not None else tf.zeros(0)
        for i, layer in enumerate(model.encoder):
            found |= {f"weight_{i}": layer.weight.value, f"bias_{i}": layer.bias.value}
        projection = model.projection
        found |= {"projection_weight": projection.kernel.value, "projection_bias": projection.bias.value}
        return {name: tf.identity(tensor) for name, tensor in found.items()}

    return {"lstm_stack": graph_function(lstm_stack, input_signature=[])}
