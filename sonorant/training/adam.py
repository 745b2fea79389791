"""Adam (Kingma 2015, algorithm 1), with its state accessible for checkpoints."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["Adam"]

_BETA_1, _BETA_2 = 0.9, 0.98  # the latter decays faster than Kingma's 0.999: runs here are short
_EPSILON = 1e-8


class Adam(tf.Module):
    """An `Optimizer`: Adam."""

    def __init__(self, variables: Sequence[tf.Variable]) -> None:
        super().__init__(name="adam")
        self.variables_updated = list(variables)
        self.m = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self.v = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self.t = tf.Variable(0.0, trainable=False)

    def update(self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor) -> None:
        """Update all variables by one step, each in one pass over it.

        The kernel adds epsilon to the root of v before v's correction, where Kingma adds it after; so it gets epsilon
        times the correction's root.
        """
        t = self.t.assign_add(1.0)
        power_1, power_2 = _BETA_1**t, _BETA_2**t
        for theta, m, v, g in zip(self.variables_updated, self.m, self.v, gradients, strict=True):
            tf.raw_ops.ResourceApplyAdam(
                var=theta.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=power_1,
                beta2_power=power_2,
                lr=learning_rate,
                beta1=_BETA_1,
                beta2=_BETA_2,
                epsilon=_EPSILON * tf.sqrt(1 - power_2),
                grad=g,
            )

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Return t, and m and v of each variable by index."""
        moments = {f"{kind}/{i}": v.numpy() for kind, vs in (("m", self.m), ("v", self.v)) for i, v in enumerate(vs)}
        return {"t": self.t.numpy(), **moments}

    def restore(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what `state` returned."""
        self.t.assign(state["t"])
        for kind, variables in (("m", self.m), ("v", self.v)):
            for i, variable in enumerate(variables):
                variable.assign(state[f"{kind}/{i}"])
