"""Batch normalisation (Ioffe & Szegedy 2015, algorithms 1 and 2) of padded sequences, which counts no padding.

In training each rank normalises by its own batch. The moving moments, by which recognition normalises, are of the
batches of all ranks: the layer leaves sums over its batch in `sums`, which the training step adds up over the ranks and
hands to `update`, in steps that change the weights and in no others.
"""

from collections.abc import Callable

from sonorant.models.compiled_batch_normalisation import compiled_batch_normalisation
from sonorant.models.kernel_calls import HasKernel
from sonorant.tensorflow import custom_gradient, keras, tf

__all__ = ["BatchNormalisation", "sums_about"]

_EPSILON = 1e-3
_MOMENTUM = 0.99  # share of the moving moments that a step leaves; the first replaces them


class BatchNormalisation(HasKernel, keras.layers.Layer):
    """Each channel less its mean, divided by its deviation; then a trained scale and offset.

    By one of two kernels with the same weights; where the moving moments normalise, by TensorFlow's operations.
    """

    def __init__(self, channels: int, name: str) -> None:
        super().__init__(name=name)
        self.scale = self.add_weight(shape=(channels,), initializer="ones", name="scale")
        self.offset = self.add_weight(shape=(channels,), initializer="zeros", name="offset")
        self.mean = self.add_weight(shape=(channels,), initializer="zeros", trainable=False, name="mean")
        self.variance = self.add_weight(shape=(channels,), initializer="ones", trainable=False, name="variance")
        self.steps = self.add_weight(shape=(), initializer="zeros", trainable=False, name="steps")
        self.sums: tf.Tensor | None = None
        self.built = True

    def call(self, values: tf.Tensor, present: tf.Tensor | None = None) -> tf.Tensor:
        """Return `values` [..., channels], normalised by the batch's moments; without `present`, by the moving ones.

        present: Float32[..., 1], 1 for a frame and 0 for padding. Sets `sums`, Float32[2 channels + 1]: of values
        about the moving mean, of their squares, and of frames.
        """
        if present is None:
            factor, offset = self.affine()
            return values * factor + offset
        count = tf.reduce_sum(present)
        if self.compiled:
            trained = tf.convert_to_tensor(self.scale.value), tf.convert_to_tensor(self.offset.value)
            normal, sums = compiled_batch_normalisation(values, present, self.centre, *trained, _EPSILON)
            self._leave(sums[0], sums[1], count)
            return normal
        factor, offset = self.affine_of(*sums_about(values, self.centre, present), count)
        return values * factor + offset

    @property
    def centre(self) -> tf.Tensor:
        """The moving mean [channels], about which sums of squares keep their digits."""
        return tf.convert_to_tensor(self.mean.value)

    def affine(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return factor and offset [channels] by which the moving moments normalise."""
        return self._affine(self.mean.value, self.variance.value)

    def affine_of(self, total: tf.Tensor, squares: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return factor and offset [channels] by which a batch of `count` frames with such sums does; sets `sums`.

        total, squares: [channels], of the values about `centre`, and of their squares. Whoever multiplies the values
        next can do both in its weights, which are fewer.
        """
        self._leave(total, squares, count)
        mean, variance = _moments(total, squares, count)
        return self._affine(self.centre + mean, variance)

    def update(self, sums: tf.Tensor) -> None:
        """Move the moments towards those of a step's frames; part of the step's graph."""
        channels = self.mean.shape[0]
        count = sums[-1]
        mean, variance = _moments(sums[:channels], sums[channels:-1], count)
        steps = self.steps.value.assign_add(tf.where(count > 0, 1.0, 0.0))
        # As an average over the steps so far until that is the slower one: the first moments, 0 and 1, mean nothing.
        share = tf.where(count > 0, tf.maximum(1 - _MOMENTUM, 1 / steps), 0.0)
        self.mean.value.assign_add(share * mean)
        self.variance.value.assign_add(share * (variance - self.variance.value))

    def _leave(self, total: tf.Tensor, squares: tf.Tensor, count: tf.Tensor) -> None:
        self.sums = tf.stop_gradient(tf.concat([total, squares, [count]], 0))

    def _affine(self, mean: tf.Tensor, variance: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        factor = self.scale.value * tf.math.rsqrt(variance + _EPSILON)
        return factor, self.offset.value - mean * factor


def sums_about(values: tf.Tensor, centre: tf.Tensor, present: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Return sums [channels] of values [..., channels] about the centre, which has no gradient, and of their squares.

    present: Float32[..., 1], 1 for what counts and 0 for padding; None: all count.
    """
    axes = list(range(len(values.shape) - 1))

    @custom_gradient
    def summed(
        values: tf.Tensor,
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[[tf.Tensor, tf.Tensor], tf.Tensor]]:
        centred = _masked(values - centre, present)

        def gradient(of_total: tf.Tensor, of_squares: tf.Tensor) -> tf.Tensor:
            return _masked(centred * (2 * of_squares) + of_total, present)

        return (tf.reduce_sum(centred, axes), tf.reduce_sum(tf.square(centred), axes)), gradient

    sums: tuple[tf.Tensor, tf.Tensor] = summed(values)
    return sums


def _masked(values: tf.Tensor, present: tf.Tensor | None) -> tf.Tensor:
    """Return values, 0 in padding."""
    return values if present is None else values * present


def _moments(total: tf.Tensor, squares: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return mean and variance [channels] of values with these sums; 0 of none."""
    mean = total / tf.maximum(count, 1.0)
    return mean, tf.maximum(squares / tf.maximum(count, 1.0) - tf.square(mean), 0.0)
