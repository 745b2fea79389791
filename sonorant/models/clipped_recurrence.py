"""A layer of clipped rectifiers that is recurrent in both directions of time (Hannun et al. 2014, section 2).

`graph_clipped_recurrence.py` computes anywhere; in a training on a CPU `compiled_clipped_recurrence.py` takes its
place, with the same weights.
"""

from sonorant.models.compiled_clipped_recurrence import compiled_clipped_recurrence
from sonorant.models.graph_clipped_recurrence import clipped, graph_clipped_recurrence
from sonorant.models.kernel_calls import HasKernel
from sonorant.tensorflow import keras, tf

__all__ = ["ClippedRecurrence", "clipped"]

_DIRECTIONS = 2


class ClippedRecurrence(HasKernel, keras.layers.Layer):
    """f_t + b_t, where f_t = g(a_t + f_{t-1} Wf), b_t = g(a_t + b_{t+1} Wb), and g(z) = min(max(0, z), ceiling).

    f begins with 0 before an utterance's first frame, b with 0 after its last. The weights begin orthogonal: with
    rectifiers, which halve the second moment, f and b then have that of a.
    """

    def __init__(self, cells: int, ceiling: float, seed: int, name: str) -> None:
        super().__init__(name=name)
        self.ceiling = ceiling

        def orthogonal(shape: tuple[int, ...], dtype: object = None) -> tf.Tensor:
            seeds = range(seed * _DIRECTIONS, (seed + 1) * _DIRECTIONS)
            return tf.stack([keras.initializers.Orthogonal(seed=one)((cells, cells)) for one in seeds])

        self.weight = self.add_weight(shape=(_DIRECTIONS, cells, cells), initializer=orthogonal, name="weight")
        self.built = True

    def call(self, inputs: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Return f + b [B, T, cells] of a, `inputs` [B, T, cells]; in padding b is 0.

        lengths: frames of each utterance, Int32[B], 0 to T.
        """
        recurrence = compiled_clipped_recurrence if self.compiled else graph_clipped_recurrence
        return recurrence(inputs, lengths, tf.convert_to_tensor(self.weight.value), self.ceiling)
