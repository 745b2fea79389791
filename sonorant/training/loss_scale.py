"""Loss scaling for float16 (Micikevicius 2018, section 3.2): small gradients would be 0 in it, large ones infinite.

The loss is multiplied by a power of 2 before gradients are taken, and they are divided by it in Float32. The scale is
dynamic: a step whose gradient overflows is skipped, and halves it; 2,000 sound ones without one between them double it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["LossScale"]

_FIRST = 2.0**15
_STEPS = 2000  # without overflow, until the scale is doubled


class LossScale(tf.Module):
    """The scale of a run of that precision, part of the step's graph; 1 and without state unless it is float16."""

    def __init__(self, precision: str) -> None:
        super().__init__(name="loss_scale")
        self._dynamic = precision == "float16"
        if self._dynamic:
            self.scale = tf.Variable(_FIRST, trainable=False)
            self._streak = tf.Variable(0.0, trainable=False)

    def scaled(self, loss: tf.Tensor) -> tf.Tensor:
        """Return the loss whose gradient is taken."""
        return loss * self.scale if self._dynamic else loss

    def unscaled(self, gradients: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Return the gradients of the loss itself."""
        return [gradient / self.scale for gradient in gradients] if self._dynamic else list(gradients)

    def update(self, sound: tf.Tensor, finite: tf.Tensor) -> tf.Tensor:
        """Adapt the scale to a step; return whether its gradient overflowed for the scale, Bool[].

        sound: whether there were examples, and their loss was finite; finite: whether the gradient is. At a scale of 1
        a gradient that is not finite is no longer the scale's fault.
        """
        if not self._dynamic:
            return tf.constant(False)
        overflowed = sound & ~finite & (self.scale > 1)
        streak = tf.where(overflowed, 0.0, self._streak + tf.cast(sound & finite, tf.float32))
        grown = streak >= _STEPS
        factor = tf.where(overflowed, 0.5, tf.where(grown, 2.0, 1.0))
        self.scale.assign(self.scale * factor)
        self._streak.assign(tf.where(grown, 0.0, streak))
        return overflowed

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Return scale, and steps in a row without overflow."""
        return {"scale": self.scale.numpy(), "streak": self._streak.numpy()} if self._dynamic else {}

    def restore(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what `state` returned; of a run of another precision nothing."""
        if self._dynamic and state:
            self.scale.assign(state["scale"])
            self._streak.assign(state["streak"])
