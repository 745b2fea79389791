"""Exponential moving average of the weights (Polyak 1992), which is evaluated and exported."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["WeightAverage"]


class WeightAverage(tf.Module):
    """Average of a fixed list of variables; with decay 0 it is those variables themselves.

    Early on the decay is (1 + t) / (10 + t), with t from the beginning or the last restart, so that the first, random
    weights decay soon.
    """

    def __init__(self, variables: Sequence[tf.Variable], decay: float) -> None:
        super().__init__(name="weight_average")
        self._variables = list(variables)
        self._decay = decay
        self.averages = [tf.Variable(v, trainable=False) for v in variables] if decay else []
        self._begun = tf.Variable(0.0, trainable=False)

    def update(self, t: tf.Tensor) -> None:
        """Average in the variables' values after update `t` (Float32, from 1)."""
        if not self._decay:
            return
        since = t - self._begun
        decay = tf.minimum(self._decay, (1 + since) / (10 + since))
        for average, variable in zip(self.averages, self._variables, strict=True):
            average.assign(decay * average + (1 - decay) * variable)

    def restart(self, t: tf.Tensor | float = 0.0) -> None:
        """Begin at the variables' present values, after update `t`."""
        self._begun.assign(t)
        for average, variable in zip(self.averages, self._variables, strict=False):
            average.assign(variable)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Assign the averages to the variables while the context lasts."""
        trained = [v.numpy() for v in self._variables]
        for variable, average in zip(self._variables, self.averages, strict=False):
            variable.assign(average)
        try:
            yield
        finally:
            for variable, value in zip(self._variables, trained, strict=True):
                variable.assign(value)

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Return the averages by index, and "begun", when the last restart was; empty with decay 0."""
        if not self._decay:
            return {}
        return {str(i): v.numpy() for i, v in enumerate(self.averages)} | {"begun": np.array(self._begun)}

    def restore(self, state: Mapping[str, NDArray[np.float32]], t: tf.Tensor | float = 0.0) -> None:
        """Take over what `state` returned after update `t`; if it was empty, begin at the variables' present values."""
        if not state:
            self.restart(t)
            return
        self._begun.assign(state.get("begun", 0.0))
        for i, average in enumerate(self.averages):
            average.assign(state[str(i)])
