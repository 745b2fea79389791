"""One LSTM layer with explicit state, by one of three kernels.

`graph_lstm.py` computes anywhere, also where a graph was exported; in a training `compiled_lstm.py` or `cudnn_lstm.py`
take its place, with the same weights.
"""

from typing import Literal

from sonorant.models.compiled_lstm import compiled_recurrence, input_products
from sonorant.models.cudnn_lstm import cudnn_lstm
from sonorant.models.gates import GATES
from sonorant.models.graph_lstm import graph_lstm, graph_lstm_with_peepholes
from sonorant.models.half_precision import HalfPrecision
from sonorant.tensorflow import keras, tf

__all__ = ["Lstm", "LstmCell", "LstmKernel"]

LstmKernel = Literal["graph", "compiled", "cudnn"]


class Lstm(HalfPrecision):
    """LSTM (Hochreiter 1997; Gers 2000), time-major; with peepholes on request (Gers 2002): gates see the cell state.

    The kernel `compiled` needs a CPU; `cudnn` a GPU, and has no peepholes.

    In half precision inputs and weight are rounded; bias, peepholes and the state, whose steps would add up what they
    lose, are Float32. In float16 cuDNN computes all in it. The other kernels, and cuDNN in bfloat16, multiply in
    Float32: of cuDNN in bfloat16 TensorFlow 2.18 had, on an H100, the outputs right and no gradient, without a word.
    """

    kernel: LstmKernel = "graph"

    def __init__(self, inputs: int, cells: int, seed: int, name: str, peepholes: bool = False) -> None:
        super().__init__(name=name, autocast=False)  # else Keras rounds the state, too
        self.cells = cells
        self.weight = self._add("weight", (inputs + cells, GATES * cells), _weights(inputs, cells, seed))
        self.bias = self._add("bias", (GATES * cells,), _open_forget_gates(cells))
        # Of input, forget and output gate, one weight for each cell.
        self.peepholes = self._add("peepholes", (3, cells), "zeros") if peepholes else None
        self.built = True

    def call(self, inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return outputs [T, B, cells], and cell and hidden state [B, cells] after the last vector.

        inputs: [T, B, inputs] with T >= 1.
        """
        return self.recur(self.project(inputs), cell, hidden)

    def project(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the part of `inputs` [T, B, inputs] in the gates' sums, so that several `recur` share one product.

        [T, B, 4 cells] with the kernel `compiled`; the others multiply within `recur`, and it is the inputs.
        """
        if self.kernel != "compiled":
            return inputs
        from_input, _ = tf.split(self._rounded(self.weight.value), [-1, self.cells])
        return input_products(self._rounded(inputs), from_input, tf.convert_to_tensor(self.bias.value))

    def recur(self, projected: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return what `call` returns; projected: see `project`."""
        weight, bias = self._rounded(self.weight.value), tf.convert_to_tensor(self.bias.value)
        peepholes = tf.zeros((3, self.cells)) if self.peepholes is None else tf.convert_to_tensor(self.peepholes.value)
        if self.kernel == "compiled":
            outputs, last_cell = compiled_recurrence(projected, cell, hidden, self.recurrent, peepholes)
            return outputs, last_cell, outputs[-1]
        inputs = self._rounded(projected)
        if self.kernel == "cudnn":
            dtype = "float16" if self.compute_dtype == "float16" else "float32"
            computed = cudnn_lstm(*(tf.cast(one, dtype) for one in (inputs, cell, hidden, weight, bias)))
            outputs, last_cell, last_hidden = (tf.cast(one, tf.float32) for one in computed)
            return outputs, last_cell, last_hidden
        if self.peepholes is None:
            outputs, last_cell = graph_lstm(inputs, cell, hidden, weight, bias)
        else:
            outputs, last_cell = graph_lstm_with_peepholes(inputs, cell, hidden, weight, bias, peepholes)
        return outputs, last_cell, outputs[-1]

    @property
    def recurrent(self) -> tf.Tensor:
        """The weights of the outputs, [cells, 4 cells], rounded as for `recur`."""
        return tf.split(self._rounded(self.weight.value), [-1, self.cells])[1]

    def _add(self, name: str, shape: tuple[int, ...], first: keras.initializers.Initializer | str) -> keras.Variable:
        return self.add_weight(shape=shape, initializer=first, name=name, autocast=False)  # `_rounded` says which are

    def _rounded(self, tensor: tf.Tensor) -> tf.Tensor:
        """Return a tensor in Float32, rounded to the type of the layer's products."""
        return tf.cast(tf.cast(tensor, self.compute_dtype), tf.float32)


class LstmCell(keras.layers.Layer):
    """The same recurrence for one vector, where the next one depends on what comes out; weights as those of `Lstm`."""

    def __init__(self, inputs: int, cells: int, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.cells = cells
        self.weight = self.add_weight(
            shape=(inputs + cells, GATES * cells), initializer=_weights(inputs, cells, seed), name="weight"
        )
        self.bias = self.add_weight(shape=(GATES * cells,), initializer=_open_forget_gates(cells), name="bias")
        self.built = True

    def advance(self, inputs: tf.Tensor, cell: tf.Tensor, hidden: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return cell and hidden state [..., cells] after inputs [..., inputs]."""
        gates = tf.tensordot(tf.concat([inputs, hidden], -1), self.weight.value, 1) + self.bias.value
        i, g, f, o = tf.split(gates, GATES, axis=-1)
        cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
        return cell, tf.sigmoid(o) * tf.tanh(cell)


def _weights(inputs: int, cells: int, seed: int) -> keras.initializers.Initializer:
    """Glorot-uniform from the input, orthogonal for each gate of the recurrence (Saxe 2014)."""

    def initialise(shape: tuple[int, ...], dtype: object = None) -> tf.Tensor:
        recurrent = [keras.initializers.Orthogonal(seed=seed * GATES + g)((cells, cells)) for g in range(GATES)]
        from_input = keras.initializers.GlorotUniform(seed=seed)((inputs, GATES * cells))
        return tf.concat([from_input, tf.concat(recurrent, 1)], 0)

    return initialise


def _open_forget_gates(cells: int) -> keras.initializers.Initializer:
    """Bias 1 on the forget gate, so that cells remember from the first step on (Jozefowicz 2015, section 2.2)."""

    def initialise(shape: tuple[int, ...], dtype: object = None) -> tf.Tensor:
        return tf.concat([tf.zeros(2 * cells), tf.ones(cells), tf.zeros(cells)], 0)

    return initialise
