"""One LSTM layer with explicit state: TensorFlow's fused CPU kernel forward, a gradient of its own backward.

The kernel's registered gradient adds to the gradient of the weights at every time step. Here only the recurrence is a
loop; gradients of weights and inputs are one matrix product each over all steps. CPU time in one thread of one layer
of 192 cells, batch 32 x 90 vectors of 192 inputs, forward and backward, paired, least of 15: 115 ms with the kernel's
gradient, 79 ms with this one, of which 70 ms would be the matrix products alone at this size. A forward loop of our own
with the product of the inputs hoisted out of it was no faster (28.0 against 27.2 ms).
"""

from collections.abc import Callable
from typing import Any

from sonorant.models.cudnn_lstm import cudnn_lstm
from sonorant.models.half_precision import HalfPrecision
from sonorant.tensorflow import keras, tf

__all__ = ["Lstm", "LstmCell"]

_GATES = 4  # the kernel's order of columns: input gate, cell candidate, forget gate, output gate


class Lstm(HalfPrecision):
    """LSTM (Hochreiter 1997; Gers 2000), time-major; with peepholes on request (Gers 2002): gates see the cell state.

    The op is `BlockLSTM`, not `BlockLSTMV2`: up to TensorFlow 2.18 the latter orders its gates differently but is
    registered with the former's gradient, which is therefore wrong without any message. Of the former only the forward
    pass is used. cudnn: whether cuDNN's kernel takes its place, which needs a GPU, and has no peepholes.

    In half precision cuDNN multiplies in it; the other kernel, in Float32, has operands that are rounded to it.
    """

    cudnn = False

    def __init__(self, inputs: int, cells: int, seed: int, name: str, peepholes: bool = False) -> None:
        super().__init__(name=name)
        self.cells = cells
        self.weight = self.add_weight(
            shape=(inputs + cells, _GATES * cells), initializer=_weights(inputs, cells, seed), name="weight"
        )
        self.bias = self.add_weight(shape=(_GATES * cells,), initializer=_open_forget_gates(cells), name="bias")
        if peepholes:  # of input, forget and output gate, one weight for each cell
            self.peepholes = self.add_weight(shape=(3, cells), initializer="zeros", name="peepholes")
        else:
            self.peepholes = None
        self.built = True

    def call(self, inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return outputs [T, B, cells], and cell and hidden state [B, cells] after the last vector.

        inputs: [T, B, inputs] with T >= 1.
        """
        weight, bias = (tf.convert_to_tensor(v.value) for v in (self.weight, self.bias))
        if self.cudnn:
            return _float32(*cudnn_lstm(inputs, cell, hidden, weight, bias))
        inputs, cell, hidden, weight, bias = _float32(inputs, cell, hidden, weight, bias)
        if self.peepholes is None:
            outputs, last_cell = _lstm(inputs, cell, hidden, weight, bias)
        else:
            (peepholes,) = _float32(tf.convert_to_tensor(self.peepholes.value))
            outputs, last_cell = _peephole_lstm(inputs, cell, hidden, weight, bias, peepholes)
        return outputs, last_cell, outputs[-1]


class LstmCell(keras.layers.Layer):
    """The same recurrence for one vector, where the next one depends on what comes out; weights as those of `Lstm`."""

    def __init__(self, inputs: int, cells: int, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.cells = cells
        self.weight = self.add_weight(
            shape=(inputs + cells, _GATES * cells), initializer=_weights(inputs, cells, seed), name="weight"
        )
        self.bias = self.add_weight(shape=(_GATES * cells,), initializer=_open_forget_gates(cells), name="bias")
        self.built = True

    def advance(self, inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return cell and hidden state [..., cells] after inputs [..., inputs]."""
        gates = tf.tensordot(tf.concat([inputs, hidden], -1), self.weight.value, 1) + self.bias.value
        i, g, f, o = tf.split(gates, _GATES, axis=-1)
        cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
        return cell, tf.sigmoid(o) * tf.tanh(cell)


@tf.custom_gradient
def _lstm(
    inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
    """Return outputs [T, B, cells] and the last cell state [B, cells], with the gradient of both."""
    forward = _forward(inputs, cell, hidden, weight, bias, None)

    def gradient(d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return _backward(forward, inputs, cell, hidden, weight, None, d_outputs, d_last_cell)[:-1]

    return (forward.h, forward.cs[-1]), gradient


@tf.custom_gradient
def _peephole_lstm(
    inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor, peepholes: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
    """Return what `_lstm` returns, of an LSTM with peepholes [3, cells]."""
    forward = _forward(inputs, cell, hidden, weight, bias, peepholes)

    def gradient(d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[tf.Tensor, ...]:
        *gradients, d_gates = _backward(forward, inputs, cell, hidden, weight, peepholes, d_outputs, d_last_cell)
        before = tf.concat([cell[tf.newaxis], forward.cs[:-1]], 0)
        d_i, _, d_f, d_o = tf.split(d_gates, _GATES, 2)
        seen = [d_i * before, d_f * before, d_o * forward.cs]
        return *gradients, tf.stack([tf.reduce_sum(one, (0, 1)) for one in seen])

    return (forward.h, forward.cs[-1]), gradient


def _forward(
    inputs: tf.Tensor,
    cell: tf.Tensor,
    hidden: tf.Tensor,
    weight: tf.Tensor,
    bias: tf.Tensor,
    peepholes: tf.Tensor | None,
) -> Any:
    unused = tf.zeros(bias.shape[0] // _GATES)
    wci, wcf, wco = (unused, unused, unused) if peepholes is None else tf.unstack(peepholes)
    return tf.raw_ops.BlockLSTM(
        seq_len_max=tf.shape(inputs, out_type=tf.int64)[0],
        x=inputs,
        cs_prev=cell,
        h_prev=hidden,
        w=weight,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=bias,
        forget_bias=0.0,
        cell_clip=-1.0,  # never
        use_peephole=peepholes is not None,
    )


def _backward(
    forward: Any,
    inputs: tf.Tensor,
    cell: tf.Tensor,
    hidden: tf.Tensor,
    weight: tf.Tensor,
    peepholes: tf.Tensor | None,
    d_outputs: tf.Tensor,
    d_last_cell: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Return the gradients of inputs, cell, hidden, weight and bias, and of the gates before their nonlinearities."""
    from_input, recurrent = tf.split(weight, [inputs.shape[2], cell.shape[1]])
    d_gates, d_cell, d_hidden = _through_time(forward, cell, recurrent, peepholes, d_outputs, d_last_cell)
    before = tf.concat([hidden[tf.newaxis], forward.h[:-1]], 0)
    operands = tf.concat([_flat(inputs), _flat(before)], 1)
    d_inputs = tf.reshape(tf.matmul(_flat(d_gates), from_input, transpose_b=True), tf.shape(inputs))
    d_weight = tf.matmul(operands, _flat(d_gates), transpose_a=True)
    return d_inputs, d_cell, d_hidden, d_weight, tf.reduce_sum(d_gates, (0, 1)), d_gates


def _through_time(
    forward: Any,
    cell: tf.Tensor,
    recurrent: tf.Tensor,
    peepholes: tf.Tensor | None,
    d_outputs: tf.Tensor,
    d_last_cell: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return the gradients of the gates before their nonlinearities [T, B, 4 cells], of first cell and hidden state.

    With i, g, f, o the gates after them, c = f c' + i g and h = o tanh(c), where c' and h' are those one step before:

        dc = dh o (1 - tanh(c)^2) + (f dc of the step after),   dh = d_outputs + d_gates W_h^T of the step after,
        d_gates = (dc g i (1 - i),  dc i (1 - g^2),  dc c' f (1 - f),  dh tanh(c) o (1 - o)).

    With peepholes p the gates' gradients reach the cell states that they saw: dc gains (d_o p_o), and the cell state
    before (d_i p_i + d_f p_f). The factors of dc and dh are known before the loop.
    """
    i, g, f, o, tanh_c = forward.i, forward.ci, forward.f, forward.o, forward.co
    before = tf.concat([cell[tf.newaxis], forward.cs[:-1]], 0)
    into_cell = o * (1 - tf.square(tanh_c))
    into_gates = tf.concat([g * i * (1 - i), i * (1 - tf.square(g)), before * f * (1 - f), tanh_c * o * (1 - o)], 2)
    into_before = f
    if peepholes is not None:
        to_i, _, to_f, to_o = tf.split(into_gates, _GATES, 2)
        into_cell += to_o * peepholes[2]
        into_before += to_i * peepholes[0] + to_f * peepholes[1]
    transposed = tf.transpose(recurrent)  # once: a product that transposes takes 2.5 times as long at this size
    steps = tf.shape(d_outputs)[0]

    def back(t: tf.Tensor, from_hidden: tf.Tensor, d_cell: tf.Tensor, written: tf.TensorArray) -> tuple[Any, ...]:
        dh = d_outputs[t] + from_hidden
        dc = dh * into_cell[t] + d_cell
        d_gates = tf.concat([dc, dc, dc, dh], 1) * into_gates[t]
        return t - 1, tf.matmul(d_gates, transposed), dc * into_before[t], written.write(t, d_gates)

    written = tf.TensorArray(tf.float32, steps, element_shape=[None, into_gates.shape[2]])
    start = (steps - 1, tf.zeros_like(cell), d_last_cell, written)
    _, d_hidden, d_cell, written = tf.while_loop(lambda t, *_: t >= 0, back, start)
    return written.stack(), d_cell, d_hidden


def _float32(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Return the tensors as Float32; those that are, as they are."""
    return tuple(tf.cast(tensor, tf.float32) for tensor in tensors)


def _flat(sequence: tf.Tensor) -> tf.Tensor:
    """[T, B, n] as [T B, n]."""
    return tf.reshape(sequence, (-1, sequence.shape[2]))


def _weights(inputs: int, cells: int, seed: int) -> keras.initializers.Initializer:
    """Glorot-uniform from the input, orthogonal for each gate of the recurrence (Saxe 2014)."""

    def initialise(shape: tuple[int, ...], dtype: object = None) -> tf.Tensor:
        recurrent = [keras.initializers.Orthogonal(seed=seed * _GATES + g)((cells, cells)) for g in range(_GATES)]
        from_input = keras.initializers.GlorotUniform(seed=seed)((inputs, _GATES * cells))
        return tf.concat([from_input, tf.concat(recurrent, 1)], 0)

    return initialise


def _open_forget_gates(cells: int) -> keras.initializers.Initializer:
    """Bias 1 on the forget gate, so that cells remember from the first step on (Jozefowicz 2015, section 2.2)."""

    def initialise(shape: tuple[int, ...], dtype: object = None) -> tf.Tensor:
        return tf.concat([tf.zeros(2 * cells), tf.ones(cells), tf.zeros(cells)], 0)

    return initialise
