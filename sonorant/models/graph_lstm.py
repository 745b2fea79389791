"""An LSTM layer by TensorFlow's fused kernel, forward, and a gradient of its own, backward: on any device.

The registered gradient of TensorFlow's kernel adds to the gradient of the weights at every time step. Here only the
recurrence is a loop, of the fused gradient of one step and the product that hands it to the step before; gradients of
weights and inputs are one matrix product each over all steps. CPU time in one thread of one layer of 192 cells, batch
32 x 64 vectors of 160 inputs, forward and backward, paired on a busy EPYC, median of 8: 98 ms with the factors of the
gates' gradients computed for all steps before the loop, 88 ms with the fused step; with peepholes 87 and 79 ms.

The op is `BlockLSTM`, not `BlockLSTMV2`: up to TensorFlow 2.18 the latter orders its gates differently but is
registered with the former's gradient, which is therefore wrong without any message. Of the former only the forward pass
is used.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sonorant.models.devices import has_gpu
from sonorant.models.gates import GATES, flat
from sonorant.tensorflow import custom_gradient, tf

__all__ = ["graph_lstm", "graph_lstm_with_peepholes"]


class _Operands(NamedTuple):
    """What a layer is computed from; peepholes: of input, forget and output gate [cells], zeros if it has none."""

    inputs: tf.Tensor
    cell: tf.Tensor
    hidden: tf.Tensor
    weight: tf.Tensor
    bias: tf.Tensor
    peepholes: tuple[tf.Tensor, ...]
    has_peepholes: bool

    def shared(self) -> dict[str, Any]:
        """Return those arguments that the forward kernel and the kernel of a step's gradient have in common."""
        wci, wcf, wco = self.peepholes
        peepholes = {"wci": wci, "wcf": wcf, "wco": wco, "use_peephole": self.has_peepholes}
        return {"h_prev": self.hidden, "w": self.weight, "b": self.bias, **peepholes}


@custom_gradient
def graph_lstm(
    inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
    """Return outputs [T, B, cells] and the last cell state [B, cells], with the gradient of both."""
    none = tf.zeros(bias.shape[0] // GATES)
    given = _Operands(inputs, cell, hidden, weight, bias, (none, none, none), has_peepholes=False)
    forward = _forward(given)

    def gradient(d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return _backward(forward, given, d_outputs, d_last_cell)[:-1]

    return (forward.h, forward.cs[-1]), gradient


@custom_gradient
def graph_lstm_with_peepholes(
    inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor, peepholes: tf.Tensor
) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
    """Return what `graph_lstm` returns, of an LSTM with peepholes [3, cells]."""
    given = _Operands(inputs, cell, hidden, weight, bias, tuple(tf.unstack(peepholes)), has_peepholes=True)
    forward = _forward(given)

    def gradient(d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[tf.Tensor, ...]:
        *gradients, d_peepholes = _backward(forward, given, d_outputs, d_last_cell)
        return *gradients, tf.stack(d_peepholes)

    return (forward.h, forward.cs[-1]), gradient


def _forward(given: _Operands) -> Any:
    return tf.raw_ops.BlockLSTM(
        seq_len_max=tf.shape(given.inputs, out_type=tf.int64)[0],
        x=given.inputs,
        cs_prev=given.cell,
        forget_bias=0.0,
        cell_clip=-1.0,  # never
        **given.shared(),
    )


def _backward(forward: Any, given: _Operands, d_outputs: tf.Tensor, d_last_cell: tf.Tensor) -> tuple[Any, ...]:
    """Return the gradients of inputs, cell, hidden, weight and bias, and those of the peepholes, if there are any."""
    d_gates, d_cell, d_hidden, d_peepholes = _through_time(forward, given, d_outputs, d_last_cell)
    before = tf.concat([given.hidden[tf.newaxis], forward.h[:-1]], 0)
    operands = tf.concat([flat(given.inputs), flat(before)], 1)
    from_input = given.weight[: given.inputs.shape[2]]
    d_inputs = tf.reshape(tf.matmul(flat(d_gates), from_input, transpose_b=True), tf.shape(given.inputs))
    d_weight = tf.matmul(operands, flat(d_gates), transpose_a=True)
    return d_inputs, d_cell, d_hidden, d_weight, tf.reduce_sum(d_gates, (0, 1)), d_peepholes


def _through_time(
    forward: Any, given: _Operands, d_outputs: tf.Tensor, d_last_cell: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, list[tf.Tensor]]:
    """Return the gradients of the gates before their nonlinearities, first cell and hidden state, and peepholes.

    Shapes: [T, B, 4 cells]; [B, cells] each; [cells] each, if there are any.

    With i, g, f, o the gates after them, c = f c' + i g and h = o tanh(c), where c' and h' are those one step before:

        dc = dh o (1 - tanh(c)^2) + (f dc of the step after),   dh = d_outputs + d_gates W_h^T of the step after,
        d_gates = (dc g i (1 - i),  dc i (1 - g^2),  dc c' f (1 - f),  dh tanh(c) o (1 - o)).

    With peepholes p the gates' gradients reach the cell states that they saw: dc gains (d_o p_o), and the cell state
    before (d_i p_i + d_f p_f).
    """
    recurrent = given.weight[given.inputs.shape[2] :]
    transposed = tf.transpose(recurrent)  # once: a product that transposes takes 2.5 times as long at this size
    steps = tf.shape(d_outputs)[0]

    def at_step(t: tf.Tensor, before: tf.Tensor, later: Any) -> tuple[Any, ...]:
        from_hidden, d_cell, d_peepholes, written = later
        gradients = _of_step(forward, given, t, before, d_outputs[t] + from_hidden, d_cell)
        if given.has_peepholes:
            seen = (gradients.wci_grad, gradients.wcf_grad, gradients.wco_grad)
            d_peepholes = [total + one for total, one in zip(d_peepholes, seen, strict=True)]
        carried = (tf.matmul(gradients.dicfo, transposed), gradients.cs_prev_grad, d_peepholes)
        return *carried, written.write(t, gradients.dicfo)

    def back(t: tf.Tensor, *later: Any) -> tuple[Any, ...]:
        return t - 1, *at_step(t, forward.cs[t - 1], later)

    written = tf.TensorArray(tf.float32, steps, element_shape=[None, given.weight.shape[1]])
    no_peepholes = [tf.zeros_like(p) for p in given.peepholes if given.has_peepholes]
    last = (tf.zeros_like(given.cell), d_last_cell, no_peepholes, written)
    first, *later = tf.while_loop(lambda t, *_: t > 0, back, (steps - 1, *last))
    d_hidden, d_cell, d_peepholes, written = at_step(first, given.cell, later)
    return written.stack(), d_cell, d_hidden, d_peepholes


class _StepGradients(NamedTuple):
    """Gradients of one step, named as the kernel names them: gates [B, 4 cells], the cell state before, peepholes."""

    dicfo: tf.Tensor
    cs_prev_grad: tf.Tensor
    wci_grad: tf.Tensor
    wcf_grad: tf.Tensor
    wco_grad: tf.Tensor


def _of_step(
    forward: Any, given: _Operands, t: tf.Tensor, before: tf.Tensor, d_hidden: tf.Tensor, d_cell: tf.Tensor
) -> Any:
    """Return the kernel's gradients of one step, after the cell state `before`; of x, h', W and b it takes shapes.

    With peepholes on a GPU, an H100, those of TensorFlow 2.18's kernel were wrong: plain operations take its place.
    """
    if given.has_peepholes and has_gpu():
        return _of_peephole_step(forward, given, t, before, d_hidden, d_cell)
    return tf.raw_ops.LSTMBlockCellGrad(
        x=given.inputs[t],
        cs_prev=before,
        **{name: getattr(forward, name)[t] for name in ("i", "cs", "f", "o", "ci", "co")},
        cs_grad=d_cell,
        h_grad=d_hidden,
        **given.shared(),
    )


def _of_peephole_step(
    forward: Any, given: _Operands, t: tf.Tensor, before: tf.Tensor, d_hidden: tf.Tensor, d_cell: tf.Tensor
) -> _StepGradients:
    i, g, f, o = (getattr(forward, name)[t] for name in ("i", "ci", "f", "o"))
    cell, squashed = forward.cs[t], forward.co[t]
    p_i, p_f, p_o = given.peepholes
    d_o = d_hidden * squashed * o * (1 - o)
    d_c = d_hidden * o * (1 - squashed**2) + d_cell + d_o * p_o
    d_i, d_g, d_f = d_c * g * i * (1 - i), d_c * i * (1 - g**2), d_c * before * f * (1 - f)
    return _StepGradients(
        dicfo=tf.concat([d_i, d_g, d_f, d_o], 1),
        cs_prev_grad=d_c * f + d_i * p_i + d_f * p_f,
        wci_grad=tf.reduce_sum(d_i * before, 0),
        wcf_grad=tf.reduce_sum(d_f * before, 0),
        wco_grad=tf.reduce_sum(d_o * cell, 0),
    )
