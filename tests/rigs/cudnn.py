"""cuDNN's LSTM as its documentation has it, for machines without a GPU: stands in for TensorFlow's op."""

from typing import NamedTuple

from sonorant.tensorflow import tf


class CudnnOutputs(NamedTuple):
    output: tf.Tensor
    output_h: tf.Tensor
    output_c: tf.Tensor
    reserve_space: tf.Tensor
    host_reserved: tf.Tensor


def unpacked(params, inputs, cells):
    """Return W and R [4, cells, n] and the two biases [4, cells], gates in the order i, f, c, o."""
    sizes = [4 * cells * inputs, 4 * cells * cells, 4 * cells, 4 * cells]
    w, r, b_w, b_r = tf.split(params, sizes)
    shapes = [(4, cells, inputs), (4, cells, cells), (4, cells), (4, cells)]
    return [tf.reshape(part, shape) for part, shape in zip((w, r, b_w, b_r), shapes, strict=True)]


def documented_cudnn(
    input, input_h, input_c, params, sequence_lengths, rnn_mode, is_training, time_major, direction="unidirectional"
):
    """cudnnRNNMode_t: i_t = s(W_i x_t + R_i h_{t-1} + b_Wi + b_Ri), ..., h_t = o_t o tanh(c_t).

    After an utterance's last vector outputs are 0, and the state stays what it is.
    """
    assert (rnn_mode, is_training, time_major, direction) == ("lstm", True, True, "unidirectional")
    w, r, b_w, b_r = unpacked(params, input.shape[2], input_h.shape[2])
    cell, hidden, outputs = input_c[0], input_h[0], []
    for t, vectors in enumerate(tf.unstack(input)):
        i, f, c, o = (vectors @ tf.transpose(w[x]) + b_w[x] + hidden @ tf.transpose(r[x]) + b_r[x] for x in range(4))
        after = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(c)
        present = (t < sequence_lengths)[:, tf.newaxis]
        cell, hidden = (
            tf.where(present, after, cell),
            tf.where(present, tf.sigmoid(o) * tf.tanh(after), hidden),
        )
        outputs.append(tf.where(present, hidden, 0))
    return CudnnOutputs(tf.stack(outputs), hidden[tf.newaxis], cell[tf.newaxis], tf.zeros(0), tf.zeros(0, tf.int8))
