"""cuDNN's fused LSTM with the weights of `Lstm`: one call for all steps, forward, and one backward.

TensorFlow has the op for GPUs alone. Gradients are those that it registers, through the conversion of the weights.
"""

from sonorant.models.gates import GATES
from sonorant.tensorflow import tf

__all__ = ["cudnn_lstm", "cudnn_parameters"]

# Columns of `Lstm` are i, g, f, o (`gates.py`); cuDNN's linear layers i, f, g, o.
_ORDER = (0, 2, 1, 3)


def cudnn_lstm(
    inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return outputs [T, B, cells], and cell and hidden state [B, cells] after the last vector, on a GPU.

    inputs: [T, B, inputs]; cell, hidden: [B, cells], before the first; weight, bias: of `Lstm`, of the same type.
    """
    shape = tf.shape(inputs)
    outputs, last_hidden, last_cell, *_ = tf.raw_ops.CudnnRNNV3(
        input=inputs,
        input_h=hidden[tf.newaxis],
        input_c=cell[tf.newaxis],
        params=cudnn_parameters(weight, bias),
        sequence_lengths=tf.fill([shape[1]], shape[0]),  # padding is after an utterance, and no frame of it reads it
        rnn_mode="lstm",
        is_training=True,  # else there is no gradient
        time_major=True,
    )
    return outputs, last_cell[0], last_hidden[0]


def cudnn_parameters(weight: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    """Return cuDNN's flat parameters [4 cells (inputs + cells + 2)] of one layer in one direction.

    weight: [inputs + cells, 4 cells]; bias: [4 cells]. With W_x [cells, inputs], R_x [cells, cells] and b_x [cells] of
    gate x, row by row: W_i W_f W_g W_o, R_i R_f R_g R_o, then two biases of each gate, which cuDNN adds up (cuDNN API,
    cudnnRNNMode_t and cudnnGetRNNWeightParams): those beside W are 0, those beside R are b_i b_f b_g b_o.
    """
    cells = bias.shape[0] // GATES
    gates = tf.gather(tf.reshape(weight, (-1, GATES, cells)), _ORDER, axis=1)
    from_input, recurrent = tf.split(gates, [weight.shape[0] - cells, cells])
    biases = tf.gather(tf.reshape(bias, (GATES, cells)), _ORDER)
    parts = [_rows(from_input), _rows(recurrent), tf.zeros_like(bias), tf.reshape(biases, (-1,))]
    return tf.concat(parts, 0)


def _rows(weights: tf.Tensor) -> tf.Tensor:
    """[n, gates, cells] as a vector of each gate's [cells, n]."""
    return tf.reshape(tf.transpose(weights, (1, 2, 0)), (-1,))
