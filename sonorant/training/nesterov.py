"""Nesterov's accelerated gradient (Sutskever 2013, Eq. 3 and 4), written in the point where the gradient is taken.

    v_t = mu v_{t-1} - epsilon g(theta_{t-1}),   theta_t = theta_{t-1} + mu v_t - epsilon g(theta_{t-1}),

where theta is Sutskever's theta + mu v (Bengio 2013, section 3): what is trained, evaluated and stored is that point.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["Nesterov"]


class Nesterov(tf.Module):
    """An `Optimizer`: stochastic gradient descent with momentum mu, `momentum`."""

    def __init__(self, variables: Sequence[tf.Variable], momentum: float) -> None:
        super().__init__(name="nesterov")
        self._momentum = momentum
        self.variables_updated = list(variables)
        self.v = [tf.Variable(tf.zeros_like(theta), trainable=False) for theta in variables]
        self.t = tf.Variable(0.0, trainable=False)

    def update(self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor) -> None:
        """Change all variables by one step, each in one pass over it."""
        self.t.assign_add(1.0)
        for theta, v, g in zip(self.variables_updated, self.v, gradients, strict=True):
            tf.raw_ops.ResourceApplyKerasMomentum(
                var=theta.handle, accum=v.handle, lr=learning_rate, grad=g, momentum=self._momentum, use_nesterov=True
            )

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Return t, and v of each variable by its position in the list."""
        return {"t": self.t.numpy(), **{f"v/{i}": v.numpy() for i, v in enumerate(self.v)}}

    def restore(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what `state` returned."""
        self.t.assign(state["t"])
        for i, v in enumerate(self.v):
            v.assign(state[f"v/{i}"])
